"""Outcomes: what a results file keeps of each trace, so that paired comparisons need no texts."""

import re
from dataclasses import dataclass

from .exits import absent
from .router import UNPARSED
from .scores import em
from .skills import LABELS
from .trace import Trace

WORD = re.compile(r"([012])([seb])(\d+)([a-z]*)(\??)")
ENDINGS = {name[0]: name for name in ("sufficient", "exit", "budget")}
NAMES = {name[0]: name for name in (*LABELS, UNPARSED)}


@dataclass(frozen=True)
class Outcome:
    """How one question went; stands where a Trace does in `exits.hard` and `exits.price`.

    `right` and `exact` are 0 or 1, by ACC and by EM; `labels` are the router's, one a failure;
    `absent` where no gold page is named.
    """

    right: int
    exact: int
    stopped_by: str
    retrievals: int
    labels: tuple[str, ...]
    absent: bool


def of(traces: list[Trace]) -> list[Outcome]:
    """The traces' outcomes, in order."""
    return [
        Outcome(t.right, em(t.answer, t.question.answers), t.stopped_by, t.retrievals,
                tuple(r.label for r in t.rounds if r.label), absent(t.question))
        for t in traces
    ]  # fmt: skip


def pack(outcomes: list[Outcome]) -> str:
    """A word an outcome: `1b3qm?` is right, out of budget after 3 searches, two labels, absent.

    The first digit is 0 for wrong, 1 for right and 2 for an exact match; then stand the first
    letters of the ending, the searches, and the first letters of the labels.
    """
    return " ".join(
        f"{o.right + o.exact}{o.stopped_by[0]}{o.retrievals}"
        f"{''.join(label[0] for label in o.labels)}{'?' * o.absent}"
        for o in outcomes
    )


def unpack(words: str) -> list[Outcome]:
    """The outcomes that `pack` wrote. Raises ValueError for a word of another form."""
    found = []
    for word in words.split():
        if not (parts := WORD.fullmatch(word)):
            raise ValueError(f"{word!r} is no outcome: it should look like 1b3qm?")
        hit, ending, searches, labels, absent = parts.groups()
        found.append(Outcome(
            int(hit > "0"), int(hit > "1"), ENDINGS[ending], int(searches),
            tuple(NAMES[letter] for letter in labels), bool(absent),
        ))  # fmt: skip
    return found


def by_method(rows: list[dict]) -> dict[str, list[Outcome]]:
    """Each method's outcomes, from the rows of a results file."""
    return {row["method"]: unpack(row["outcomes"]) for row in rows}
