"""Exit analysis on scripted traces: every number by hand."""

import numpy as np
import pytest
from conftest import FakeBackbone, FakeGate, reply

from skillrag_lite import exits, loop, skills
from skillrag_lite.data import Passage, Question
from skillrag_lite.exits import ExitThreshold
from skillrag_lite.generation import Usage
from skillrag_lite.retrieve import BM25
from skillrag_lite.trace import Round, Trace

HIT, MISS = "Seine", "Rhine"


def trace(answers, stopped_by="budget", **how):
    """A trace with an answer a round."""
    rounds = [Round("q" if i else None, (), reply(a), 0.1, (), Usage(1), "x" if i else "")
              for i, a in enumerate(answers)]  # fmt: skip
    return Trace(Question("0", "who?", (HIT,), **how), tuple(rounds), stopped_by)


def test_hard_cases_spent_their_budget_and_are_wrong():
    traces = [trace([MISS, MISS]), trace([MISS, HIT]), trace([MISS], "sufficient")]
    assert exits.hard(traces) == [0]


def test_absent_is_certified_on_the_atlas_and_elsewhere_a_missing_gold_page():
    def asked(**how):
        return exits.absent(Question("0", "?", ("x",), **how))

    assert asked(failure="insufficient_evidence", gold_titles=()) and asked()
    assert not asked(failure="none") and not asked(gold_titles=("Paris",))
    assert not asked(failure="query_misaligned")


def test_table_two_by_hand():
    exited = [trace([MISS, MISS], "exit"), trace([MISS, HIT], "exit"), trace([MISS] * 4)]
    spent = [trace([MISS] * 4), trace([MISS, HIT, MISS]), trace([MISS] * 3 + [HIT])]
    assert exits.price(exited, spent) == {"exits": [1, 1, 0], "lost": [0, -1, 1], "saved": [2, 1]}
    assert exits.price(spent, spent)["saved"] == []


def test_precision_and_recall_by_hand():
    assert exits.precision_recall([1, 1, 1, 0], [1, 0, 0, 1]) == (pytest.approx(1 / 3), 0.5)
    assert exits.precision_recall([0, 0], [1, 0]) == (0.0, 0.0)


def scorer(chance):
    """Label likelihoods with which the exit label has that probability; alike after no case."""

    def score(prompt, options):
        if "N/A" in prompt.ask:
            return [0.0] * 4
        rest = np.log((1 - chance) / 3)
        return [rest, rest + 0.0, rest, np.log(chance)]

    return score


def test_a_curve_by_hand():
    lost = {"failure": "insufficient_evidence"}
    traces = [trace([MISS] * 4, **lost), trace([MISS, MISS, HIT], failure="none"),
              trace([HIT], "sufficient", failure="none"), trace([MISS] * 4, **lost)]  # fmt: skip
    chances = [[0.9, 0.1, 0.9], [0.5, 0.6], [], [0.2, 0.3, 0.9]]
    first, last = exits.curve(traces, chances, [0.5, exits.NEVER])
    assert first == {
        "theta": 0.5, "exits": 0.75, "precision": pytest.approx(2 / 3), "recall": 1.0,
        "f1": pytest.approx(0.8), "acc": 0.25, "searches": (1 + 1 + 0 + 3) / 4,
    }  # fmt: skip
    assert (last["exits"], last["f1"], last["acc"], last["searches"]) == (0, 0, 0.5, 2.0)
    assert exits.measure(traces) == {key: last[key] for key in last if key != "theta"}
    seen = exits.curve(traces, chances)
    assert [p["theta"] for p in seen] == [0.1, 0.2, 0.3, 0.5, 0.6, 0.9]
    assert [p["searches"] for p in seen] == sorted(p["searches"] for p in seen)


@pytest.mark.parametrize(("chance", "theta", "label"), [
    (0.5, 0.4, skills.EXIT), (0.5, 0.6, skills.LABELS[0]),
    (0.25, 0.25, skills.EXIT),  # it is enough to reach theta
])  # fmt: skip
def test_the_dial_decides_between_exit_and_the_best_other_label(chance, theta, label):
    case = skills.Case("who?", reply("Rhine"), ())
    [named] = ExitThreshold(theta)(FakeBackbone(score=scorer(chance)), [case])
    assert named.label == label and named.usage.calls == 1
    assert ExitThreshold(theta)(FakeBackbone(score=scorer(0.5)), []) == []


def test_a_cut_trace_is_the_one_that_the_loop_would_have_made():
    questions = [Question(str(i), f"river {i} of Paris?", (HIT,)) for i in range(3)]
    corpus = BM25([Passage("p", "Seine", "The Seine flows through Paris."), Passage("q", "x", "y")])

    def script(prompt):
        if prompt.shots[0][0].startswith(skills.REWRITE.instruction):
            return reply("Seine river", "so")
        number = next(i for i in range(3) if f"river {i}" in prompt.ask)
        return reply(f"answer {number}", "so", 0.1)

    def score(prompt, options):
        number = next((i for i in range(3) if f"river {i}" in prompt.ask), 0)
        return scorer((number + 1) / 4)(prompt, options)

    def run(theta):
        return loop.run(questions, FakeBackbone(script, score), corpus, FakeGate(),
                        ExitThreshold(theta))  # fmt: skip

    never = run(2.0)
    assert {t.stopped_by for t in never} == {"budget"}
    chances = exits.chances(FakeBackbone(script, score), never)
    assert chances == [pytest.approx([c, c]) for c in (0.25, 0.5, 0.75)]
    assert exits.doubts(never) == [[1 - r.confidence for r in t.rounds[1:-1]] for t in never]
    for theta in (0.2, 0.4, chances[1][0], 0.6, 0.8):
        cut = exits.cut(never, chances, theta)
        ran = run(theta)
        assert [(t.answer, t.retrievals, t.stopped_by) for t in cut] == [
            (t.answer, t.retrievals, t.stopped_by) for t in ran
        ]
        assert sum(t.stopped_by == "exit" for t in cut) == sum(c[0] >= theta for c in chances)
