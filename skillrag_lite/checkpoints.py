"""From a profile to a loaded model: fetch, convert once, open at the asked precision."""

import hashlib
import logging
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
logging.getLogger("bitsandbytes").setLevel(logging.CRITICAL)  # it talks while it is imported

import torch  # noqa: E402
from transformers import (  # noqa: E402
    AttentionInterface,
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    GgufConfig,
)
from transformers.utils import logging as hf_logging  # noqa: E402

from . import profiles, weights  # noqa: E402
from .attention import attend  # noqa: E402
from .profiles import Profile  # noqa: E402

hf_logging.set_verbosity_error()
hf_logging.disable_progress_bar()
AttentionInterface.register("shared_header", attend)


def resolve(name: str, precision: str | None = None) -> Profile:
    """A named profile, or one made for a hub id, a local folder or a GGUF file."""
    if name in profiles.PROFILES:
        known = profiles.get(name)
        return replace(known, precision=precision or known.precision)
    path = Path(name)
    folder = convert(path) if path.suffix == ".gguf" else path
    source = str(folder) if folder.exists() else name
    config = AutoConfig.from_pretrained(source).get_text_config()
    return Profile(
        name=path.stem, weights=None, model=source, precision=precision or "bf16",
        chat=AutoTokenizer.from_pretrained(source).chat_template is not None,
        n_layers=config.num_hidden_layers, d_model=config.hidden_size,
        batch_tokens=8192, max_batch=32, note="the reader's own",
        digest=_digest(folder) if folder.is_dir() else "",
    )  # fmt: skip


def load(profile: Profile):
    """The profile's model and tokenizer, on the GPU where there is one."""
    source = converted(profile.weights) if profile.weights else profile.model
    model = AutoModelForCausalLM.from_pretrained(source, **settings(profile))
    return model, AutoTokenizer.from_pretrained(source)


def settings(profile: Profile) -> dict:
    """How transformers is to open the profile's model: in which numbers, and where."""
    how = {"dtype": torch.float32 if profile.precision == "fp32" else torch.bfloat16}
    if profile.precision == "nf4":
        how["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
        )
    how["device_map"] = "cuda" if torch.cuda.is_available() else "cpu"
    return how | {"attn_implementation": "shared_header"}


def converted(name: str) -> Path:
    """The folder of safetensors of a model of the catalogue, fetched and made on first use."""
    return convert(weights.fetch(name))


def convert(gguf: Path) -> Path:
    """The folder of safetensors made from a GGUF file, beside it, made on first use.

    Dequantising takes 20 to 100 seconds, opening the folder about one; so it is done once and
    kept. The folder appears whole or not at all.
    """
    folder = gguf.with_suffix(".bf16")
    if folder.exists():
        return folder
    print(f"Converting {gguf.name} to safetensors, once (up to two minutes) …", flush=True)
    work = Path(tempfile.mkdtemp(dir=gguf.parent, prefix=f"{folder.name}."))
    try:
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            gguf_file=gguf.name,
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.bfloat16,
        )
        model.save_pretrained(work)
        AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(work)
        os.replace(work, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def _digest(folder: Path) -> str:
    """A hash of a folder's configuration and weights."""
    digest = hashlib.sha256()
    for file in sorted([folder / "config.json", *folder.glob("*.safetensors")]):
        with open(file, "rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()
