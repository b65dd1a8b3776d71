"""The GPU check: the makers' shapes, and every step of it on tiny models on the CPU."""

import json
from dataclasses import replace

import pytest
import torch
from transformers import AutoModelForCausalLM

from skillrag_lite import profiles
from skillrag_lite.generation import Decoding
from tools import gpu_check, random_models
from tools.random_models import SHAPES

COLUMNS = ["batch", "read_per_s", "tapped_per_s", "bare_per_s", "tapped_over_bare", "peak_gb"]
SIZES = {"gemma2-9b": 9_241_705_984, "qwen3-8b": 8_190_735_360, "llama3-8b": 8_030_261_248}


def tiny(name):
    """The profile and the configuration class of a real model, at sizes such as NF4 needs."""
    real = SHAPES[name]
    shape = {
        "vocab_size": 19000, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "tie_word_embeddings": real.tie_word_embeddings, "max_position_embeddings": 2048,
    }  # fmt: skip
    profile = replace(profiles.get(name), n_layers=4, d_model=64)
    return profile, type(real)(**shape)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Little to do, and no GPU to ask about memory."""
    monkeypatch.setattr(gpu_check, "BATCHES", (1, 2))
    monkeypatch.setattr(gpu_check, "COMPARED", 2)
    monkeypatch.setattr(gpu_check, "ENDLESS", Decoding(max_new_tokens=6, mark="", stop=()))
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 2.5e9)


@pytest.fixture(scope="module")
def backbone():
    return random_models.build(*tiny("llama3-8b"))


@pytest.mark.parametrize("name", SHAPES)
def test_the_shapes_are_the_makers_and_those_of_the_profiles(name):
    profile, shape = profiles.get(name), SHAPES[name]
    assert (profile.n_layers, profile.d_model) == (shape.num_hidden_layers, shape.hidden_size)
    assert profile.precision == "nf4"
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(shape)
    assert sum(p.numel() for p in model.parameters()) == SIZES[name]


@pytest.mark.parametrize("name", SHAPES)
def test_every_model_is_built_answers_soundly_and_is_measured(name):
    facts = gpu_check.check(*tiny(name))
    assert facts["model"] == name and facts["build_seconds"] > 0
    assert facts["header_tokens"] > 400 and 0 <= facts["same_tokens"] <= 1
    assert [row["batch"] for row in facts["rows"]] == [1, 2]
    assert all(list(row) == COLUMNS and row["peak_gb"] == 2.5 for row in facts["rows"])


def test_a_model_is_opened_as_its_profile_says_and_says_only_what_the_tokenizer_knows(backbone):
    projection = backbone.model.model.layers[0].self_attn.q_proj
    assert type(projection).__name__ == "Linear4bit" and projection.weight.quant_type == "nf4"
    assert projection.weight.quant_state.dtype == backbone.model.dtype == torch.bfloat16
    assert backbone.model.config._attn_implementation == "shared_header"
    known, head = len(backbone.encoder.tokenizer), backbone.model.lm_head.weight
    assert head[:known].any(1).all() and not head[known:].any()
    assert known > max(shape.intermediate_size for shape in SHAPES.values())


def test_unsound_states_are_an_error(backbone, monkeypatch):
    monkeypatch.setattr(backbone, "profile", replace(backbone.profile, d_model=65))
    with pytest.raises(AssertionError, match="unsound states: all"):
        gpu_check.agreement(backbone, gpu_check.questions(1))


def test_reading_is_taken_off_the_time_of_writing(backbone, monkeypatch):
    monkeypatch.setattr(gpu_check, "times", lambda *_: [5.0, 4.0, 2.0])
    prompts = gpu_check.questions(2)
    own = sum(len(backbone.encoder.prompt(prompt)[1]) for prompt in prompts)
    row = gpu_check.measure(backbone, prompts)  # 2 x 5 tokens after the first
    assert list(row.values()) == [2, round(own / 2), round(10 / 3), 5, 1.25, 2.5]


def test_the_three_works_take_turns_and_the_taps_are_put_back(backbone, monkeypatch):
    asked, generate = [], backbone.generate

    def noting(prompts, decoding):
        tapped = sum(len(b._forward_hooks) for b in backbone.model.model.layers)
        asked.append((tapped, decoding.states, decoding.max_new_tokens))
        return generate(prompts, decoding)

    monkeypatch.setattr(backbone, "generate", noting)
    assert len(gpu_check.times(backbone, gpu_check.questions(1))) == 3
    turn = [(3, True, 6), (0, False, 6), (3, True, 1)]
    assert asked == [turn[0], *turn, *turn]


def test_a_batch_too_large_for_the_memory_is_a_row_that_says_so(backbone, monkeypatch):
    def generate(prompts, decoding):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(backbone, "generate", generate)
    row = gpu_check.measure(backbone, gpu_check.questions(2))
    assert list(row) == COLUMNS and row["batch"] == 2 and row["peak_gb"] == "out of memory"


def test_without_a_gpu_one_sentence_says_so(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="^There is no GPU here .*[.]$") as ended:
        gpu_check.main([])
    assert isinstance(ended.value.code, str)  # printed to stderr, status 1


def test_what_is_printed_is_also_written(tmp_path, monkeypatch, capsys):
    rows = [dict.fromkeys(COLUMNS, 1), dict.fromkeys(COLUMNS, "-") | {"peak_gb": "out of memory"}]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a made-up GPU")
    monkeypatch.setattr(gpu_check, "check", lambda p, _: {"model": p.name, "rows": rows})
    gpu_check.main(["--model", "llama3-8b", "qwen3-8b", "--out", str(tmp_path / "x.json")])
    written = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert list(written) == ["device", "torch", "transformers", "bitsandbytes", "models"]
    assert [m["model"] for m in written["models"]] == ["llama3-8b", "qwen3-8b"]
    assert written["models"][0]["rows"] == rows
    said = capsys.readouterr().out
    assert "a made-up GPU" in said and "model qwen3-8b" in said and "out of memory" in said
