"""The table of methods, and the one rule by which their thresholds are chosen on dev."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import HOSTILE, FakeBackbone, FakeGate, reply, tiny_profile

from skillrag_lite import calibration, classifier, flare, loop, methods, skills
from skillrag_lite.attended import Attended
from skillrag_lite.data import Passage, Question
from skillrag_lite.gate import Point, calibrate
from skillrag_lite.generation import Usage
from skillrag_lite.lab import Lab
from skillrag_lite.methods import METHODS
from skillrag_lite.probe_router import ProbeRouter
from skillrag_lite.recorder import Recorder
from skillrag_lite.retrieve import BM25
from skillrag_lite.store import Store

PASSAGES = [Passage("p", "Seine", "The Seine flows through Paris."), Passage("q", "Rhine", "R.")]
QUESTIONS = [Question(str(i), f"river {i} of Paris?", ("Seine",)) for i in range(5)]


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
    monkeypatch.setattr(methods, "trained", lambda profile: tmp_path)
    monkeypatch.setattr(Lab, "gate", FakeGate())
    store = Store(tmp_path / "store.sqlite")
    backbone = Recorder(
        tiny_profile(), store, load=lambda _: FakeBackbone(script, lambda *_: range(4))
    )
    return Lab(backbone, Counting(PASSAGES), tmp_path)


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


def test_methods_take_their_calibrated_threshold_and_else_the_papers_or_the_gates(
    lab, tmp_path, monkeypatch
):
    taken = []
    monkeypatch.setattr(flare, "run", lambda q, b, r, config: taken.append(config.theta) or [])
    monkeypatch.setattr(loop, "run", lambda q, b, r, gate, *_, exit: taken.append(gate.tau) or [])
    for name in ("flare", "skill_rag", "skill_rag_no_exit"):
        METHODS[name]([], lab)
    points = [Point(0.25, 1.0, 0.5), Point(0.75, 2.0, 0.5)]
    calibration.save(tmp_path, {"flare": points, "skill_rag": points[1:]})
    for name in ("flare", "skill_rag", "skill_rag_no_exit"):
        METHODS[name]([], lab)
    METHODS["flare"]([], lab, 0.0)
    assert taken == [0.8, 0.5, 0.5, 0.25, 0.75, 0.75, 0.0]


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


def test_the_table_is_chosen_from_by_name(lab, monkeypatch):
    assert list(methods.choose("all")) == list(METHODS)
    assert list(methods.choose("single_step,flare")) == ["single_step", "flare"]
    with pytest.raises(ValueError, match="no method 'flair': choose from no_retrieval, "):
        methods.choose("flare,flair")


@pytest.mark.parametrize("name", ["flare", "probing_rag", "skill_rag"])
def test_a_sweep_runs_from_never_to_always_and_the_gates_rule_picks(lab, name):
    halves = [(QUESTIONS[:2], lab), (QUESTIONS[2:], lab)]
    points = calibration.sweep(METHODS[name], halves)
    taus = [p.tau for p in points]
    assert taus == sorted(taus) and len(points) == 7
    searches = [p.retrieval_rate for p in points]
    assert searches[0] == 0 and searches == sorted(searches)
    assert points[0].accuracy == 0 and points[-1].accuracy == 1  # here passages always help
    assert points == calibration.sweep(METHODS[name], [(QUESTIONS, lab)])
    once = next(p for p in points if p.accuracy == 1)
    assert calibrate(points) == once.tau  # what searches less, where accuracy is the same
    if name != "flare":
        assert points[-1].retrieval_rate == 3  # sure answers are not trusted either


def test_sweeps_come_back_as_they_were_saved(tmp_path):
    assert calibration.load(tmp_path) == {}
    sweeps = {"flare": [Point(0.25, 0.5, 0.75)]}
    calibration.save(tmp_path, sweeps)
    assert calibration.load(tmp_path) == sweeps


def test_the_trained_router_is_asked_for_by_name(lab, tmp_path):
    states = np.eye(4)[:, None, :]  # four replies, a layer, a direction a label
    four = classifier.fit(states, skills.LABELS, states, skills.LABELS)
    ProbeRouter(four).save(tmp_path / methods.ROUTER)
    hopeless = replace(reply("Rhine", "no", 0.1), states={"all": states[3]})
    lab.backbone._load = lambda _: FakeBackbone(lambda _: hopeless)
    (trace,) = METHODS["skill_rag_probe"](QUESTIONS[:1], lab)
    assert trace.stopped_by == "exit" and trace.rounds[-1].label == skills.EXIT
    assert trace.usage.calls == 2  # the two answers: the router costs nothing


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("name", METHODS)
def test_a_hostile_passage_changes_nothing_but_itself(lab, tmp_path, name, text):
    unsure = replace(
        reply("Rhine", "It is Basel.", 0.1, tokens=(" Basel.", " Rhine"), logprobs=(-2.0, -2.0)),
        states={"all": np.full((1, 2), 0.1)},
    )
    attend = lambda prompt, said: Attended((9.0, 9.0), (("Paris",), ("Basel",)), Usage())  # noqa: E731
    scorer = lambda prompt, options: [o == " multi_hop_missing" for o in options]  # noqa: E731
    states = np.array([[[0.0, 0.0]], [[0.1, 0.1]]])
    for file, labels in ((methods.ROUTER, skills.LABELS[:2]), (methods.ADAPTIVE, ("A", "C"))):
        classifier.fit(states, labels, states, labels).save(tmp_path / file)
    lab.backbone._load = lambda _: FakeBackbone(lambda _: unsure, scorer, attend=attend)

    others = [Passage(place, place, f"{place}.") for place in ("Elbe", "Oder", "Main")]

    def told(second):
        here = replace(lab, retriever=BM25([*PASSAGES, *others, second]))
        traces = METHODS[name](QUESTIONS, here)
        if name != "no_retrieval":
            assert any(second in r.passages for t in traces for r in t.rounds)
        bare = [[replace(r, passages=()) for r in t.rounds] for t in traces]
        return bare, [t.stopped_by for t in traces]

    assert told(Passage("h", "Paris", text)) == told(Passage("h", "Paris", "A town on a river."))
