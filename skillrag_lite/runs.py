"""Runs that leave something behind: the committed recordings, and tables of scores."""

from functools import partial

from tqdm.auto import tqdm

from . import (
    adaptive_rag,
    calibration,
    conditions,
    data,
    loop,
    outcomes,
    results,
    training,
)
from .data import Question
from .exits import NEVER, ExitThreshold, hard
from .generation import POOLS
from .lab import RECORDINGS, Lab, open_lab, trained
from .methods import (
    GATED,
    METHODS,
    ROUTER,
    UNTRAINED,
    choose,
    no_retrieval,
    single_step,
    with_skill_rag,
)
from .preparation import Part, parts, prepare, prepare_router, whole_atlas
from .probe_router import ProbeRouter, certified
from .router import ROUTERS
from .show import score_row, table
from .skills import SKILLS, write_queries
from .trace import Trace

CHUNK = 64  # questions between two steps of the progress bar: two full batches of most profiles


def record(profile: str, n: int | None = None) -> None:
    """Record a profile on the Atlas: all that the book replays, and all that is trained for it.

    Resumes where an earlier run stopped. Writes recordings/<profile>.sqlite, which holds exactly
    the replies that the chapters ask for, and recordings/<profile>/. With `n`, only a sample is
    recorded: both conditions of the first n questions of each split.
    """
    splits = {name: data.load("atlas", name)[:n] for name in data.SPLITS}
    if n is None:
        (RECORDINGS / profile).mkdir(parents=True, exist_ok=True)  # what is trained belongs there
    lab = open_lab(profile, mode="auto")
    part = Part(lab, splits["train"], splits["dev"])
    if n is None:
        prepare([part])
        prepare_router(part)
    path = RECORDINGS / f"{profile}.sqlite"
    kept = _replayed(part, splits["test"], whole=n is None)
    lab.backbone.store.export(path, kept)
    print(f"{path.name}: {len(kept)} replies, {path.stat().st_size / 1e6:.1f} MB")


def _replayed(part: Part, test: list[Question], whole: bool) -> dict[str, tuple[str, ...]]:
    """The keys of all that the chapters ask for, with the pools of states that they look at."""
    lab = part.lab

    def first_steps(*splits):
        for questions in splits:
            training.examples(questions, lab.backbone, lab.retriever)

    def read_by_gates_and_classifiers():
        for questions in (part.train, part.dev, test):
            adaptive_rag.read(questions, lab.backbone)
        for name in GATED:
            _run(name, METHODS[name], test, lab)
        # chapters 05, 07 and 08 give all loops one gate
        one_gate = {name: METHODS[name](test, lab, lab.gate.tau) for name in GATED}
        with_skill_rag(test, lab, lab.gate.tau, "probe", exit=False)
        for questions in (part.dev, test):
            lab.run(questions, ExitThreshold(NEVER))
        piled = one_gate["probing_rag"]
        lost = [piled[i] for i in hard(piled)]
        conditions.run(lost, lab.backbone, lab.retriever, ProbeRouter.load(lab.trained / ROUTER))

    def text_alone():
        for split in ("train", "dev"):
            part.silver(part.answered(split))
        for name, method in METHODS.items():
            if name not in GATED:
                _run(name, method, test, lab)
        failed = certified(single_step(test, lab))
        for route in ROUTERS.values():
            route(lab.backbone, [loop.case(t.question, t.rounds[0]) for t in failed])
        mendable = [t for t in failed if t.question.failure in SKILLS]
        cases = [loop.case(t.question, t.rounds[0]) for t in mendable]
        for skill in SKILLS:
            write_queries(lab.backbone, [skill] * len(cases), cases)

    kept = {}
    asked = [
        (partial(first_steps, part.dev), POOLS),  # an exercise of chapter 01 compares the pools
        (partial(first_steps, part.train, test), ("all", "answer")),
        (read_by_gates_and_classifiers, ("all",)),
        (text_alone, ()),
    ]
    for ask, pools in asked if whole else asked[:2]:
        lab.backbone.seen.clear()
        ask()
        kept = dict.fromkeys(lab.backbone.seen, pools) | kept
    return kept


def compare(profile: str, dataset: str, split: str, methods: str, n: int | None = None) -> str:
    """The chosen methods on one split: a table of scores, and results/<dataset>/<profile>.json.

    What the methods need is trained and chosen first, where it is not there yet. Every method
    shares what another one asked before it. A file of an earlier run is replaced.
    """
    chosen = choose(methods)
    lab = open_lab(profile, dataset, mode="auto")
    questions = data.load(dataset, split)[:n]
    if not chosen.keys() <= UNTRAINED.keys() and not (lab.trained / calibration.FILE).is_file():
        prepare(parts(lab.backbone, dataset))
    if "skill_rag_probe" in chosen and not (trained(profile) / ROUTER).is_file():
        prepare_router(whole_atlas(lab.backbone))
    traces = {name: _run(name, method, questions, lab) for name, method in chosen.items()}
    rows = [{"dataset": dataset, **score_row(name, its)} for name, its in traces.items()]
    shown = table(rows)
    thresholds = calibration.thresholds(lab.trained)
    for row, its in zip(rows, traces.values(), strict=True):
        row["threshold"] = thresholds.get(row["method"])
        row["outcomes"] = outcomes.pack(outcomes.of(its))
    command = f"python -m skillrag_lite run --profile {profile} --dataset {dataset} "
    command += f"--split {split} --methods {methods}" + (f" --n {n}" if n else "")
    path = results.write(dataset, lab.backbone.profile, rows, command)
    return f"{split}, {profile}\n{shown}\nwritten: {path}"


def _run(name, method, questions, lab) -> list[Trace]:
    """The method's traces, with a bar that says how long it will take."""
    traces = []
    with tqdm(total=len(questions), desc=name, unit="question") as bar:
        for start in range(0, len(questions), CHUNK):
            traces += method(questions[start : start + CHUNK], lab)
            bar.update(len(traces) - bar.n)
    return traces


def rows_of(lab: Lab, questions: list[Question], traces: list[Trace]) -> list[dict]:
    """Score rows of the two methods that decide nothing, and of the loop's traces."""
    return [
        score_row("no_retrieval", no_retrieval(questions, lab)),
        score_row("single_step", single_step(questions, lab)),
        score_row("skill_rag", traces),
    ]
