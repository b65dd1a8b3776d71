"""The datasheet: a page of prose with tables counted from what was just built."""

import json
from collections import Counter
from pathlib import Path

from skillrag_lite.data import ATLAS, FAILURES, SPLITS

from .certify import EXIT, SKILLS

TEMPLATE = Path(__file__).with_name("datasheet.md")
MEASURED = ATLAS / "measured.json"  # by measure.py, with a model


def table(head, rows):
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def crossed(questions, field):
    """How many questions of each split have each value of a field."""
    counts = {split: Counter(q[field] for q in questions[split]) for split in SPLITS}
    values = sorted({value for c in counts.values() for value in c}, key=str)
    rows = [[v, *(counts[s][v] for s in SPLITS)] for v in values]
    return table([field, *SPLITS], [*rows, ["all", *(len(questions[s]) for s in SPLITS)]])


def repairs(questions, certifier):
    """Failure type x skill -> share of test questions mended; an exit mends what no query can."""
    rows = []
    for failure in FAILURES:
        group = [q for q in questions["test"] if q["failure"] == failure]
        mended = [certifier.mended_by(q) for q in group]
        shares = [sum(skill in m for m in mended) / len(group) for skill in (*SKILLS, EXIT)]
        rows.append([failure, len(group), *(f"{share:.2f}" for share in shares)])
    return table(["failure", "n", "rewrite", "decompose", "focus", "exit"], rows)


def difficulty(condition):
    """What models got right under one condition, by tier or family."""
    rows = [r for r in json.loads(MEASURED.read_text("utf-8")) if r["condition"] == condition]
    return table(
        ["profile", condition, "n", "ACC", "95% interval"],
        [
            [r["profile"], r["group"], r["n"], f"{r['acc']:.2f}",
             f"{r['acc_low']:.2f} to {r['acc_high']:.2f}"]
            for r in rows
        ],
    )  # fmt: skip


def datasheet(files, world, certifier):
    """The datasheet's text."""
    questions = {split: files[split] for split in SPLITS}
    words = [len(p["text"].split()) for p in files["corpus"]]
    pages = Counter(p["id"].split("-")[0] for p in files["corpus"])
    entities = Counter(e.domain for e in world.entities)
    domains = [[d, n, pages[d]] for d, n in sorted(entities.items())]
    domains.append(["all", len(world.entities), len(words)])
    return TEMPLATE.read_text(encoding="utf-8").format(
        counts=f"{len(words)} passages of {min(words)} to {max(words)} words.\n\n"
        + table(["domain", "entities", "passages"], domains),
        families=crossed(questions, "family") + "\n\n" + crossed(questions, "failure"),
        repairs=repairs(questions, certifier),
        tiers=crossed(questions, "tier"),
        fame=difficulty("closed book"),
        difficulty=difficulty("single step"),
        difficulty_of_test=difficulty("single step, test"),
    )
