"""Tests of shape, on clouds whose shape is known."""

import numpy as np
import pytest

from skillrag_lite import failure_space


def cloud(centres, n=40, seed=0):
    """States (n each, 2 layers, 6 wide) around the centres, and whose they are."""
    rng = np.random.default_rng(seed)
    states = [rng.normal(size=(n, 2, 6)) + centre for centre in centres]
    return np.concatenate(states), np.repeat(range(len(centres)), n)


@pytest.fixture(scope="module")
def two():
    return cloud([0.0, 4.0])


def test_two_groups_are_found_and_points_of_another_condition_fall_to_them(two):
    states, whose = two
    space = failure_space.fit(states)
    assert space.axes(states).shape == (80, 12)
    found = space.cluster(states)
    assert len(set(zip(found, whose, strict=True))) == 2  # the same partition
    moved = space.cluster(states[whose == 0] + 4.0)
    assert set(moved) == set(found[whose == 1])


def test_two_groups_stand_out_and_one_cloud_does_not(two):
    states, _ = two
    seen, p = failure_space.separation(failure_space.fit(states).axes(states))
    assert seen > 0.3 and p == 0.01
    one, _ = cloud([0.0], n=80)
    low, p = failure_space.separation(failure_space.fit(one).axes(one))
    assert low < seen and p > 0.05


def test_two_groups_that_merge_have_dissolved_and_fewer_of_them_have_not(two):
    states, whose = two
    x = failure_space.fit(states).axes(states)
    merged = np.concatenate(
        [x[whose == 0], x[whose == 1] - x[whose == 1].mean(0) + x[whose == 0].mean(0)]
    )
    lost, p = failure_space.dissolution(x, merged[::2])
    assert lost > 0.2 and p == 0.01
    kept, p = failure_space.dissolution(x, x[::2])
    assert abs(kept) < 0.05 and p > 0.05


def test_agreement_is_one_for_the_same_partition_and_nothing_for_a_shuffled_one(two):
    _, whose = two
    assert failure_space.agreement(1 - whose, whose) == (1.0, 0.001)
    mixed = np.random.default_rng(1).permutation(whose)
    value, p = failure_space.agreement(mixed, whose)
    assert abs(value) < 0.05 and p > 0.05


def test_a_cluster_that_loses_a_third_has_shrunk_and_one_that_swaps_has_not():
    before = np.ones(30, bool)
    after = np.arange(30) >= 10
    lost, p = failure_space.shrinkage(before, after)
    assert lost == pytest.approx(1 / 3) and p < 0.01
    kept, p = failure_space.shrinkage(after, np.roll(after, 15))
    assert kept == 0 and p > 0.4


def test_tsne_keeps_neighbours_and_repeats_itself(two):
    states, whose = two
    x = failure_space.fit(states).axes(states)
    flat = failure_space.tsne(x, 20, seed=0)
    assert flat.shape == (80, 2) and np.array_equal(flat, failure_space.tsne(x, 20, seed=0))
    distance = np.linalg.norm(flat[:, None] - flat[None], axis=-1) + 1e9 * np.eye(80)
    assert (whose[distance.argmin(1)] == whose).mean() > 0.95
