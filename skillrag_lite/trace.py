"""A trace: everything that happened to one question, as plain data."""

import json
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

from . import card
from .data import Passage, Question
from .generation import Generation, Usage
from .scores import acc


@dataclass(frozen=True)
class Round:
    """One answer and what led to it.

    `query` is None in round 0, the closed-book answer. `confidence` is the gate's number, the
    mean of `layer_confidence` (one probability a tapped layer). `label` and `diagnosis` are the
    router's, after this round failed; empty where it was not asked. `usage` sums its calls.
    """

    query: str | None
    passages: tuple[Passage, ...]
    generation: Generation
    confidence: float
    layer_confidence: tuple[float, ...]
    usage: Usage
    label: str = ""
    diagnosis: str = ""


@dataclass(frozen=True, repr=False)
class Trace:
    """A question's path through the loop; `stopped_by` is sufficient, exit or budget.

    Shows itself as a card in a notebook. Taught in chapter 00.
    """

    question: Question
    rounds: tuple[Round, ...]
    stopped_by: str

    @property
    def answer(self) -> str:
        """The last round's answer: the one that stands."""
        return self.rounds[-1].generation.answer

    @property
    def right(self) -> int:
        """Whether that answer is right: 1 or 0, by ACC."""
        return acc(self.answer, self.question.answers)

    @property
    def retrievals(self) -> int:
        """How often passages were fetched."""
        return sum(r.query is not None for r in self.rounds)

    @property
    def stalls(self) -> int:
        """How many searches brought nothing new: the query or the passages of the round before."""
        steps = pairwise(self.rounds)
        return sum(b.query == a.query or b.passages == a.passages for a, b in steps)

    @property
    def usage(self) -> Usage:
        """What all calls of the model cost together."""
        return sum((r.usage for r in self.rounds), Usage())

    def to_json(self) -> str:
        """The trace as one line of JSON. Hidden states stay in the store."""
        return json.dumps(asdict(self.without_states()), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Trace":
        """The trace that `to_json` wrote."""
        data = json.loads(text)
        rounds = [
            Round(**{
                **r,
                "passages": tuple(Passage(**p) for p in r["passages"]),
                "generation": Generation.from_plain(r["generation"]),
                "layer_confidence": tuple(r["layer_confidence"]),
                "usage": Usage(**r["usage"]),
            })
            for r in data["rounds"]
        ]  # fmt: skip
        question = data["question"]
        lists = {k: tuple(question[k]) for k in ("answers", "gold_titles", "gold_ids")}
        return cls(Question(**{**question, **lists}), tuple(rounds), data["stopped_by"])

    def without_states(self) -> "Trace":
        """The same trace, its generations without hidden states."""
        bare = tuple(replace(r, generation=replace(r.generation, states={})) for r in self.rounds)
        return replace(self, rounds=bare)

    def __repr__(self) -> str:
        return card.as_text(self)

    def _repr_html_(self) -> str:
        return card.as_html(self)


def once(question: Question, reply: Generation, query: str | None = None,
         passages: tuple[Passage, ...] = (), stopped_by: str = "budget") -> Trace:  # fmt: skip
    """The trace of a method that answers once and has no gate to look at the answer."""
    return Trace(question, (Round(query, passages, reply, 0.0, (), reply.usage),), stopped_by)
