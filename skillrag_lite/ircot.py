"""IRCoT: retrieve, think one line, and let that line be the next query."""

from dataclasses import dataclass

from .data import Question
from .loop import BUDGET
from .prompts import QA, answer_prompt
from .retrieve import TOP_K
from .scores import normalise
from .trace import Round, Trace


@dataclass(frozen=True)
class IRCoTConfig:
    """How far a chain goes: passages a step, steps (at least one), passages in all.

    At the defaults a chain ends with nine passages, some 2,000 tokens of at most 150 words each;
    fifteen are some 3,500.
    """

    k: int = TOP_K  # the book's; Adaptive-RAG's runs of IRCoT take 6
    budget: int = BUDGET  # the book's, the same for every method
    most: int = 15  # IRCoT, and Adaptive-RAG's runs of it


def run(questions: list[Question], backbone, retriever,
        config: IRCoTConfig = IRCoTConfig()) -> list[Trace]:  # fmt: skip
    """Answer the questions by interleaving retrieval with thought; one Trace a question, in order.

    Each step adds what its query finds to the passages so far, and asks for one line of thought
    and an answer; the first query is the question, later ones the newest thought. So each answer
    rests on all passages, and the last one stands. Where the paper's thoughts add up in the
    prompt, ours is thought anew each step, in the reply format of every method.

    Ends a question as `sufficient` when an answer repeats the one before it, or when a thought
    brings no new passage (that search makes no round); as `budget` when its steps are spent.
    Source: Trivedi et al. 2023 (arXiv 2212.10509, §3). Taught in chapter 06.
    """
    paths: list[list[Round]] = [[] for _ in questions]
    ended = {}
    queries = {i: q.question for i, q in enumerate(questions)}  # of those that are still open
    for _ in range(config.budget):
        shown = {}
        found = retriever.search(list(queries.values()), config.k)
        for i, passages in zip(queries, found, strict=True):
            before = paths[i][-1].passages if paths[i] else ()
            new = [p for p in passages if p not in before]
            shown[i] = (*before, *new)[: config.most]
            if paths[i] and shown[i] == before:
                ended[i] = "sufficient"
                del shown[i]
        if not shown:
            break

        prompts = [answer_prompt(questions[i].question, passages) for i, passages in shown.items()]
        replies = backbone.generate(prompts, QA)
        for i, reply in zip(shown, replies, strict=True):
            paths[i].append(Round(queries[i], shown[i], reply, 0.0, (), reply.usage))
            if len(paths[i]) > 1 and _agree(reply, paths[i][-2].generation):
                ended[i] = "sufficient"
        queries = {
            i: reply.reasoning or questions[i].question
            for i, reply in zip(shown, replies, strict=True)
            if i not in ended
        }
    return [Trace(q, tuple(paths[i]), ended.get(i, "budget")) for i, q in enumerate(questions)]


def _agree(one, other) -> bool:
    return normalise(one.answer) == normalise(other.answer) != ""
