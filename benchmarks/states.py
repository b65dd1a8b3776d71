"""What thinning and rounding the recorded hidden states costs the probe. Numbers, not tests.

    python -m benchmarks.states [--profile pocket] [--n 150]

Answers n training questions and all of dev, both conditions, keeping every block as float16 in
runs/states.sqlite (it resumes). Then trains the same probe on all blocks or every second or fourth,
on float16 or int8, with a fifth of the training questions to stop by, and scores dev's answers.
"""

import argparse
from dataclasses import replace

import numpy as np

from skillrag_lite import data, probe, profiles, scores, training
from skillrag_lite.lab import RUNS
from skillrag_lite.recorder import Recorder
from skillrag_lite.retrieve import BM25
from skillrag_lite.store import Store, pack, unpack


def rounded(states: np.ndarray) -> np.ndarray:
    """The states (n, L, d) as the store gives them back from int8 with a scale a layer."""
    return np.stack([unpack(pack({}, {"all": x}, bits=8))[1]["all"] for x in states])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="pocket", choices=profiles.PROFILES)
    parser.add_argument("--n", type=int, default=150)
    options = parser.parse_args()
    RUNS.mkdir(exist_ok=True)
    whole = replace(profiles.get(options.profile), stride=1)
    backbone = Recorder(whole, Store(RUNS / "states.sqlite", bits=16))
    retriever = BM25(data.corpus("atlas"))
    train, dev = (
        training.examples(questions, backbone, retriever)
        for questions in (data.load("atlas", "train")[: options.n], data.load("atlas", "dev"))
    )
    stop = np.arange(len(train.right)) % 5 == 0
    print(f"{len(train.right)} answers to train on, {len(dev.right)} scored, ", end="")
    print(f"{int(dev.right.sum())} of them right\nblocks  bits  bytes   AUROC (95%)")
    for bits, change in ((16, np.asarray), (8, rounded)):
        seen, fresh = change(train.states()), change(dev.states())
        for stride in (1, 2, 4):
            x, y = seen[:, ::stride], train.right
            fitted = probe.fit(x[~stop], y[~stop], x[stop], y[stop], probe.ProbeConfig())
            value, low, high = scores.auroc(dev.right, fitted.confidence(fresh[:, ::stride]))
            size = x.shape[1] * x.shape[2] * bits // 8
            print(f"{x.shape[1]:6} {bits:5} {size:6}   {value:.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
