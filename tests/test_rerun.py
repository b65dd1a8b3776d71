"""The runner of chapters: a wrong name is refused, and only a copy is written."""

import pytest

from skillrag_lite import results
from tools import rerun


def test_values_come_from_the_file_and_the_command(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("PROFILE: tiny\nUNUSED: 1\n", encoding="utf-8")
    known = {"PROFILE": None, "SEED": None}
    assert rerun.parameters(file, ["SEED=3"], known) == {"PROFILE": "tiny", "SEED": 3}
    with pytest.raises(SystemExit, match="no parameter 'SEDE', only PROFILE, SEED"):
        rerun.parameters(None, ["SEDE=3"], known)


def test_a_chapter_that_is_not_there_is_named():
    with pytest.raises(SystemExit, match="there is no chapter '99_none'"):
        rerun.main(["99_none"])


def test_a_rerun_leaves_the_chapter_alone(tmp_path, monkeypatch):
    source = (rerun.ROOT / "notebooks" / "03_gating.ipynb").read_bytes()
    (tmp_path / "notebooks").symlink_to(rerun.ROOT / "notebooks")
    monkeypatch.setattr(rerun, "ROOT", tmp_path)
    copy = rerun.main(["03_gating", "--set", "SEED=1"])
    assert "SEED = 1" in copy.read_text(encoding="utf-8")
    assert (rerun.ROOT / "notebooks" / "03_gating.ipynb").read_bytes() == source


def test_a_results_command_is_one_that_the_runner_takes(monkeypatch):
    command = results.rerun("05_full_loop", PROFILE="laptop", MODE="auto", SEED=2, N=None)
    assert command.startswith("python -m tools.rerun 05_full_loop --set ")
    ran = {}
    monkeypatch.setattr(
        rerun.papermill, "execute_notebook", lambda s, t, given, **_: ran.update(given)
    )
    rerun.main(command.split()[3:])
    assert ran == {"PROFILE": "laptop", "MODE": "auto", "SEED": 2}
