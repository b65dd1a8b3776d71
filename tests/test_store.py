"""The store and the recorder: nothing is lost, asked twice, or silently wrong."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import FakeBackbone, reply, tiny_profile

from skillrag_lite.attended import Attended
from skillrag_lite.generation import POOLS, Decoding, Scored, Usage
from skillrag_lite.prompts import QA, Prompt
from skillrag_lite.recorder import Recorder
from skillrag_lite.store import Store, StoreError, key

PROFILE = tiny_profile()
PROMPTS = [Prompt((("a", "b"),), f"question {i}") for i in range(7)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store.sqlite")


def test_a_generation_comes_back_as_it_was(store):
    states = {"all": np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)}
    written = reply("Paris", reasoning="It is «known» – 都.", states=states)
    store.put({"k": written})
    read = store.get("k")
    assert read == written
    assert np.abs(read.states["all"] - states["all"]).max() <= np.abs(states["all"]).max() / 254


def test_sixteen_bits_keep_states_to_half_precision(tmp_path):
    store = Store(tmp_path / "s.sqlite", bits=16)
    states = {p: np.random.default_rng(1).normal(size=(2, 8)).astype(np.float32) for p in "ab"}
    store.put({"k": reply("x", states=states)})
    for pool, values in states.items():
        np.testing.assert_array_equal(store.get("k").states[pool], values.astype("f2"))


def test_option_scores_come_back_as_they_were(store):
    store.put({"k": Scored((-1.5, -2.25), Usage(1, 10, 5, 0, 0.5))})
    assert store.get("k") == Scored((-1.5, -2.25), Usage(1, 10, 5, 0, 0.5))


ATTENDED = Attended((0.5, 0.0), (("who", "«都»"), ()), Usage(1, 10, 5, 0, 0.5))


def test_attention_comes_back_as_it_was(store):
    store.put({"k": ATTENDED})
    assert store.get("k") == ATTENDED


def test_the_key_names_all_that_determines_a_reply():
    prompt = PROMPTS[0]
    keys = {
        key(PROFILE, prompt, QA),
        key(tiny_profile(precision="nf4"), prompt, QA),
        key(tiny_profile(chat=False), prompt, QA),
        key(tiny_profile(stride=2), prompt, QA),
        key(tiny_profile(model="another"), prompt, QA),
        key(PROFILE, PROMPTS[1], QA),
        key(PROFILE, Prompt((("a", "c"),), prompt.ask), QA),
        key(PROFILE, Prompt(prompt.shots, prompt.ask, "lead"), QA),
        key(PROFILE, prompt, Decoding(max_new_tokens=1)),
        key(PROFILE, prompt, ["an", "option"]),
    }
    assert len(keys) == 10
    assert key(PROFILE, prompt, QA) == key(tiny_profile(max_batch=1, note="other"), prompt, QA)


def test_a_flipped_byte_is_reported_by_key_and_repaired_on_demand(store):
    store.put({"good": reply("Paris"), "bad": reply("Rome")})
    body = bytearray(store._db.execute("SELECT body FROM rows WHERE key='bad'").fetchone()[0])
    body[len(body) // 2] ^= 1
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE rows SET body=? WHERE key='bad'", (bytes(body),))
    assert store.get("good").answer == "Paris"
    with pytest.raises(StoreError, match="row bad of .*store.sqlite is corrupt: .*repair=True"):
        store.get("bad")
    mending = Store(store.path, repair=True)
    assert mending.get("bad") is None and "bad" not in mending and "good" in mending


def test_the_recorder_asks_only_for_what_the_store_lacks(store):
    fake = FakeBackbone(lambda prompt: reply(prompt.ask))
    recorder = Recorder(PROFILE, store, load=lambda _: fake)
    recorder.generate(PROMPTS[:3], QA)
    replies = recorder.generate([*PROMPTS, PROMPTS[0]], QA)
    assert [r.answer for r in replies] == [p.ask for p in [*PROMPTS, PROMPTS[0]]]
    assert [len(prompts) for prompts in fake.asked] == [3, 4]


def test_live_mode_asks_again(store):
    fake = FakeBackbone(lambda prompt: reply(prompt.ask))
    Recorder(PROFILE, store, load=lambda _: fake).generate(PROMPTS[:2], QA)
    Recorder(PROFILE, store, "live", load=lambda _: fake).generate(PROMPTS[:2], QA)
    assert [len(prompts) for prompts in fake.asked] == [2, 2]


def test_scores_are_recorded_too(store):
    fake = FakeBackbone(score=lambda prompt, options: range(len(options)))
    recorder = Recorder(PROFILE, store, load=lambda _: fake)
    first = recorder.score(PROMPTS[:2], ["x", "y"])
    assert recorder.score(PROMPTS[:2], ["x", "y"]) == first and len(fake.asked) == 1
    recorder.score(PROMPTS[:2], ["y", "x"])
    assert len(fake.asked) == 2


def test_attention_is_recorded_too_and_told_apart_by_reply_and_size(store):
    asked = []

    def attend(prompt, said):
        asked.append((prompt, said))
        return ATTENDED

    recorder = Recorder(PROFILE, store, load=lambda _: FakeBackbone(attend=attend))
    one, two = reply("x"), reply("x", tokens=(" so", " is"))
    assert recorder.attention(PROMPTS[:2], [one, one], 5) == [ATTENDED] * 2
    recorder.attention(PROMPTS[:2], [one, two], 5)
    recorder.attention(PROMPTS[:1], [one], 6)
    assert asked == [(PROMPTS[0], one), (PROMPTS[1], one), (PROMPTS[1], two), (PROMPTS[0], one)]
    assert len(store.keys()) == 4
    replay = Recorder(PROFILE, store, "replay", load=None)
    assert replay.attention(PROMPTS[1:2], [two], 5) == [ATTENDED]
    with pytest.raises(StoreError, match="1 of 1 replies .*question 2"):
        replay.attention(PROMPTS[2:3], [two], 5)
    Recorder(PROFILE, store, "live", load=lambda _: FakeBackbone(attend=attend)).attention(
        PROMPTS[:1], [one], 5
    )
    assert len(asked) == 5


def test_scores_are_kept_batch_by_batch(store):
    def scorer(prompt, options):
        if prompt is PROMPTS[2]:
            raise KeyboardInterrupt
        return [0.0] * len(options)

    with pytest.raises(KeyboardInterrupt):
        Recorder(PROFILE, store, load=lambda _: FakeBackbone(score=scorer)).score(PROMPTS, ["x"])
    assert len(store.keys()) == 2


def test_a_replay_never_loads_a_model_and_a_miss_says_how_to_record(store, tmp_path):
    def load(_):
        raise AssertionError("a replay loaded the model")

    Recorder(PROFILE, store, load=lambda _: FakeBackbone(lambda p: reply(p.ask))).generate(
        PROMPTS[:2], QA
    )
    store.export(tmp_path / "recording.sqlite", dict.fromkeys(store.keys(), POOLS))
    recording = Store(tmp_path / "recording.sqlite", readonly=True)
    replay = Recorder(PROFILE, recording, "replay", load=load)
    assert [r.answer for r in replay.generate(PROMPTS[:2], QA)] == ["question 0", "question 1"]
    with pytest.raises(StoreError, match=r"1 of 2 replies .*'question 5'.*record --profile random"):
        replay.generate([PROMPTS[0], PROMPTS[5]], QA)


def test_recordings_that_are_not_there_say_how_to_make_them(tmp_path):
    with pytest.raises(StoreError, match="no recordings .*python -m skillrag_lite record"):
        Store(tmp_path / "none.sqlite", readonly=True)


def test_an_export_holds_the_asked_rows_in_one_file_with_the_same_bytes_each_time(store, tmp_path):
    store.put({name: reply(name, states={"all": np.eye(3)}) for name in "abc"})
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        store.export(tmp_path / folder / "r.sqlite", {"c": ("all",), "a": ("all",)})
        assert os.listdir(tmp_path / folder) == ["r.sqlite"]
    one, two = (tmp_path / f / "r.sqlite" for f in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert Store(one, readonly=True).keys() == ["a", "c"]


@pytest.mark.parametrize("bits", [8, 16])
def test_an_export_keeps_the_wanted_pools_bit_for_bit(tmp_path, bits):
    whole = Store(tmp_path / "whole.sqlite", bits)
    states = {pool: np.random.default_rng(i).normal(size=(2, 5)) for i, pool in enumerate(POOLS)}
    whole.put({"a": reply("a", states=states), "b": Scored((-1.0,), Usage(1))})
    whole.export(tmp_path / "r.sqlite", {"a": ("last", "answer"), "b": ()})
    copy, before = Store(tmp_path / "r.sqlite", bits, readonly=True), whole.get("a").states
    assert copy.get("a") == whole.get("a") and copy.get("b") == whole.get("b")
    now = copy.get("a").states
    assert set(now) == {"last", "answer"}
    assert all(np.array_equal(now[pool], before[pool]) for pool in now)


WRITER = """
import sys, time
sys.path.insert(0, {tests!r})
from conftest import FakeBackbone, reply, tiny_profile
from skillrag_lite.prompts import QA, Prompt
from skillrag_lite.recorder import Recorder
from skillrag_lite.store import Store
def slow(prompt):
    time.sleep({seconds})
    return reply(prompt.ask)
prompts = [Prompt((("a", "b"),), f"question {{i}}") for i in range({first}, {last})]
backbone = FakeBackbone(slow, size=2)
Recorder(tiny_profile(), Store({path!r}), load=lambda _: backbone).generate(prompts, QA)
print(sum(backbone.sizes))
"""


def write(path, first, last, seconds):
    """A process that records questions first … last - 1, two a batch."""
    code = WRITER.format(
        tests=os.path.dirname(__file__), path=str(path), first=first, last=last, seconds=seconds
    )
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_a_killed_run_loses_at_most_the_batch_in_flight_and_resumes(tmp_path):
    path = tmp_path / "store.sqlite"
    process = write(path, 0, 12, seconds=0.3)
    deadline = time.time() + 60
    while time.time() < deadline and (not path.exists() or len(Store(path).keys()) < 4):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(Store(path).keys())
    assert kept >= 4 and kept % 2 == 0
    again = write(path, 0, 12, seconds=0)
    asked = int(again.communicate(timeout=60)[0])
    assert again.returncode == 0 and asked == 12 - kept
    assert len(Store(path).keys()) == 12


def test_two_processes_may_write_at_once(tmp_path):
    path = tmp_path / "store.sqlite"
    Store(path).close()
    writers = [write(path, 0, 40, 0.002), write(path, 30, 70, 0.002)]
    assert [w.wait(timeout=60) for w in writers] == [0, 0]
    store = Store(path)
    assert len(store.keys()) == 70 and all(store.get(k).answer for k in store.keys())
