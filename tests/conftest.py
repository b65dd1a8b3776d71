"""Tiny random models of every architecture, with a tokenizer trained on the spot."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch
import transformers
from tokenizers import ByteLevelBPETokenizer

from skillrag_lite.profiles import Profile

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEXT = [
    "Question: who wrote the play\nAnswer: Shakespeare\n",
    "Passages: [1] the capital of France is Paris, a city on the Seine.\n",
    "The river flows north through the mountains to the sea, a long way.\n",
]
ARCHITECTURES = {
    "llama": ("LlamaConfig", {}),
    "qwen2": ("Qwen2Config", {}),
    "qwen3": ("Qwen3Config", {"head_dim": 8}),
    "gemma2": ("Gemma2Config", {"head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 24}),
}


@pytest.fixture(scope="session")
def tokenizer():
    """A byte-level BPE tokenizer with chat markers, trained on three sentences."""
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(
        TEXT * 5, vocab_size=400, show_progress=False,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    )  # fmt: skip
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT,
    )


def tiny_model(architecture: str, vocab: int = 400, **how):
    """A random model of the architecture, a few thousand parameters, float32, seeded."""
    config_class, extra = ARCHITECTURES[architecture]
    shape = {
        "vocab_size": vocab, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512,
        "initializer_range": 0.4, "eos_token_id": 2, "bos_token_id": 0, "pad_token_id": 0,
    }  # fmt: skip
    config = getattr(transformers, config_class)(**{**shape, **extra, **how})
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()


def tiny_profile(**how) -> Profile:
    """A profile for `tiny_model`."""
    given = {
        "name": "random", "weights": None, "model": "random", "precision": "fp32", "chat": True,
        "n_layers": 4, "d_model": 32, "batch_tokens": 4096, "max_batch": 4, "note": "", **how,
    }  # fmt: skip
    return Profile(**given)


@pytest.fixture(params=ARCHITECTURES)
def architecture(request):
    """Each architecture in turn."""
    return request.param
