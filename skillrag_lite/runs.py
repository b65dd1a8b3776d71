"""Runs that leave something behind: the committed recordings, and tables of scores."""

from . import data, loop, training
from .data import Question
from .gate import Gate
from .lab import RECORDINGS, Lab, open_lab
from .show import score_row, table
from .trace import Round, Trace


def record(profile: str, n: int | None = None) -> None:
    """Record a profile on the Atlas: both conditions on all splits, the loop on test.

    Resumes where an earlier run stopped. Writes recordings/<profile>.sqlite, which holds exactly
    the replies that the book replays, and the gate that was trained on them. With `n`, only a
    sample is recorded: both conditions of the first n questions of each split.
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
    gate = training.train_gate(answered["train"], answered["dev"])
    gate.save(RECORDINGS / profile)
    gate = Gate.load(RECORDINGS / profile)  # as a reader will have it
    print("test: the full loop", flush=True)
    loop.run(splits["test"], lab.backbone, lab.retriever, gate)


def compare(profile: str, dataset: str, split: str, router: str, n: int | None = None) -> str:
    """The loop beside no retrieval and single step on one split, as a table of scores."""
    lab = open_lab(profile, dataset, mode="auto")
    questions = data.load(dataset, split)[:n]
    rows = rows_of(lab, questions, lab.run(questions, router))
    return f"{dataset} {split}, {profile}, gate trained on the Atlas\n{table(rows)}"


def rows_of(lab: Lab, questions: list[Question], traces: list[Trace]) -> list[dict]:
    """Score rows of the two methods that decide nothing, and of the loop's traces."""
    done = training.examples(questions, lab.backbone, lab.retriever)
    found = lab.retriever.search([q.question for q in questions])
    return [
        score_row("no_retrieval", _one_round(questions, done.closed)),
        score_row("single_step", _one_round(questions, done.retrieved, found)),
        score_row("skill_rag", traces),
    ]


def _one_round(questions: list[Question], replies, found=None) -> list[Trace]:
    """Traces of a method that asks once and decides nothing."""
    traces = []
    for i, (question, reply) in enumerate(zip(questions, replies, strict=True)):
        query, passages = (question.question, tuple(found[i])) if found else (None, ())
        only = Round(query, passages, reply, 0.0, (), reply.usage)
        traces.append(Trace(question, (only,), "budget"))
    return traces
