"""The language model: batched greedy generation with taps, and the scoring of options."""

import time
from collections.abc import Iterator

import torch
from tqdm.auto import tqdm

from . import checkpoints
from .attention import Header, Memory
from .decoding import Row
from .encoding import Encoder
from .generation import Decoding, Generation, Scored, Usage
from .profiles import Profile
from .prompts import Prompt
from .taps import Taps

MAX_HEADERS = 16  # few-shot beginnings whose keys and values are kept


class Backbone:
    """A causal language model that answers lists of prompts.

    Prompts that share their worked examples share the examples' key-value memory, in a batch and
    across calls. Every generation carries token log-probabilities, entropies and, from `taps`,
    the pooled residual stream of `profile.kept_layers`. Taught in chapter 01.
    """

    def __init__(self, model, tokenizer, profile: Profile):
        self.model, self.profile = model.eval(), profile
        self.encoder = Encoder(tokenizer, chat=profile.chat)
        self.taps = Taps(model.base_model.layers, profile.kept_layers)
        ends = model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends, tokenizer.eos_token_id]
        self.ends = frozenset(e for e in ends if e is not None)
        self._headers: dict[tuple[int, ...], Header] = {}

    @classmethod
    def load(cls, profile: Profile | str, precision: str | None = None) -> "Backbone":
        """A profile's model, or one of your own: a hub id, a local folder or a GGUF file.

        `precision` is bf16, fp32 or nf4. What is not there yet is fetched and converted.
        """
        if isinstance(profile, str):
            profile = checkpoints.resolve(profile, precision)
        return cls(*checkpoints.load(profile), profile)

    def generate(self, prompts: list[Prompt], decoding: Decoding) -> list[Generation]:
        """Continue every prompt greedily; the answers stand in the prompts' order."""
        return _in_order(self.batches(prompts, decoding))

    def batches(self, prompts, decoding) -> Iterator[list[tuple[int, Generation]]]:
        """As `generate`, a batch at a time: pairs of (index into `prompts`, Generation)."""
        with self._progress(len(prompts), "generating") as progress:
            for header, batch in self._pack(prompts, self._room(decoding)):
                replies = self._generate(header, [ids for _, ids in batch], decoding)
                yield [(index, reply) for (index, _), reply in zip(batch, replies, strict=True)]
                progress.update(len(batch))

    def score(self, prompts: list[Prompt], options: list[str]) -> list[Scored]:
        """The log-likelihood of each option as each prompt's reply.

        One prefill a prompt serves all options: each is read after it and then forgotten.
        Used by the router; taught in chapter 04.
        """
        return _in_order(self.score_batches(prompts, options))

    def score_batches(self, prompts, options) -> Iterator[list[tuple[int, Scored]]]:
        """As `score`, a batch at a time: pairs of (index into `prompts`, Scored)."""
        encoded = [self.encoder.text(option) for option in options]
        with self._progress(len(prompts), "scoring") as progress:
            for header, batch in self._pack(prompts, max(map(len, encoded))):
                scored = self._score(header, [ids for _, ids in batch], encoded)
                yield [(index, reply) for (index, _), reply in zip(batch, scored, strict=True)]
                progress.update(len(batch))

    @torch.inference_mode()
    def _score(self, header, prompts: list[list[int]], options: list[list[int]]) -> list[Scored]:
        started = time.perf_counter()
        logprobs = torch.zeros(len(prompts), len(options))
        memory, first = self._prefill(header, prompts, max(map(len, options)))
        for o, ids in enumerate(options):
            tokens = torch.tensor(ids, device=first.device).expand(len(prompts), -1)
            later = self._forward(memory, tokens, torch.ones_like(tokens).bool(), len(ids))
            logits = torch.cat([first[:, None], later[:, :-1]], 1).float()  # (B, len(ids), V)
            chosen = logits.log_softmax(-1).gather(2, tokens[..., None])
            logprobs[:, o] = chosen.sum((1, 2))
            memory.rewind(len(ids))
        seconds = (time.perf_counter() - started) / len(prompts)
        return [
            Scored(tuple(round(x, 4) for x in row), self._usage(header, ids, 0, seconds))
            for row, ids in zip(logprobs.tolist(), prompts, strict=True)
        ]

    @torch.inference_mode()
    def _generate(self, header, prompts: list[list[int]], decoding) -> list[Generation]:
        started = time.perf_counter()
        memory, logits = self._prefill(header, prompts, self._room(decoding))
        mark = self._mark(decoding)
        rows = [Row(self.encoder, decoding, self.ends, mark) for _ in prompts]
        self.taps.start(len(rows))
        live = list(range(len(rows)))
        while live:
            best, choice = logits.max(-1)  # of (b, V)
            gap = logits - best[:, None].float()  # float32 in one pass
            odds = gap.exp()  # p over the best token's p
            total = odds.sum(-1)
            logprob = -total.log()
            entropy = -logprob - torch.linalg.vecdot(odds, gap) / total  # -Σ p log p
            offers = zip(live, choice.tolist(), logprob.tolist(), entropy.tolist(), strict=True)
            feed = [rows[r].step(*offer) for r, *offer in offers]
            going = [i for i, token in enumerate(feed) if token is not None]
            if not going:
                break
            if len(going) < len(live):
                memory.keep(going)
                live = [live[i] for i in going]
            tokens = torch.tensor([[feed[i]] for i in going], device=logits.device)  # (b, 1)
            logits = self._forward(memory, tokens, torch.ones_like(tokens).bool())[:, -1]
            if decoding.states:
                fed = [rows[r] for r in live]
                self.taps.add(live, [r.counted for r in fed], [r.counted_as_answer for r in fed])
        seconds = (time.perf_counter() - started) / len(rows)
        return [
            row.finish(self._usage(header, ids, len(row.tokens), seconds), self.taps.pooled(i))
            for i, (row, ids) in enumerate(zip(rows, prompts, strict=True))
        ]

    def _usage(self, header, ids, new: int, seconds: float) -> Usage:
        return Usage(1, len(header) + len(ids), len(header), new, round(seconds, 4))

    def _mark(self, decoding: Decoding) -> list[int]:
        """The tokens that open the marked line."""
        return self.encoder.text(f"\n{decoding.mark}") if decoding.mark else []

    def _room(self, decoding: Decoding) -> int:
        """The most tokens that may follow a prompt."""
        return decoding.max_new_tokens + decoding.answer_tokens + len(self._mark(decoding))

    def _prefill(self, header: tuple[int, ...], prompts: list[list[int]], room: int):
        """Read the prompts, left-padded, behind their header: the memory and logits (B, V)."""
        longest = max(map(len, prompts))
        tokens = torch.zeros(len(prompts), longest, dtype=torch.long, device=self.model.device)
        valid = torch.zeros_like(tokens, dtype=torch.bool)
        for row, ids in enumerate(prompts):
            tokens[row, longest - len(ids) :] = torch.tensor(ids)
            valid[row, longest - len(ids) :] = True
        memory = self._memory(len(prompts), longest + room, self._header(header))
        return memory, self._forward(memory, tokens, valid)[:, -1]

    def _header(self, ids: tuple[int, ...]) -> Header | None:
        """The keys and values of a prompt's beginning, computed once."""
        if not ids:
            return None
        if ids not in self._headers:
            if len(self._headers) == MAX_HEADERS:
                self._headers.pop(next(iter(self._headers)))
            tokens = torch.tensor([ids], device=self.model.device)
            memory = self._memory(1, len(ids), None)
            self._forward(memory, tokens, torch.ones_like(tokens).bool())
            self._headers[ids] = memory.as_header()
        return self._headers[ids]

    def _memory(self, rows: int, capacity: int, header: Header | None) -> Memory:
        layers, device = self.model.config.num_hidden_layers, self.model.device
        return Memory(layers, rows, capacity, header, device)

    def _forward(self, memory, tokens, valid, keep: int = 1) -> torch.Tensor:
        """One pass over the tokens (B, T): logits (B, keep, V) of the last positions."""
        positions = memory.open(valid)
        output = self.model(
            input_ids=tokens, position_ids=positions, use_cache=False,
            logits_to_keep=keep, memory=memory,
        )  # fmt: skip
        return output.logits

    def _pack(self, prompts: list[Prompt], room: int):
        """Batches of similar length that share a header: (header, [(index, ids), …])."""
        limit = self.model.config.max_position_embeddings
        groups: dict[tuple[int, ...], list[tuple[int, list[int]]]] = {}
        for index, prompt in enumerate(prompts):
            header, ids = self.encoder.prompt(prompt)
            if len(header) + len(ids) + room > limit:
                raise ValueError(
                    f"prompt {index} has {len(header) + len(ids)} tokens and {room} may follow, "
                    f"but {self.profile.name} reads {limit}: shorten the question or the passages"
                )
            groups.setdefault(header, []).append((index, ids))
        for header, members in groups.items():
            members.sort(key=lambda member: -len(member[1]))
            while members:
                longest = len(members[0][1])
                size = max(1, min(self.profile.max_batch, self.profile.batch_tokens // longest))
                yield header, members[:size]
                members = members[size:]

    @staticmethod
    def _progress(total: int, what: str):
        return tqdm(total=total, desc=what, unit="prompt", delay=2, leave=False)


def _in_order(batches) -> list:
    """The results of all batches, in the order of their indices."""
    return [result for _, result in sorted(sum(batches, []), key=lambda pair: pair[0])]
