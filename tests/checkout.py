"""A copy of what is committed, in which a test may break things."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def copy_checkout(target: Path) -> Path:
    """Copy the tracked files, as they are on disk now, to `target`; nothing else comes along."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, encoding="utf-8"
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target
