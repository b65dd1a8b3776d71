"""Exit: when is it right to stop? On hard cases, and where the evidence truly is absent."""

from dataclasses import dataclass, replace

import numpy as np

from . import router
from .data import Question
from .loop import case
from .router import Diagnosis
from .skills import EXIT, LABELS, Case
from .trace import Trace


def hard(traces: list[Trace]) -> list[int]:
    """The places of the hard cases: Probing-RAG spent its budget on them and is wrong.

    Source: Skill-RAG v2 §4.5. Taught in chapter 08.
    """
    return [i for i, t in enumerate(traces) if t.stopped_by == "budget" and not t.right]


def absent(question: Question) -> bool:
    """Whether no passage can answer it: certified on the Atlas; elsewhere, no gold page."""
    return question.failure == EXIT if question.failure else not question.gold_titles


def price(with_exit: list[Trace], without: list[Trace]) -> dict[str, list[int]]:
    """What exiting costs and saves, question by question: the paper's Table 2 averages these.

    For the same questions with and without the exit skill: `exits` is 1 where the loop exited,
    `lost` the ACC that it cost there, `saved` the searches that each exit saved. Source: Skill-RAG
    v2 §4.5, Table 2. Taught in chapter 08.
    """
    pairs = list(zip(with_exit, without, strict=True))
    return {
        "exits": [int(a.stopped_by == "exit") for a, _ in pairs],
        "lost": [b.right - a.right for a, b in pairs],
        "saved": [b.retrievals - a.retrievals for a, b in pairs if a.stopped_by == "exit"],
    }


def precision_recall(stopped, truth) -> tuple[float, float]:
    """The share of right stops among all stops, and among all questions that should stop.

    `stopped` and `truth` are of shape (n,), true or false. Precision is 0 where nothing stopped.
    """
    stopped, truth = np.asarray(stopped, bool), np.asarray(truth, bool)
    hits = (stopped & truth).sum()
    return float(hits / max(stopped.sum(), 1)), float(hits / max(truth.sum(), 1))


NEVER = 2.0  # a threshold that no probability reaches


@dataclass(frozen=True)
class ExitThreshold:
    """The `score` router with a dial: it exits where the exit label's probability reaches theta.

    Elsewhere it names the likeliest of the other labels. Ours; stands where a router does. Taught
    in chapter 08.
    """

    theta: float

    def __call__(self, backbone, cases: list[Case]) -> list[Diagnosis]:
        """One label a case, from one prefill each."""
        won, usages = router.gains(backbone, cases)
        stop = probability(won) >= self.theta
        named = np.where(stop, EXIT, np.array(LABELS)[won[:, :-1].argmax(1)])
        return [Diagnosis(str(label), "", u) for label, u in zip(named, usages, strict=True)]


def probability(gains: np.ndarray) -> np.ndarray:
    """The exit label's share of the four labels' likelihood gains (n, 4): shape (n,), 0 to 1."""
    odds = np.exp(gains - gains.max(1, keepdims=True))
    return odds[:, -1] / odds.sum(1)


def chances(backbone, traces: list[Trace]) -> list[list[float]]:
    """For each trace, the exit label's probability after each round at which a router was asked."""
    asked = [[case(t.question, r) for r in t.rounds if r.label] for t in traces]
    won, _ = router.gains(backbone, [c for cases in asked for c in cases])
    flat = iter(probability(won).tolist())
    return [[next(flat) for _ in cases] for cases in asked]


def doubts(traces: list[Trace]) -> list[list[float]]:
    """The rival of `chances` that costs nothing: 1 less the gate's confidence, at each of them."""
    return [[1 - r.confidence for r in t.rounds if r.label] for t in traces]


def cut(traces: list[Trace], chances: list[list[float]], theta: float) -> list[Trace]:
    """The traces of a loop that never exits, as they were had it exited at that threshold.

    The router is asked after rounds 1, 2 and so on, as long as they fail; a round that is cut off
    is not paid for. Taught in chapter 08.
    """
    return [_cut(t, its, theta) for t, its in zip(traces, chances, strict=True)]


def _cut(trace, chances, theta):
    for number, chance in enumerate(chances, 1):
        if chance >= theta:
            rounds = trace.rounds[: number + 1]
            return replace(trace, rounds=rounds, stopped_by="exit")
    return trace


def measure(traces: list[Trace]) -> dict[str, float]:
    """How a loop exits: against the questions that no passage answers, and at what price.

    The share of `exits`, their `precision`, `recall` and `f1`; `acc`, and `searches` a question.
    Taught in chapter 08.
    """
    out = [t.stopped_by == "exit" for t in traces]
    precision, recall = precision_recall(out, [absent(t.question) for t in traces])
    return {
        "exits": float(np.mean(out)),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / max(precision + recall, 1e-9),
        "acc": float(np.mean([t.right for t in traces])),
        "searches": float(np.mean([t.retrievals for t in traces])),
    }


def curve(traces: list[Trace], chances: list[list[float]], thetas=None) -> list[dict]:
    """What `measure` says of the traces of a loop that never exits, cut at each theta.

    Without `thetas`: at each chance that occurs, the smallest first. Taught in chapter 08.
    """
    if thetas is None:
        thetas = sorted({chance for its in chances for chance in its})
    return [{"theta": theta, **measure(cut(traces, chances, theta))} for theta in thetas]
