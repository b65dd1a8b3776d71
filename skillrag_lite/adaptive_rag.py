"""Adaptive-RAG: judge how hard a question is before answering it, and spend no more than that."""

from dataclasses import replace

from . import ircot
from .classifier import Classifier, fit
from .data import Question
from .generation import Decoding, Generation, Usage
from .probe import stack
from .prompts import answer_prompt
from .scores import acc
from .text_classifier import TextClassifier
from .trace import Trace, once
from .training import closed_book

A, B, C = "ABC"  # no retrieval, one step, many steps: from the cheapest to the dearest
SINGLE_HOP = ("single", "trivia")  # the Atlas's families; the benchmarks name multi-hop ones only

# The question is read, and the first word of a reply begun. A token has a state only once it is
# fed back, which the forced mark behind it sees to; so the pool `all` is that one token's state.
READ = Decoding(max_new_tokens=1, answer_tokens=1, stop=())


def silver(questions: list[Question], none, single, multi, bias: str | None = None) -> list[str]:
    """Label each question with the cheapest strategy that answered it correctly (ACC).

    `none`, `single` and `multi` are the three strategies' replies or traces, question by question.
    Where all three failed stands the bias label: `bias` where it is given, else B for the
    single-hop families and C for the others. Raises ValueError where such a question has neither.
    Source: Jeong et al. 2024 (arXiv 2403.14403, §3.2). Taught in chapter 06.
    """
    labels = []
    for question, *replies in zip(questions, none, single, multi, strict=True):
        right = (acc(reply.answer, question.answers) for reply in replies)
        solved = [label for label, it_is in zip((A, B, C), right, strict=True) if it_is]
        labels.append(solved[0] if solved else bias or _bias(question))
    return labels


def label(questions: list[Question], none, single, backbone, retriever,
          bias: str | None = None) -> list[str]:  # fmt: skip
    """The silver labels from the two cheaper strategies' replies; IRCoT runs where both failed."""
    unsolved = [
        i for i, (question, *replies) in enumerate(zip(questions, none, single, strict=True))
        if not any(acc(reply.answer, question.answers) for reply in replies)
    ]  # fmt: skip
    chains = ircot.run([questions[i] for i in unsolved], backbone, retriever)
    multi = dict(enumerate(none)) | dict(zip(unsolved, chains, strict=True))
    return silver(questions, none, single, multi.values(), bias)


def _bias(question: Question) -> str:
    if question.family is None:
        raise ValueError(
            f"question {question.id!r} names no family, and no strategy answered it: pass "
            "bias='B' for a single-hop dataset, bias='C' for a multi-hop one"
        )
    return B if question.family in SINGLE_HOP else C


def read(questions: list[Question], backbone) -> list[Generation]:
    """Read the closed-book prompts; the replies' pool `all` holds the question states."""
    return backbone.generate([answer_prompt(q.question) for q in questions], READ)


def train(states, labels, dev_states, dev_labels) -> Classifier:
    """Learn the silver labels from question states (N, L, d_model), as `stack(read(…))` has them.

    A logistic regression on what the answering model itself knows. The paper's classifier is a
    T5-large on the question's text, a second model to load and train: `text_classifier.fit`, for
    the profiles that name one. Raises ValueError where train shows one label only.
    Source: Adaptive-RAG §3.2. Taught in chapter 06.
    """
    return fit(states, labels, dev_states, dev_labels)


def run(questions: list[Question], backbone, retriever,
        classifier: Classifier | TextClassifier) -> list[Trace]:  # fmt: skip
    """Answer each question by the strategy that it is judged to need; one Trace each, in order.

    A ends `sufficient`, closed book; B `budget`, its one step spent; C as IRCoT ends. The first
    round's usage holds the call that read the question for a Classifier. A TextClassifier needs
    no call of the answering model, and its own passes are not counted. Source: Adaptive-RAG §3.2.
    Taught in chapter 06.
    """
    if not questions:
        return []
    if isinstance(classifier, TextClassifier):
        chosen = classifier.predict([q.question for q in questions])
        spent = [Usage()] * len(questions)
    else:
        looks = read(questions, backbone)
        chosen = classifier.predict(stack(looks))
        spent = [look.usage for look in looks]
    traces: dict[int, Trace] = {}
    for strategy in (A, B, C):
        its = [i for i, label in enumerate(chosen) if label == strategy]
        if its:
            answered = ARMS[strategy]([questions[i] for i in its], backbone, retriever)
            traces |= zip(its, answered, strict=True)
    return [_with_cost(traces[i], usage) for i, usage in enumerate(spent)]


def no_retrieval(questions, backbone, _) -> list[Trace]:
    """Arm A: the closed-book answer stands."""
    replies = closed_book(questions, backbone)
    return [
        once(q, reply, stopped_by="sufficient") for q, reply in zip(questions, replies, strict=True)
    ]


def single_step(questions, backbone, retriever) -> list[Trace]:
    """Arm B: one step of the chain, which is single-step retrieval."""
    return ircot.run(questions, backbone, retriever, ircot.IRCoTConfig(budget=1))


ARMS = {A: no_retrieval, B: single_step, C: ircot.run}


def _with_cost(trace: Trace, usage) -> Trace:
    first, *later = trace.rounds
    return replace(trace, rounds=(replace(first, usage=first.usage + usage), *later))
