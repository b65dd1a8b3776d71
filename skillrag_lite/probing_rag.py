"""Probing-RAG: the same gate at the same two places, and a next query that is only piled up."""

from .data import Question
from .loop import BUDGET, gated_rounds
from .retrieve import TOP_K
from .trace import Trace

# Of the question and the reply together; neither paper gives a length. The reply may have 88
# tokens, so that a long one pushes the question out: the drift of Skill-RAG's case study.
WORDS = 64


def run(questions: list[Question], backbone, retriever, gate,
        budget: int = BUDGET, k: int = TOP_K) -> list[Trace]:  # fmt: skip
    """Answer the questions by Probing-RAG; one Trace a question, in order.

    Ends as `sufficient` when the gate trusts an answer, else as `budget`: it cannot exit.
    Source: Probing-RAG (Baek et al. 2024, arXiv 2410.13339) §3; its queries as Skill-RAG v1
    §4.4 describes them. Taught in chapter 06.
    """
    return gated_rounds(questions, backbone, retriever, gate, _concatenate, budget, k)


def _concatenate(questions, paths, failed):
    """Every failed question goes on, searching for the last words of all that was said."""
    said = [f"{questions[i].question} {paths[i][-1].generation.text}" for i in failed]
    return failed, [" ".join(text.split()[-WORDS:]) for text in said]
