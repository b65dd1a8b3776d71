"""What a results file keeps of traces, and the efficiency figures made of it, by hand."""

import pytest
from conftest import reply

from skillrag_lite import efficiency, exits, outcomes
from skillrag_lite.data import Question
from skillrag_lite.generation import Usage
from skillrag_lite.outcomes import Outcome
from skillrag_lite.trace import Round, Trace

LABELS = ("query_misaligned", "multi_hop_missing", "unparsed")


def trace(answer, stopped_by, labels=(), **how):
    """A trace that searched once a label and once more, and ends with the answer."""
    rounds = [Round(None, (), reply("Rhine"), 0.1, (), Usage(1))]
    rounds += [Round("q", (), reply("Rhine"), 0.1, (), Usage(1), label) for label in labels]
    rounds.append(Round("q", (), reply(answer), 0.1, (), Usage(1)))
    return Trace(Question("0", "who?", ("Seine",), **how), tuple(rounds), stopped_by)


TRACES = [
    trace("Seine", "sufficient", gold_titles=("Paris",)),
    trace("the Seine river", "exit", LABELS[:1]),
    trace("Elbe", "budget", LABELS, failure="multi_hop_missing"),
    trace("Elbe", "exit", ["insufficient_evidence"], failure="insufficient_evidence"),
]


def test_a_word_a_question_and_back():
    kept = outcomes.of(TRACES)
    words = outcomes.pack(kept)
    assert words == "2s1 1e2q? 0b4qmu 0e2i?"
    assert outcomes.unpack(words) == kept
    rows = [{"method": "flare", "outcomes": words}, {"method": "dragin", "outcomes": "2s1"}]
    assert outcomes.by_method(rows) == {"flare": kept, "dragin": kept[:1]}
    assert [o.right for o in kept] == [t.right for t in TRACES] == [1, 1, 0, 0]
    assert [o.exact for o in kept] == [1, 0, 0, 0]
    assert outcomes.unpack("") == [] and outcomes.unpack("0b12")[0].retrievals == 12
    for word in ("3s1", "1x1", "1s", "1s1Q", "1s1?q"):
        with pytest.raises(ValueError, match="no outcome"):
            outcomes.unpack(word)


def test_outcomes_stand_where_traces_do():
    kept = outcomes.of(TRACES)
    assert exits.hard(kept) == exits.hard(TRACES) == [2]
    assert exits.price(kept, kept[::-1]) == exits.price(TRACES, TRACES[::-1])


def outcome(right, searches, *labels):
    return Outcome(right, 0, "budget", searches, labels, False)


def test_gain_and_saving_by_hand():
    ours = [outcome(1, 1), outcome(0, 2), outcome(1, 0), outcome(1, 3)]
    theirs = [outcome(1, 2), outcome(1, 2), outcome(0, 3), outcome(0, 3)]
    found = efficiency.against(ours, theirs)
    assert found["gain"][0] == 0.25 and found["saved"][0] == 1.0
    assert found["gain"][1] < 0.25 < found["gain"][2]
    assert efficiency.against(ours, ours) == {"gain": (0, 0, 0), "saved": (0, 0, 0)}
    with pytest.raises(ValueError):
        efficiency.against(ours, theirs[1:])


def test_shares_and_the_panel_by_hand():
    ours = [outcome(1, 2, "a", "b"), outcome(0, 3, "b", "b")]
    row = efficiency.panel("here", ours, [outcome(1, 3), outcome(0, 3)])
    assert row["shares"] == {"b": 0.75, "a": 0.25}
    assert row["rounds"]["skill_rag"][0] == 2.5
    assert row["rounds"]["probing_rag"] == (3, 3, 3)
    assert (row["dataset"], row["n"], row["saved"][0]) == ("here", 2, 0.5)
    assert efficiency.shares([outcome(1, 0)]) == {}
