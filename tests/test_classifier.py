"""The linear classifier on states whose labels are known, and on files that are not its own."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skillrag_lite.classifier import GRID, Classifier, ClassifierConfig, fit

NAMES = ("A", "B", "C")


def data(n, seed, signal=2.0, layer=slice(None), share=(1 / 3, 1 / 3, 1 / 3)):
    """Three layers of noise; three directions, in the layers named, tell the labels apart."""
    rng = np.random.default_rng(seed)
    numbers = rng.choice(3, n, p=share)
    states = rng.normal(size=(n, 3, 12)).astype(np.float32)
    for row, number in enumerate(numbers):
        states[row, layer, number] += signal
    return states, [NAMES[number] for number in numbers]


def right(classifier, states, labels):
    """The share of labels that are predicted."""
    return np.mean(np.array(classifier.predict(states)) == labels)


def test_it_learns_labels_that_can_be_told_apart():
    assert right(fit(*data(150, 0), *data(60, 1)), *data(300, 2)) > 0.9


def test_shuffled_labels_leave_it_at_chance():
    states, labels = data(300, 0)
    shuffled = np.random.default_rng(3).permutation(labels).tolist()
    assert abs(right(fit(states, shuffled, *data(100, 1, 0)), *data(600, 2)) - 1 / 3) < 0.1


def test_dev_chooses_how_layers_are_joined():
    # What one layer says, another takes back: the average is noise, side by side both can be read.
    def torn(n, seed):
        states, labels = data(n, seed, signal=0)
        for row, label in enumerate(labels):
            states[row, 0, NAMES.index(label)] += 3
            states[row, 1, NAMES.index(label)] -= 3
        return states, labels

    classifier = fit(*torn(200, 0), *torn(80, 1))
    assert classifier.config.layers == "concat" and right(classifier, *torn(200, 2)) > 0.9
    assert fit(*data(200, 0, 9), *data(80, 1, 9)).config == GRID[0]  # the simplest among equals


def test_a_rare_label_weighs_as_much_as_the_others():
    share = (0.9, 0.05, 0.05)
    classifier = fit(*data(300, 0, 3, share=share), *data(100, 1, 3, share=share))
    states, labels = data(300, 2, 3)
    rare = [i for i, label in enumerate(labels) if label != "A"]
    assert right(classifier, states[rare], [labels[i] for i in rare]) > 0.8


def test_two_labels_and_a_label_that_only_dev_knows():
    states, labels = data(200, 0)
    known = [i for i, label in enumerate(labels) if label != "C"]
    classifier = fit(states[known], [labels[i] for i in known], *data(60, 1))
    assert classifier.labels == ("A", "B") and classifier.weights.shape[0] == 2
    states, labels = data(200, 2)
    known = [i for i, label in enumerate(labels) if label != "C"]
    assert right(classifier, states[known], [labels[i] for i in known]) > 0.9


def test_one_label_is_refused():
    states, _ = data(9, 0)
    with pytest.raises(ValueError, match="every train label is the same"):
        fit(states, ["A"] * 9, *data(9, 1))


def test_it_equals_a_logistic_regression_on_standardised_states():
    states, labels = data(90, 0)
    states = states * 50 + 300 * np.arange(12)  # the scaling must be folded into the weights
    one = fit(states, labels, states, labels)
    whole = make_pipeline(
        StandardScaler(), LogisticRegression(C=one.config.c, class_weight="balanced", max_iter=1000)
    ).fit(one.config.vectors(states), labels)
    assert one.predict(states) == whole.predict(one.config.vectors(states)).tolist()
    assert right(one, states, labels) > 0.9
    assert one.predict(states) == fit(states, labels, states, labels).predict(states)


def test_it_comes_back_from_its_file(tmp_path):
    classifier = fit(*data(90, 0), *data(40, 1))
    path = tmp_path / "new" / "adaptive.npz"
    classifier.save(path)
    again, (states, _) = Classifier.load(path), data(50, 2)
    assert (again.labels, again.config) == (classifier.labels, classifier.config)
    assert again.predict(states) == classifier.predict(states)
    np.testing.assert_array_equal(again.weights, classifier.weights)
    before = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == before


class Evil:
    def __reduce__(self):
        return pytest.fail, ("a file was run",)


def test_a_file_of_another_kind_is_refused_and_never_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="train one and save it"):
        Classifier.load(tmp_path / "none.npz")
    path = tmp_path / "c.npz"
    fit(*data(90, 0), *data(40, 1)).save(path)
    whole = path.read_bytes()
    evil = np.array([Evil()], dtype=object)
    np.savez(tmp_path / "evil.npz", labels=evil, layers="mean", c=1.0, weights=evil, bias=evil)
    for content in (
        pickle.dumps(Evil()), b"", b"not a classifier", whole[: len(whole) // 2],
        (tmp_path / "evil.npz").read_bytes(),
    ):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(ValueError, match="holds no classifier"):
            Classifier.load(path)
    np.savez(path, other=1)
    with pytest.raises(ValueError, match="holds no classifier"):
        Classifier.load(path)


def test_states_of_another_model_are_refused():
    classifier = Classifier(NAMES, ClassifierConfig(), np.zeros((3, 12)), np.zeros(3))
    with pytest.raises(ValueError, match="reads 12 numbers a reply, these states have 7"):
        classifier.predict(np.zeros((2, 3, 7)))
