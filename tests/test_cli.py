"""The command line and the front door, with a scripted model in place of a real one."""

import json

import numpy as np
import pytest
from conftest import FakeBackbone, FakeGate, reply

import skillrag_lite
from skillrag_lite import __main__ as cli
from skillrag_lite import calibration, lab, methods, outcomes, results, runs, show
from skillrag_lite.data import Passage, Question
from skillrag_lite.gate import Point
from skillrag_lite.recorder import Recorder
from skillrag_lite.retrieve import BM25
from skillrag_lite.store import Store

CORPUS = [Passage("p", "Seine", "The Seine flows through Paris."), Passage("q", "Rhine", "Rhine.")]


@pytest.fixture
def answered(monkeypatch, tmp_path):
    """A lab whose model is sure of everything once it has passages."""
    monkeypatch.setattr(lab, "RECORDINGS", tmp_path / "recordings")
    monkeypatch.setattr(lab, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(lab.Gate, "load", lambda folder: FakeGate())

    def script(prompt):
        return reply("Seine", "It is known.", 0.9 if "Passages:" in prompt.ask else 0.1)

    def opened(profile="pocket", dataset="atlas", mode="auto"):
        recorder = lab.open_recorder(profile, mode, load=lambda _: FakeBackbone(script))
        return lab.Lab(recorder, BM25(CORPUS), tmp_path / "trained")

    monkeypatch.setattr(lab, "_open_once", opened)
    monkeypatch.setattr(runs, "open_lab", opened)
    prepared = []
    monkeypatch.setattr(runs, "prepare", prepared.extend)
    monkeypatch.setattr(runs, "prepare_router", prepared.append)
    monkeypatch.setattr(runs, "whole_atlas", lambda backbone: "whole atlas")
    monkeypatch.setattr(runs, "parts", lambda backbone, name: [(backbone.profile.name, name)])
    return prepared


def test_ask_returns_a_trace(answered):
    trace = skillrag_lite.ask("which river flows through Paris?")
    assert trace.answer == "Seine" and trace.stopped_by == "sufficient"
    assert [r.query for r in trace.rounds] == [None, "which river flows through Paris?"]


def test_ask_reads_a_corpus_of_ones_own(answered, tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"id": "m", "title": "Mine", "text": "Paris has a river."}\n', "utf-8")
    own = lab.data.read_passages(path)
    trace = skillrag_lite.ask("river of Paris?", corpus=own)
    assert [p.title for p in trace.rounds[1].passages] == ["Mine"]


def test_the_command_prints_the_trace(answered, capsys):
    assert cli.main(["ask", "which river of", "Paris?"]) == 0
    shown = capsys.readouterr().out
    assert (
        shown.startswith("Q: which river of Paris?\n")
        and "stopped: the answer was trusted" in shown
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ask"], "ask something: "),
        (["ask", "--corpus", "nowhere.jsonl", "what?"], "nowhere.jsonl"),
        (["ask", "--corpus", __file__, "what?"], "test_cli.py:1: broken JSON"),
        (["run", "--dataset", "nq"], "SKILLRAG_DATA"),
        (["run", "--methods", "flair"], "no method 'flair': choose from no_retrieval, "),
        (["convert", "nq", "dev", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_a_mistake_ends_in_one_sentence(answered, monkeypatch, capsys, arguments, said):
    monkeypatch.delenv("SKILLRAG_DATA", raising=False)
    assert cli.main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("skillrag_lite: ") and said in error and error.count("\n") == 1


def test_auto_mode_starts_from_the_recordings_and_leaves_them_alone(answered):
    profile = lab.profiles.get("pocket")
    source = Store(lab.RUNS / "source.sqlite")
    source.put({"k": reply("recorded")})
    lab.RECORDINGS.mkdir(exist_ok=True)
    source.export(lab.RECORDINGS / "pocket.sqlite", {"k": ("all",)})
    before = (lab.RECORDINGS / "pocket.sqlite").read_bytes()
    recorder = lab.open_recorder("pocket", "auto")
    assert isinstance(recorder, Recorder) and recorder.profile == profile
    recorder.store.put({"new": reply("mine")})
    assert recorder.store.keys() == ["k", "new"]
    assert (lab.RECORDINGS / "pocket.sqlite").read_bytes() == before


def test_rows_hold_scores_intervals_and_costs(answered):
    asked = [Question(str(i), f"river {i} of Paris?", ("Seine",)) for i in range(5)]
    opened = runs.open_lab()
    rows = runs.rows_of(opened, asked, opened.run(asked))
    assert [row["method"] for row in rows] == ["no_retrieval", "single_step", "skill_rag"]
    assert all(0 <= row["acc_low"] <= row["acc"] <= row["acc_high"] <= 1 for row in rows)
    assert [row["retrievals"] for row in rows] == [0, 1, 1]
    assert [row["llm_calls"] for row in rows] == [1, 1, 2]
    assert {row["acc_low"] for row in rows} == {1.0}


def test_run_prints_a_table_and_writes_what_it_takes_to_have_it_again(answered, capsys, tmp_path):
    command = ["run", "--methods", "single_step,probing_rag,flare", "--n", "70"]
    assert cli.main(command) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("test, pocket\ndataset  method ")
    assert answered == [("pocket", "atlas")]  # prepared, as two of the three need
    assert "70/70" in shown.err and "probing_rag" in shown.err  # a bar a method
    path = tmp_path / "results" / "atlas" / "pocket.json"
    written = json.loads(path.read_text("utf-8"))
    assert list(written) == ["profile", "model", "precision", "seed", "commit", "made_by", "rows"]
    assert written["profile"] == "pocket" and written["precision"] == "bf16"
    assert [row["method"] for row in written["rows"]] == ["single_step", "probing_rag", "flare"]
    assert list(written["rows"][0]) == [
        "dataset", "method", "n", "em", "acc", "acc_low", "acc_high", "acc_loose", "f1",
        "retrievals", "llm_calls", "prompt_tokens", "new_tokens", "seconds", "threshold",
        "outcomes",
    ]  # fmt: skip
    kept = outcomes.unpack(written["rows"][1]["outcomes"])
    assert len(kept) == 70 and {o.stopped_by for o in kept} == {"sufficient"}
    assert {(row["dataset"], row["n"]) for row in written["rows"]} == {("atlas", 70)}
    path.unlink()
    assert cli.main(written["made_by"].split()[3:]) == 0  # the command that it names
    assert json.loads(path.read_text("utf-8")) == written == results.read("atlas")["pocket"]
    (tmp_path / "trained").mkdir()
    calibration.save(tmp_path / "trained", {"flare": [Point(0.25, 0.5, 0.75)]})
    assert cli.main(command) == 0
    rows = results.read("atlas")["pocket"]["rows"]
    assert [row["threshold"] for row in rows] == [None, None, 0.25]


def test_a_result_keeps_its_commit_until_its_numbers_change(answered, monkeypatch):
    profile = lab.profiles.get("tiny")
    for commit, rows in (("one", [{"acc": 1 / 3}]), ("two", [{"acc": 1 / 3}])):
        monkeypatch.setattr(results, "_commit", lambda commit=commit: commit)
        results.write("somewhere", profile, rows, "by hand")
    written = results.read("somewhere")
    assert list(written) == ["tiny"] and written["tiny"]["commit"] == "one"
    assert written["tiny"]["rows"] == [{"acc": 0.3333}]
    results.write("somewhere", profile, [{"acc": 0.5}], "by hand")
    assert results.read("somewhere")["tiny"]["commit"] == "two"


def test_another_seed_has_a_file_of_its_own(answered):
    profile = lab.profiles.get("tiny")
    for seed in (0, 2):
        results.write("somewhere", profile, [{"acc": seed}], "by hand", seed)
    for seed in (0, 2):
        written = results.read("somewhere", seed)["tiny"]
        assert written["seed"] == written["rows"][0]["acc"] == seed
    assert results.read("somewhere", 1) == {}


def test_the_probe_router_is_trained_on_the_atlas_for_any_dataset(answered, monkeypatch):
    asked = [Question("0", "which river flows through Paris?", ("Seine",))]
    monkeypatch.setattr(runs.data, "load", lambda name, split: asked)
    stand_in = {"skill_rag_probe": methods.METHODS["single_step"]}
    monkeypatch.setattr(runs, "choose", lambda names: stand_in)
    runs.compare("pocket", "nq", "test", "skill_rag_probe")
    assert answered == [("pocket", "nq"), "whole atlas"]


def test_what_needs_no_training_is_not_prepared(answered, capsys):
    assert cli.main(["run", "--methods", "no_retrieval,single_step", "--n", "2"]) == 0
    assert answered == []


def test_a_run_in_parts_is_the_run(answered, monkeypatch):
    asked = [Question(str(i), f"river {i} of Paris?", ("Seine",)) for i in range(5)]
    method, opened = methods.METHODS["probing_rag"], runs.open_lab()
    whole = method(asked, opened)
    monkeypatch.setattr(runs, "CHUNK", 2)
    assert runs._run("probing_rag", method, asked, opened) == whole


def test_a_table_is_aligned_and_rounded():
    rows = [{"method": "a", "n": 3, "acc": np.float64(0.123), "seconds": 2.25}]
    assert show.table(rows) == "method  n   acc  seconds\na       3  0.12      2.2"
