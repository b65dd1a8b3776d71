"""Everything a run needs, opened by name: model, store, corpus, gate."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from . import data, loop, profiles
from .data import Passage, Question
from .gate import Gate
from .recorder import Recorder
from .retrieve import BM25
from .store import Store
from .trace import Trace

ROOT = Path(__file__).resolve().parent.parent
RECORDINGS = ROOT / "recordings"
RUNS = ROOT / "runs"  # a reader's own store and indexes; not tracked


@dataclass(frozen=True)
class Lab:
    """A profile's backbone behind its store, and a retriever over one corpus.

    `trained` is the folder of the gate, classifiers and thresholds that go with them.
    """

    backbone: Recorder
    retriever: BM25
    trained: Path

    @property
    def gate(self) -> Gate:
        """The gate that was trained for this profile, on the Atlas or on the benchmarks."""
        return Gate.load(self.trained)

    def run(self, questions: list[Question], router: str | Callable = "score") -> list[Trace]:
        """Answer the questions by the full loop."""
        return loop.run(questions, self.backbone, self.retriever, self.gate, router)


def open_recorder(profile: str, mode: str = "replay", load: Callable | None = None) -> Recorder:
    """The profile's backbone behind the committed recordings, or behind the reader's own store.

    `replay` reads the recordings and never loads a model. `auto` and `live` work in
    runs/<profile>.sqlite, which begins as a copy of the recordings.
    """
    chosen = profiles.get(profile)
    recorded, own = RECORDINGS / f"{profile}.sqlite", RUNS / f"{profile}.sqlite"
    if mode == "replay":
        return Recorder(chosen, Store(recorded, readonly=True), mode, load)
    if recorded.exists() and not own.exists():
        RUNS.mkdir(exist_ok=True)
        shutil.copy(recorded, own)
    return Recorder(chosen, Store(own), mode, load)


def open_lab(profile: str = "pocket", dataset: str = "atlas", mode: str = "replay") -> Lab:
    """A lab for one profile and one dataset's corpus."""
    return Lab(open_recorder(profile, mode), BM25(data.corpus(dataset)), trained(profile, dataset))


def trained(profile: str, dataset: str = "atlas") -> Path:
    """The folder of what was trained for a profile: the committed one, or one of the reader's.

    The five benchmarks share one, whose training saw the in-domain ones of them.
    """
    committed = RECORDINGS / profile
    if dataset == "atlas":
        return committed if committed.is_dir() else RUNS / profile / "atlas"
    return RUNS / profile / "benchmarks"


_open_once = cache(open_lab)


def ask(question: str, profile: str = "pocket", corpus: list[Passage] | None = None,
        mode: str = "auto") -> Trace:  # fmt: skip
    """Answer one question by Skill-RAG and show how: the front door of the package.

    `corpus` is a list of passages of your own; without it the Atlas is searched. The model is
    fetched on first use, and asked only what it was not asked before, unless `mode` is `live`.
    Taught in chapter 00.
    """
    lab = _open_once(profile, mode=mode)
    if corpus is not None:
        lab = replace(lab, retriever=BM25(corpus))
    return lab.run([Question(id="ask", question=question, answers=())])[0]
