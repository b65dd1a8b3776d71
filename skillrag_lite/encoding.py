"""From prompts to token ids, so that text can never act as control."""

import re

from .prompts import Prompt

_SLOT = "\u27e6{}\u27e7"  # stands for a message while the chat template is rendered
_SLOTS = re.compile("\u27e6(\\d+)\u27e7")


class Encoder:
    """Tokenises a prompt as a shared header and an own part, each by itself.

    Tokenised jointly, the boundary could merge differently from prompt to prompt, and the cached
    and the uncached run would no longer read the same tokens. Special tokens are recognised in
    the chat template only: `<|im_end|>` inside a passage is eleven harmless characters.
    """

    def __init__(self, tokenizer, chat: bool):
        self.tokenizer, self.chat = tokenizer, chat
        self._begin = tokenizer("").input_ids[:1]  # the begin-of-text token, where there is one
        self._parts: dict[tuple, tuple[tuple[int, ...], list[int]]] = {}

    def text(self, text: str) -> list[int]:
        """Ids of text that is data."""
        return self._ids(text, split_special_tokens=True)

    def decode(self, ids: list[int]) -> str:
        """The text of ids that the model chose."""
        return self.tokenizer.decode(ids, skip_special_tokens=True)

    def prompt(self, prompt: Prompt) -> tuple[tuple[int, ...], list[int]]:
        """Ids of the prompt's shared header and of its own part."""
        if prompt.shots not in self._parts:
            self._parts[prompt.shots] = self._chat(prompt) if self.chat else self._plain(prompt)
        header, closing = self._parts[prompt.shots]
        lead = self.text(prompt.lead) if prompt.lead else []
        return header, [*self.text(prompt.ask), *closing, *lead]

    def _plain(self, prompt: Prompt):
        header = list(self._begin)
        for asked, replied in prompt.shots:
            header += self.text(f"{asked}\n{replied}\n\n")
        return tuple(header), self.text("\n")

    def _chat(self, prompt: Prompt):
        said = [text for shot in prompt.shots for text in shot]
        messages = [
            {"role": "assistant" if i % 2 else "user", "content": _SLOT.format(i)}
            for i in range(len(said) + 1)
        ]
        rendered = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        pieces = _SLOTS.split(rendered)  # template, slot number, template, slot number, …
        *before, _, closing = pieces
        header = []
        for i, piece in enumerate(before):
            header += self.text(said[int(piece)]) if i % 2 else self._ids(piece)
        return tuple(header), self._ids(closing)

    def _ids(self, text: str, **how) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False, **how).input_ids
