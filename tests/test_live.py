"""A real model says again what the recordings hold of it."""

from skillrag_lite import data, training
from skillrag_lite.backbone import Backbone
from skillrag_lite.lab import RECORDINGS, open_recorder
from skillrag_lite.retrieve import BM25

N = 8  # questions a condition; the recording of `tiny` holds the first eight of each split


def test_tiny_generates_what_was_recorded(record_testsuite_property, capsys):
    recorded = open_recorder("tiny", "replay")
    live = Backbone.load(recorded.profile)
    questions = data.load("atlas", "dev")[:N]
    retriever = BM25(data.corpus("atlas"))
    now, then = (training.examples(questions, b, retriever) for b in (live, recorded))
    pairs = [*zip(now.closed, then.closed, strict=True)]
    pairs += zip(now.retrieved, then.retrieved, strict=True)
    agree = sum(a.tokens == b.tokens for a, b in pairs)
    record_testsuite_property("live replies that equal the recording", f"{agree}/{len(pairs)}")
    with capsys.disabled():
        print(f"\n{agree} of {len(pairs)} live replies equal the recording, word for word")
    # bfloat16 sums differ between processors, and a near-tie may fall either way
    assert agree >= len(pairs) / 2
    first = [abs(a.logprobs[0] - b.logprobs[0]) for a, b in pairs]
    assert sorted(first)[len(first) // 2] < 0.1


def test_recordings_stay_small():
    assert sum(p.stat().st_size for p in RECORDINGS.rglob("*") if p.is_file()) < 32_000_000
