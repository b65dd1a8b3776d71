"""How hard the Atlas is for a model: `python -m tools.atlas.measure pocket laptop`.

Writes data/atlas/measured.json, which the datasheet shows. Fame is measured without passages on
the questions that are not a choice between two things; difficulty with the raw question's passages.
A profile that is recorded answers all of the Atlas, another one test, without passages only.
"""

import json
import sys

from skillrag_lite import data, training
from skillrag_lite.lab import RECORDINGS, open_lab
from skillrag_lite.scores import acc, bootstrap

from .report import MEASURED


def rows(profile, condition, group, questions, replies):
    """One row a value of the group (tier, family): ACC with its interval and n."""
    right = [acc(g.answer, q.answers) for q, g in zip(questions, replies, strict=True)]
    out = []
    for value in sorted({getattr(q, group) for q in questions}):
        scores = [s for q, s in zip(questions, right, strict=True) if getattr(q, group) == value]
        mean, low, high = (round(x, 3) for x in bootstrap(scores))
        out.append(dict(profile=profile, condition=condition, group=f"{group} {value}",
                        n=len(scores), acc=mean, acc_low=low, acc_high=high))  # fmt: skip
    return out


def measure(profile):
    """Rows by tier, closed-book, and by family, with passages, where the profile is recorded."""
    recorded = (RECORDINGS / f"{profile}.sqlite").exists()
    lab = open_lab(profile, mode="replay" if recorded else "auto")
    splits = data.SPLITS if recorded else ("test",)
    questions = [q for split in splits for q in data.load("atlas", split)]
    open_ended = [q for q in questions if q.family != "comparison"]
    out = rows(profile, "closed book", "tier", open_ended,
               training.closed_book(open_ended, lab.backbone))  # fmt: skip
    if recorded:
        replies = training.single_step(questions, lab.backbone, lab.retriever)
        out += rows(profile, "single step", "family", questions, replies)
        test = len(data.load("atlas", "test"))  # the last of the splits
        out += rows(profile, "single step, test", "family", questions[-test:], replies[-test:])
    return out


if __name__ == "__main__":
    found = [row for profile in sys.argv[1:] for row in measure(profile)]
    MEASURED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
