"""Profiles: the layers they keep, and what a wrong name gets."""

import dataclasses

import pytest

from skillrag_lite import profiles
from skillrag_lite.profiles import PROFILES


def test_names_lead_to_their_profiles():
    assert all(profiles.get(name).name == name for name in PROFILES)
    assert {"pocket", "tiny", "laptop", "gemma2-9b", "qwen3-8b", "llama3-8b"} <= set(PROFILES)


def test_a_wrong_name_lists_the_names():
    with pytest.raises(ValueError, match=f"'huge': choose one of {', '.join(PROFILES)}"):
        profiles.get("huge")


def test_the_last_two_thirds_of_the_layers_are_kept():
    assert profiles.get("pocket").kept_layers == range(8, 24)
    assert profiles.get("llama3-8b").kept_layers == range(10, 32)
    for profile in PROFILES.values():
        assert len(profile.kept_layers) >= profile.n_layers * 2 / 3
        assert profile.kept_layers[-1] == profile.n_layers - 1


def test_a_profile_cannot_be_changed_in_passing():
    with pytest.raises(dataclasses.FrozenInstanceError):
        profiles.get("tiny").chat = False
