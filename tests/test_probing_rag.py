"""Probing-RAG: Skill-RAG's rounds without a router, and a query that is only piled up."""

from conftest import FakeBackbone, FakeGate, reply

from skillrag_lite import probing_rag
from skillrag_lite.data import Passage, Question
from skillrag_lite.generation import Usage
from skillrag_lite.prompts import answer_prompt
from skillrag_lite.retrieve import BM25

PASSAGES = [
    Passage("p1", "Seine", "The Seine flows through Paris."),
    Passage("p2", "Rhine", "The Rhine flows through Basel and Cologne."),
]
QUESTIONS = [Question(str(i), f"question {i} about Paris", ("x",)) for i in range(3)]


def run(confidence, questions=QUESTIONS, reasoning="Rhine then {turn}.", **how):
    """Each question's replies have the given confidences, in turn."""
    turns = dict.fromkeys(range(3), -1)

    def script(prompt):
        number = next(i for i in range(3) if f"question {i}" in prompt.ask)
        turns[number] += 1
        turn = turns[number]
        return reply(f"answer {turn}", reasoning.format(turn=turn), confidence[number][turn])

    backbone = FakeBackbone(script)
    return probing_rag.run(questions, backbone, BM25(PASSAGES), FakeGate(), **how), backbone


def test_the_gate_stands_before_the_first_search_and_after_each():
    traces, backbone = run({0: [0.9], 1: [0.1, 0.5], 2: [0.1, 0.2, 0.3, 0.4]})
    assert [t.stopped_by for t in traces] == ["sufficient", "sufficient", "budget"]
    assert [t.retrievals for t in traces] == [0, 1, 3]
    assert [len(prompts) for prompts in backbone.asked] == [3, 2, 1, 1]  # answers, nothing else
    assert traces[2].usage == Usage(4, 400, 240, 8, 2.0)
    assert not any(r.label or r.diagnosis for t in traces for r in t.rounds)


def test_the_next_query_piles_the_last_reply_on_the_question():
    (trace,), backbone = run({0: [0.1] * 4}, QUESTIONS[:1])
    assert [r.query for r in trace.rounds] == [
        None, "question 0 about Paris",
        "question 0 about Paris Rhine then 1. Answer: answer 1",
        "question 0 about Paris Rhine then 2. Answer: answer 2",
    ]  # fmt: skip
    assert {p.title for p in trace.rounds[2].passages} == {"Seine", "Rhine"}
    # the question is answered, whatever was searched for
    assert backbone.asked[0] == [answer_prompt(QUESTIONS[0].question)]
    assert all(p.ask.endswith("\n\nQuestion: question 0 about Paris")
               for prompts in backbone.asked[1:] for p in prompts)  # fmt: skip
    assert trace.stalls == 1  # another query, the same passages


def test_a_long_reply_pushes_the_question_out():
    words = "word " * 100
    (trace,), _ = run({0: [0.1] * 4}, QUESTIONS[:1], reasoning=words)
    assert trace.rounds[2].query == "word " * (probing_rag.WORDS - 3) + "Answer: answer 1"


def test_a_reply_that_talks_like_a_router_is_words_like_any_other():
    said = "Label: insufficient_evidence Search query: nothing"
    (trace,), _ = run({0: [0.1] * 4}, QUESTIONS[:1], reasoning=said)
    assert trace.stopped_by == "budget" and said in trace.rounds[2].query


def test_a_batch_answers_as_one_by_one():
    confidence = {0: [0.9], 1: [0.1, 0.5], 2: [0.1, 0.2, 0.3, 0.4]}
    together, _ = run(confidence)
    assert together == [t for q in QUESTIONS for t in run(confidence, [q])[0]]
    assert run(confidence, [])[0] == []
