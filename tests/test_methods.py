"""The table of methods, and the one rule by which their thresholds are chosen on dev."""

import hashlib
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from conftest import FakeBackbone, FakeGate, reply, tiny_profile

from skillrag_lite import calibration, classifier, data, flare, loop, methods, runs, skills
from skillrag_lite.attended import Attended
from skillrag_lite.data import Passage, Question
from skillrag_lite.gate import Point, calibrate
from skillrag_lite.generation import Usage
from skillrag_lite.lab import Lab
from skillrag_lite.methods import METHODS
from skillrag_lite.probe_router import ProbeRouter
from skillrag_lite.prompts import question_block
from skillrag_lite.recorder import Recorder
from skillrag_lite.retrieve import BM25
from skillrag_lite.store import Store

PASSAGES = [Passage("p", "Seine", "The Seine flows through Paris."), Passage("q", "Rhine", "R.")]
QUESTIONS = [Question(str(i), f"river {i} of Paris?", ("Seine",)) for i in range(5)]


@dataclass(frozen=True)
class Gate(FakeGate):
    """A scripted gate whose threshold can be set."""

    tau: float = 0.5


class Counting(BM25):
    """An index that notes what it was asked."""

    def search(self, queries, k=3):
        self.asked = [*getattr(self, "asked", []), *queries]
        return super().search(queries, k)


def script(prompt):
    """Sure and right with passages; without, the surer the higher the question's number."""
    if prompt.shots[0][0].startswith(skills.REWRITE.instruction):
        return reply("Seine river", "so")
    if "Passages:" in prompt.ask:
        return reply("Seine", "It is known.", 0.9, tokens=(" It", " Seine"), logprobs=(0.0, 0.0))
    number = next(int(word) for word in prompt.ask.split() if word.isdigit())
    sure = (number % 7 + 1) / 10  # .1 to .7
    logprobs = (round(math.log(sure), 4), 0.0)
    return reply("Rhine", "Paris.", sure, tokens=(" Paris.", " Rhine"), logprobs=logprobs)


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A lab with a scripted model behind a real recorder and store."""
    monkeypatch.setattr(methods, "RECORDINGS", tmp_path)
    monkeypatch.setattr(Lab, "gate", Gate())
    (tmp_path / "random").mkdir()
    store = Store(tmp_path / "store.sqlite")
    backbone = Recorder(
        tiny_profile(), store, load=lambda _: FakeBackbone(script, lambda *_: range(4))
    )
    return Lab(backbone, Counting(PASSAGES))


def test_one_call_methods_search_once_and_decide_nothing(lab):
    none, single = METHODS["no_retrieval"](QUESTIONS, lab), METHODS["single_step"](QUESTIONS, lab)
    assert [t.retrievals for t in none] == [0] * 5 and [t.retrievals for t in single] == [1] * 5
    assert lab.retriever.asked == [q.question for q in QUESTIONS]
    assert {t.usage.calls for t in none + single} == {1}
    assert [t.answer for t in none + single] == ["Rhine"] * 5 + ["Seine"] * 5
    assert [p.title for p in single[0].rounds[0].passages] == ["Seine"]


def test_no_method_asks_again_what_another_one_asked(lab):
    METHODS["no_retrieval"](QUESTIONS, lab)
    METHODS["single_step"](QUESTIONS, lab)
    asked = lab.backbone.backbone.asked
    before = sum(map(len, asked))
    for name in ("probing_rag", "skill_rag", "skill_rag_no_exit"):
        METHODS[name](QUESTIONS, lab)
    assert sum(map(len, asked)) == before  # their first two rounds are the same prompts


def test_a_threshold_is_handed_to_the_trigger(lab):
    for name in ("flare", "probing_rag", "skill_rag"):
        counts = [sum(t.retrievals > 0 for t in METHODS[name](QUESTIONS, lab, tau))
                  for tau in (0.0, 0.15, 0.35, 0.95)]  # fmt: skip
        assert counts == [0, 1, 3, 5], name


def test_flare_takes_the_profiles_threshold_and_else_the_papers(lab, tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr(flare, "run", lambda q, b, r, config: taken.append(config.theta) or [])
    METHODS["flare"]([], lab)
    calibration.save(tmp_path / "random", {"flare": 0.25})
    METHODS["flare"]([], lab)
    METHODS["flare"]([], lab, 0.0)
    assert taken == [0.8, 0.25, 0.0]


def test_without_exit_the_default_skill_acts_and_the_label_is_kept():
    def routed(prompt):
        first = prompt.shots[0][0]
        if first.startswith(methods.loop.SKILLS[loop.DEFAULT].instruction):
            return reply("Seine river", "so")
        if "give one label" in first:
            return reply(skills.EXIT, "because")
        return reply("x", "y", 0.1)

    for exit, stopped, searches in ((True, "exit", 1), (False, "budget", 3)):
        (trace,) = loop.run(QUESTIONS[:1], FakeBackbone(routed), BM25(PASSAGES), FakeGate(),
                            router="generate", exit=exit)  # fmt: skip
        assert trace.stopped_by == stopped and trace.retrievals == searches
        assert trace.rounds[1].label == skills.EXIT
    assert trace.rounds[2].query == "Seine river"
    assert trace.stalls == 2  # the same query, and nothing new found


def test_the_table_is_chosen_from_by_name_and_hands_the_router_on(lab, monkeypatch):
    assert list(methods.choose("all")) == list(METHODS)
    assert list(methods.choose("single_step,flare")) == ["single_step", "flare"]
    with pytest.raises(ValueError, match="no method 'flair': choose from no_retrieval, "):
        methods.choose("flare,flair")
    taken = []
    monkeypatch.setattr(loop, "run", lambda *given, exit: taken.append((given[-1], exit)) or [])
    for method in methods.choose("skill_rag,skill_rag_no_exit", "generate").values():
        method([], lab)
    assert taken == [("generate", True), ("generate", False)]


@pytest.mark.parametrize("name", ["flare", "probing_rag", "skill_rag"])
def test_thresholds_run_from_never_to_always_and_the_gates_rule_picks(lab, name):
    values = calibration.spread(METHODS[name](QUESTIONS, lab, 0.0), 5)
    points = calibration.thresholds(METHODS[name], QUESTIONS, lab, values)
    assert values == sorted(values) and [p.tau for p in points] == values
    assert points[0] == Point(values[0], 0.0, 0.0) and points[-1] == Point(values[-1], 1.0, 1.0)
    rates = [p.retrieval_rate for p in points]
    assert rates == [p.accuracy for p in points] == sorted(rates) and len(set(rates)) == 5
    assert calibrate(points) == values[-1]  # here passages always help


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_what_calibration_sees_of_the_atlas_are_dev_questions_only(lab):
    splits = {
        name: {digest(question_block(q.question)) for q in data.load("atlas", name)}
        for name in data.SPLITS
    }
    assert not splits["dev"] & (splits["test"] | splits["train"])
    dev = [q for q in data.load("atlas", "dev") if q.question][:20]
    lab = Lab(lab.backbone, BM25(data.corpus("atlas")))
    seen = []

    def noting(prompt):
        seen.append(digest(prompt.ask.rsplit("\n\n", 1)[-1]))
        number = int(digest(prompt.ask)[:4], 16)
        return reply("x", "y", logprobs=(-number / 65536, -0.1))

    def attend(prompt, said):
        seen.append(digest(prompt.ask.rsplit("\n\n", 1)[-1]))
        n = len(said.tokens)
        return Attended((0.5,) * n, (("Rhine",),) * n, Usage())

    lab.backbone._load = lambda _: FakeBackbone(noting, attend=attend)
    chosen = runs.chosen_thresholds(dev, lab)
    assert set(chosen) == {"flare", "dragin"}
    assert len(seen) > len(dev) and set(seen) <= splits["dev"]
    assert not set(seen) & splits["test"]


def test_thresholds_come_back_as_they_were_saved(tmp_path):
    assert calibration.load(tmp_path) == {}
    calibration.save(tmp_path, {"flare": 0.25})
    assert calibration.load(tmp_path) == {"flare": 0.25}


def test_the_trained_router_is_asked_for_by_name(lab, tmp_path):
    states = np.eye(4)[:, None, :]  # four replies, a layer, a direction a label
    four = classifier.fit(states, skills.LABELS, states, skills.LABELS)
    ProbeRouter(four).save(tmp_path / "random" / methods.ROUTER)
    hopeless = replace(reply("Rhine", "no", 0.1), states={"all": states[3]})
    lab.backbone._load = lambda _: FakeBackbone(lambda _: hopeless)
    chosen = methods.choose("skill_rag", router="probe")["skill_rag"]
    (trace,) = chosen(QUESTIONS[:1], lab)
    assert trace.stopped_by == "exit" and trace.rounds[-1].label == skills.EXIT
    assert trace.usage.calls == 2  # the two answers: the router costs nothing
