"""The tool that runs chapters: outputs are written back, failures change nothing."""

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from tools import notebooks

SHOWS = (
    "from IPython.display import display\n"
    "display({'image/png': 'aGk=', 'text/plain': 'a figure'}, raw=True,\n"
    "        metadata={'image/png': {'alt': 'It rises.'}})"
)


def test_outputs_and_descriptions_are_written_back_and_a_failure_leaves_its_file(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(notebooks, "CHAPTERS", tmp_path)
    for name, source in (("good", SHOWS), ("bad", "1 / 0")):
        cell = new_code_cell(source, metadata={"tags": ["parameters"], "collapsed": True})
        nbformat.write(new_notebook(cells=[cell]), tmp_path / f"{name}.ipynb")
    before = (tmp_path / "bad.ipynb").read_bytes()
    assert notebooks.main(["bad", "good"]) == 1
    shown = capsys.readouterr()
    assert "bad failed\ngood " in shown.out and "ZeroDivisionError" in shown.err
    assert (tmp_path / "bad.ipynb").read_bytes() == before
    [cell] = nbformat.read(tmp_path / "good.ipynb", as_version=4).cells
    assert cell.metadata == {"tags": ["parameters"], "mystnb": {"image": {"alt": "It rises."}}}
    assert cell.execution_count == 1 and cell.outputs[0].data["text/plain"] == "a figure"


def test_a_chapter_that_is_not_there_is_named(capsys):
    assert notebooks.main(["99_none"]) == 1
    assert "no such chapter in notebooks/: 99_none" in capsys.readouterr().err
