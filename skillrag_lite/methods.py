"""The methods side by side: each takes questions and a lab, and returns their traces."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from . import calibration, dragin, flare, loop, probing_rag, training
from .data import Question
from .lab import RECORDINGS, Lab
from .probe_router import ProbeRouter
from .prompts import QA, answer_prompt
from .trace import Round, Trace

ROUTER = "router.npz"


def no_retrieval(questions: list[Question], lab: Lab) -> list[Trace]:
    """Answer once, without passages."""
    replies = training.closed_book(questions, lab.backbone)
    asked = zip(questions, replies, strict=True)
    return [_once(question, None, (), reply) for question, reply in asked]


def single_step(questions: list[Question], lab: Lab) -> list[Trace]:
    """Search once with the question, and answer with what is found."""
    found = lab.retriever.search([q.question for q in questions])
    prompts = [answer_prompt(q.question, f) for q, f in zip(questions, found, strict=True)]
    asked = zip(questions, found, lab.backbone.generate(prompts, QA), strict=True)
    return [_once(question, question.question, tuple(f), reply) for question, f, reply in asked]


def _once(question, query, passages, reply) -> Trace:
    """The trace of a method that asks once and decides nothing."""
    return Trace(question, (Round(query, passages, reply, 0.0, (), reply.usage),), "budget")


def with_flare(questions: list[Question], lab: Lab, threshold: float | None = None) -> list[Trace]:
    """FLARE; `threshold` is its theta: without one the profile's calibrated, or the paper's."""
    theta = _calibrated(lab, "flare", flare.Flare.theta) if threshold is None else threshold
    return flare.run(questions, lab.backbone, lab.retriever, flare.Flare(theta=theta))


def with_dragin(questions: list[Question], lab: Lab, threshold: float | None = None) -> list[Trace]:
    """DRAGIN; `threshold` is minus its theta: without one the profile's, or minus the paper's."""
    if threshold is None:
        threshold = _calibrated(lab, "dragin", -dragin.Dragin.theta)
    return dragin.run(questions, lab.backbone, lab.retriever, dragin.Dragin(theta=-threshold))


def with_probing_rag(questions: list[Question], lab: Lab,
                     threshold: float | None = None) -> list[Trace]:  # fmt: skip
    """Probing-RAG; `threshold` is the gate's tau: without one, that which came with it."""
    return probing_rag.run(questions, lab.backbone, lab.retriever, _gate(lab, threshold))


def with_skill_rag(questions: list[Question], lab: Lab, threshold: float | None = None,
                   router: str = "score", exit: bool = True) -> list[Trace]:  # fmt: skip
    """Skill-RAG; `threshold` is the gate's tau: without one, that which came with it.

    `router` is a name of ROUTERS, or `probe`: the one that was trained with this profile.
    """
    gate = _gate(lab, threshold)
    if router == "probe":
        router = ProbeRouter.load(RECORDINGS / lab.backbone.profile.name / ROUTER)
    return loop.run(questions, lab.backbone, lab.retriever, gate, router, exit=exit)


def _calibrated(lab, name, papers):
    return calibration.load(RECORDINGS / lab.backbone.profile.name).get(name, papers)


def _gate(lab, threshold):
    return lab.gate if threshold is None else replace(lab.gate, tau=threshold)


METHODS = {
    "no_retrieval": no_retrieval,
    "single_step": single_step,
    "flare": with_flare,
    "dragin": with_dragin,
    "probing_rag": with_probing_rag,
    "skill_rag": with_skill_rag,
    "skill_rag_no_exit": partial(with_skill_rag, exit=False),
}
ROUTED = ("skill_rag", "skill_rag_no_exit")


def choose(names: str, router: str = "score") -> dict[str, Callable]:
    """Methods by their names, separated by commas, or `all`; `router` is for those that route.

    Raises ValueError with the names that there are.
    """
    chosen = list(METHODS) if names == "all" else names.split(",")
    for name in chosen:
        if name not in METHODS:
            raise ValueError(f"there is no method {name!r}: choose from {', '.join(METHODS)}")
    table = METHODS | {name: partial(METHODS[name], router=router) for name in ROUTED}
    return {name: table[name] for name in chosen}
