"""Profiles: the layers they keep, and what a wrong name gets."""

import dataclasses

import pytest

from skillrag_lite import profiles
from skillrag_lite.catalogue import MODELS
from skillrag_lite.profiles import PROFILES


def test_names_lead_to_their_profiles():
    assert all(profiles.get(name).name == name for name in PROFILES)
    assert {"pocket", "tiny", "laptop", "gemma2-9b", "qwen3-8b", "llama3-8b"} <= set(PROFILES)


def test_a_wrong_name_lists_the_names():
    with pytest.raises(ValueError, match=f"'huge': choose one of {', '.join(PROFILES)}"):
        profiles.get("huge")


def test_the_last_two_thirds_of_the_layers_are_kept():
    profile = profiles.get("llama3-8b")
    assert profile.kept_layers == range(10, 32)
    assert dataclasses.replace(profile, stride=4).kept_layers == range(10, 32, 4)
    for profile in PROFILES.values():
        assert min(profile.kept_layers) == profile.n_layers // 3
        assert max(profile.kept_layers) < profile.n_layers


def test_every_profile_knows_its_weights():
    assert profiles.get("tiny").fingerprint == MODELS["smollm2-135m"].sha256
    assert profiles.get("qwen3-8b").fingerprint == "Qwen/Qwen3-8B"
    assert {profile.weights for profile in PROFILES.values()} == {None, *MODELS}


def test_the_profiles_that_need_a_gpu_read_questions_as_the_paper_does():
    named = {name: profile.text_classifier for name, profile in PROFILES.items()}
    assert {named[name] for name in ("pocket", "tiny", "laptop")} == {None}
    assert {named[name] for name in ("gemma2-9b", "qwen3-8b", "llama3-8b")} == {
        "google-t5/t5-large"
    }


def test_a_profile_cannot_be_changed_in_passing():
    with pytest.raises(dataclasses.FrozenInstanceError):
        profiles.get("tiny").chat = False
