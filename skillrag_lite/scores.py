"""Scores: how right an answer is (EM, ACC, F1), how well a signal ranks, how sure we may be."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import binomtest, rankdata


def normalise(text: str) -> str:
    """Lower-case a text and drop its punctuation, articles and extra spaces.

    A name that is nothing else (the band "The The") keeps its words and marks.

    >>> normalise("The  Beatles!")
    'beatles'
    """
    text = unicodedata.normalize("NFC", text).lower()
    bare = "".join(c for c in text if unicodedata.category(c)[0] not in "PS")  # marks, symbols
    words = [word for word in bare.split() if word not in ("a", "an", "the")]
    return " ".join(words or text.split())


def em(answer: str, golds: Iterable[str]) -> int:
    """Exact match: 1 if the answer equals one of the gold answers after normalising."""
    answer = normalise(answer)
    return int(answer != "" and any(answer == normalise(gold) for gold in golds))


def acc(answer: str, golds: Iterable[str]) -> int:
    """Accuracy: 1 if a gold answer stands in the answer line as whole words."""
    return int(any(f" {gold} " in f" {normalise(answer)} " for gold in _normalised(golds)))


def acc_loose(full_text: str, golds: Iterable[str]) -> int:
    """The papers' accuracy: 1 if a gold answer is a substring of reasoning and answer together.

    It inflates: "no" is found inside "not".
    """
    return int(any(gold in normalise(full_text) for gold in _normalised(golds)))


def f1(answer: str, golds: Iterable[str]) -> float:
    """The best harmonic mean of word precision and recall over the gold answers, 0 to 1."""
    words = normalise(answer).split()
    return max((_overlap(words, gold.split()) for gold in _normalised(golds)), default=0.0)


def bootstrap(
    values: Sequence[float], level: float = 0.95, seed: int = 0, n: int = 2000
) -> tuple[float, float, float]:
    """Return the mean and the ends of its interval, from n resamples drawn with replacement.

    Raises ValueError if there are no values.
    """
    values = np.asarray(values, dtype=float)
    if values.size == 0:
        raise ValueError("there is nothing to average: give at least one value")
    rng = np.random.default_rng(seed)
    means = [rng.choice(values, values.size).mean() for _ in range(n)]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(values.mean()), float(low), float(high)


def auroc(
    labels: Sequence[int],
    signal: Sequence[float],
    level: float = 0.95,
    seed: int = 0,
    n: int = 2000,
) -> tuple[float, float, float]:
    """Return the area under the ROC curve and the ends of its bootstrap interval.

    It is the chance that a right example (label 1) has a higher signal than a wrong one (0); a tie
    counts half. Resamples of a single class are left out. Raises ValueError if all labels agree.
    Taught in chapter 01.
    """
    labels, signal = np.asarray(labels, int), np.asarray(signal, float)
    if len(set(labels.tolist())) < 2:
        raise ValueError("all labels are the same: an AUROC needs right and wrong examples")
    drawn = np.random.default_rng(seed).integers(0, labels.size, (n, labels.size))
    rows = np.vstack([np.arange(labels.size), drawn])  # the data themselves, then resamples
    right, ranks = labels[rows], rankdata(signal[rows], axis=1)  # (n + 1, n_examples)
    positive = right.sum(1)
    pairs = positive * (labels.size - positive)
    above = (right * ranks).sum(1) - positive * (positive + 1) / 2  # Mann and Whitney's U
    areas = above[pairs > 0] / pairs[pairs > 0]
    low, high = np.quantile(areas[1:], [(1 - level) / 2, (1 + level) / 2])
    return float(areas[0]), float(low), float(high)


def mcnemar(one: Sequence[int], other: Sequence[int]) -> tuple[int, int, float]:
    """Compare two methods on the same questions: McNemar's exact test.

    Takes their correctness, 0 or 1 a question. Returns how many questions only the first one got
    right, how many only the other one, and the two-sided p-value of that split if each were as
    likely as the other. Questions on which they agree say nothing. Taught in chapter 06.
    """
    one, other = np.asarray(one, int), np.asarray(other, int)
    won, lost = int((one > other).sum()), int((one < other).sum())
    return won, lost, float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


def ece(labels: Sequence[int], probabilities: Sequence[float], bins: int = 10) -> float:
    """Expected calibration error: how far the probabilities lie from the shares they promise.

    The mean gap between a bin's mean probability and its share of 1s, weighted by the bin's size.
    """
    labels, probabilities = np.asarray(labels, float), np.asarray(probabilities, float)
    bin_of = np.minimum((probabilities * bins).astype(int), bins - 1)
    gaps = np.bincount(bin_of, weights=probabilities - labels, minlength=bins)  # (bins,)
    return float(np.abs(gaps).sum() / labels.size)


def _normalised(golds):
    return [gold for gold in map(normalise, golds) if gold]


def _overlap(answer, gold):
    shared = (Counter(answer) & Counter(gold)).total()
    return 2 * shared / (len(answer) + len(gold))
