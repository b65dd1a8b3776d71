"""The datasheet: a page of prose with tables counted from what was just built."""

from collections import Counter
from pathlib import Path

from .certify import SKILLS, holds

TEMPLATE = Path(__file__).with_name("datasheet.md")
SPLITS = ("train", "dev", "test")


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
    """Failure type x skill oracle -> share of the test questions repaired."""
    rows = []
    for failure in (*SKILLS, "insufficient_evidence"):
        group = [q for q in questions["test"] if q["failure"] == failure]
        shares = []
        for skill in SKILLS:
            if failure == "insufficient_evidence":
                found = [
                    any(
                        holds(certifier.texts[i], q["answers"])
                        for i in certifier.top(q["oracle"][skill])
                    )
                    for q in group
                ]
            else:
                found = [skill in q["repaired_by"] for q in group]
            shares.append(f"{sum(found) / len(group):.2f}")
        rows.append([failure, len(group), *shares])
    return table(["failure", "n", *SKILLS], rows)


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
    )
