"""Adaptive-RAG: silver labels, the reading of a question, and its three arms."""

import numpy as np
import pytest
from conftest import FakeBackbone, reply, tiny_model, tiny_profile

from skillrag_lite import adaptive_rag, ircot, training
from skillrag_lite.adaptive_rag import READ, silver
from skillrag_lite.backbone import Backbone
from skillrag_lite.classifier import Classifier, ClassifierConfig
from skillrag_lite.data import Passage, Question
from skillrag_lite.generation import Decoding, Usage
from skillrag_lite.probe import stack
from skillrag_lite.prompts import answer_prompt
from skillrag_lite.retrieve import BM25
from skillrag_lite.text_classifier import TextClassifier

PASSAGES = [
    Passage(str(i), place, f"{place} page {place}.")
    for i, place in enumerate(("Paris", "Seine", "Normandy", "Channel"))
]
QUESTIONS = [Question(str(i), f"question {i}: what lies beyond Paris?", ("x",)) for i in range(4)]
# A state that is all 0, 1 or 2 asks for A, B or C.
CLASSIFIER = Classifier(
    ("A", "B", "C"), ClassifierConfig(), np.array([[0.0], [1.0], [2.0]]).repeat(3, 1) / 3,
    np.array([0.0, -0.5, -2.0]),
)  # fmt: skip
SPENT = Usage(1, 90, 60, 2, 0.25)
THOUGHTS = ["the Seine flows", "to Normandy", "and the Channel"]


class Scripted(FakeBackbone):
    """Shows each question the state that its number is mapped to, and answers with thoughts."""

    def __init__(self, hardness):
        super().__init__()
        self.hardness, self.calls, self.steps = hardness, [], [0] * len(QUESTIONS)

    def generate(self, prompts, decoding):
        self.calls.append((decoding, len(prompts)))
        return [self.reply(prompt, decoding) for prompt in prompts]

    def reply(self, prompt, decoding):
        number = next(i for i in range(len(QUESTIONS)) if f"question {i}:" in prompt.ask)
        if decoding == READ:
            state = np.full((2, 3), self.hardness[number], dtype=np.float32)
            return reply("", usage=SPENT, states={"all": state})
        step = self.steps[number]
        self.steps[number] += 1
        return reply(f"answer {step}", THOUGHTS[step])


class Reader(TextClassifier):
    """Its model is a dictionary from questions to labels."""

    def predict(self, texts):
        return [self.model[text] for text in texts]


def run(hardness, questions=QUESTIONS, passages=PASSAGES, classifier=CLASSIFIER):
    backbone = Scripted(hardness)
    return adaptive_rag.run(questions, backbone, BM25(passages), classifier), backbone


def test_each_question_takes_the_arm_that_its_state_asks_for():
    traces, backbone = run([2, 0, 1, 2])
    assert [t.question for t in traces] == QUESTIONS
    assert [[r.query is None for r in t.rounds] for t in traces] == [
        [False] * 3, [True], [False], [False] * 3,
    ]  # fmt: skip
    assert [t.stopped_by for t in traces] == ["budget", "sufficient", "budget", "budget"]
    # one call reads all, then one a strategy and step
    assert [n for _, n in backbone.calls] == [4, 1, 1, 2, 2, 2]
    assert backbone.calls[0][0] == READ != backbone.calls[1][0]


def test_the_arms_are_the_methods_of_the_same_name():
    (none, single, multi), _ = run([0, 1, 2], QUESTIONS[:3])
    backbone, retriever = Scripted([0] * 4), BM25(PASSAGES)
    assert none.rounds[0].generation == training.closed_book(QUESTIONS[:1], backbone)[0]
    (asked,) = training.single_step(QUESTIONS[1:2], backbone, retriever)
    assert single.rounds[0].generation == asked
    (chain,) = ircot.run(QUESTIONS[2:3], backbone, retriever)
    assert multi.rounds[1:] == chain.rounds[1:] and multi.stopped_by == chain.stopped_by


def test_reading_is_paid_for_in_the_first_round():
    traces, _ = run([0, 1, 2, 2])
    once = Usage(1, 100, 60, 2, 0.5)
    assert [t.rounds[0].usage for t in traces] == [once + SPENT] * 4
    assert [t.usage.calls for t in traces] == [2, 2, 4, 4]
    assert traces[3].rounds[1].usage == once


def test_a_text_classifier_takes_the_same_arms_without_a_call():
    hardness = [2, 0, 1, 2]
    known = {q.question: "ABC"[n] for q, n in zip(QUESTIONS, hardness, strict=True)}
    reader = Reader(("A", "B", "C"), known, None)
    traces, backbone = run(hardness, classifier=reader)
    assert [n for _, n in backbone.calls] == [1, 1, 2, 2, 2]  # one a strategy and step
    assert READ not in [decoding for decoding, _ in backbone.calls]
    looked, _ = run(hardness)
    assert [t.rounds[1:] for t in traces] == [t.rounds[1:] for t in looked]
    assert [t.stopped_by for t in traces] == [t.stopped_by for t in looked]
    once = Usage(1, 100, 60, 2, 0.5)
    assert [t.rounds[0].usage for t in traces] == [once] * 4
    assert run([], [], classifier=reader)[0] == []


@pytest.mark.parametrize("label, calls", [(0, 2), (1, 2), (2, 4)])
def test_arms_that_no_question_takes_cost_nothing(label, calls):
    _, backbone = run([label] * 4)
    assert len(backbone.calls) == calls


def test_a_batch_equals_one_by_one():
    hardness = [2, 0, 1, 2]
    together, _ = run(hardness)
    for question, trace in zip(QUESTIONS, together, strict=True):
        assert run(hardness, [question])[0] == [trace]


def test_no_questions_no_calls():
    traces, backbone = run([], [])
    assert traces == [] and backbone.calls == []


def test_the_silver_label_is_the_cheapest_strategy_that_was_right():
    right, wrong = reply("x"), reply("y")
    none = [right, wrong, wrong, right]
    single = [wrong, right, wrong, right]
    multi = [wrong, right, right, wrong]
    assert silver(QUESTIONS, none, single, multi) == ["A", "B", "C", "A"]


def test_silver_takes_traces_too():
    traces, _ = run([0, 1, 2, 2])
    questions = [Question(q.id, q.question, ("answer 2",)) for q in QUESTIONS]
    replies = [reply("y")] * 4
    assert silver(questions, replies, replies, traces, "B") == ["B", "B", "C", "C"]


def test_where_all_fail_the_bias_label_stands():
    families = ("single", "trivia", "bridge", "comparison", "three_hop", "2hop", "inference")
    questions = [Question(f, "who?", ("x",), family=f) for f in families]
    wrong = [reply("y")] * len(families)
    assert silver(questions, wrong, wrong, wrong) == ["B", "B", "C", "C", "C", "C", "C"]
    assert silver(questions, wrong, wrong, wrong, bias="B") == ["B"] * 7
    with pytest.raises(ValueError, match="'0' names no family.*pass bias='B'"):
        silver(QUESTIONS[:1], wrong[:1], wrong[:1], wrong[:1])
    with pytest.raises(ValueError):  # lists of different lengths are never cut to fit
        silver(questions, wrong, wrong, wrong[1:])


def test_training_learns_from_question_states():
    rng = np.random.default_rng(0)
    labels = ["A", "B", "C"] * 30
    states = rng.normal(size=(90, 2, 3)) + 4 * np.eye(3)[[0, 1, 2] * 30][:, None]
    classifier = adaptive_rag.train(states, labels, states, labels)
    assert classifier.predict(states) == labels


@pytest.fixture(scope="module")
def tiny(tokenizer):
    model = tiny_model("qwen2", max_position_embeddings=4096)  # the worked examples are long
    model.set_attn_implementation("shared_header")
    return Backbone(model, tokenizer, tiny_profile())


def test_reading_holds_the_state_of_the_first_token_alone(tiny):
    asked = [Question("a", "who?", ("x",)), Question("b", "where is the Seine?", ("x",))]
    looks = adaptive_rag.read(asked, tiny)
    prompts = [answer_prompt(q.question) for q in asked]
    two = tiny.generate(prompts, Decoding(max_new_tokens=2, mark="", stop=()))  # feeds one of two
    np.testing.assert_allclose(stack(looks), stack(two), atol=1e-4)
    assert stack(looks).shape == (2, 3, 32) and np.abs(stack(looks)).min(axis=(1, 2)).all()


def test_a_model_that_says_nothing_can_still_be_read(tiny, monkeypatch):
    monkeypatch.setattr(tiny, "ends", frozenset(range(400)))
    assert stack(adaptive_rag.read(QUESTIONS[:2], tiny)).shape == (2, 3, 32)
