"""Taps: hooks that read the residual stream behind decoder blocks while the model generates."""

import torch

from .generation import POOLS


class Taps:
    """Averages the residual stream over chosen tokens, block by block, without storing sequences.

    The residual stream is a decoder block's output, before the final norm. Each forward pass
    leaves its newest position here; `add` says whose turn counted. One accumulator a pool,
    shape (n_kept_layers, B, d_model), float32. Source: Skill-RAG v2 §3.1. Taught in chapter 01.
    """

    def __init__(self, blocks, layers):
        self.layers = list(layers)
        self._newest: dict[int, torch.Tensor] = {}
        self._sums: dict[str, torch.Tensor] = {}
        self._hooks = [blocks[i].register_forward_hook(self._keep(i)) for i in self.layers]

    def _keep(self, layer):
        def hook(_, __, output):
            hidden = output[0] if isinstance(output, tuple) else output  # (B, T, d)
            self._newest[layer] = hidden[:, -1]

        return hook

    def start(self, rows: int) -> None:
        """Begin a batch of so many rows, all accumulators at zero."""
        self._rows, self._sums = rows, {}

    def add(self, rows: list[int], counted: list[bool], answering: list[bool]) -> None:
        """Count the newest position of the batch's rows where the model chose the token itself.

        `rows` names the batch rows of the pass; `counted` and `answering` say, for each, whether
        its token was the model's choice, and whether it stood on the answer line.
        """
        if not self.layers:
            return
        newest = torch.stack([self._newest[i] for i in self.layers]).float()  # (L, b, d)
        if not self._sums:
            shape = (len(self.layers), self._rows, newest.shape[-1])
            self._sums = {pool: newest.new_zeros(shape) for pool in POOLS}
            self._counts = {pool: newest.new_zeros(self._rows) for pool in POOLS}
        device = newest.device
        index = torch.tensor(rows, device=device)
        chosen = torch.tensor(counted, device=device)
        answer = chosen & torch.tensor(answering, device=device)
        for pool, which in (("all", chosen), ("answer", answer)):
            self._sums[pool].index_add_(1, index, newest * which[:, None])
            self._counts[pool].index_add_(0, index, which.float())
        latest = index[chosen]
        self._sums["last"][:, latest] = newest[:, chosen]
        self._counts["last"][latest] = 1

    def pooled(self, row: int) -> dict:
        """The means of one row, as numpy arrays (n_kept_layers, d_model), one for each pool."""
        return {
            pool: (total[:, row] / self._counts[pool][row].clamp(min=1)).cpu().numpy()
            for pool, total in self._sums.items()
        }

    def close(self) -> None:
        """Take the hooks off the model."""
        for hook in self._hooks:
            hook.remove()
