"""From questions to a trained gate: two conditions answered, a probe and τ chosen on dev."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from .data import Question
from .gate import Gate, calibrate, sweep
from .generation import Generation
from .probe import Probe, ProbeConfig, fit, stack
from .prompts import QA, answer_prompt
from .retrieve import TOP_K
from .scores import acc

GRID = tuple(
    ProbeConfig(width=width, weight_decay=decay) for width in (8, 32, 128) for decay in (0.1, 1.0)
)


def closed_book(questions: list[Question], backbone) -> list[Generation]:
    """Answer the questions without any passages."""
    return backbone.generate([answer_prompt(q.question) for q in questions], QA)


def single_step(questions: list[Question], backbone, retriever, k: int = TOP_K):
    """Answer the questions once, each with the k passages that its own words find."""
    found = retriever.search([q.question for q in questions], k)
    asked = zip(questions, found, strict=True)
    return backbone.generate([answer_prompt(q.question, passages) for q, passages in asked], QA)


@dataclass(frozen=True)
class Examples:
    """Questions answered under both conditions, and which answers were right (ACC, 0 or 1).

    Source of the two conditions: Skill-RAG v2 §3.1. Taught in chapters 01 and 02.
    """

    questions: list[Question]
    closed: list[Generation]
    retrieved: list[Generation]

    @property
    def closed_right(self) -> np.ndarray:
        """Correctness of the closed-book answers, shape (n,)."""
        return _right(self.questions, self.closed)

    @property
    def retrieved_right(self) -> np.ndarray:
        """Correctness of the answers with passages, shape (n,)."""
        return _right(self.questions, self.retrieved)

    @property
    def right(self) -> np.ndarray:
        """Both conditions' correctness, closed-book first, shape (2n,)."""
        return np.concatenate([self.closed_right, self.retrieved_right])

    def states(self, pool: str = "all") -> np.ndarray:
        """Both conditions' pooled states, closed-book first, shape (2n, L, d_model)."""
        return stack([*self.closed, *self.retrieved], pool)

    def signal(self, name: str) -> np.ndarray:
        """One free confidence signal of both conditions, shape (2n,)."""
        return np.array([g.signals()[name] for g in [*self.closed, *self.retrieved]])


def _right(questions, generations):
    pairs = zip(questions, generations, strict=True)
    return np.array([acc(g.answer, q.answers) for q, g in pairs])


def examples(questions: list[Question], backbone, retriever) -> Examples:
    """Answer the questions under both conditions."""
    return Examples(
        questions, closed_book(questions, backbone), single_step(questions, backbone, retriever)
    )


def choose_probe(train: Examples, dev: Examples, pool: str = "all", grid=GRID) -> Probe:
    """The probe of the grid that ranks dev's answers best (AUROC; the first among equals)."""
    seen, fresh = train.states(pool), dev.states(pool)
    probes = [fit(seen, train.right, fresh, dev.right, config) for config in grid]
    return max(probes, key=lambda p: roc_auc_score(dev.right, p.confidence(fresh)))


def train_gate(train: Examples, dev: Examples, pool: str = "all") -> Gate:
    """A gate whose probe and threshold are both chosen on dev. Taught in chapters 02 and 03."""
    probe = choose_probe(train, dev, pool)
    confidence = probe.confidence(stack(dev.closed, pool))
    tau = calibrate(sweep(confidence, dev.closed_right, dev.retrieved_right))
    return Gate(probe, round(tau, 6), pool)
