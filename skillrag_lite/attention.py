"""Attention over a shared header: its keys and values stand once, whatever the batch.

Few-shot prompts begin alike. A plain key-value cache copies that beginning into every row of the
batch and copies it again at every decoding step; here all rows' queries meet the one header in a
single matrix product, and only the rows' own tokens are stored per row.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Header:
    """The keys and values of a prompt's common beginning, one tensor (n_kv, H, d_head) a layer."""

    keys: list[torch.Tensor]
    values: list[torch.Tensor]

    @property
    def length(self) -> int:
        """Number of tokens H."""
        return self.keys[0].shape[1] if self.keys else 0


class Memory:
    """The key-value memory of one batch: `header` once, then each row's own tokens, in slots.

    Rows are padded on the left; `valid` marks the slots that hold a token and `positions` gives
    each slot its place in its row's sequence, so padding shifts nothing. All `capacity` slots
    take part in every decoding step, the empty ones masked: that is several times faster on a
    CPU than cutting the used ones out, which copies them. Taught in chapter 01.
    """

    def __init__(self, n_layers, rows: int, capacity: int, header: Header | None, device):
        self.header = header or Header([], [])
        self.keys: list[torch.Tensor | None] = [None] * n_layers  # each (B, n_kv, capacity, d_head)
        self.values: list[torch.Tensor | None] = [None] * n_layers
        self.used = 0
        self.watched: int | None = None  # the layer whose weights are kept:
        self.weights: torch.Tensor | None = None  # mean over heads, of the newest pass
        self.valid = torch.zeros(rows, capacity, dtype=torch.bool, device=device)
        self.positions = torch.zeros(rows, capacity, dtype=torch.long, device=device)
        self._masks: dict = {}

    def open(self, valid: torch.Tensor) -> torch.Tensor:
        """Make room for the T tokens marked in `valid` (B, T); returns their positions (B, T)."""
        seen = self.header.length + self.valid.sum(1, keepdim=True)  # (B, 1)
        positions = (seen + valid.cumsum(1) - 1).clamp(min=0)  # (B, T)
        new = slice(self.used, self.used + valid.shape[1])
        self.valid[:, new], self.positions[:, new] = valid, positions
        self.used = new.stop
        self._masks = {}
        return positions

    def keep(self, rows: list[int]) -> None:
        """Go on with these rows only."""
        index = torch.tensor(rows, device=self.valid.device)
        self.valid, self.positions = self.valid[index], self.positions[index]
        self.keys = [k[index] for k in self.keys]
        self.values = [v[index] for v in self.values]

    def rewind(self, slots: int) -> None:
        """Forget the last slots of every row, so that another continuation can be tried."""
        self.used -= slots
        self.valid[:, self.used :] = False

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Put the newest tokens' keys and values (B, n_kv, T, d_head) into their slots."""
        rows, n_kv, T, d = keys.shape
        if self.keys[layer] is None:
            self.keys[layer] = keys.new_zeros(rows, n_kv, self.valid.shape[1], d)
            self.values[layer] = torch.zeros_like(self.keys[layer])
        self.keys[layer][:, :, self.used - T : self.used] = keys
        self.values[layer][:, :, self.used - T : self.used] = values

    def as_header(self) -> Header:
        """The memory of a single unpadded row, as a header for others."""
        return Header(
            [k[0, :, : self.used].contiguous() for k in self.keys],
            [v[0, :, : self.used].contiguous() for v in self.values],
        )

    def mask(self, T: int, window: int | None) -> torch.Tensor:
        """Which of H + S slots each of the T newest tokens may see: shape (B, T, H + S).

        S is the capacity: what is not held, or comes later, is not seen.
        """
        if window not in self._masks:  # the same for every layer of a pass
            self._masks[window] = self._mask(T, window)
        return self._masks[window]

    def bias(self, T: int, window: int | None) -> torch.Tensor:
        """The mask as numbers to add to scores: 0 where a slot is seen, else minus infinity."""
        if ("bias", window) not in self._masks:
            hidden = ~self.mask(T, window)
            zeros = torch.zeros(hidden.shape, device=hidden.device)
            self._masks["bias", window] = zeros.masked_fill_(hidden, float("-inf"))
        return self._masks["bias", window]

    def _mask(self, T: int, window: int | None) -> torch.Tensor:
        rows, H = len(self.valid), self.header.length
        header = torch.arange(H, device=self.valid.device).expand(rows, H)
        places = torch.cat([header, self.positions], 1)[:, None, :]  # (B, 1, H + S)
        held = torch.cat([torch.ones_like(header, dtype=torch.bool), self.valid], 1)[:, None, :]
        newest = slice(self.used - T, self.used)
        now = self.positions[:, newest, None]  # (B, T, 1)
        seen = held & (places <= now)
        if window is not None:
            seen &= places > now - window
        padding = ~self.valid[:, newest, None]  # sees anything: no empty softmax, no NaN
        return seen | padding


def attend(module, query, key, value, attention_mask, *, scaling, memory: Memory,
           softcap=None, sliding_window=None, **_):  # fmt: skip
    """The attention function that every decoder block calls, in transformers' signature.

    Shapes: `query` (B, n_heads, T, d_head), `key` and `value` (B, n_kv, T, d_head); returns
    (B, T, n_heads, d_head). Softmax runs over the header's and the row's own scores together.
    Of the memory's watched layer the weights are written down, for a fused kernel returns none.
    """
    layer = module.layer_idx
    memory.write(layer, key, value)
    own_k, own_v = memory.keys[layer], memory.values[layer]  # (B, n_kv, S, d)
    head = memory.header
    head_k, head_v = (head.keys[layer], head.values[layer]) if head.length else (None, None)
    B, heads, T, d = query.shape
    groups = heads // key.shape[1]
    watched = layer == memory.watched
    if T > 1 and softcap is None and not watched:  # torch's fused kernel, header for every row
        mask = memory.mask(T, sliding_window)[:, None]  # (B, 1, T, H + S)
        if head.length:
            own_k = torch.cat([head_k.expand(B, -1, -1, -1), own_k], 2)
            own_v = torch.cat([head_v.expand(B, -1, -1, -1), own_v], 2)
        out = F.scaled_dot_product_attention(
            query, own_k, own_v, mask, scale=scaling, enable_gqa=True
        )
        return out.transpose(1, 2), None
    n_kv, H = key.shape[1], head.length
    q = query.reshape(B, n_kv, groups * T, d)  # heads of one group share their keys
    scores = q @ own_k.mT  # (B, n_kv, g*T, S)
    if H:
        flat = q.transpose(0, 1).reshape(n_kv, B * groups * T, d)
        shared = (flat @ head_k.mT).view(n_kv, B, groups * T, H).transpose(0, 1)
        scores = torch.cat([shared, scores], -1)  # (B, n_kv, g*T, H + S)
    scores = scores.view(B, n_kv, groups, T, -1).float() * scaling
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    scores += memory.bias(T, sliding_window)[:, None, None]
    weights = scores.softmax(-1)  # (B, n_kv, g, T, H + S)
    if watched:
        memory.weights = weights.mean((1, 2))  # (B, T, H + S)
    weights = weights.to(query.dtype).view(B, n_kv, groups * T, -1)
    out = weights[..., H:] @ own_v  # (B, n_kv, g*T, d)
    if H:
        flat = weights[..., :H].transpose(0, 1).reshape(n_kv, B * groups * T, H)
        out = out + (flat @ head_v).view(n_kv, B, groups * T, d).transpose(0, 1)
    return out.reshape(B, heads, T, d).transpose(1, 2), None
