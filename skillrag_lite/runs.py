"""Runs that leave something behind: the committed recordings, and tables of scores."""

import json
import subprocess
from pathlib import Path

from tqdm.auto import tqdm

from . import calibration, data, loop, probe_router, training
from .data import Question
from .gate import Gate, calibrate
from .lab import RECORDINGS, ROOT, Lab, open_lab
from .methods import METHODS, ROUTER, choose, no_retrieval, single_step
from .show import score_row, table
from .trace import Trace

RESULTS = ROOT / "results"
CHUNK = 64  # questions between two steps of the progress bar: two full batches of most profiles
SEED = 0  # of the bootstrap; all else in a run is greedy
# the threshold at which a method that is calibrated here never searches
NEVER = {"flare": 0.0, "dragin": float("-inf")}


def record(profile: str, n: int | None = None) -> None:
    """Record a profile on the Atlas: both conditions on all splits, the loop on test.

    Resumes where an earlier run stopped. Writes recordings/<profile>.sqlite, which holds exactly
    the replies that the book replays, and the gate that was trained on them with the thresholds
    that were chosen beside it. With `n`, only a sample is recorded: both conditions of the first n
    questions of each split.
    """
    lab = open_lab(profile, mode="auto")
    splits = {name: data.load("atlas", name)[:n] for name in data.SPLITS}
    answered = {}
    for name, questions in splits.items():
        print(f"{name}: {len(questions)} questions, closed book and single step", flush=True)
        answered[name] = training.examples(questions, lab.backbone, lab.retriever)
    if n is None:
        _gate_and_loop(profile, lab, splits, answered)
    path = RECORDINGS / f"{profile}.sqlite"
    lab.backbone.store.export(path, lab.backbone.seen)
    size = path.stat().st_size / 1e6
    print(f"{path.name}: {len(lab.backbone.seen)} replies, {size:.1f} MB")


def _gate_and_loop(profile, lab, splits, answered) -> None:
    print("training the gate", flush=True)
    train, dev = answered["train"], answered["dev"]
    gate = training.train_gate(train, dev)
    gate.save(RECORDINGS / profile)
    gate = Gate.load(RECORDINGS / profile)  # as a reader will have it
    router = probe_router.train(train.questions, train.retrieved, dev.questions, dev.retrieved)
    router.save(RECORDINGS / profile / ROUTER)
    print("dev: the thresholds of the other methods", flush=True)
    calibration.save(RECORDINGS / profile, chosen_thresholds(splits["dev"], lab))
    print("test: the full loop", flush=True)
    loop.run(splits["test"], lab.backbone, lab.retriever, gate)


def chosen_thresholds(dev: list[Question], lab: Lab) -> dict[str, float]:
    """The threshold of each method that has one beside the gate, chosen on dev by one rule."""
    chosen = {}
    for name, never in NEVER.items():
        values = calibration.spread(METHODS[name](dev, lab, never))
        chosen[name] = calibrate(calibration.thresholds(METHODS[name], dev, lab, values))
    return chosen


def compare(profile: str, dataset: str, split: str, methods: str, router: str,
            n: int | None = None) -> str:  # fmt: skip
    """The chosen methods on one split: a table of scores, and results/<dataset>/<profile>.json.

    Every method shares what another one asked before it. A file of an earlier run is replaced.
    """
    chosen = choose(methods, router)
    lab = open_lab(profile, dataset, mode="auto")
    questions = data.load(dataset, split)[:n]
    rows = [score_row(name, _run(name, method, questions, lab)) for name, method in chosen.items()]
    command = f"python -m skillrag_lite run --profile {profile} --dataset {dataset} "
    command += f"--split {split} --methods {methods} --router {router}"
    path = _write(dataset, lab, rows, command if n is None else f"{command} --n {n}")
    title = f"{dataset} {split}, {profile}, gate trained on the Atlas"
    return f"{title}\n{table(rows)}\nwritten: {path}"


def _run(name, method, questions, lab) -> list[Trace]:
    """The method's traces, with a bar that says how long it will take."""
    traces = []
    with tqdm(total=len(questions), desc=name, unit="question") as bar:
        for start in range(0, len(questions), CHUNK):
            traces += method(questions[start : start + CHUNK], lab)
            bar.update(len(traces) - bar.n)
    return traces


def _write(dataset, lab, rows, command) -> Path:
    """Write a run's scores, and all that it takes to have them again."""
    profile = lab.backbone.profile
    facts = {
        "profile": profile.name,
        "model": profile.model,
        "precision": profile.precision,
        "seed": SEED,
        "commit": _commit(),
        "made_by": command,
        "rows": [{"dataset": dataset, **_rounded(row)} for row in rows],
    }
    path = RESULTS / dataset / f"{profile.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return path


def _rounded(row: dict) -> dict:
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}


def _commit() -> str:
    """The commit that runs, marked where files differ from it; empty where git knows none."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        said = subprocess.run(asked, cwd=ROOT, capture_output=True, encoding="utf-8")
    except OSError:  # a run's scores are not lost because git is not there
        return ""
    return said.stdout.strip()


def rows_of(lab: Lab, questions: list[Question], traces: list[Trace]) -> list[dict]:
    """Score rows of the two methods that decide nothing, and of the loop's traces."""
    return [
        score_row("no_retrieval", no_retrieval(questions, lab)),
        score_row("single_step", single_step(questions, lab)),
        score_row("skill_rag", traces),
    ]
