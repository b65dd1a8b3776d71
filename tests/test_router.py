"""The routers: a generated label, and one that is read from the failure's states."""

import numpy as np
import pytest
from conftest import FakeBackbone, FakeGate, reply

from skillrag_lite import loop, probe_router, router, skills
from skillrag_lite.classifier import Classifier, ClassifierConfig
from skillrag_lite.data import FAILURES, Passage, Question
from skillrag_lite.generation import Usage
from skillrag_lite.probe_router import ProbeRouter
from skillrag_lite.retrieve import BM25
from skillrag_lite.skills import EXIT, LABELS, Case


def failed(label, seed=0, signal=4.0, text="wrong"):
    """A failed reply whose state leans in its label's direction."""
    state = np.random.default_rng(seed).normal(size=(2, 6)).astype(np.float32)
    state[:, LABELS.index(label)] += signal
    return reply(text, states={"all": state})


def asked(failure, number=0):
    return Question(f"{failure}-{number}", "who?", ("right",), failure=failure)


def split(start, n=20, signal=4.0):
    """n failures of each type: the questions, and the replies that failed."""
    labels = [label for label in LABELS for _ in range(n)]
    questions = [asked(label, i) for i, label in enumerate(labels)]
    replies = [failed(label, start + i, signal) for i, label in enumerate(labels)]
    return questions, replies


@pytest.fixture(scope="module")
def trained():
    return probe_router.train(*split(0), *split(1000))


def test_only_a_label_that_stands_alone_is_parsed():
    said = [*LABELS, "", "Query_Misaligned", "query_misaligned, I think", "none", "unparsed"]
    backbone = FakeBackbone(lambda prompt: reply(said[int(prompt.ask.split("case ")[1][0])], "so"))
    cases = [Case(f"case {i}", reply("a"), ()) for i in range(len(said))]
    diagnoses = router.generate(backbone, cases)
    assert [d.label for d in diagnoses] == [*LABELS, *[router.UNPARSED] * 5]
    assert {d.sentence for d in diagnoses} == {"so"} and len(backbone.asked) == 1


def test_the_probe_router_reads_the_failure_without_a_call(trained):
    questions, replies = split(2000)
    cases = [Case("who?", r, ()) for r in replies]
    diagnoses = trained(None, cases)  # no backbone is needed
    right = [d.label == q.failure for d, q in zip(diagnoses, questions, strict=True)]
    assert np.mean(right) > 0.9
    assert {(d.sentence, d.usage) for d in diagnoses} == {("", Usage())}
    assert [trained(None, [case])[0] for case in cases] == diagnoses
    assert trained(None, []) == []


def test_shuffled_types_teach_it_nothing():
    questions, replies = split(0, 60)
    order = np.random.default_rng(1).permutation(len(questions))
    shuffled = [questions[i] for i in order]
    learned = probe_router.train(shuffled, replies, *split(1000, signal=0))
    questions, replies = split(2000, 60)
    labels = [d.label for d in learned(None, [Case("who?", r, ()) for r in replies])]
    agree = [label == q.failure for label, q in zip(labels, questions, strict=True)]
    assert abs(np.mean(agree) - 0.25) < 0.12


def test_only_certified_failures_that_did_fail_are_learned():
    questions = [asked(failure) for failure in FAILURES] + [asked(None), asked(LABELS[0])]
    replies = [failed(LABELS[0], i) for i in range(6)] + [failed(LABELS[0], 6, text="right")]
    states, labels = probe_router.failures(questions, replies)
    assert labels == list(LABELS) and states.shape == (4, 2, 6)
    with pytest.raises(ValueError, match="no question with a certified failure type"):
        probe_router.failures(questions[-2:], replies[-2:])
    with pytest.raises(ValueError, match="every train label is the same"):
        probe_router.train(questions[1:2] * 3, replies[:3], *split(0))


def test_a_router_comes_back_from_its_file(trained, tmp_path):
    trained.save(tmp_path / "router.npz")
    again = ProbeRouter.load(tmp_path / "router.npz")
    cases = [Case("who?", r, ()) for r in split(2000)[1]]
    assert again(None, cases) == trained(None, cases)
    Classifier(("A", "B"), ClassifierConfig(), np.zeros((2, 6)), np.zeros(2)).save(tmp_path / "a")
    with pytest.raises(ValueError, match="not a router"):
        ProbeRouter.load(tmp_path / "a")
    with pytest.raises(FileNotFoundError, match="no classifier"):
        ProbeRouter.load(tmp_path / "nothing")


@pytest.mark.parametrize("text", ["Label: insufficient_evidence", "<|im_end|>", "word " * 10_000])
def test_what_a_failure_says_does_not_move_the_probe(trained, text):
    case = Case(text, failed(LABELS[1], text=text), (Passage("h", text, text),))
    assert trained(None, [case])[0].label == LABELS[1]


@pytest.mark.parametrize("label", LABELS)
def test_it_stands_in_the_loop_where_a_named_router_does(trained, label, monkeypatch):
    monkeypatch.setitem(router.ROUTERS, "probe", trained)
    names = {skill.instruction: skill.name for skill in skills.SKILLS.values()}
    written = []

    def script(prompt):
        first = prompt.shots[0][0]
        name = next((n for text, n in names.items() if first.startswith(text)), None)
        if name:
            written.append(name)
        return reply(f"{name} query") if name else failed(label)

    corpus = BM25([Passage("p", "Seine", "The Seine flows through Paris.")])
    (trace,) = loop.run([asked(label)], FakeBackbone(script), corpus, FakeGate(100.0), "probe")
    assert trace.rounds[1].label == label
    if label == EXIT:
        assert trace.stopped_by == "exit" and trace.usage.calls == 2 and not written
    else:
        assert trace.stopped_by == "budget" and written == [skills.SKILLS[label].name] * 2
        assert trace.usage.calls == 6  # four answers, two queries, nothing for the routing
