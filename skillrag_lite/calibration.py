"""Calibration: every method that decides when to search gets its threshold by one rule, on dev."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .data import Question
from .gate import Point
from .lab import Lab
from .scores import acc
from .trace import Trace

FILE = "thresholds.json"


def thresholds(method: Callable, dev: list[Question], lab: Lab, values) -> list[Point]:
    """One Point for each value: the method run on dev with that threshold.

    `method(questions, lab, threshold)` returns traces, as the searching methods of `METHODS` do.
    A point's retrieval rate is the share of questions with at least one search.
    `gate.calibrate` picks from the points as it does for the gate. Taught in chapter 06.
    """
    points = []
    for value in values:
        traces = method(dev, lab, value)
        searched = [t.retrievals > 0 for t in traces]
        right = [acc(t.answer, t.question.answers) for t in traces]
        points.append(Point(float(value), float(np.mean(searched)), float(np.mean(right))))
    return points


def spread(traces: list[Trace], n: int = 7) -> list[float]:
    """n thresholds, from one that never fires on these questions to one that always does.

    They are quantiles of what the trigger saw in the first round, so the traces must be of a run
    that never searched; the first and the last lie a hair outside.
    """
    low, *between, high = np.quantile(
        [t.rounds[0].confidence for t in traces], np.linspace(0, 1, n)
    )
    return [round(float(value), 4) for value in (low - 1e-3, *between, high + 1e-3)]


def save(folder: str | Path, chosen: dict[str, float]) -> None:
    """Write each method's chosen threshold beside the gate."""
    text = json.dumps(chosen, indent=1)
    (Path(folder) / FILE).write_text(text + "\n", encoding="utf-8")


def load(folder: str | Path) -> dict[str, float]:
    """The thresholds that `save` wrote; none where it never did."""
    path = Path(folder) / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
