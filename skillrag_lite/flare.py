"""FLARE: look one sentence ahead; where a word of it is doubtful, search and write it again."""

import re
from dataclasses import dataclass

import numpy as np

from . import retrieve
from .attended import words
from .data import Question
from .generation import ANSWER, Generation
from .loop import BUDGET
from .resume import continue_from
from .trace import Round, Trace
from .training import closed_book

END = re.compile(r"(\w{3}|[a-z\d]{2})[.!?]$")  # the full stop of "J." or "Dr." ends no sentence


@dataclass(frozen=True)
class Flare:
    """FLARE's two thresholds on a token's probability."""

    theta: float = 0.8  # any token below it triggers a search (the paper's, 2WikiMultihopQA)
    mask: float = 0.4  # words with a token below it are left out of the query (the paper's beta)


def run(questions: list[Question], backbone, retriever, config: Flare = Flare(),
        budget: int = BUDGET, k: int = retrieve.TOP_K) -> list[Trace]:  # fmt: skip
    """Answer the questions by FLARE; one Trace a question, in order.

    The closed-book reply is the first look-ahead. The paper searches once before it; here, as in
    the baseline of the Skill-RAG authors, the trigger decides about every search, so that its
    retrieval rate can be calibrated. The first open sentence with a doubtful token, less its
    improbable words, is the query. The reply is written again from there on, with the passages:
    its first sentence stands without a second look, the rest is the next look-ahead. The answer
    line counts as the last sentence; a batch of answer lines is asked for apart from the others.

    A round's `confidence` is the lowest probability that the trigger saw, 1 where nothing was left
    to look at. Ends as `sufficient` when nothing is in doubt, else as `budget`. A search that finds
    the same passages again settles its sentence all the same.
    Source: FLARE (Jiang et al. 2023) §3.2, the direct variant. Taught in chapter 06.
    """
    drafts = closed_book(questions, backbone)
    settled = [0] * len(questions)  # how many tokens of each draft stand
    paths: list[list[Round]] = [[] for _ in questions]
    queries, found = {}, {}
    still_open = range(len(questions))
    for number in range(budget + 1):
        doubts = {}
        for i in still_open:
            doubt, lowest = look_ahead(drafts[i], settled[i], config.theta)
            paths[i].append(Round(
                query=queries.get(i), passages=tuple(found.get(i, ())), generation=drafts[i],
                usage=drafts[i].usage, confidence=round(lowest, 4), layer_confidence=(),
            ))  # fmt: skip
            if doubt:
                doubts[i] = doubt
        if not doubts or number == budget:
            break
        queries = {
            i: query(drafts[i], span, config.mask) or questions[i].question
            for i, span in doubts.items()
        }
        found = dict(zip(doubts, retriever.search(list(queries.values()), k), strict=True))
        asked = [
            (questions[i].question, drafts[i], start, found[i]) for i, (start, _) in doubts.items()
        ]
        still_open = list(doubts)
        for i, draft in zip(still_open, continue_from(backbone, asked), strict=True):
            start, _ = doubts[i]
            drafts[i] = draft
            settled[i] = next(end for begin, end in sentences(draft) if begin >= start)
    return [
        Trace(q, tuple(paths[i]), "budget" if i in doubts else "sufficient")
        for i, q in enumerate(questions)
    ]


def sentences(draft: Generation) -> list[tuple[int, int]]:
    """Each sentence as its (first, last + 1) token; the answer line is the last."""
    written = draft.tokens[: draft.answer_start]
    room = len("".join(written).partition(ANSWER)[0].rstrip())  # a mark is no part of a sentence
    spans, start, text = [], 0, ""
    for end, token in enumerate(written, 1):
        if len(text) >= room:
            break
        text += token
        if END.search(text) or len(text) >= room:
            spans.append((start, end))
            start = end
    return [*spans, (draft.answer_start, len(draft.tokens))]


def look_ahead(draft: Generation, settled: int, theta: float):
    """The first sentence after the settled tokens that holds a token of p < theta, or None.

    And the lowest probability that was seen on the way.
    """
    probabilities, lowest = np.exp(draft.logprobs), 1.0
    for start, end in sentences(draft):
        if start >= settled:
            lowest = min([lowest, *probabilities[start:end].tolist()])
            if lowest < theta:
                return (start, end), lowest
    return None, lowest


def query(draft: Generation, span: tuple[int, int], mask: float) -> str:
    """The sentence without its words that hold a token of p < mask; empty where none is left.

    The paper masks tokens. A word is several of them here, and a masked one would leave a stump,
    which finds nothing.
    """
    tokens, probabilities = draft.tokens[slice(*span)], np.exp(draft.logprobs[slice(*span)])
    sure = [word for word in words(tokens) if probabilities[word.start : word.stop].min() >= mask]
    kept = "".join(token for word in sure for token in tokens[word.start : word.stop])
    return " ".join(kept.split()) if retrieve.tokens(kept) else ""
