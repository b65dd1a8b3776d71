"""The language model: batched generation with taps, scores of options, a reply's attention."""

import time
from collections.abc import Iterator

import torch

from . import attended, checkpoints
from .attended import Attended
from .attention import Header, Memory
from .decoding import Row
from .encoding import Encoder
from .generation import Decoding, Generation, Scored, Usage
from .packing import in_order, pack, pad
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
        return in_order(self.batches(prompts, decoding))

    def batches(self, prompts, decoding) -> Iterator[list[tuple[int, Generation]]]:
        """As `generate`, a batch at a time: pairs of (index into `prompts`, Generation)."""
        for header, batch in self._pack(prompts, self._room(decoding), "generating"):
            replies = self._generate(header, [ids for _, ids in batch], decoding)
            yield [(index, reply) for (index, _), reply in zip(batch, replies, strict=True)]

    def score(self, prompts: list[Prompt], options: list[str]) -> list[Scored]:
        """The log-likelihood of each option as each prompt's reply.

        One prefill a prompt serves all options: each is read after it and then forgotten.
        Used by the router; taught in chapter 04.
        """
        return in_order(self.score_batches(prompts, options))

    def score_batches(self, prompts, options) -> Iterator[list[tuple[int, Scored]]]:
        """As `score`, a batch at a time: pairs of (index into `prompts`, Scored)."""
        encoded = [self.encoder.text(option) for option in options]
        for header, batch in self._pack(prompts, max(map(len, encoded)), "scoring"):
            scored = self._score(header, [ids for _, ids in batch], encoded)
            yield [(index, reply) for (index, _), reply in zip(batch, scored, strict=True)]

    def attention(self, prompts: list[Prompt], replies: list[Generation],
                  top_n: int) -> list[Attended]:  # fmt: skip
        """What the tokens of each prompt's finished reply attend to in the last layer.

        One more pass, over prompt and reply; `top_n` tokens in focus. Used by DRAGIN; taught in
        chapter 06.
        """
        return in_order(self.attention_batches(prompts, replies, top_n))

    def attention_batches(self, prompts, replies, top_n) -> Iterator[list[tuple[int, Attended]]]:
        """As `attention`, a batch at a time: pairs of (index into `prompts`, Attended)."""
        fed = [attended.as_fed(self.encoder, reply) for reply in replies]  # (ids, places) each
        longest = max((len(ids) for ids, _ in fed), default=0)
        for header, batch in self._pack(prompts, longest, "reading attention"):
            said = [fed[i][0] for i, _ in batch]
            rows = self._attention(header, [ids for _, ids in batch], said)
            yield [
                (i, attended.read(*row, self.encoder, prompts[i], replies[i], fed[i][1], top_n))
                for (i, _), row in zip(batch, rows, strict=True)
            ]

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
    def _attention(self, header, prompts: list[list[int]], replies: list[list[int]]):
        """Each row's weights (its R reply tokens, its P + R own tokens) and usage."""
        started = time.perf_counter()
        tokens, valid = pad(replies, self.model.device)
        memory, _ = self._prefill(header, prompts, tokens.shape[1])
        memory.watched = self.model.config.num_hidden_layers - 1
        self._forward(memory, tokens, valid)
        held = [torch.cat([memory.valid.new_zeros(memory.header.length), v]) for v in memory.valid]
        rows = zip(memory.weights, valid, held, strict=True)
        weights = [row[new][:, own].cpu().numpy() for row, new, own in rows]
        seconds = (time.perf_counter() - started) / len(prompts)
        return [(w, self._usage(header, range(w.shape[1]), 0, seconds)) for w in weights]

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
        tokens, valid = pad(prompts, self.model.device)
        memory = self._memory(len(prompts), tokens.shape[1] + room, self._header(header))
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

    def _pack(self, prompts: list[Prompt], room: int, what: str):
        limit = self.model.config.max_position_embeddings
        return pack(prompts, self.encoder, self.profile, limit, room, what)
