"""What the tokens of a reply attend to in the last layer: plain data, no torch."""

from dataclasses import dataclass

import numpy as np

from .decoding import pieces
from .generation import Generation, Usage
from .prompts import Prompt


@dataclass(frozen=True)
class Attended:
    """How the n chosen tokens of a reply attend, and are attended to, in the last layer.

    Attention is averaged over the heads. `received[t]` is the most that any later token of the
    reply (a forced mark among them) pays to token t, from 0 to 1; the last token has 0.
    `focus[t]` are the words of the question, the passages and the reply before t that hold the
    tokens to which t attends most, in text order, each once. Source: DRAGIN (arXiv 2403.10081)
    §3.1 and §3.2. Taught in chapter 06.
    """

    received: tuple[float, ...]
    focus: tuple[tuple[str, ...], ...]
    usage: Usage


def words(texts, breaks: tuple[int, ...] = ()) -> list[range]:
    """The tokens of each word: a word begins behind white space, and at each of `breaks`.

    >>> words(["The", " Sei", "ne", " flows"])
    [range(0, 1), range(1, 3), range(3, 4)]
    """
    begins = [
        i for i, text in enumerate(texts)
        if i == 0 or i in breaks or text[:1].isspace() or texts[i - 1][-1:].isspace()
    ]  # fmt: skip
    ends = [*begins[1:], len(texts)]
    return [range(begin, end) for begin, end in zip(begins, ends, strict=False)]


def forced_mark(reply: Generation) -> str:
    """The line break and mark that the backbone wrote into the reply; empty where it did not."""
    own = reply.mark in "".join(reply.tokens[: reply.answer_start])
    return "" if own else f"\n{reply.mark}"


def as_fed(encoder, reply: Generation) -> tuple[list[int], list[range]]:
    """The ids of a finished reply, forced mark included, and the places of each chosen token."""
    ids, places = [], []
    for t, text in enumerate([*reply.tokens, ""]):  # the mark may stand behind the last token
        if t == reply.answer_start:
            ids += encoder.text(forced_mark(reply))
        own = encoder.text(text)
        places.append(range(len(ids), len(ids) + len(own)))
        ids += own
    return ids, places[:-1]


def context(encoder, prompt: Prompt, length: int) -> tuple[list[int], list[str], int]:
    """What of a prompt of `length` own tokens may be in focus: all but the template's tokens.

    Returns their places, their texts, and how many belong to what is asked, not to the lead.
    """
    asked, lead = encoder.text(prompt.ask), encoder.text(prompt.lead)
    places = [*range(len(asked)), *range(length - len(lead), length)]
    texts = [text for ids in (asked, lead) for text in pieces(encoder.decode, ids)]
    return places, texts, len(asked)


def read(weights: np.ndarray, usage: Usage, encoder, prompt: Prompt, reply: Generation,
         places: list[range], top_n: int) -> Attended:  # fmt: skip
    """What a reply attends to, from its rows of weights (R, P + R).

    P are the prompt's own tokens, R the reply's, of which the n chosen ones stand at `places`.
    """
    P = weights.shape[1] - weights.shape[0]
    before, texts, asked = context(encoder, prompt, P)
    known, texts = len(before), [*texts, *reply.tokens]
    columns = [[c] for c in before] + [[P + c for c in place] for place in places]
    # a token that is several ids counts by its largest
    paid = np.array([weights[:, c].max(1, initial=0) for c in columns]).T  # (R, known + n)
    found = words(texts, (asked, known, known + reply.answer_start))
    word_of = np.repeat(np.arange(len(found)), [len(word) for word in found])
    received, focus = [], []
    for t, place in enumerate(places):
        received.append(round(float(paid[place.stop :, known + t].max(initial=0)), 4))
        row = paid[place.start, : known + t] if place else np.zeros(0)
        best = np.sort(np.argsort(-row, kind="stable")[:top_n])
        held = [found[w] for w in dict.fromkeys(word_of[best])]
        said = ["".join(texts[w.start : min(w.stop, known + t)]).strip() for w in held]
        focus.append(tuple(dict.fromkeys(word for word in said if word)))
    return Attended(tuple(received), tuple(focus), usage)
