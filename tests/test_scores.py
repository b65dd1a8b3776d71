"""Scores: fixed examples, and properties that hold for any text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from skillrag_lite import show
from skillrag_lite.scores import (
    acc,
    acc_loose,
    auroc,
    bootstrap,
    ece,
    em,
    f1,
    mcnemar,
    normalise,
)

# Mostly words that collide, now and then any text at all.
words = st.sampled_from(["the", "no", "not", "Elbe", "elbe.", "Saint-Denis", "café", "The The"])
texts = st.lists(words, max_size=6).map(" ".join) | st.text(max_size=12)
golds = st.lists(texts, max_size=4)
# Labels with a signal that often ties; at least one right and one wrong example.
labelled = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=2, max_size=30
).filter(lambda rows: len({label for label, _ in rows}) == 2)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("The  Beatles!", "beatles"),
        ("  an answer,\n a THE one ", "answer one"),
        ("U.S.A.", "usa"),
        ("“Łódź” — ¿sí?", "łódź sí"),
        ("cafe\u0301", "café"),
        ("$5½", "5½"),
        ("theatre", "theatre"),
        ("The The", "the the"),  # nothing but articles: kept, or any answer would match it
        ("!!!", "!!!"),
        (" ", ""),
    ],
)
def test_normalise(text, bare):
    assert normalise(text) == bare


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("Elbe", "the Elbe", (1, 1, 1, 1.0)),
        ("the river Elbe", "Elbe", (0, 1, 1, 2 / 3)),
        ("not sure", "no", (0, 0, 1, 0.0)),
        ("Oder", "Elbe", (0, 0, 0, 0.0)),
        ("", "the", (0, 0, 0, 0.0)),
        ("1945", "45", (0, 0, 1, 0.0)),
        ("New York City", "York New", (0, 0, 0, 0.8)),
    ],
)
def test_one_answer_under_every_score(answer, gold, expected):
    scores = (em(answer, [gold]), acc(answer, [gold]), acc_loose(answer, [gold]))
    assert scores == expected[:3] and f1(answer, [gold]) == pytest.approx(expected[3])


def test_any_alias_will_do():
    aliases = ("Elbe", "Labe")
    assert em("Labe", aliases) == acc("the Labe", aliases) == f1("labe", iter(aliases)) == 1
    assert em("Elbe", ()) == acc("Elbe", ()) == acc_loose("Elbe", ()) == f1("Elbe", ()) == 0


def test_a_repeated_word_counts_once_for_each_time_it_is_asked():
    assert f1("New New New", ["New York"]) == pytest.approx(2 * 1 / (3 + 2))


@given(texts)
def test_normalising_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)


@given(texts, texts)
def test_f1_is_the_same_either_way_round(answer, gold):
    assert f1(answer, [gold]) == f1(gold, [answer])


@given(texts, golds)
def test_scores_lie_in_order_between_0_and_1(answer, golds):
    assert 0 <= em(answer, golds) <= acc(answer, golds) <= acc_loose(answer, golds) <= 1
    assert em(answer, golds) <= f1(answer, golds) <= 1


@given(texts.filter(normalise), golds)
def test_the_gold_answer_itself_scores_1(gold, others):
    for score in (em, acc, acc_loose, f1):
        assert score(gold, [*others, gold]) == 1


@given(texts, golds, texts)
def test_one_more_alias_never_lowers_a_score(answer, golds, alias):
    for score in (em, acc, acc_loose, f1):
        assert score(answer, [*golds, alias]) >= score(answer, golds)


@given(texts)
def test_an_empty_answer_is_never_right(gold):
    for score in (em, acc, acc_loose, f1):
        assert score("", [gold, ""]) == 0


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 2**32 - 1))
def test_the_interval_holds_the_mean(values, seed):
    mean, low, high = bootstrap(values, seed=seed, n=200)
    assert mean == pytest.approx(sum(values) / len(values))
    assert 0 <= low <= mean + 1e-12 and mean - 1e-12 <= high <= 1


def test_the_interval_is_repeatable_and_as_wide_as_theory_says():
    values = [0, 1] * 200
    uneven = np.sqrt(range(50))
    assert bootstrap(uneven) == bootstrap(uneven) != bootstrap(uneven, seed=1)
    mean, low, high = bootstrap(values)
    half_width = 1.96 * np.std(values) / np.sqrt(len(values))  # the normal approximation
    assert mean == 0.5
    assert low == pytest.approx(mean - half_width, abs=0.01)
    assert high == pytest.approx(mean + half_width, abs=0.01)
    _, narrow_low, narrow_high = bootstrap(values, level=0.5)
    assert low < narrow_low < mean < narrow_high < high


def test_the_interval_of_one_value_and_of_none():
    assert bootstrap([0.3]) == (0.3, 0.3, 0.3)
    with pytest.raises(ValueError, match="nothing to average"):
        bootstrap([])


def test_calibration_error():
    assert ece([1, 0], [1.0, 0.0]) == 0
    assert ece([0, 1], [1.0, 0.0]) == 1
    # One bin: 4 promises of 0.75, 3 kept. Another: 2 promises of 0.25, 1 kept; off by 0.25.
    labels, probabilities = [1, 1, 1, 0, 1, 0], [0.75] * 4 + [0.25] * 2
    assert ece(labels, probabilities) == pytest.approx(0.25 * 2 / 6)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1))
def test_calibration_error_lies_between_0_and_1(pairs):
    labels, probabilities = zip(*pairs, strict=True)
    assert 0 <= ece(labels, probabilities) <= 1 + 1e-12


@given(labelled)
def test_auroc_is_the_librarys(rows):
    labels, signal = zip(*rows, strict=True)
    value, low, high = auroc(labels, signal, n=50)
    assert value == pytest.approx(roc_auc_score(labels, signal))
    assert 0 <= low <= high <= 1


def test_the_interval_of_an_auroc():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    value, low, high = auroc(labels, labels + rng.normal(0, 2, 400))
    assert low < value < high and 0.05 < high - low < 0.2
    assert auroc(labels, labels) == (1, 1, 1)
    with pytest.raises(ValueError, match="right and wrong"):
        auroc([1, 1], [0.2, 0.3])


def test_mcnemar_counts_the_questions_on_which_two_methods_differ():
    one, other = [1, 1, 1, 1, 1, 0, 0, 1], [0, 0, 0, 0, 0, 1, 0, 1]
    # five against one: P(at most one of six) twice, by hand (1 + 6) * 2 / 64
    assert mcnemar(one, other) == (5, 1, pytest.approx(14 / 64))
    assert mcnemar(other, one) == (1, 5, pytest.approx(14 / 64))
    assert mcnemar(one, one) == (0, 0, 1.0)


def test_claims_stand_beside_what_was_measured():
    claim = {"quantity": "ACC, a set", "value": 0.5, "paper": "A paper", "where": "Table 1"}
    rows = [(claim, 0.25, 40, False, (0.1, 0.4)), ({**claim, "value": 1}, 1, 3, None)]
    assert show.claims_table(rows).data.splitlines() == [
        "| quantity | paper | here | 95% | n | same direction | source |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| ACC, a set | 0.50 | 0.25 | [0.10, 0.40] | 40 | no | A paper, Table 1 |",
        "| ACC, a set | 1 | 1.00 | - | 3 | - | A paper, Table 1 |",
    ]
