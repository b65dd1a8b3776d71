"""The four conditions, driven by a scripted backbone, and the parsing of what a model invents."""

import pytest
from conftest import FakeBackbone, reply

from skillrag_lite import conditions, router, skills
from skillrag_lite.data import Passage, Question
from skillrag_lite.generation import Usage
from skillrag_lite.retrieve import BM25
from skillrag_lite.trace import Round, Trace

RIVERS = ("Seine", "Rhine", "Oder", "Elbe", "Main")
CORPUS = BM25([Passage(name, name, f"The {name} is long.") for name in RIVERS])
LABELS = ["evidence_not_used", skills.EXIT, router.UNPARSED]
LISTED = """Here you are:
1. Use fewer words than before.
2) Widen the net: search for the country.
3. Use fewer words than before.
- a line without a number
4. no"""

SKILLS = ["Use fewer words than before.", "Widen the net: search for the country."]


def asked(number):
    question = Question(str(number), f"question {number}", ("x",))
    last = Round("q", (Passage("p", "t", "u"),), reply(f"old {number}"), 0.1, (), Usage(1))
    return Trace(question, (Round(None, (), reply("?"), 0.1, (), Usage(1)), last), "budget")


def script(prompt):
    if not prompt.shots:
        return reply(LISTED, mark="")
    first = prompt.shots[0][0]
    if "give one label" in first:
        return reply("anything", "the Rhine is missing")
    if first.startswith(skills.FOCUS.instruction):
        return reply("Oder", "so")
    if first.startswith("Use fewer words"):
        return reply("Elbe", "so")
    if first.startswith("Widen the net"):
        return reply("Main", "so")
    found = next((name for name in RIVERS if f"{name}:" in prompt.ask), "nothing")
    return reply(f"new {found}")


def test_each_condition_searches_with_its_own_query():
    def fit(prompt, options):
        assert options == [f" {skill}" for skill in SKILLS]
        return [0.0, 1.0 if "question 1" in prompt.ask else -1.0]

    traces = [asked(i) for i in range(3)]
    route = lambda backbone, cases: [  # noqa: E731
        router.Diagnosis(label, "", Usage()) for label, _ in zip(LABELS, cases, strict=True)
    ]
    found = conditions.run(traces, FakeBackbone(script, fit), CORPUS, route)
    said = {name: [r.answer for r in its.replies] for name, its in found.items()}
    assert said == {
        "A": ["old 0", "old 1", "old 2"],
        "B": ["new Rhine"] * 3,
        "C": ["new Oder", "old 1", "old 2"],  # an exit, and a label that is none, change nothing
        "D": ["new Elbe", "new Main", "new Elbe"],
    }
    assert found["C"].actions == LABELS
    assert found["D"].actions == [SKILLS[0], SKILLS[1], SKILLS[0]]


def test_what_is_no_skill_is_left_out_and_each_counts_once():
    invented = conditions.invent(FakeBackbone(script))
    assert [skill.name for skill in invented] == SKILLS
    assert [skill.instruction for skill in invented] == SKILLS
    assert len(conditions.invent(FakeBackbone(script), n=1)) == 1


@pytest.mark.parametrize("said", ["", "Answer: Rome", "x" * 5000, "1.:\n" * 99])
def test_a_model_that_invents_nothing_is_told_so(said):
    silent = FakeBackbone(lambda _: reply(said, mark=""))
    assert conditions.invent(silent) == []
    with pytest.raises(ValueError, match="invented no skill"):
        conditions.run([asked(0)], silent, CORPUS, route=None)
