"""The cost of sharing a store, with a scripted model whose clock ticks once a reply."""

from itertools import accumulate

import pytest
from conftest import FakeBackbone, FakeGate, reply, tiny_profile
from test_methods import PASSAGES, QUESTIONS, script

from benchmarks import shared
from skillrag_lite.lab import Lab
from skillrag_lite.methods import METHODS, choose
from skillrag_lite.recorder import Recorder
from skillrag_lite.retrieve import BM25

NAMES = "no_retrieval,single_step,flare,probing_rag,skill_rag"


@pytest.fixture
def backbone(monkeypatch):
    """Scripted; a second passes with every prompt that it is asked."""
    backbone = FakeBackbone(script, lambda *_: range(4))
    backbone._headers = {}
    monkeypatch.setattr(Lab, "gate", FakeGate())
    monkeypatch.setattr(shared.time, "perf_counter", lambda: sum(map(len, backbone.asked)))
    return backbone


def test_together_the_model_is_asked_only_what_is_new(backbone, tmp_path):
    held = []

    def open_lab(store):
        held.append(len(store.keys()))
        recorder = Recorder(tiny_profile(), store, load=lambda _: backbone)
        return Lab(recorder, BM25(PASSAGES), tmp_path)

    *rows, total = shared.compare(choose(NAMES), QUESTIONS, open_lab)
    calls = {row["method"]: (row["alone_calls"], row["together_calls"]) for row in rows}
    assert list(calls) == NAMES.split(",")
    assert calls["no_retrieval"] == calls["single_step"] == (5, 5)
    assert calls["probing_rag"][0] > calls["probing_rag"][1] == 0
    assert calls["skill_rag"][0] > calls["skill_rag"][1] == 0
    assert total["alone_calls"] > total["together_calls"] >= 10
    assert total["alone_calls"] + total["together_calls"] == sum(map(len, backbone.asked))
    assert all(row[f"{kind}_s"] == row[f"{kind}_calls"]
               for row in (*rows, total) for kind in ("alone", "together"))  # fmt: skip
    assert held[::2] == [0] * 5  # alone: always an empty store
    filled = accumulate((new for _, new in calls.values()), initial=0)
    assert held[1::2] == list(filled)[:5]  # together: what the methods before it asked


def test_the_ratio_is_of_the_two_sums():
    costs = {"alone_s": 8.0, "together_s": 2.0, "alone_calls": 9, "together_calls": 3}
    rows = [{"method": "flare"} | dict.fromkeys(costs, 1), {"method": "sum"} | costs]
    said = shared.report(rows).splitlines()
    assert said[0].split() == ["method", *shared.COSTS]
    assert said[2].split() == ["sum", "8.00", "2.00", "9", "3"]
    assert said[-1] == "ratio 0.25 (goal 0.50)"


def test_the_seven_methods_are_compared_not_the_variants():
    variants = {"skill_rag_probe", "skill_rag_no_exit"}
    assert list(choose(shared.COMPARED)) == [name for name in METHODS if name not in variants]


def test_the_command_asks_a_loaded_model_and_no_recording(backbone, monkeypatch, capsys):
    def answering(prompt):
        backbone._headers[prompt.shots] = "read"
        return reply("x")

    opened = []

    def recorder(*given, **named):
        opened.append(dict(backbone._headers))
        return Recorder(*given, **named)

    backbone.script = answering
    monkeypatch.setattr(shared, "COMPARED", "no_retrieval,single_step")
    monkeypatch.setattr(shared.Backbone, "load", lambda _: backbone)
    monkeypatch.setattr(shared, "Recorder", recorder)
    shared.main(["--n", "3"])
    said = capsys.readouterr().out.splitlines()
    assert said[3].split() == ["sum", "6", "6", "6", "6"] and said[4] == "ratio 1.00 (goal 0.50)"
    assert opened == [{}] * 4  # no run finds the headers that another one read
