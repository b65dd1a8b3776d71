"""The third router: it reads the failure from the failed reply's hidden states, without a call."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .classifier import Classifier, fit
from .data import Question
from .generation import Generation, Usage
from .probe import stack
from .router import Diagnosis
from .scores import acc
from .skills import LABELS, Case
from .trace import Trace


@dataclass(frozen=True)
class ProbeRouter:
    """A linear map from the failure state to one of the four labels; stands where a router does.

    The failure state is the failed reply's pooled residual stream, which is there already: no
    call is made and nothing is spent, as both versions of Skill-RAG claim of their router, whose
    prompts are calls. It is trained on failures of the first retrieval; later rounds show it
    passages of other queries. That states tell kinds of error apart: Orgad et al. 2024 (arXiv
    2410.02707). Taught in chapter 04.
    """

    classifier: Classifier

    def __call__(self, backbone, cases: list[Case]) -> list[Diagnosis]:
        """One label a case, no sentence, no usage. `backbone` is not asked."""
        if not cases:
            return []
        labels = self.classifier.predict(stack([case.reply for case in cases]))
        return [Diagnosis(label, "", Usage()) for label in labels]

    def save(self, path: str | Path) -> None:
        """Write the router as one .npz file."""
        self.classifier.save(path)

    @classmethod
    def load(cls, path: str | Path) -> "ProbeRouter":
        """The router that `save` wrote. Raises as Classifier.load, and where it knows no skill."""
        classifier = Classifier.load(path)
        if not set(classifier.labels) <= set(LABELS):
            raise ValueError(f"{path} holds a classifier of {classifier.labels}, not a router")
        return cls(classifier)


def train(questions: list[Question], replies: list[Generation],
          dev_questions: list[Question], dev_replies: list[Generation]) -> ProbeRouter:  # fmt: skip
    """Learn the certified failure types from single-step replies that were wrong (ACC).

    Replies that are wrong although all pages were found (certified `none`) have no skill that
    would mend them and are left out, as are questions without a certified type. Raises ValueError
    where fewer than two types are left. Taught in chapter 04.
    """
    return ProbeRouter(fit(*failures(questions, replies), *failures(dev_questions, dev_replies)))


def failures(questions: list[Question], replies: list[Generation]) -> tuple[np.ndarray, list[str]]:
    """The states (n_failures, L, d_model) and certified types of the failures that have one."""
    failed = [
        (reply, question.failure)
        for question, reply in zip(questions, replies, strict=True)
        if _failed(question, reply.answer)
    ]
    if not failed:
        raise ValueError("no question with a certified failure type was answered wrongly")
    return stack([reply for reply, _ in failed]), [label for _, label in failed]


def certified(traces: list[Trace]) -> list[Trace]:
    """The traces of single-step retrieval that failed, of questions with a certified type."""
    return [trace for trace in traces if _failed(trace.question, trace.answer)]


def _failed(question, answer):
    return question.failure in LABELS and not acc(answer, question.answers)
