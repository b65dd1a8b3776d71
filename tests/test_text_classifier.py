"""The text classifier: a tiny random T5 learns from words that betray the label."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from skillrag_lite.text_classifier import FineTuning, TextClassifier, _loss, fit

BETRAYERS = {"A": ("colour", "name"), "B": ("capital", "river"), "C": ("mother", "successor")}
FILLERS = ("what", "is", "the", "of", "a", "in", "who", "was", "it")
WORDS = (*"ABC", *FILLERS, *(word for pair in BETRAYERS.values() for word in pair))
QUICK = FineTuning(lr=1e-2, epochs=8)


def toys(n, seed):
    """Questions of 3 to 9 words, each with one that only its label's questions have."""
    rng = np.random.default_rng(seed)
    texts, labels = [], ["ABC"[i % 3] for i in range(n)]
    for label in labels:
        words = list(rng.choice(FILLERS, rng.integers(2, 9)))
        words.insert(rng.integers(len(words)), rng.choice(BETRAYERS[label]))
        texts.append(" ".join(words))
    return texts, labels


TRAIN, DEV, TEST = toys(120, 0), toys(30, 1), toys(90, 2)


@pytest.fixture(scope="module")
def source(tiny_t5):
    return tiny_t5(WORDS)


@pytest.fixture(scope="module")
def classifier(source):
    return fit(source, *TRAIN, *DEV, QUICK)


def right(classifier, texts, labels):
    """The share of labels that are predicted."""
    return np.mean(np.array(classifier.predict(texts)) == labels)


def weights(classifier):
    """A copy of all weights, end to end."""
    return torch.cat([v.flatten() for v in classifier.model.state_dict().values()])


def test_it_learns_words_that_betray_the_label(classifier):
    assert classifier.labels == ("A", "B", "C")
    assert right(classifier, *TEST) >= 0.9


def test_shuffled_labels_leave_it_at_chance(source):
    shuffled = np.random.default_rng(3).permutation(TRAIN[1]).tolist()
    assert abs(right(fit(source, TRAIN[0], shuffled, *DEV, QUICK), *TEST) - 1 / 3) < 0.2


def test_one_seed_gives_one_classifier(source, classifier):
    again = fit(source, *TRAIN, *DEV, QUICK)
    assert again.predict(TEST[0]) == classifier.predict(TEST[0])
    assert torch.equal(weights(again), weights(classifier))
    other = fit(source, *TRAIN, *DEV, FineTuning(lr=1e-2, epochs=8, seed=1))
    assert not torch.equal(weights(other), weights(classifier))


def test_a_batch_equals_one_by_one(classifier):
    assert len({len(text.split()) for text in TEST[0]}) > 5  # short ones are padded
    together = classifier.predict(TEST[0])
    assert [classifier.predict([text])[0] for text in TEST[0]] == together
    assert classifier.predict([]) == []


def test_the_label_whose_first_token_is_likelier_is_predicted(classifier):
    inputs = classifier.tokenizer("what is the capital of it", return_tensors="pt")
    reply = classifier.model.generate(
        **inputs, max_new_tokens=1, output_logits=True, return_dict_in_generate=True
    )
    logits = {label: reply.logits[0][0, 4 + WORDS.index(label)] for label in "ABC"}
    assert classifier.predict(["what is the capital of it"]) == [max(logits, key=logits.get)]


def test_dev_chooses_the_epoch(source, monkeypatch):
    # Whatever is trained, the third look at dev is the only one that pleases.
    looks, seen = [], []

    def predict(self, texts):
        looks.append(weights(self))
        seen.append(texts)
        return DEV[1] if len(looks) == 3 else ["A"] * len(texts)

    monkeypatch.setattr(TextClassifier, "predict", predict)
    kept = weights(fit(source, *TRAIN, *DEV, FineTuning(lr=1e-3, epochs=5)))
    assert [torch.equal(kept, look) for look in looks] == [False, False, True, False, False]
    assert seen == [DEV[0]] * 5


def test_two_labels_and_a_label_that_only_dev_knows(source):
    known = [i for i, label in enumerate(TRAIN[1]) if label != "C"]
    texts, labels = [TRAIN[0][i] for i in known], [TRAIN[1][i] for i in known]
    two = fit(source, texts, labels, *DEV, QUICK)
    assert two.labels == ("A", "B") and set(two.predict(TEST[0])) == {"A", "B"}


def test_the_loss_is_the_mean_over_the_labels_tokens_without_padding(classifier):
    classifier.model.eval()
    texts, labels = TEST[0][:2], ["A", "B of name"]  # with the end token, 2 and 4 tokens
    one, other = (_loss(classifier, [t], [n]) for t, n in zip(texts, labels, strict=True))
    assert _loss(classifier, texts, labels).item() == pytest.approx(
        ((2 * one + 4 * other) / 6).item(), rel=1e-4
    )


def test_labels_that_cannot_be_told_apart_are_refused(source):
    with pytest.raises(ValueError, match="every train label is the same"):
        fit(source, TRAIN[0], ["A"] * 120, *DEV)
    alike = ["name" if label == "A" else "name it" for label in TRAIN[1]]
    with pytest.raises(ValueError, match="'name it'.* begin with the same token: rename them"):
        fit(source, TRAIN[0], alike, *DEV)


def test_it_comes_back_from_its_folder(classifier, tmp_path):
    folder = tmp_path / "new" / "text"
    classifier.save(folder)
    again = TextClassifier.load(folder)
    assert again.labels == classifier.labels
    assert again.predict(TEST[0]) == classifier.predict(TEST[0])
    assert torch.equal(weights(again), weights(classifier))
    assert {file.suffix for file in folder.iterdir()} == {".json", ".safetensors"}
    assert load_file(folder / "model.safetensors")["shared.weight"].dtype == torch.float32


def test_a_folder_of_another_kind_is_refused(classifier, source, tmp_path):
    for empty in (tmp_path / "none", source):  # an untrained model has learnt no labels
        with pytest.raises(FileNotFoundError, match="no text classifier in .*: train one and save"):
            TextClassifier.load(empty)
    whole = tmp_path / "whole"
    classifier.save(whole)
    for name in ("labels.json", "config.json", "model.safetensors", "tokenizer.json"):
        for content in (b"", b"not it", (whole / name).read_bytes()[:-20]):
            folder = shutil.copytree(whole, tmp_path / "cut", dirs_exist_ok=True)
            (folder / name).write_bytes(content)
            with pytest.raises(ValueError, match="holds no text classifier .*: train again"):
                TextClassifier.load(folder)
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    (folder / "model.safetensors").unlink()
    torch.save(classifier.model.state_dict(), folder / "pytorch_model.bin")  # a pickle: never read
    with pytest.raises(ValueError, match="holds no text classifier .*: train again"):
        TextClassifier.load(folder)
    assert json.loads((whole / "labels.json").read_text()) == ["A", "B", "C"]
