"""The part of decoding that is about one row: what it does with the token it is offered."""

from collections import deque
from itertools import accumulate, pairwise
from os.path import commonprefix

from .generation import Decoding, Generation, Usage


def pieces(decode, ids: list[int]) -> list[str]:
    """The text that each id adds; joined, they are `decode(ids)`, whatever the tokenizer.

    An id that completes no character adds nothing: the one that completes it adds it all.
    """
    whole = decode(ids)
    said = [len(commonprefix([whole, decode(ids[: n + 1])])) for n in range(len(ids))]
    return [whole[start:end] for start, end in pairwise([0, *accumulate(said, max)])]


class Row:
    """One sequence of a batch while it is generated.

    `step` takes the model's choice and returns the token to feed next, or None at the end. Free
    text ends at a stop string, the end-of-text token or its budget; then the mark's tokens are fed
    without asking the model, and the answer follows.
    """

    def __init__(self, encoder, decoding: Decoding, ends: frozenset[int], mark: list[int]):
        self.encoder, self.decoding, self.ends, self.mark = encoder, decoding, ends, mark
        self.tokens: list[int] = []  # chosen by the model
        self.logprobs: list[float] = []
        self.entropies: list[float] = []
        self.forced: deque[int] = deque()
        self.reasoning = ""
        self.answer_start = 0
        self.answering = False
        self.well_formed = True
        # of the token to be fed now: was it the model's own choice, and on the answer line?
        self.counted = self.counted_as_answer = False

    def step(self, token: int, logprob: float, entropy: float) -> int | None:
        """Take the model's choice; return the token to feed next, None when the row is done."""
        if self.forced:
            self.counted = False
            self.well_formed &= token == self.forced[0]
            return self.forced.popleft()
        text = self._text(token)
        if token in self.ends or any(stop in text.lstrip() for stop in self.decoding.stop):
            return self._next_part(token)
        self.tokens.append(token)
        self.logprobs.append(logprob)
        self.entropies.append(entropy)
        self.counted, self.counted_as_answer = True, self.answering
        if not self.answering and self.mark and self.decoding.mark in text:
            self._begin_answer()  # the model wrote the mark inside its line
        elif len(self.tokens) - self.answer_start == self._budget():
            if self.answering or not self.mark:
                return None
            self._begin_answer()
            self.forced.extend(self.mark)
            self.well_formed = False
        return token

    def finish(self, usage: Usage, states: dict) -> Generation:
        """The finished row as a Generation."""
        parts = self.tokens[: self.answer_start], self.tokens[self.answer_start :]
        return Generation(
            reasoning=self.reasoning,
            answer=self._text().strip(),
            mark=self.decoding.mark,
            tokens=tuple(text for ids in parts for text in pieces(self.encoder.decode, ids)),
            logprobs=tuple(round(x, 4) for x in self.logprobs),
            entropies=tuple(round(x, 4) for x in self.entropies),
            answer_start=self.answer_start,
            well_formed=self.well_formed,
            usage=usage,
            states=states,
        )

    def _budget(self) -> int:
        return self.decoding.answer_tokens if self.answering else self.decoding.max_new_tokens

    def _text(self, *token: int) -> str:
        """What the current part says so far, with the offered token where there is one."""
        return self.encoder.decode([*self.tokens[self.answer_start :], *token])

    def _next_part(self, token: int) -> int | None:
        """The current part is over: the answer mark comes next, or nothing does."""
        if self.answering or not self.mark:
            return None
        self._begin_answer()
        self.forced.extend(self.mark)
        self.well_formed = token not in self.ends
        self.counted = False
        return self.forced.popleft()

    def _begin_answer(self) -> None:
        self.reasoning = self._text().partition(self.decoding.mark)[0].strip()
        self.answer_start = len(self.tokens)
        self.answering = True
