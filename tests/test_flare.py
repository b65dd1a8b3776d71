"""FLARE, driven through every branch by a scripted backbone, and once on tiny random models."""

import math

import pytest
from conftest import FakeBackbone, reply, tiny_model, tiny_profile

from skillrag_lite import flare
from skillrag_lite.backbone import Backbone
from skillrag_lite.data import Passage, Question
from skillrag_lite.flare import Flare
from skillrag_lite.generation import Usage
from skillrag_lite.prompts import QA, answer_prompt
from skillrag_lite.resume import REST
from skillrag_lite.resume import REST_OF_ANSWER as LINE
from skillrag_lite.retrieve import BM25

PASSAGES = [
    Passage("p1", "Seine", "The Seine flows through Paris."),
    Passage("p2", "Rhine", "The Rhine flows through Basel and Cologne."),
    Passage("p3", "Danube", "The Danube rises in Germany."),
]
QUESTIONS = [Question(str(i), f"question {i} about rivers", ("x",)) for i in range(4)]


def said(reasoning: str, answer: str, doubt: dict | None = None, mark: str = "Answer:"):
    """A reply whose tokens are its words, of probability .9 where `doubt` gives no other."""
    parts = [[f" {word}" for word in text.split()] for text in (reasoning, answer)]
    tokens = parts[0] + parts[1]
    logprobs = [math.log((doubt or {}).get(token.strip(), 0.9)) for token in tokens]
    return reply(
        answer, reasoning, mark=mark, tokens=tuple(tokens), logprobs=tuple(logprobs),
        entropies=(0.5,) * len(tokens), answer_start=len(parts[0]), states={},
    )  # fmt: skip


def line(answer, doubt=None):
    """What comes back when only the answer line is asked for."""
    return said("", answer, doubt, mark="")


class Script:
    """Answers a question's prompts by what is put into the model's mouth: {number: {lead: reply}}.

    The lead None is the closed-book prompt. Notes prompts and how they were to be decoded.
    """

    def __init__(self, replies):
        self.replies, self.seen = replies, []

    def __call__(self, prompt):
        number = next(i for i in range(4) if f"question {i}" in prompt.ask)
        closed = "Passages:" not in prompt.ask and not prompt.lead
        return self.replies[number][None if closed else prompt.lead.strip()]


class Noting(FakeBackbone):
    """A scripted backbone that also notes the settings it was given."""

    def generate(self, prompts, decoding):
        self.decodings = [*getattr(self, "decodings", []), (decoding, len(prompts))]
        return super().generate(prompts, decoding)


def run(replies, questions=QUESTIONS[:1], config=None, **how):
    backbone = Noting(Script(replies))
    return flare.run(questions, backbone, BM25(PASSAGES), config or Flare(), **how), backbone


def test_no_doubt_no_search():
    (trace,), backbone = run({0: {None: said("It is the Seine.", "Seine")}})
    assert trace.stopped_by == "sufficient" and trace.retrievals == 0
    assert trace.rounds[0].confidence == 0.9 and trace.rounds[0].layer_confidence == ()
    assert backbone.asked[0] == [answer_prompt(QUESTIONS[0].question)]  # shared with no_retrieval
    assert backbone.decodings == [(QA, 1)]


def test_a_probability_at_the_threshold_is_no_doubt():
    replies = {0: {None: said("Fine words.", "Seine", {"Seine": 0.5})}}
    for theta, searches in ((0.5, 0), (0.51, 1)):
        script = {0: replies[0] | {"Fine words.\nAnswer:": line("Rhine")}}
        (trace,), _ = run(script, config=Flare(theta=theta))
        assert trace.retrievals == searches


def test_the_doubtful_sentence_is_the_query_and_is_written_again_with_the_rest():
    first = said("Rivers flow north. It passes Paris maybe. It is long.", "Nile",
                 {"passes": 0.3, "maybe.": 0.6})  # fmt: skip
    again = said("It flows through Paris. It is the Seine.", "Seine", {"flows": 0.1})
    (trace,), backbone = run({0: {None: first, "Rivers flow north.": again}})
    now = trace.rounds[1]
    assert now.query == "It Paris maybe."  # .3 is masked, .6 is not
    assert [p.title for p in now.passages] == ["Seine"]
    prompt = backbone.asked[1][0]
    assert prompt.lead.strip() == "Rivers flow north." and "[1] Seine:" in prompt.ask
    assert now.generation.reasoning == "Rivers flow north. It flows through Paris. It is the Seine."
    assert trace.answer == "Seine" and now.generation.text.endswith("\nAnswer: Seine")
    joined = "".join(now.generation.tokens[: now.generation.answer_start]).strip()
    assert joined == now.generation.reasoning
    lengths = {len(getattr(now.generation, x)) for x in ("tokens", "logprobs", "entropies")}
    assert lengths == {3 + 8 + 1}
    # what was written again stands, though "flows" is improbable
    assert trace.stopped_by == "sufficient" and now.confidence == 0.9
    assert trace.rounds[0].confidence == 0.3


def test_the_look_ahead_goes_on_after_the_sentence_that_was_written_again():
    first = said("One Rhine is wrong.", "Nile", {"wrong.": 0.2})
    again = said("The Seine it is. Basel perhaps lies there.", "Rhine", {"perhaps": 0.5})
    third = said("Cologne lies there.", "Rhine", {"Rhine": 0.7})
    last = line("the Rhine", {"the": 0.1})
    (trace,), backbone = run({0: {
        None: first, "": again, "The Seine it is.": third,
        "The Seine it is. Cologne lies there.\nAnswer:": last,
    }})  # fmt: skip
    assert [r.query for r in trace.rounds] == [
        None, "One Rhine is", "Basel perhaps lies there.", "Rhine",
    ]  # fmt: skip
    assert [r.confidence for r in trace.rounds] == [0.2, 0.5, 0.7, 1.0]
    assert trace.stopped_by == "sufficient"  # three searches, and nothing is left in doubt
    assert trace.answer == "the Rhine"
    assert trace.rounds[-1].generation.reasoning == "The Seine it is. Cologne lies there."
    assert [how for how, n in backbone.decodings if n] == [QA, REST, REST, LINE]
    assert trace.usage == Usage(4, 400, 240, 8, 2.0)


def test_the_answer_line_alone_is_written_again_behind_its_mark():
    first = said("It is the Seine.", "Nile", {"Nile": 0.5})
    (trace,), backbone = run({0: {None: first, "It is the Seine.\nAnswer:": line("Seine")}})
    assert (trace.answer, trace.retrievals, trace.stopped_by) == ("Seine", 1, "sufficient")
    now = trace.rounds[1].generation
    assert now.text == "It is the Seine.\nAnswer: Seine" and now.mark == "Answer:"
    assert now.tokens[now.answer_start :] == (" Seine",) and now.well_formed


def test_the_budget_bounds_the_searches():
    unsure = {"maybe.": 0.5}

    def more(n):
        return said("A river maybe. " * n, "x", unsure)

    replies = {0: {None: more(5), "": more(4)}}
    for n in range(1, 5):
        replies[0][" ".join(["A river maybe."] * n)] = more(4 - n)
    (trace,), _ = run(replies)
    assert trace.stopped_by == "budget" and trace.retrievals == 3 and len(trace.rounds) == 4
    (trace,), backbone = run(replies, budget=1)
    assert trace.stopped_by == "budget" and trace.retrievals == 1
    assert trace.stalls == 1  # it found nothing


def test_a_search_that_brings_the_same_again_is_a_stall_and_still_gets_on():
    first = said("The Seine maybe. The Seine maybe.", "Seine", {"maybe.": 0.5})
    rest = said("The Seine maybe.", "Seine", {"maybe.": 0.5})
    (trace,), _ = run({0: {None: first, "": first, "The Seine maybe.": rest}})
    assert [r.query for r in trace.rounds] == [None, "The Seine maybe.", "The Seine maybe."]
    assert trace.stalls == 1 and trace.stopped_by == "sufficient"


@pytest.mark.parametrize("words", ["Perhaps.", "It is.", "?!"])
def test_an_empty_query_becomes_the_question(words):
    doubt = {word: 0.1 for word in words.split() if word not in ("It", "is")} or {"is.": 0.1}
    first = said(words, "Seine", doubt)
    again = said("Yes.", "Seine")
    (trace,), backbone = run({0: {None: first, "": again}})
    assert trace.rounds[1].query == QUESTIONS[0].question


def test_a_word_is_masked_whole():
    draft = reply(
        "", "", tokens=(" the", " Dan", "ube", " River"), logprobs=(0.0, -2.0, 0.0, 0.0),
        answer_start=4,
    )  # fmt: skip
    assert flare.query(draft, (0, 4), 0.4) == "the River"


def test_initials_and_titles_end_no_sentence():
    draft = said("It was J. R. Smith and Dr. Who. They met in 1814. So", "x")
    texts = ["".join(draft.tokens[a:b]).strip() for a, b in flare.sentences(draft)]
    assert texts == ["It was J. R. Smith and Dr. Who.", "They met in 1814.", "So", "x"]


def test_a_mark_that_the_model_wrote_is_no_part_of_a_sentence():
    draft = reply(
        "Paris", "It is Paris", tokens=(" It", " is", " Paris", " Answer", ":", " Paris"),
        logprobs=(0.0, 0.0, 0.0, -5.0, -5.0, 0.0), answer_start=5,
    )  # fmt: skip
    assert flare.sentences(draft) == [(0, 3), (5, 6)]
    assert flare.look_ahead(draft, 0, 0.8) == (None, 1.0)


@pytest.mark.parametrize(("tokens", "start"), [((), 0), ((" x",), 1), ((" x",), 0)])
def test_a_reply_that_lacks_a_part_is_looked_at_without_harm(tokens, start):
    draft = reply("", "", tokens=tokens, logprobs=(-3.0,) * len(tokens), answer_start=start)
    doubt, lowest = flare.look_ahead(draft, 0, 0.8)
    assert (doubt is None) == (not tokens) and lowest <= 1


def test_a_batch_is_one_call_a_step_and_answers_as_one_by_one():
    replies = {
        0: {None: said("It is sure.", "Seine")},
        1: {None: said("Some Rhine maybe.", "x", {"maybe.": 0.1}), "": said("The Rhine.", "Rhine")},
        2: {None: said("Fine words.", "Nile", {"Nile": 0.5}),
            "Fine words.\nAnswer:": line("Danube")},
        3: {None: said("Also Seine.", "x", {"Also": 0.7}),
            "": said("The Seine. But where?", "x", {"where?": 0.2}),
            "The Seine.": said("In Paris.", "Seine")},
    }  # fmt: skip
    together, backbone = run(replies, QUESTIONS)
    alone = [trace for q in QUESTIONS for trace in run(replies, [q])[0]]
    assert together == alone
    assert [pair for pair in backbone.decodings if pair[1]] == [
        (QA, 4), (REST, 2), (LINE, 1), (REST, 1),
    ]  # fmt: skip
    assert run(replies, [])[0] == []


def test_it_runs_on_a_model_in_a_batch_as_one_by_one(architecture, tokenizer):
    model = tiny_model(architecture)
    model.set_attn_implementation("shared_header")
    backbone = Backbone(model, tokenizer, tiny_profile())
    backbone.model.config.max_position_embeddings = 2048
    questions, config = QUESTIONS[:3], Flare(theta=0.3)
    together = flare.run(questions, backbone, BM25(PASSAGES), config)
    for question, trace in zip(questions, together, strict=True):
        (alone,) = flare.run([question], backbone, BM25(PASSAGES), config)
        assert [r.query for r in alone.rounds] == [r.query for r in trace.rounds]
        assert alone.rounds[-1].generation.text == trace.rounds[-1].generation.text
        for r in trace.rounds:
            g = r.generation
            assert len(g.tokens) == len(g.logprobs) == len(g.entropies)
            assert (
                "".join(g.tokens[: g.answer_start]).partition("Answer:")[0].strip() == g.reasoning
            )
    assert any(t.retrievals for t in together)
