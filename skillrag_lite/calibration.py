"""Calibration: every method that decides when to search gets its threshold by one rule, on dev."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from .data import Question
from .gate import Point, calibrate
from .lab import Lab

FILE = "sweeps.json"


def sweep(method: Callable, dev: list[tuple[list[Question], Lab]], n: int = 7) -> list[Point]:
    """One Point a threshold, n from never searching to always: searches a question, and ACC.

    `method(questions, lab, threshold)` returns traces, as the searching methods of `METHODS` do;
    `dev` holds each dataset's questions with their lab. The thresholds are quantiles of all that
    the trigger sees where it always fires; the first and the last lie a hair outside.
    With one search at most, searches a question are the gate's retrieval rate, and
    `gate.calibrate` picks from these points as it does from the gate's. Taught in chapter 06.
    """

    def run(tau):
        return [trace for questions, lab in dev for trace in method(questions, lab, tau)]

    seen = [r.confidence for trace in run(float("inf")) for r in trace.rounds]
    low, *between, high = np.quantile(seen, np.linspace(0, 1, n))
    points = []
    for tau in (low - 1e-3, *between, high + 1e-3):
        traces = run(round(float(tau), 4))
        right = [t.right for t in traces]
        searches = [t.retrievals for t in traces]
        points.append(Point(round(float(tau), 4), float(np.mean(searches)), float(np.mean(right))))
    return points


def save(folder: str | Path, sweeps: dict[str, list[Point]]) -> None:
    """Write each method's sweep beside the gate."""
    plain = {name: [asdict(p) for p in points] for name, points in sweeps.items()}
    (Path(folder) / FILE).write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


def load(folder: str | Path) -> dict[str, list[Point]]:
    """The sweeps that `save` wrote; none where it never did."""
    path = Path(folder) / FILE
    plain = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {name: [Point(**p) for p in points] for name, points in plain.items()}


def thresholds(folder: str | Path) -> dict[str, float]:
    """The threshold that dev gave each swept method; none where nothing was swept."""
    return {name: calibrate(points) for name, points in load(folder).items()}
