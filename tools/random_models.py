"""Models of the makers' shapes with random weights: for speed and memory, not for what they say."""

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    LlamaConfig,
    PreTrainedTokenizerFast,
    Qwen3Config,
)

from skillrag_lite import checkpoints, data
from skillrag_lite.backbone import Backbone
from skillrag_lite.profiles import Profile

# The published configurations; what is not named here is the class's default.
SHAPES = {
    "gemma2-9b": Gemma2Config(
        vocab_size=256000, hidden_size=3584, intermediate_size=14336, num_hidden_layers=42,
        num_attention_heads=16, num_key_value_heads=8, head_dim=256, query_pre_attn_scalar=256,
        sliding_window=4096, attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
        tie_word_embeddings=True, max_position_embeddings=8192, rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4},
    ),
    "qwen3-8b": Qwen3Config(
        vocab_size=151936, hidden_size=4096, intermediate_size=12288, num_hidden_layers=36,
        num_attention_heads=32, num_key_value_heads=8, head_dim=128,
        tie_word_embeddings=False, max_position_embeddings=40960, rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
    ),
    "llama3-8b": LlamaConfig(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
        num_attention_heads=32, num_key_value_heads=8, head_dim=128,
        tie_word_embeddings=False, max_position_embeddings=8192, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 5e5},
    ),
}  # fmt: skip

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build(profile: Profile, shape) -> Backbone:
    """A backbone of this shape, opened as the profile's own would be; it never ends by itself."""
    tokenizer = small_tokenizer()
    with torch.device("meta"):
        blank = AutoModelForCausalLM.from_config(shape)
    weights = random_weights(blank, len(tokenizer))
    model = type(blank).from_pretrained(
        None, config=shape, state_dict=weights, **checkpoints.settings(profile)
    )
    backbone = Backbone(model, tokenizer, profile)
    backbone.ends = frozenset()
    return backbone


def small_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE of 18,000 tokens, learnt from the Atlas in a moment."""
    learnt = ByteLevelBPETokenizer()
    learnt.train_from_iterator(
        [p.text for p in data.corpus("atlas")], vocab_size=20000, min_frequency=1,
        special_tokens=["<|im_start|>", "<|im_end|>"], show_progress=False,
    )  # fmt: skip
    return PreTrainedTokenizerFast(
        tokenizer_object=learnt._tokenizer, eos_token="<|im_end|>", chat_template=CHAT
    )


def random_weights(blank, known: int) -> dict[str, torch.Tensor]:
    """Weights by name for a model that has none yet, in 2 GB rather than 18.

    Every matrix is a view of one long row of random numbers, each beginning one further on. The
    row is zero after `known` tokens' worth, so that the model never says what the tokenizer
    lacks; no matrix but the vocabulary's is longer.
    """
    width = blank.config.hidden_size
    row = torch.zeros(blank.config.vocab_size * width + 1000, dtype=torch.bfloat16)
    row[: known * width].normal_(std=0.02)
    return {
        name: row[i : i + p.numel()].view(p.shape) if p.ndim > 1 else torch.ones(p.shape)
        for i, (name, p) in enumerate(blank.named_parameters())
    }
