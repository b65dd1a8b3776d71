"""The probe and the gate on states whose truth is known."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

from skillrag_lite.gate import Gate, Point, calibrate, sweep
from skillrag_lite.probe import Probe, ProbeConfig, fit

CONFIG = ProbeConfig(width=8, lr=1e-2)


def data(n, seed, signal=1.5):
    """Three layers of noise; a direction in the last two tells right from wrong."""
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 2, n)
    states = rng.normal(size=(n, 3, 16)).astype(np.float32)
    states[:, 1:, 0] += signal * (2 * right[:, None] - 1)
    return states, right


def test_it_finds_the_signal_and_averages_layers():
    probe = fit(*data(200, 0), *data(100, 1), CONFIG)
    states, right = data(300, 2)
    by_layer = probe.by_layer(states)
    scores = [roc_auc_score(right, by_layer[:, layer]) for layer in range(3)]
    assert scores[0] < 0.65 < 0.9 < min(scores[1:])
    assert roc_auc_score(right, probe.confidence(states)) > 0.9
    np.testing.assert_allclose(probe.confidence(states), by_layer.mean(1))


def test_shuffled_labels_teach_it_nothing():
    states, right = data(200, 0)
    shuffled = np.random.default_rng(3).permutation(right)
    probe = fit(states, shuffled, *data(100, 1, signal=0), CONFIG)
    test_states, test_right = data(300, 2)
    assert abs(roc_auc_score(test_right, probe.by_layer(test_states)[:, 0]) - 0.5) < 0.1


def test_the_batched_program_equals_one_network_a_layer():
    torch.manual_seed(0)
    probe = Probe(3, 16, CONFIG)
    probe.mean.copy_(torch.randn(3, 16))
    probe.std.copy_(torch.rand(3, 16) + 0.5)
    states = torch.randn(5, 3, 16).double()
    for layer in range(3):
        first, second = nn.Linear(16, 8), nn.Linear(8, 1)
        with torch.no_grad():
            first.weight.copy_(probe.w1[layer].T)
            first.bias.copy_(probe.b1[layer])
            second.weight.copy_(probe.w2[layer][None])
            second.bias.copy_(probe.b2[layer])
        alone = nn.Sequential(first, nn.SiLU(), second).double()
        scaled = (states[:, layer] - probe.mean[layer]) / probe.std[layer]
        torch.testing.assert_close(probe(states)[:, layer], alone(scaled)[:, 0])


def test_training_is_the_same_twice():
    one, two = (fit(*data(60, 0), *data(40, 1), CONFIG).by_layer(data(20, 2)[0]) for _ in "ab")
    np.testing.assert_array_equal(one, two)


def test_answers_of_one_class_are_refused():
    states, _ = data(20, 0)
    with pytest.raises(ValueError, match="every train answer has the same label"):
        fit(states, np.zeros(20), *data(20, 1), CONFIG)
    with pytest.raises(ValueError, match="every dev answer"):
        fit(*data(20, 0), states, np.ones(20), CONFIG)


def test_a_sweep_goes_from_never_to_always_and_calibration_prefers_fewer_retrievals():
    points = sweep([0.2, 0.4, 0.6, 0.8], [0, 1, 1, 1], [1, 1, 0, 1])
    assert [p.retrieval_rate for p in points] == [0, 0.25, 0.5, 0.75, 1]
    assert [p.accuracy for p in points] == [0.75, 1, 1, 0.75, 0.75]
    assert calibrate(points) == pytest.approx(0.3)
    assert calibrate([Point(0.0, 0.0, 0.5), Point(1.0, 1.0, 0.5)]) == 0.0


def test_ties_in_confidence_are_cut_together():
    points = sweep([0.5, 0.5, 0.9], [0, 0, 1], [1, 1, 0])
    assert [p.retrieval_rate for p in points] == pytest.approx([0, 2 / 3, 1])


def test_a_gate_comes_back_from_its_folder(tmp_path):
    gate = Gate(fit(*data(60, 0), *data(40, 1), CONFIG), 0.4, "answer")
    gate.save(tmp_path / "gate")
    again = Gate.load(tmp_path / "gate")
    assert (again.tau, again.pool, again.probe.config) == (0.4, "answer", CONFIG)
    states, _ = data(20, 2)
    np.testing.assert_allclose(
        again.probe.by_layer(states), gate.probe.by_layer(states), atol=2e-3
    )  # kept in half precision
    with pytest.raises(FileNotFoundError, match="no trained gate: train one"):
        Gate.load(tmp_path / "nothing")
