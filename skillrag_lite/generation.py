"""What the backbone is asked for and what it returns: plain data, no torch."""

from dataclasses import asdict, dataclass, field

import numpy as np

ANSWER = "Answer:"
POOLS = ("all", "answer", "last")


@dataclass(frozen=True)
class Decoding:
    """How to continue a prompt, greedily: free text of some tokens, then a marked line.

    Any string of `stop` ends the text, as do the end-of-text token and `max_new_tokens`. Then
    comes a line that starts with `mark`: where the model does not write it, the backbone appends
    the mark and lets the model go on for `answer_tokens` more (a small model forgets the line in
    a third of its replies). An empty mark asks for free text only. `states` says whether the
    hidden states are wanted.
    """

    max_new_tokens: int = 64
    answer_tokens: int = 24
    mark: str = ANSWER
    stop: tuple[str, ...] = ("\n",)
    states: bool = True


@dataclass(frozen=True)
class Usage:
    """What calls of the model cost: tokens read and written, seconds (a batch's, shared out).

    `shared_tokens` of `prompt_tokens` belong to a few-shot header, which is read once for all.
    """

    calls: int = 0
    prompt_tokens: int = 0
    shared_tokens: int = 0
    new_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        return Usage(*(round(a + b, 4) for a, b in both))


@dataclass(frozen=True)
class Scored:
    """The log-likelihood of each option after one prompt, in nats, and what reading it cost."""

    logprobs: tuple[float, ...]
    usage: Usage


@dataclass(frozen=True)
class Generation:
    """One reply of the backbone, with the statistics that gates and probes read.

    `answer` is what follows the mark, `reasoning` what precedes it. `tokens` (their texts),
    `logprobs` (nats) and `entropies` (nats) cover the n tokens that the model chose itself, so a
    forced mark is not among them; the answer's own begin at `answer_start`. Joined, a part's
    tokens are its text, but for outer blanks and the mark. `states` maps a pool's name to the
    residual stream averaged over the chosen tokens that were fed back, shape
    (n_kept_layers, d_model): `all` of them, those of the `answer`, or the `last` one.
    `well_formed` says whether the model wrote the mark itself. Taught in chapter 01.
    """

    reasoning: str
    answer: str
    mark: str
    tokens: tuple[str, ...]
    logprobs: tuple[float, ...]
    entropies: tuple[float, ...]
    answer_start: int
    well_formed: bool
    usage: Usage
    states: dict[str, np.ndarray] = field(default_factory=dict, compare=False, repr=False)

    @property
    def text(self) -> str:
        """Reasoning and marked line together."""
        return f"{self.reasoning}\n{self.mark} {self.answer}" if self.mark else self.answer

    def signals(self) -> dict[str, float]:
        """The free confidence signals: what token probabilities say without any probe.

        Higher means more confident in each. Source: Skill-RAG v2 §2.1 names the family; the
        authors' own result files hold these three. Taught in chapter 02.
        """
        answer = self.logprobs[self.answer_start :]
        return {
            "mean log-probability": _mean(self.logprobs),
            "mean negative entropy": -_mean(self.entropies),
            "answer log-probability": _mean(answer),
        }

    def plain(self) -> dict:
        """The generation as JSON-ready data, without its states."""
        return {k: v for k, v in asdict(self).items() if k != "states"}

    @classmethod
    def from_plain(cls, data: dict, states: dict[str, np.ndarray] | None = None) -> "Generation":
        """The generation that `plain` wrote down."""
        lists = {k: tuple(data[k]) for k in ("tokens", "logprobs", "entropies")}
        usage, states = Usage(**data["usage"]), states or {}
        return cls(**{**data, **lists, "usage": usage, "states": states})


def _mean(values) -> float:
    return float(np.mean(values)) if len(values) else float("-inf")
