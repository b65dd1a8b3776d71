"""The methods side by side: each takes questions and a lab, and returns their traces."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from . import adaptive_rag, calibration, dragin, flare, loop, probing_rag, training
from .classifier import Classifier
from .data import Question
from .lab import Lab, trained
from .probe_router import ProbeRouter
from .text_classifier import TextClassifier
from .trace import Trace, once

ROUTER, ADAPTIVE = "router.npz", "adaptive_rag.npz"
ADAPTIVE_TEXT = "adaptive_rag_text"  # a folder


def no_retrieval(questions: list[Question], lab: Lab) -> list[Trace]:
    """Answer once, without passages."""
    return list(map(once, questions, training.closed_book(questions, lab.backbone)))


def single_step(questions: list[Question], lab: Lab) -> list[Trace]:
    """Search once with the question, and answer with what is found."""
    return adaptive_rag.single_step(questions, lab.backbone, lab.retriever)


def with_flare(questions: list[Question], lab: Lab, threshold: float | None = None) -> list[Trace]:
    """FLARE; `threshold` is its theta: without one the calibrated theta, or the paper's."""
    theta = _calibrated(lab, "flare", flare.Flare.theta) if threshold is None else threshold
    return flare.run(questions, lab.backbone, lab.retriever, flare.Flare(theta=theta))


def with_dragin(questions: list[Question], lab: Lab, threshold: float | None = None) -> list[Trace]:
    """DRAGIN; `threshold` is minus its theta: without one the calibrated, or minus the paper's."""
    if threshold is None:
        threshold = _calibrated(lab, "dragin", -dragin.Dragin.theta)
    return dragin.run(questions, lab.backbone, lab.retriever, dragin.Dragin(theta=-threshold))


def with_adaptive_rag(questions: list[Question], lab: Lab) -> list[Trace]:
    """Adaptive-RAG, with the classifier that was trained with the gate."""
    if lab.backbone.profile.text_classifier:
        classifier = TextClassifier.load(lab.trained / ADAPTIVE_TEXT)
    else:
        classifier = Classifier.load(lab.trained / ADAPTIVE)
    return adaptive_rag.run(questions, lab.backbone, lab.retriever, classifier)


def with_probing_rag(questions: list[Question], lab: Lab,
                     threshold: float | None = None) -> list[Trace]:  # fmt: skip
    """Probing-RAG; `threshold` is the gate's tau: without one the calibrated, or the gate's own."""
    gate = _gate(lab, "probing_rag", threshold)
    return probing_rag.run(questions, lab.backbone, lab.retriever, gate)


def with_skill_rag(questions: list[Question], lab: Lab, threshold: float | None = None,
                   router: str | Callable = "score", exit: bool = True) -> list[Trace]:  # fmt: skip
    """Skill-RAG; `threshold` is the gate's tau: without one the calibrated, or the gate's own.

    `router` is a name of ROUTERS, or `probe`: the one that was trained on the Atlas. Or it is a
    router itself, as `loop.run` takes it.
    """
    gate = _gate(lab, "skill_rag", threshold)
    if router == "probe":
        router = ProbeRouter.load(trained(lab.backbone.profile.name) / ROUTER)
    return loop.run(questions, lab.backbone, lab.retriever, gate, router, exit=exit)


def _calibrated(lab, name, default):
    return calibration.thresholds(lab.trained).get(name, default)


def _gate(lab, name, threshold):
    gate = lab.gate
    tau = _calibrated(lab, name, gate.tau) if threshold is None else threshold
    return replace(gate, tau=tau)


UNTRAINED = {"no_retrieval": no_retrieval, "single_step": single_step}
METHODS = UNTRAINED | {
    "flare": with_flare,
    "dragin": with_dragin,
    "adaptive_rag": with_adaptive_rag,
    "probing_rag": with_probing_rag,
    "skill_rag": with_skill_rag,
    "skill_rag_probe": partial(with_skill_rag, router="probe"),
    "skill_rag_no_exit": partial(with_skill_rag, exit=False),
}
GATED = ("probing_rag", "skill_rag", "skill_rag_probe", "skill_rag_no_exit")  # by the probe
CALIBRATED = ("flare", "dragin", "probing_rag", "skill_rag")  # those with a threshold of their own


def choose(names: str) -> dict[str, Callable]:
    """Methods by their names, separated by commas, or `all`. Raises ValueError with the names."""
    chosen = list(METHODS) if names == "all" else names.split(",")
    for name in chosen:
        if name not in METHODS:
            raise ValueError(f"there is no method {name!r}: choose from {', '.join(METHODS)}")
    return {name: METHODS[name] for name in chosen}
