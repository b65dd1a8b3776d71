"""The probe: one small network a layer that reads from hidden states whether an answer is right."""

from dataclasses import asdict, dataclass

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.nn import functional as F


@dataclass(frozen=True)
class ProbeConfig:
    """How a probe is built and trained. Ours are chosen on dev (chapter 02).

    The second version's own table is missing from the text that we have; the authors' code has
    width 512, dropout 0.1, learning rate 1e-3, batches of 6, 2 epochs. Dropout is left out:
    weight decay and early stopping do its work, and its random draws differ between machines.
    """

    width: int = 32
    lr: float = 1e-3
    weight_decay: float = 0.1
    batch: int = 32
    epochs: int = 60
    patience: int = 12
    seed: int = 0


class Probe(nn.Module):
    """L feed-forward networks, one a tapped layer, as one batched tensor program.

    Each has an input norm, one hidden layer and a binary head; their probabilities that the
    answer is right are averaged. Source: Skill-RAG v2 §2.2, §3.1. Taught in chapter 02.
    """

    def __init__(self, layers: int, d_model: int, config: ProbeConfig = ProbeConfig()):
        super().__init__()
        self.config = config
        rng, width = torch.Generator().manual_seed(config.seed), config.width
        self.register_buffer("mean", torch.zeros(layers, d_model))
        self.register_buffer("std", torch.ones(layers, d_model))
        self.w1 = nn.Parameter(torch.randn(layers, d_model, width, generator=rng) / d_model**0.5)
        self.b1 = nn.Parameter(torch.zeros(layers, width))
        self.w2 = nn.Parameter(torch.randn(layers, width, generator=rng) / width**0.5)
        self.b2 = nn.Parameter(torch.zeros(layers))
        self.double()  # so that another machine's rounding cannot change a rank or a decision

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Logits (N, L) from pooled hidden states (N, L, d_model)."""
        x = (states - self.mean) / self.std
        hidden = F.silu(torch.einsum("nld,ldh->nlh", x, self.w1) + self.b1)  # (N, L, width)
        return torch.einsum("nlh,lh->nl", hidden, self.w2) + self.b2

    @torch.inference_mode()
    def by_layer(self, states: np.ndarray) -> np.ndarray:
        """Each layer's probability that the answer is right, shape (N, L)."""
        return self(torch.as_tensor(states, dtype=torch.float64)).sigmoid().numpy()

    def confidence(self, states: np.ndarray) -> np.ndarray:
        """The averaged probability that the answer is right, shape (N,)."""
        return self.by_layer(states).mean(1)


def fit(states, right, dev_states, dev_right, config: ProbeConfig = ProbeConfig()) -> Probe:
    """Train a probe; keep the epoch with the best AUROC on dev.

    `states` (N, L, d_model), `right` (N,) of 0 and 1. Both classes weigh the same. Raises
    ValueError where either split holds one class only. Taught in chapter 02.
    """
    x, y = torch.as_tensor(states, dtype=torch.float64), torch.as_tensor(right).double()
    for name, labels in (("train", y), ("dev", np.asarray(dev_right))):
        if not 0 < labels.sum() < len(labels):
            raise ValueError(
                f"every {name} answer has the same label: a probe needs right and wrong answers"
            )
    probe = Probe(x.shape[1], x.shape[2], config)
    probe.mean.copy_(x.mean(0))
    probe.std.copy_(x.std(0) + 1e-6)
    weight = torch.where(y == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean()))  # (N,)
    optimizer = torch.optim.AdamW(
        probe.parameters(), config.lr, weight_decay=config.weight_decay, fused=True
    )
    draw = torch.Generator().manual_seed(config.seed)
    best, best_weights, waited = -1.0, None, 0
    for _ in range(config.epochs):
        for rows in torch.randperm(len(x), generator=draw).split(config.batch):
            logits = probe(x[rows])  # (batch, L)
            targets = y[rows, None].expand_as(logits)
            loss = F.binary_cross_entropy_with_logits(logits, targets, weight[rows, None])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        score = roc_auc_score(dev_right, probe.confidence(dev_states))
        waited += 1
        if score > best:
            best, waited = score, 0
            best_weights = {k: v.clone() for k, v in probe.state_dict().items()}
        if waited == config.patience:
            break
    probe.load_state_dict(best_weights)
    return probe


def stack(generations, pool: str = "all") -> np.ndarray:
    """The pooled states of many generations as one float64 array (N, L, d_model)."""
    return np.stack([g.states[pool] for g in generations]).astype(np.float64)


def config_of(probe: Probe) -> dict:
    """The probe's settings as JSON-ready data."""
    layers, d_model, _ = probe.w1.shape
    return {"layers": layers, "d_model": d_model, "config": asdict(probe.config)}
