"""The exit's cost curve on a benchmark, with a scripted model in place of a real one."""

import numpy as np
import pytest
from conftest import FakeBackbone, FakeGate, reply

from skillrag_lite import lab, results
from skillrag_lite.data import Passage, Question
from skillrag_lite.retrieve import BM25
from tools import exit_curve

CORPUS = [Passage("p", "Seine", "The Seine flows through Paris."), Passage("q", "x", "y")]
ASKED = [
    Question(str(i), f"river {i} of Paris?", ("Seine",), gold_titles=("Seine",) * (i != 1))
    for i in range(4)
]


def script(prompt):
    if "river 3" in prompt.ask:
        return reply("Seine", "It is known.", 0.9)
    return reply("Rhine", "so", 0.1)


def score(prompt, options):
    """The exit label is likelier the higher the question's number; alike where there is none."""
    number = next((i for i in range(4) if f"river {i}" in prompt.ask), None)
    return [0.0] * 4 if number is None else [0.0, 0.0, 0.0, float(number)]


def test_the_file_holds_each_signals_curve(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(lab.Gate, "load", lambda folder: FakeGate())
    backbone = FakeBackbone(script, score)
    monkeypatch.setattr(exit_curve, "EVERY", 1)
    opened = lab.Lab(backbone, BM25(CORPUS), tmp_path)
    monkeypatch.setattr(exit_curve, "open_lab", lambda profile, name, mode: opened)
    monkeypatch.setattr(exit_curve.data, "load", lambda name, split: ASKED)
    exit_curve.main(["--n", "4"])
    written = results.read("hotpotqa_exits")["pocket"]
    assert written["made_by"].endswith("--profile pocket --dataset hotpotqa --n 4")
    rows = written["rows"]
    assert {(row["dataset"], row["n"]) for row in rows} == {("hotpotqa", 4)}
    assert {row["method"] for row in rows} == {"score router", "1 - confidence", "random"}
    by_score = [row for row in rows if row["method"] == "score router"]
    odds = np.exp(np.arange(3))
    assert [row["theta"] for row in by_score] == pytest.approx(odds / (3 + odds), abs=1e-4)
    assert [row["exits"] for row in by_score] == [0.75, 0.5, 0.25]  # the fourth is never lost
    assert [row["recall"] for row in by_score] == [1, 1, 0]  # only the second lacks its page
    assert [row["precision"] for row in by_score] == pytest.approx([1 / 3, 0.5, 0], abs=1e-4)
    assert [row["searches"] for row in by_score] == [0.75, 1.25, 1.75]
    assert str(tmp_path) in capsys.readouterr().out
