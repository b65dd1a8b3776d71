"""Scores that runs and chapters leave behind: one JSON file for each kind of run and profile."""

import json
import subprocess
from pathlib import Path

from .lab import ROOT
from .profiles import PROFILES, Profile

RESULTS = ROOT / "results"


def write(folder: str, profile: Profile, rows: list[dict], made_by: str, seed: int = 0) -> Path:
    """Write rows of scores, and all that it takes to have them again; returns the file's path.

    `rows` are those of `show.score_row` with their dataset in front; `made_by` is the command,
    `seed` that of all that is random: intervals, and in some chapters more; another seed than 0 has
    a file of its own. A file with the same rows is left as it is, so that the commit it names is
    the one that found them.
    """
    path = RESULTS / folder / f"{_name(profile.name, seed)}.json"
    rows = [{k: round(v, 4) if isinstance(v, float) else v for k, v in r.items()} for r in rows]
    if path.is_file() and json.loads(path.read_text(encoding="utf-8"))["rows"] == rows:
        return path
    facts = {
        "profile": profile.name,
        "model": profile.model,
        "precision": profile.precision,
        "seed": seed,
        "commit": _commit(),
        "made_by": made_by,
        "rows": rows,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return path


def rerun(chapter: str, **parameters) -> str:
    """The command that runs a chapter again with these parameters; those that are None left out."""
    given = [f"--set {name}={value}" for name, value in parameters.items() if value is not None]
    return " ".join(["python -m tools.rerun", chapter, *given])


def read(folder: str, seed: int = 0) -> dict[str, dict]:
    """The files that `write` left in a folder, by profile, the smallest model first."""
    paths = {name: RESULTS / folder / f"{_name(name, seed)}.json" for name in PROFILES}
    return {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name, path in paths.items()
        if path.is_file()
    }


def _name(profile, seed):
    return f"{profile}-seed{seed}" if seed else profile


def _commit() -> str:
    """The commit that runs, marked where files differ from it; empty where git knows none."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        said = subprocess.run(asked, cwd=ROOT, capture_output=True, encoding="utf-8")
    except OSError:  # a run's scores are not lost because git is not there
        return ""
    return said.stdout.strip()
