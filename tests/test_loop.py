"""Skills, routers, the loop and its trace, driven through every branch by a scripted backbone."""

import json

import pytest
from conftest import HOSTILE, FakeBackbone, FakeGate, reply

from skillrag_lite import card, loop, router, skills
from skillrag_lite.data import Passage, Question
from skillrag_lite.generation import Usage
from skillrag_lite.prompts import MAX_WORDS, answer_prompt, evidence
from skillrag_lite.retrieve import BM25
from skillrag_lite.trace import Trace

PASSAGES = [
    Passage("p1", "Seine", "The Seine flows through Paris."),
    Passage("p2", "Paris", "Paris is the capital of France."),
    Passage("p3", "Rhine", "The Rhine flows through Basel and Cologne."),
]
QUESTIONS = [Question(str(i), f"question {i} about Paris", ("x",)) for i in range(4)]


def kind(prompt) -> str:
    """What a prompt asks for: an answer, a diagnosis, or a query of some skill."""
    first = prompt.shots[0][0]
    if first.startswith(router.INSTRUCTION):
        return "route"
    names = {skill.instruction: skill.name for skill in skills.SKILLS.values()}
    return next((n for text, n in names.items() if first.startswith(text)), "answer")


class Script:
    """Answers by question number and round: confidences, labels and queries as they are given."""

    def __init__(self, confidence, labels=None, queries=None):
        self.confidence, self.labels, self.queries = confidence, labels or {}, queries or {}
        self.rounds, self.kinds = {}, []

    def __call__(self, prompt):
        what = kind(prompt)
        self.kinds.append(what)
        number = next(i for i in range(4) if f"question {i}" in prompt.ask)
        if what == "answer":
            turn = self.rounds[number] = self.rounds.get(number, -1) + 1
            return reply(f"answer {turn}", f"thought {turn}", self.confidence[number][turn])
        if what == "route":
            return reply(self.labels[number].pop(0), "because")
        return reply(self.queries.get(number, f"{what} query"), "thinking")


def run(script, questions=QUESTIONS, **how):
    backbone = FakeBackbone(script)
    traces = loop.run(questions, backbone, BM25(PASSAGES), FakeGate(), router="generate", **how)
    return traces, backbone


def test_every_way_of_stopping_in_one_batch():
    rewrite, decompose, focus, leave = skills.LABELS
    script = Script(
        confidence={0: [0.9], 1: [0.1, 0.6], 2: [0.1, 0.2, 0.3, 0.4], 3: [0.1, 0.1]},
        labels={2: [rewrite, decompose], 3: [leave]},
    )
    traces, backbone = run(script)
    assert [t.stopped_by for t in traces] == ["sufficient", "sufficient", "budget", "exit"]
    assert [len(t.rounds) for t in traces] == [1, 2, 4, 2]
    assert [t.answer for t in traces] == ["answer 0", "answer 1", "answer 3", "answer 1"]
    assert [r.query for r in traces[2].rounds] == [
        None, QUESTIONS[2].question, "rewriting query", "decomposition query",
    ]  # fmt: skip
    assert [r.label for r in traces[2].rounds] == ["", rewrite, decompose, ""]
    assert traces[3].rounds[-1].label == leave
    # rounds are batched, and no call is made whose result is not used
    assert [len(prompts) for prompts in backbone.asked] == [4, 3, 2, 1, 1, 1, 1, 1]
    assert script.kinds[-1] == "answer"


def test_confidence_at_the_threshold_is_enough():
    traces, _ = run(Script({i: [0.5] for i in range(4)}))
    assert {t.stopped_by for t in traces} == {"sufficient"}


def test_a_label_that_is_none_of_the_four_is_counted_and_falls_to_the_default():
    script = Script({0: [0.1, 0.1, 0.9]}, labels={0: ["evidence_not_used, I think"]})
    traces, _ = run(script, QUESTIONS[:1])
    assert traces[0].rounds[1].label == router.UNPARSED
    assert script.kinds[-2] == skills.SKILLS[loop.DEFAULT].name


def test_an_empty_query_becomes_the_question():
    script = Script({0: [0.1, 0.1, 0.9]}, {0: ["evidence_not_used"]}, queries={0: ""})
    traces, _ = run(script, QUESTIONS[:1])
    assert traces[0].rounds[2].query == QUESTIONS[0].question


def test_the_budget_bounds_the_rounds():
    script = Script({0: [0.1, 0.1]})
    traces, backbone = run(script, QUESTIONS[:1], budget=1)
    assert traces[0].stopped_by == "budget" and script.kinds == ["answer", "answer"]


def test_costs_add_up():
    script = Script({0: [0.1, 0.1, 0.9]}, {0: ["evidence_not_used"]})
    (trace,), _ = run(script, QUESTIONS[:1])
    assert trace.usage == Usage(5, 500, 300, 10, 2.5)  # three answers, a diagnosis, a query
    assert trace.retrievals == 2


def test_no_questions_no_calls():
    traces, backbone = run(Script({}), [])
    assert traces == [] and sum(map(len, backbone.asked)) == 0


def test_the_score_router_sets_each_label_against_an_empty_case():
    bias, signal = [9.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 1.0]

    def scored(prompt, options):
        told = signal if "question 1" in prompt.ask else [0.0] * 4
        return [b + s for b, s in zip(bias, told, strict=True)]

    case = skills.Case("question 1", reply("a"), tuple(PASSAGES))
    (diagnosis,) = router.score(FakeBackbone(score=scored), [case])
    assert diagnosis.label == skills.LABELS[2]


def test_a_trace_survives_json_but_for_its_states():
    script = Script({0: [0.1, 0.1, 0.9]}, {0: ["evidence_not_used"]})
    (trace,), _ = run(script, QUESTIONS[:1])
    again = Trace.from_json(trace.to_json())
    assert again == trace and json.loads(trace.to_json())["stopped_by"] == "sufficient"
    assert again.rounds[0].generation.states == {}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_passage_changes_nothing_but_itself(text):
    passage = Passage("h", text, text)
    lines = evidence([PASSAGES[0], passage, PASSAGES[1]]).split("\n")
    assert [line[:3] for line in lines] == ["Pas", "[1]", "[2]", "[3]"]
    assert len(lines[2].split()) <= MAX_WORDS + 21 and len(lines[2]) <= 13 * (MAX_WORDS + 20)
    asked = answer_prompt("who?", [passage]).ask
    assert asked.endswith("\n\nQuestion: who?") and asked.count("\n") == 3
    case = skills.Case("who?", reply("a", "b"), (passage,))
    told = skills.query_prompt("evidence_not_used", case).ask
    assert told.endswith("\n\nQuestion: who?\nFailed reply: b Answer: a") and told.count("\n") == 4


def test_a_card_shows_every_text_as_text():
    evil = "<script>alert(1)</script>"
    question = Question("q", f"who {evil}?", ("x",))
    path = [
        loop.Round(None, (), reply(evil, evil), 0.2, (0.2,), Usage(1)),
        loop.Round(evil, (Passage("p", evil, evil),), reply(evil), 0.1, (0.1,), Usage(1),
                   evil, evil),
    ]  # fmt: skip
    trace = Trace(question, tuple(path), "budget")
    html = trace._repr_html_()
    assert "<script" not in html and html.count("&lt;script&gt;") >= 8
    assert evil in str(trace) and card.cost_line(trace).startswith("2 calls, ")


def test_few_shot_prompts_keep_questions_and_headers_apart():
    one, two = answer_prompt("who?", PASSAGES), answer_prompt("where?", PASSAGES[:1])
    assert one.shots == two.shots and len(one.shots) == 4
    assert answer_prompt("who?").shots != one.shots
    assert "Passages:" not in "".join(sum(answer_prompt("who?").shots, ()))
