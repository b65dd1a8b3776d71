"""What the backbone is asked for and what it returns: plain data, no torch."""

from dataclasses import asdict, dataclass, field

import numpy as np

ANSWER_MARK = "Answer:"
POOLS = ("all", "answer", "last")


@dataclass(frozen=True)
class Decoding:
    """How to continue a prompt, greedily: one line of at most so many tokens, then an answer line.

    `max_new_tokens` bounds the free text. With `answer_tokens > 0` the text is followed by a line
    that starts with `Answer:`; where the model does not write that line itself, the backbone
    appends the mark and lets the model go on (a small model forgets it in a third of its replies).
    Any string of `stop` ends the text, and ends the answer.
    """

    max_new_tokens: int = 64
    stop: tuple[str, ...] = ("\n",)
    answer_tokens: int = 0


@dataclass(frozen=True)
class Usage:
    """What one generation cost: tokens read and written, and its share of the batch's seconds."""

    prompt_tokens: int
    new_tokens: int
    seconds: float
    shared_tokens: int = 0  # of the prompt, read once for all prompts that begin alike


@dataclass(frozen=True)
class Generation:
    """One reply of the backbone, with the statistics that gates and probes read.

    `tokens`, `logprobs` (nats) and `entropies` (nats) cover the n tokens that the model chose
    itself, so a forced `Answer:` mark is not among them; the answer's own begin at `answer_start`.
    `states` maps a pool's name to the residual stream averaged over the chosen tokens that were
    fed back, shape (n_kept_layers, d_model): `all` of them, the `answer` line's, or the `last` one.
    `well_formed` says whether the model would have written the mark itself. Taught in chapter 01.
    """

    text: str
    tokens: tuple[int, ...]
    logprobs: np.ndarray  # (n,)
    entropies: np.ndarray  # (n,)
    usage: Usage
    states: dict[str, np.ndarray] = field(default_factory=dict)
    answer_start: int = 0
    well_formed: bool = True

    @property
    def answer(self) -> str:
        """The answer line, without its mark; the whole text where there is no mark."""
        return self.text.rpartition(ANSWER_MARK)[2].strip()

    @property
    def reasoning(self) -> str:
        """What was written before the answer line."""
        return self.text.rpartition(ANSWER_MARK)[0].strip()

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
        return {
            "text": self.text,
            "tokens": list(self.tokens),
            "logprobs": [round(float(x), 4) for x in self.logprobs],
            "entropies": [round(float(x), 4) for x in self.entropies],
            "usage": asdict(self.usage),
            "answer_start": self.answer_start,
            "well_formed": self.well_formed,
        }

    @classmethod
    def from_plain(cls, data: dict, states: dict[str, np.ndarray] | None = None) -> "Generation":
        """The generation that `plain` wrote down."""
        return cls(
            text=data["text"],
            tokens=tuple(data["tokens"]),
            logprobs=np.array(data["logprobs"], dtype=np.float32),
            entropies=np.array(data["entropies"], dtype=np.float32),
            usage=Usage(**data["usage"]),
            states=states or {},
            answer_start=data["answer_start"],
            well_formed=data["well_formed"],
        )


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else float("-inf")
