"""IRCoT through every way of stopping, by a scripted backbone."""

import pytest
from conftest import HOSTILE, FakeBackbone, reply

from skillrag_lite import ircot
from skillrag_lite.data import Passage, Question
from skillrag_lite.generation import Usage
from skillrag_lite.ircot import IRCoTConfig
from skillrag_lite.prompts import QA, answer_prompt
from skillrag_lite.retrieve import BM25
from skillrag_lite.trace import Trace

PLACES = ("Paris", "Seine", "Normandy", "Channel", "Atlantic")
PASSAGES = [Passage(place, place, f"{place} page {place}.") for place in PLACES]
ONE = IRCoTConfig(k=1)


def question(number: int) -> Question:
    return Question(str(number), f"question {number}: what lies beyond Paris?", ("x",))


class Script:
    """Replies (thought, answer) by question number, one a step."""

    def __init__(self, *chains):
        self.chains = chains
        self.step = [0] * len(chains)

    def __call__(self, prompt):
        number = next(i for i in range(len(self.chains)) if f"question {i}:" in prompt.ask)
        thought, answer = self.chains[number][self.step[number]]
        self.step[number] += 1
        return reply(answer, thought)


def run(*chains, config=ONE, passages=PASSAGES):
    backbone = FakeBackbone(Script(*chains))
    questions = [question(i) for i in range(len(chains))]
    return ircot.run(questions, backbone, BM25(passages), config), backbone


GROWING = [("the Seine flows", "one"), ("to Normandy", "two"), ("and the Channel", "three")]


def test_the_thought_is_the_next_query_and_passages_add_up():
    (trace,), backbone = run(GROWING)
    assert [r.query for r in trace.rounds] == [
        question(0).question, "the Seine flows", "to Normandy",
    ]  # fmt: skip
    titles = [[p.title for p in r.passages] for r in trace.rounds]
    assert titles == [["Paris"], ["Paris", "Seine"], ["Paris", "Seine", "Normandy"]]
    assert trace.stopped_by == "budget" and trace.answer == "three" and trace.retrievals == 3
    # each answer rests on all passages so far, asked for as single-step retrieval asks
    whole = [answer_prompt(question(0).question, r.passages) for r in trace.rounds]
    assert sum(backbone.asked, []) == whole


def test_an_answer_that_repeats_ends_it():
    (trace,), _ = run([("the Seine", "Le Havre"), ("to Normandy", "le havre!"), ("no", "no")])
    assert trace.stopped_by == "sufficient" and len(trace.rounds) == 2


def test_the_repeat_must_follow_at_once_and_say_something():
    back = [("the Seine", "one"), ("to Normandy", "two"), ("and the Channel", "one")]
    silent = [(thought, "") for thought, _ in GROWING]
    (one, two), _ = run(back, silent)
    assert [one.stopped_by, two.stopped_by] == ["budget", "budget"]
    assert len(one.rounds) == len(two.rounds) == 3


def test_a_repeat_on_the_last_step_is_still_sufficient():
    (trace,), _ = run([*GROWING[:2], ("the Channel", "two")])
    assert trace.stopped_by == "sufficient" and len(trace.rounds) == 3


@pytest.mark.parametrize("thought", ["", "Paris again", "zzz", "the of and"])
def test_a_thought_that_brings_no_new_passage_ends_it_without_a_call(thought):
    (trace,), backbone = run([(thought, "one")])
    assert trace.stopped_by == "sufficient" and len(trace.rounds) == 1
    assert len(backbone.asked) == 1


def test_an_empty_thought_searches_with_the_question():
    asked = []

    class Retriever:
        def search(self, queries, k):
            asked.append(queries)
            return [PASSAGES[len(asked) : len(asked) + 1] for _ in queries]

    backbone = FakeBackbone(Script([("", "one"), ("", "two"), ("", "three")]))
    (trace,) = ircot.run([question(0)], backbone, Retriever())
    assert asked == [[question(0).question]] * 3 and trace.stopped_by == "budget"


def test_a_first_search_in_vain_is_answered_closed_book():
    nowhere = [Passage("n", "Nowhere", "nothing here about the Seine")]
    (trace,), backbone = run([("the Seine flows", "one"), ("so", "two")], passages=nowhere)
    assert backbone.asked[0] == [answer_prompt(question(0).question)]
    assert [len(r.passages) for r in trace.rounds] == [0, 1]


def test_passages_are_capped():
    (trace,), _ = run(GROWING, config=IRCoTConfig(k=2, most=2))
    assert [len(r.passages) for r in trace.rounds] == [1, 2]
    assert trace.stopped_by == "sufficient"  # the third query could add nothing
    assert IRCoTConfig().k * IRCoTConfig().budget <= IRCoTConfig().most


def test_every_ending_in_one_batch_equals_one_by_one():
    chains = [GROWING, [("Paris", "one")], [("the Seine", "one"), ("Normandy", "one")]]
    together, backbone = run(*chains)
    assert [len(prompts) for prompts in backbone.asked] == [3, 2, 1]
    for i, trace in enumerate(together):
        alone = FakeBackbone(Script(*chains))
        assert ircot.run([question(i)], alone, BM25(PASSAGES), ONE) == [trace]
    assert [t.stopped_by for t in together] == ["budget", "sufficient", "sufficient"]


def test_costs_add_up_and_a_trace_survives_json():
    (trace,), _ = run(GROWING)
    assert trace.usage == Usage(3, 300, 180, 6, 1.5) and trace.stalls == 0
    assert Trace.from_json(trace.to_json()) == trace


def test_no_questions_no_calls():
    traces, backbone = run()
    assert traces == [] and backbone.asked == []


def test_it_asks_in_the_reply_format_of_every_method():
    asked = []

    class Backbone(FakeBackbone):
        def generate(self, prompts, decoding):
            asked.append(decoding)
            return super().generate(prompts, decoding)

    ircot.run([question(0)], Backbone(Script(GROWING)), BM25(PASSAGES), ONE)
    assert set(asked) == {QA}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_passage_or_reply_changes_nothing_but_itself(text):
    evil = [*PASSAGES[1:], Passage("h", "Paris", text)]
    (trace,), backbone = run(GROWING, passages=evil)
    assert (trace.stopped_by, trace.answer, len(trace.rounds)) == ("budget", "three", 3)
    assert all(p.ask.count("\n") == n + 2 for n, (p,) in enumerate(backbone.asked, 1))
    (trace,), _ = run([(f"Seine {text}", text), *GROWING[1:]])  # a thought is only a query
    assert trace.rounds[1].query == f"Seine {text}" and trace.stopped_by == "budget"
