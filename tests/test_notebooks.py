"""The chapters: their shape, what must not be in them, and that their comparison can fail.

That each cell still prints what is committed is checked by nbval, not here; but nbval compares
nothing in a cell without an execution count, so the counts are checked here.
"""

import os
import re
import subprocess
import sys

import nbformat
import pytest
from checkout import ROOT, copy_checkout

CHAPTERS = sorted(ROOT.glob("notebooks/*.ipynb"))
HEADINGS = [
    "You will be able to",
    "Recap",
    "Exercise",
    "What the paper reports",
    "What this does not show",
    "Summary",
    "Next",
]
# One number of the package: file, what stands there, what a slip of the finger makes of it.
SLIP = ("skillrag_lite/retrieve.py", "b=0.75", "b=0.05")


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def chapter(request):
    return nbformat.read(request.param, as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook):
    return [output for cell in code(notebook) for output in cell.outputs]


def tags(cell):
    return set(cell.metadata.get("tags", []))


def test_the_four_chapters_are_there():
    names = [path.stem for path in CHAPTERS]
    assert names[:4] == ["00_one_question", "01_hidden_states", "02_probe_training", "03_gating"]


def test_every_cell_was_run_in_order_from_a_fresh_kernel(chapter):
    run = [cell for cell in code(chapter) if "skip-execution" not in tags(cell)]
    assert run
    assert [cell.execution_count for cell in run] == list(range(1, len(run) + 1))


def test_a_cell_that_is_not_run_is_not_compared_either(chapter):
    for cell in code(chapter):
        assert ("skip-execution" in tags(cell)) == ("nbval-skip" in tags(cell)), cell.source


def test_metadata_is_the_same_on_every_machine(chapter):
    assert chapter.metadata.kernelspec.name == "python3"
    assert "widgets" not in chapter.metadata
    mimes = {mime for output in outputs(chapter) for mime in output.get("data", ())}
    assert not [mime for mime in mimes if "widget" in mime]


def test_headings_have_the_shape_of_a_chapter(chapter):
    prose = "\n".join(cell.source for cell in chapter.cells if cell.cell_type == "markdown")
    headings = re.findall(r"^#+ (.*)$", prose, flags=re.MULTILINE)
    assert chapter.cells[0].source.startswith("# ")
    rest = iter(headings)
    missing = [wanted for wanted in HEADINGS if not any(h.startswith(wanted) for h in rest)]
    assert not missing, f"missing, or not in this order: {missing} in {headings}"


def test_code_is_short_enough_to_read(chapter):
    for cell in code(chapter):
        lines = cell.source.splitlines()
        assert sum(bool(line.strip()) for line in lines) <= 12, cell.source
        assert max(map(len, lines), default=0) <= 76, cell.source


def test_no_output_is_an_error(chapter):
    assert not [output.ename for output in outputs(chapter) if output.output_type == "error"]


def test_no_output_names_a_folder_of_this_machine(chapter):
    path = re.compile(r"(?<![\w./:<+-])/(?:[\w.-]+/)+[\w.-]+|\b[A-Za-z]:\\\w")
    for output in outputs(chapter):
        shown = {mime: text for mime, text in output.get("data", {}).items() if "text/" in mime}
        for text in [output.get("text", ""), *shown.values()]:
            found = path.search(re.sub(r"data:[\w/+-]+;base64,[\w+/=]+", "", text))
            assert not found, found.group()


def test_every_figure_says_in_words_what_it_shows(chapter):
    for cell in code(chapter):
        shown = [o for o in cell.outputs if "image/png" in o.get("data", {})]
        for output in shown:
            assert cell.metadata["mystnb"]["image"]["alt"] == output.metadata["image/png"]["alt"]
            title, *axes = output.metadata["image/png"]["alt"].split(". ")
            assert len(title.split()) > 3 and axes or "; x: " in title


def nbval(folder):
    """Compare the first chapter in a copy of the repository, with the copy's own package."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--nbval", "--nbval-current-env"]
        + ["-p", "no:cacheprovider", "notebooks/00_one_question.ipynb"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        encoding="utf-8",
    )


def test_a_changed_number_in_the_package_turns_the_comparison_red(tmp_path):
    file, right, slip = SLIP
    copy_checkout(tmp_path)
    green = nbval(tmp_path)
    assert green.returncode == 0, green.stdout
    text = (tmp_path / file).read_text(encoding="utf-8")
    assert text.count(right) == 1, f"{right} stands {text.count(right)} times in {file}"
    (tmp_path / file).write_text(text.replace(right, slip), encoding="utf-8")
    red = nbval(tmp_path)
    assert red.returncode == 1 and " failed" in red.stdout, red.stdout
