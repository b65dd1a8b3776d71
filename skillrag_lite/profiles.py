"""Profiles: which model answers, in which numbers, and how much it may read at once."""

from dataclasses import dataclass
from typing import Literal

from .catalogue import MODELS


@dataclass(frozen=True)
class Profile:
    """One way of running the book: a model, its precision, and the size of its batches.

    `weights` is a key of `catalogue.MODELS`, or None where the weights come from the makers' hub.
    `chat` says whether prompts go through the model's chat template. A batch holds at most
    `max_batch` prompts and `batch_tokens` tokens, padding included. `stride` thins the tapped
    blocks, for recordings that must stay small. `text_classifier` is the hub id of the model that
    Adaptive-RAG fine-tunes on the questions' text; None where it reads question states instead.
    """

    name: str
    weights: str | None
    model: str
    precision: Literal["bf16", "fp32", "nf4"]
    chat: bool
    n_layers: int
    d_model: int
    batch_tokens: int
    max_batch: int
    note: str
    stride: int = 1
    digest: str = ""  # of a local model's files
    text_classifier: str | None = None

    @property
    def kept_layers(self) -> range:
        """The tapped decoder blocks: every `stride`-th of the last two thirds (v2 §3.1)."""
        return range(self.n_layers // 3, self.n_layers, self.stride)

    @property
    def fingerprint(self) -> str:
        """What identifies the weights: a SHA-256 of the files, or the hub id."""
        return MODELS[self.weights].sha256 if self.weights else self.digest or self.model


T5 = "google-t5/t5-large"  # the classifier of Adaptive-RAG's paper: 3 GB, fine-tuned on the GPU

_ALL = (
    Profile(
        name="pocket",
        weights="qwen2.5-coder-0.5b",
        model="Qwen/Qwen2.5-Coder-0.5B-Instruct",
        precision="bf16",
        chat=True,  # .62 against .55 plain, 42 train questions whose gold passage was found
        n_layers=24,
        d_model=896,
        batch_tokens=8192,
        max_batch=32,
        note="the book's default: two CPU cores, 4-bit weights of half a gigabyte",
        stride=4,
    ),
    Profile(
        name="tiny",
        weights="smollm2-135m",
        model="HuggingFaceTB/SmolLM2-135M-Instruct",
        precision="bf16",
        chat=True,
        n_layers=30,
        d_model=576,
        batch_tokens=8192,
        max_batch=32,
        note="for live tests: one small download, answers seldom right",
        stride=4,
    ),
    Profile(
        name="laptop",
        weights="qwen2.5-coder-1.5b",
        model="Qwen/Qwen2.5-Coder-1.5B-Instruct",
        precision="bf16",
        chat=True,
        n_layers=28,
        d_model=1536,
        batch_tokens=8192,
        max_batch=32,
        note="a better reader for a patient CPU: 4-bit weights of a gigabyte",
    ),
    Profile(
        name="gemma2-9b",
        weights=None,
        model="google/gemma-2-9b-it",
        precision="nf4",
        chat=True,
        n_layers=42,
        d_model=3584,
        batch_tokens=32768,
        max_batch=64,
        note="one GPU; gated: accept the makers' terms on their hub and log in first",
        text_classifier=T5,
    ),
    Profile(
        name="qwen3-8b",
        weights=None,
        model="Qwen/Qwen3-8B",
        precision="nf4",
        chat=True,
        n_layers=36,
        d_model=4096,
        batch_tokens=32768,
        max_batch=64,
        note="one GPU; free to download",
        text_classifier=T5,
    ),
    Profile(
        name="llama3-8b",
        weights=None,
        model="meta-llama/Meta-Llama-3-8B-Instruct",
        precision="nf4",
        chat=True,
        n_layers=32,
        d_model=4096,
        batch_tokens=32768,
        max_batch=64,
        note="one GPU; gated: accept the makers' terms on their hub and log in first",
        text_classifier=T5,
    ),
)
PROFILES = {profile.name: profile for profile in _ALL}


def get(name: str) -> Profile:
    """Return a profile by its name; a ValueError lists the names there are."""
    if name not in PROFILES:
        raise ValueError(f"there is no profile {name!r}: choose one of {', '.join(PROFILES)}")
    return PROFILES[name]
