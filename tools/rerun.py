"""Rerun a chapter with other parameters, into a copy; the chapter itself is never touched.

    python -m tools.rerun 02_probe_training --file profiles/pocket.yaml --set SEED=1

papermill only logs a parameter that the chapter does not have; here it is refused.
"""

import argparse
import sys
from pathlib import Path

import papermill
import yaml

ROOT = Path(__file__).parents[1]


def parameters(file, settings, known) -> dict:
    """The values of the YAML file, then those of NAME=VALUE, for the chapter's own names."""
    given = yaml.safe_load(Path(file).read_text(encoding="utf-8")) if file else {}
    given = {name: value for name, value in given.items() if name in known}
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in known:
            raise SystemExit(f"the chapter has no parameter {name!r}, only {', '.join(known)}")
        given[name] = yaml.safe_load(value)
    return given


def main(arguments=None) -> Path:
    """Run one chapter; returns the copy's path."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chapter", help="02_probe_training, for example")
    parser.add_argument("--file", help="a YAML file of parameters, as in profiles/")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args(arguments)
    source = ROOT / "notebooks" / f"{options.chapter}.ipynb"
    if not source.exists():
        raise SystemExit(f"there is no chapter {options.chapter!r} in notebooks/")
    known = papermill.inspect_notebook(source)
    given = parameters(options.file, options.set, known)
    target = ROOT / "runs" / source.name
    target.parent.mkdir(exist_ok=True)
    papermill.execute_notebook(source, target, given, cwd=source.parent, kernel_name="python3")
    print(f"written: {target.relative_to(ROOT)}, with {given}", file=sys.stderr)
    return target


if __name__ == "__main__":
    main()
