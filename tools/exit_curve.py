"""The cost curve of an exit on a benchmark that lacks pages; writes results/<dataset>_exits/.

    python -m tools.exit_curve --profile pocket --dataset hotpotqa --n 60

The texts of a benchmark stay out of the book, so chapter 08 draws its curve from these numbers. Run
`python -m skillrag_lite run` on the dataset first: its gate and its threshold are the ones used.
"""

import argparse

import numpy as np

from skillrag_lite import data, exits, profiles, results
from skillrag_lite.lab import open_lab
from skillrag_lite.methods import METHODS

EVERY = 4  # of the thresholds that occur


def rows(profile: str, dataset: str, n: int | None) -> list[dict]:
    """A row a signal and threshold: the loop that never exits, cut where the signal says so."""
    lab, questions = open_lab(profile, dataset, mode="auto"), data.load(dataset, "test")[:n]
    traces = METHODS["skill_rag"](questions, lab, router=exits.ExitThreshold(exits.NEVER))
    rng = np.random.default_rng(0)
    doubts = exits.doubts(traces)
    signals = {
        "score router": exits.chances(lab.backbone, traces),
        "1 - confidence": doubts,
        "random": [rng.random(len(its)).tolist() for its in doubts],
    }
    return [
        {"dataset": dataset, "method": name, "n": len(traces), **point}
        for name, chances in signals.items()
        for point in exits.curve(traces, chances)[::EVERY]
    ]


def main(arguments=None):
    """Write the file and say where."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--profile", default="pocket")
    parser.add_argument("--dataset", default="hotpotqa")
    parser.add_argument("--n", type=int, help="only the first so many test questions")
    options = parser.parse_args(arguments)
    asked = f"--profile {options.profile} --dataset {options.dataset}"
    asked += f" --n {options.n}" if options.n else ""
    path = results.write(
        f"{options.dataset}_exits",
        profiles.get(options.profile),
        rows(options.profile, options.dataset, options.n),
        f"python -m tools.exit_curve {asked}",
    )
    print("written:", path)


if __name__ == "__main__":
    main()
