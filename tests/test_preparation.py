"""What is trained and chosen before test, with a scripted model: nothing of test is ever seen."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from conftest import FakeBackbone, reply, tiny_profile

from skillrag_lite import adaptive_rag, calibration, data, lab, methods, preparation, runs
from skillrag_lite.attended import Attended
from skillrag_lite.gate import Gate
from skillrag_lite.generation import Usage
from skillrag_lite.lab import Lab
from skillrag_lite.preparation import Part, prepare, prepare_router
from skillrag_lite.prompts import answer_prompt, question_block
from skillrag_lite.recorder import Recorder
from skillrag_lite.retrieve import BM25
from skillrag_lite.skills import LABELS
from skillrag_lite.store import Store, key
from skillrag_lite.text_classifier import TextClassifier


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Model(FakeBackbone):
    """Right about a third of the questions, by a hash of the prompt; notes the questions asked."""

    def __init__(self, golds):
        super().__init__(self.write, self.rate, attend=self.look)
        self.golds, self.seen = golds, set()

    def rate(self, prompt, options):
        return self.draw(prompt, len(options))

    def draw(self, prompt, n):
        return np.random.default_rng(int(digest(prompt.ask + prompt.lead)[:8], 16)).random(n)

    def note(self, prompt):
        question = prompt.ask.rsplit("\n\n", 1)[-1].partition("\nFailed reply:")[0]
        self.seen.add(digest(question))
        return question

    def write(self, prompt):
        if not prompt.shots:  # chapter 07 has it invent skills
            return reply("1. Say it in other words.\n2. Say it more shortly.", mark="")
        values = self.draw(prompt, 9)
        question = self.note(prompt)
        right = values[0] < 0.35
        states = np.array([values[1:5], values[5:9]], dtype=np.float32) + right
        thought = list(self.golds.values())[int(values[8] * 999)]
        return reply(self.golds[question] if right else "Rhine", thought, states={"all": states},
                     tokens=(" a river", " it"), logprobs=(-float(values[8]), -0.01))  # fmt: skip

    def look(self, prompt, said):
        self.note(prompt)
        received = tuple(self.draw(prompt, len(said.tokens)).round(4).tolist())
        return Attended(received, (("Rhine",),) * len(said.tokens), Usage())


@pytest.fixture
def atlas(tmp_path, monkeypatch):
    """A part of the Atlas's train and dev questions, with a scripted model."""
    monkeypatch.setattr(methods, "trained", lambda profile: tmp_path)
    questions = {split: data.load("atlas", split) for split in data.SPLITS}
    golds = {question_block(q.question): q.answers[0] for qs in questions.values() for q in qs}
    model = Model(golds)
    recorder = Recorder(tiny_profile(), Store(tmp_path / "s.sqlite"), load=lambda _: model)
    opened = Lab(recorder, BM25(data.corpus("atlas")), tmp_path)
    return Part(opened, questions["train"][:60], questions["dev"][:25]), questions, model


def test_all_is_trained_and_chosen_and_only_train_and_dev_are_seen(atlas, tmp_path):
    part, questions, model = atlas
    prepare([part])
    prepare_router(part)
    hashes = {s: {digest(question_block(q.question)) for q in qs} for s, qs in questions.items()}
    assert not hashes["dev"] & (hashes["test"] | hashes["train"])
    asked = {digest(question_block(q.question)) for q in part.train + part.dev}
    empty = {digest(question_block("N/A"))}  # what `score` sets the labels' likelihoods against
    assert model.seen - empty == asked and not model.seen & hashes["test"]

    assert 0 < Gate.load(tmp_path).tau < 1
    sweeps = calibration.load(tmp_path)
    assert set(sweeps) == set(methods.CALIBRATED)
    for points in sweeps.values():
        assert points[0].retrieval_rate == 0 < points[-1].retrieval_rate
    before = len(model.asked)
    prepare([part])
    assert len(model.asked) == before and calibration.load(tmp_path) == sweeps

    test = questions["test"][:10]
    traces = {name: method(test, part.lab) for name, method in methods.METHODS.items()}
    assert {len(t) for t in traces.values()} == {10}
    labels = {r.label for t in traces["skill_rag_probe"] for r in t.rounds}
    assert labels & set(LABELS)


def test_a_profile_that_names_a_text_model_has_adaptive_rag_read_the_words(
    atlas, tmp_path, tiny_t5
):
    part, questions, _ = atlas
    recorder, test = part.lab.backbone, questions["test"][:10]
    recorder.profile = tiny_profile(text_classifier=str(tiny_t5((*"ABC", "who", "what", "the"))))
    prepare([part])
    traces = methods.METHODS["adaptive_rag"](test, part.lab)
    assert not (tmp_path / methods.ADAPTIVE).exists()
    classifier = TextClassifier.load(tmp_path / methods.ADAPTIVE_TEXT)
    silver = set(part.silver(part.answered("train")))
    assert set(classifier.labels) == silver and len(silver) > 1
    chosen = classifier.predict([q.question for q in test])
    assert [t.retrievals == 0 for t in traces] == [label == "A" for label in chosen]
    for question in [*part.train, *part.dev, *test]:
        asked = key(recorder.profile, answer_prompt(question.question), adaptive_rag.READ)
        assert asked not in recorder.store


def test_thresholds_see_dev_only(atlas, monkeypatch):
    part, questions, model = atlas
    prepare([part])
    model.seen.clear()
    part.lab.backbone.store._db.execute("DELETE FROM rows")
    for name in methods.CALIBRATED:
        calibration.sweep(methods.METHODS[name], [(part.dev, part.lab)])
    dev = {digest(question_block(q.question)) for q in part.dev}
    assert model.seen - {digest(question_block("N/A"))} == dev


def test_a_part_may_sweep_on_fewer_questions_than_its_gate_is_trained_with(atlas, monkeypatch):
    part, questions, _ = atlas
    swept = []

    def sweep(method, dev):
        swept.extend(dev)
        return []

    monkeypatch.setattr(calibration, "sweep", sweep)
    prepare([part, replace(part, swept=9)])
    assert [qs for qs, _ in swept[:2]] == [part.dev, part.dev[:9]]


def test_a_recording_holds_what_the_chapters_ask_for(atlas, tmp_path, monkeypatch):
    part, questions, model = atlas
    prepare([part])
    prepare_router(part)
    kept = runs._replayed(part, questions["test"][:12], whole=True)
    pools = {("all", "answer", "last"), ("all", "answer"), ("all",), ()}
    assert set(kept.values()) == pools
    path = tmp_path / "r.sqlite"
    part.lab.backbone.store.export(path, kept)
    recorder = Recorder(tiny_profile(), Store(path, readonly=True), "replay")
    replay = Part(Lab(recorder, part.lab.retriever, tmp_path), part.train, part.dev)
    assert runs._replayed(replay, questions["test"][:12], whole=True) == kept
    assert len(kept) < len(part.lab.backbone.store.keys())  # what only calibration asked stays out


def test_a_benchmark_is_prepared_with_the_in_domain_sets_only(monkeypatch):
    searched = []
    monkeypatch.setattr(preparation, "BM25", lambda corpus: searched.append(corpus) or corpus)
    monkeypatch.setattr(data, "corpus", lambda name: f"corpus of {name}")
    monkeypatch.setattr(
        data, "load", lambda name, split: [f"{name} {split} {i}" for i in range(999)]
    )
    model = Recorder(tiny_profile(), None)
    parts = preparation.parts(model, "musique")
    assert searched == [f"corpus of {name}" for name in ("nq", "triviaqa", "hotpotqa")]
    assert all(p.lab.backbone is model for p in parts)  # loaded once
    assert {p.lab.trained for p in parts} == {lab.trained("random", "nq")}
    assert [(len(p.train), len(p.dev)) for p in parts] == [(150, 60)] * 3
    assert parts[2].train[149] == "hotpotqa train 149" and parts[0].dev[0] == "nq dev 0"
    assert [p.bias for p in parts] == ["B", "B", "C"]
    assert [p.swept for p in parts] == [30] * 3
    [atlas] = preparation.parts(model, "atlas")
    assert (atlas.bias, atlas.swept) == (None, None) and len(atlas.train) == 150
    whole = preparation.whole_atlas(model)
    assert whole.lab == atlas.lab and (len(whole.train), len(whole.dev)) == (999, 999)
    assert whole.train[998] == "atlas train 998"
    assert lab.trained("laptop", "musique") == lab.trained("laptop", "nq") != lab.trained("laptop")


def test_the_dear_strategy_is_only_tried_where_the_cheap_ones_failed(monkeypatch):
    asked = [data.Question(str(i), "?", ("x",), family="single") for i in range(3)]
    none, single = [reply(a) for a in "xyy"], [reply(a) for a in "yxy"]
    tried = []

    def chain(questions, *_):
        tried.extend(questions)
        return [reply("x") for _ in questions]

    monkeypatch.setattr(adaptive_rag.ircot, "run", chain)
    assert adaptive_rag.label(asked, none, single, None, None) == ["A", "B", "C"]
    assert tried == asked[2:]
    monkeypatch.setattr(adaptive_rag.ircot, "run", lambda q, *_: [reply("y") for _ in q])
    assert adaptive_rag.label(asked, none, single, None, None) == ["A", "B", "B"]
    assert adaptive_rag.label(asked, none, single, None, None, bias="C") == ["A", "B", "C"]
