"""The gate: trust the answer, or look further."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.torch import load_file, save_file

from .probe import Probe, ProbeConfig, config_of, stack


@dataclass(frozen=True)
class Point:
    """One threshold's outcome on a set of questions: searches a question, and accuracy."""

    tau: float
    retrieval_rate: float
    accuracy: float


def sweep(confidence, closed_right, retrieved_right) -> list[Point]:
    """Every threshold that makes a difference, from never retrieving to always.

    A question with p̂ < τ takes its answer with passages, the others keep the closed-book one.
    Arguments of shape (N,): p̂ of the closed-book answers, and both answers' correctness.
    Taught in chapter 03.
    """
    confidence = np.asarray(confidence)
    closed, retrieved = np.asarray(closed_right), np.asarray(retrieved_right)
    steps = np.unique(confidence)
    taus = [0.0, *(steps[:-1] + steps[1:]) / 2, 1.0]  # between two values, never at one
    points = []
    for tau in taus:
        searched = confidence < tau
        right = np.where(searched, retrieved, closed)
        points.append(Point(float(tau), float(searched.mean()), float(right.mean())))
    return points


def calibrate(points: list[Point]) -> float:
    """The threshold τ with the best accuracy; among equals, the one with the fewest retrievals.

    Meant for dev questions only. Source: Skill-RAG v2 §2.3 (a fixed τ). Taught in chapter 03.
    """
    return max(points, key=lambda p: (round(p.accuracy, 9), -p.retrieval_rate)).tau


@dataclass(frozen=True)
class Gate:
    """A probe, the pool of tokens it reads and a threshold: p̂ ≥ τ means the answer is trusted.

    The same gate stands before the first retrieval and after each one (Skill-RAG v2 §2.3).
    """

    probe: Probe
    tau: float
    pool: str = "all"

    def read(self, generations) -> np.ndarray:
        """Each layer's probability that the answer is right, shape (N, L)."""
        return self.probe.by_layer(stack(generations, self.pool))

    def save(self, folder: str | Path) -> None:
        """Write the gate as gate.json and probe.safetensors."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        halves = {k: v.half().contiguous() for k, v in self.probe.state_dict().items()}
        save_file(halves, folder / "probe.safetensors")
        facts = {"tau": self.tau, "pool": self.pool, **config_of(self.probe)}
        text = json.dumps(facts, indent=1)
        (folder / "gate.json").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> "Gate":
        """The gate that `save` wrote. Raises FileNotFoundError with the way out."""
        folder = Path(folder)
        if not (folder / "gate.json").is_file():
            raise FileNotFoundError(
                f"{folder} holds no trained gate: train one with "
                "`python -m skillrag_lite record`, or work through chapters 02 and 03"
            )
        facts = json.loads((folder / "gate.json").read_text(encoding="utf-8"))
        probe = Probe(facts["layers"], facts["d_model"], ProbeConfig(**facts["config"]))
        state = load_file(folder / "probe.safetensors")
        probe.load_state_dict(state)  # copied into double precision
        return cls(probe, facts["tau"], facts["pool"])
