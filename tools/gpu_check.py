"""Does the package run well on this GPU? It takes no weights and no network.

    python -m tools.gpu_check [--model gemma2-9b qwen3-8b llama3-8b] [--out FILE.json]

Each model has its makers' shape, the precision of its profile and random weights, and answers
through the package's own Backbone. What it says means nothing; how fast it says it does.
"""

import argparse
import json
import statistics
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from timeit import timeit

import numpy as np
import torch

from skillrag_lite import data, profiles
from skillrag_lite.backbone import Backbone
from skillrag_lite.generation import Decoding
from skillrag_lite.profiles import Profile
from skillrag_lite.prompts import Prompt, answer_prompt
from skillrag_lite.show import table
from skillrag_lite.taps import Taps

from .random_models import SHAPES, build

BATCHES = (1, 4, 16, 64)
ROUNDS = 2
COMPARED = 4  # prompts that are answered together and one by one
ENDLESS = Decoding(max_new_tokens=32, mark="", stop=())


def questions(n: int) -> list[Prompt]:
    """Prompts with the book's worked examples, n Atlas questions and any three passages each."""
    asked, corpus = data.load("atlas", "test")[:n], data.corpus("atlas")
    return [answer_prompt(q.question, corpus[3 * i : 3 * i + 3]) for i, q in enumerate(asked)]


def agreement(backbone: Backbone, prompts: list[Prompt]) -> float:
    """The share of tokens that are the same together and one by one; the states are checked.

    It is below 1 in short numbers: a batch's sums are rounded otherwise, a near tie falls the
    other way, and the rest of that reply differs.
    """
    together = backbone.generate(prompts, ENDLESS)
    alone = [backbone.generate([prompt], ENDLESS)[0] for prompt in prompts]
    shape = len(backbone.profile.kept_layers), backbone.profile.d_model
    for reply in together + alone:
        for pool, states in reply.states.items():
            assert states.shape == shape and np.isfinite(states).all(), f"unsound states: {pool}"
    pairs = zip(together, alone, strict=True)
    return float(np.mean([np.equal(a.tokens, b.tokens) for a, b in pairs]))


def times(backbone: Backbone, prompts: list[Prompt]) -> list[float]:
    """Median seconds, taken in turns: with taps, without, and of reading the prompts alone."""

    def tapped():
        backbone.generate(prompts, ENDLESS)

    def bare():
        backbone.taps.close()
        backbone.generate(prompts, replace(ENDLESS, states=False))
        backbone.taps = Taps(backbone.model.base_model.layers, backbone.profile.kept_layers)

    def read():  # the first token comes with the prompt
        backbone.generate(prompts, replace(ENDLESS, max_new_tokens=1))

    tapped()  # reads the header, and runs every kernel once
    turns = [[timeit(work, number=1) for work in (tapped, bare, read)] for _ in range(ROUNDS)]
    return [statistics.median(column) for column in zip(*turns, strict=True)]


def measure(backbone: Backbone, prompts: list[Prompt]) -> dict:
    """A row of the table: tokens a second, and GB of GPU memory, with these prompts as one batch.

    The header's tokens, which are in memory already, are not counted as read.
    """
    columns = ("read_per_s", "tapped_per_s", "bare_per_s", "tapped_over_bare", "peak_gb")
    torch.cuda.reset_peak_memory_stats()
    try:
        tapped, bare, read = times(backbone, prompts)
    except torch.OutOfMemoryError:
        values = "-", "-", "-", "-", "out of memory"
    else:
        own = sum(len(backbone.encoder.prompt(prompt)[1]) for prompt in prompts)
        new = len(prompts) * (ENDLESS.max_new_tokens - 1)
        speeds = own / read, new / (tapped - read), new / (bare - read)
        peak = torch.cuda.max_memory_allocated() / 1e9
        values = *map(round, speeds), round(tapped / bare, 3), round(peak, 1)
    return {"batch": len(prompts), **dict(zip(columns, values, strict=True))}


def check(profile: Profile, shape) -> dict:
    """Build a model, compare its replies, measure it: facts, with a row for each batch size."""
    start = time.perf_counter()
    backbone = build(profile, shape)
    built, prompts = time.perf_counter() - start, questions(max(BATCHES))
    return {
        "model": profile.name,
        "build_seconds": round(built, 1),
        "header_tokens": len(backbone.encoder.prompt(prompts[0])[0]),
        "same_tokens": round(agreement(backbone, prompts[:COMPARED]), 3),
        "rows": [measure(backbone, prompts[:n]) for n in BATCHES],
    }


def main(arguments=None) -> None:
    """Check the chosen models, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--out", type=Path, metavar="FILE.json")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        raise SystemExit("There is no GPU here that torch can use, so there is nothing to check.")
    machine = {"device": torch.cuda.get_device_name()}
    machine |= {name: version(name) for name in ("torch", "transformers", "bitsandbytes")}
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    checked = []
    for name in options.model:
        found = check(profiles.get(name), SHAPES[name])
        checked.append(found)
        print("\n" + ", ".join(f"{key} {found[key]}" for key in found if key != "rows"))
        print(table(found["rows"]), flush=True)
        if options.out:  # after every model: a later one may fail
            text = json.dumps({**machine, "models": checked}, indent=1)
            options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
