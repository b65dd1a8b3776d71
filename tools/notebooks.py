"""Run the chapters in fresh kernels and write them back, with outputs, ready to commit.

Two run at a time; each one's seconds are printed.

    python -m tools.notebooks                     all chapters
    python -m tools.notebooks 00_one_question     the named ones

A notebook that fails is left as it was; its error is printed and the exit status is 1. Running
twice writes the same bytes.
"""

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError

CHAPTERS = Path(__file__).parents[1] / "notebooks"
# Outputs are compared word for word: no library may draw progress bars or warn in passing.
QUIET = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "TRANSFORMERS_VERBOSITY": "error"}
ALONE = {"OMP_NUM_THREADS": "1"}  # two chapters at a time, one on each of two cores
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def normalise(notebook):
    """Keep of the metadata what is the same on every machine: kernel, language, tags, and what a
    figure's output says of itself, where the book looks for it."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        kept = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        for output in cell.get("outputs", []):
            if alt := output.get("metadata", {}).get("image/png", {}).get("alt"):
                kept["mystnb"] = {"image": {"alt": alt}}
        cell.metadata = kept
    return notebook


def execute(path):
    """Run one notebook from its own folder and write it back; a failing cell raises."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],  # it warns at every start that it talks over TCP
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    nbformat.write(normalise(notebook), path)


def timed(path):
    """Run one notebook; the seconds that it took, and what went wrong, if anything did."""
    start = time.perf_counter()
    try:
        execute(path)
        failure = None
    except (CellControlSignal, DeadKernelError) as error:
        failure = str(error)
    return time.perf_counter() - start, failure


def main(names):
    os.environ |= QUIET | ALONE
    paths = [CHAPTERS / f"{name}.ipynb" for name in names] or sorted(CHAPTERS.glob("*.ipynb"))
    missing = [path.stem for path in paths if not path.exists()]
    if missing:
        print(f"no such chapter in {CHAPTERS.name}/: {', '.join(missing)}", file=sys.stderr)
        return 1
    start, failed = time.perf_counter(), 0
    with ProcessPoolExecutor(2) as pool:
        for path, (seconds, failure) in zip(paths, pool.map(timed, paths), strict=True):
            print(f"{path.stem} {'failed' if failure else f'{seconds:.1f} s'}", flush=True)
            if failure:
                failed = 1
                print(failure, file=sys.stderr)
    print(f"all: {time.perf_counter() - start:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
