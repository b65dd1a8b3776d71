"""What the methods of the comparison save by sharing one store. Numbers, not tests.

    python -m benchmarks.shared [--profile pocket] [--n 16]

Each method answers the first n test questions of the Atlas twice: alone, with an empty store, and
together, with the store that the methods before it have filled. The two take turns, so that a busy
machine slows both.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from skillrag_lite import data, profiles
from skillrag_lite.backbone import Backbone
from skillrag_lite.lab import Lab, trained
from skillrag_lite.methods import choose
from skillrag_lite.prompts import QA, answer_prompt
from skillrag_lite.recorder import Recorder
from skillrag_lite.retrieve import BM25
from skillrag_lite.show import table
from skillrag_lite.store import Store

COMPARED = "no_retrieval,single_step,flare,dragin,adaptive_rag,probing_rag,skill_rag"
COSTS = ("alone_s", "together_s", "alone_calls", "together_calls")


def compare(methods: dict, questions, open_lab: Callable[[Store], Lab]) -> list[dict]:
    """A row a method: seconds and calls of the model, alone and together; then their sum.

    `open_lab` makes a lab around a store, as if nothing had been asked yet but what it holds.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, method in methods.items():
            row = {"method": name}
            for kind, file in (("alone", f"{name}.sqlite"), ("together", "together.sqlite")):
                store = Store(Path(folder) / file)
                row[f"{kind}_s"], row[f"{kind}_calls"] = cost(method, questions, open_lab(store))
                store.close()
            rows.append(row)
    return [*rows, {"method": "sum"} | {key: sum(row[key] for row in rows) for key in COSTS}]


def cost(method, questions, lab: Lab) -> tuple[float, int]:
    """Seconds that the method takes, and the replies that it adds to the lab's store."""
    before, start = len(lab.backbone.store.keys()), time.perf_counter()
    method(questions, lab)
    return time.perf_counter() - start, len(lab.backbone.store.keys()) - before


def report(rows: list[dict]) -> str:
    """The table, and what running together costs of running alone."""
    total = rows[-1]
    ratio = total["together_s"] / total["alone_s"]
    return f"{table(rows, ['method', *COSTS])}\nratio {ratio:.2f} (goal 0.50)"


def main(arguments=None) -> None:
    """Compare the methods on one loaded model."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--profile", default="pocket", choices=profiles.PROFILES)
    parser.add_argument("--n", type=int, default=16)
    options = parser.parse_args(arguments)
    profile, questions = profiles.get(options.profile), data.load("atlas", "test")[: options.n]
    backbone, retriever = Backbone.load(profile), BM25(data.corpus("atlas"))
    backbone.generate([answer_prompt(questions[0].question)], QA)  # the weights are in memory

    def open_lab(store: Store) -> Lab:
        backbone._headers.clear()  # or a run alone would find those of the run before
        return Lab(
            Recorder(profile, store, load=lambda _: backbone), retriever, trained(profile.name)
        )

    print(report(compare(choose(COMPARED), questions, open_lab)))


if __name__ == "__main__":
    main()
