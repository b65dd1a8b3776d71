"""The loop: answer, gate, retrieve, answer, gate, route, mend the query, and again.

Every round asks the backbone once for all questions that are still open.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from .data import Question
from .prompts import QA, answer_prompt
from .retrieve import TOP_K
from .router import ROUTERS
from .skills import EXIT, LABELS, SKILLS, Case, write_queries
from .trace import Round, Trace

BUDGET = 3  # rounds of retrieval (Skill-RAG v1 §4.3)
# The skill that acts where the router's label has none: one that cannot be parsed, or the exit
# when it is switched off. The authors' code rewrites the query in both cases.
DEFAULT = LABELS[0]


def run(questions: list[Question], backbone, retriever, gate, router: str | Callable = "score",
        budget: int = BUDGET, k: int = TOP_K, exit: bool = True) -> list[Trace]:  # fmt: skip
    """Answer the questions by Skill-RAG; one Trace a question, in order.

    Ends a question as `sufficient` when the gate trusts its answer, as `exit` when the router
    gives up, as `budget` when its last round is spent; no call is made whose result would not be
    used. `router` is a name of ROUTERS or stands where one of them does, as a ProbeRouter. Without
    `exit` it cannot give up: DEFAULT acts in its place.
    Source: Skill-RAG v1 §3.3, v2 §3. Taught in chapters 00 and 05.
    """
    mend = partial(_mend, backbone=backbone, router=router, exit=exit)
    return gated_rounds(questions, backbone, retriever, gate, mend, budget, k)


def gated_rounds(questions: list[Question], backbone, retriever, gate, mend: Callable,
                 budget: int = BUDGET, k: int = TOP_K) -> list[Trace]:  # fmt: skip
    """Answer, gate, search, answer, gate, mend: the rounds that Skill-RAG and Probing-RAG share.

    `mend(questions, paths, failed)` gets every question, its rounds so far, and the numbers of
    those that failed; it returns the numbers that go on, and their new queries. The others exit.
    """
    paths: list[list[Round]] = [[] for _ in questions]
    ended = {}

    def answer(open_now, queries):
        """One batched answer for the open questions; those the gate trusts are done."""
        found = retriever.search(queries, k) if queries else [[] for _ in open_now]
        asked = [questions[i].question for i in open_now]
        replies = backbone.generate(list(map(answer_prompt, asked, found)), QA)
        layers = gate.read(replies)  # (n_open, L)
        for n, i in enumerate(open_now):
            confidence = float(layers[n].mean())
            paths[i].append(Round(
                query=queries[n] if queries else None, passages=tuple(found[n]),
                generation=replies[n], usage=replies[n].usage, confidence=round(confidence, 4),
                layer_confidence=tuple(layers[n].round(4).tolist()),
            ))  # fmt: skip
            if confidence >= gate.tau:
                ended[i] = "sufficient"
        return [i for i in open_now if i not in ended]

    if not questions:
        return []
    still_open = answer(list(range(len(questions))), None)
    queries = [questions[i].question for i in still_open]
    for number in range(1, budget + 1):
        if not still_open:
            break
        still_open = answer(still_open, queries)
        if number == budget:
            ended |= dict.fromkeys(still_open, "budget")
        elif still_open:
            failed = still_open
            still_open, queries = mend(questions, paths, failed)
            ended |= dict.fromkeys(set(failed) - set(still_open), "exit")
    return [Trace(q, tuple(paths[i]), ended[i]) for i, q in enumerate(questions)]


def case(question: Question, failed: Round) -> Case:
    """What router and skills get to see of a round that failed."""
    return Case(question.question, failed.generation, failed.passages)


def _mend(questions, paths, failed, backbone, router, exit):
    """Diagnose the failed questions, and let each one's skill write its next query."""
    cases = {i: case(questions[i], paths[i][-1]) for i in failed}
    route = router if callable(router) else ROUTERS[router]
    for i, diagnosis in zip(failed, route(backbone, list(cases.values())), strict=True):
        _note(paths[i], diagnosis.usage, label=diagnosis.label, diagnosis=diagnosis.sentence)
    going = [i for i in failed if not (exit and paths[i][-1].label == EXIT)]
    labels = [paths[i][-1].label for i in going]
    labels = [label if label in SKILLS else DEFAULT for label in labels]
    written = write_queries(backbone, labels, [cases[i] for i in going])
    for i, reply in zip(going, written, strict=True):
        _note(paths[i], reply.usage)
    return going, [w.answer or questions[i].question for i, w in zip(going, written, strict=True)]


def _note(path: list[Round], usage, **facts) -> None:
    """Add a call's cost, and what it found, to the newest round."""
    path[-1] = replace(path[-1], usage=path[-1].usage + usage, **facts)
