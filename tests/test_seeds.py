"""Conclusions that hold under three seeds: each is read from what `make seeds` left in results/."""

import pytest

from skillrag_lite import results

pytestmark = pytest.mark.parametrize("seed", (0, 1, 2))


def rows(chapter, seed):
    """A chapter's rows on the default profile, by dataset and method."""
    file = results.read(chapter, seed)["pocket"]
    assert file["seed"] == seed and f"--set SEED={seed}" in file["made_by"]
    return {(row["dataset"], row["method"]): row for row in file["rows"]}


def test_in_domain_the_probe_beats_what_comes_for_free(seed):
    found = rows("02_probe_training", seed)
    probe, free = (found["atlas, in domain", m] for m in ("probe", "free signal"))
    assert probe["auroc_low"] > free["auroc_high"]


def test_on_families_that_it_never_saw_it_does_not(seed):
    found = rows("02_probe_training", seed)
    probe, free = (found["atlas, out of domain", m] for m in ("probe", "free signal"))
    assert probe["auroc_low"] < 0.5 < free["auroc_high"] and probe["auroc_low"] < free["auroc"]


def test_the_gate_gains_over_never_searching_and_nothing_over_always(seed):
    found = rows("03_gating", seed)
    gated, never, always = (found["atlas", m] for m in ("gated", "never", "always"))
    assert gated["acc_low"] > never["acc_high"]
    assert gated["acc_low"] < always["acc"] < gated["acc_high"]


def test_a_threshold_from_half_of_dev_answers_as_many(seed):
    found = rows("03_gating", seed)
    whole, half = found["atlas", "gated"], found["atlas", "gated, half of dev"]
    assert abs(whole["acc"] - half["acc"]) < 0.03


def test_the_failures_are_no_two_clusters_and_no_clusters_of_causes(seed):
    found = rows("07_failure_space", seed)
    assert found["atlas, hard cases", "A"]["silhouette_p"] > 0.05
    clusters = found["atlas, hard cases", "clusters"]
    assert clusters["ari_cause_p"] > 0.05 and clusters["ari_cause"] < 0.05
    assert clusters["tsne_ari_cause_at_most"] < 0.2


def test_any_further_search_shrinks_the_cluster_and_skills_no_more_than_a_diagnosis(seed):
    found = rows("07_failure_space", seed)
    for condition in "BCD":
        assert found["atlas, hard cases", condition]["shrinkage_p"] < 0.05
    assert found["atlas, hard cases", "clusters"]["b_to_c_p"] > 0.05


def test_invented_skills_dissolve_nothing(seed):
    assert rows("07_failure_space", seed)["atlas, hard cases", "D"]["dissolution_p"] > 0.05
