"""BM25 against rank-bm25, the plain implementation that serves as the oracle."""

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from skillrag_lite import data
from skillrag_lite.data import Passage
from skillrag_lite.retrieve import BM25, STOPWORDS, TOP_K, tokens

K1, B = 1.2, 0.75
RIVERS = [
    Passage("p0", "Elbe", "The Elbe flows through Dresden to the North Sea."),
    Passage("p1", "Oder", "The Oder flows to the Baltic Sea."),
    Passage("p2", "", "Łódź lies far from any sea; it is a city of mills."),
    Passage("p3", "Elbe", "The Elbe flows through Dresden to the North Sea."),
    Passage("p4", "Zugspitze", "The Zugspitze is a peak of the Alps."),
]


def words_of(passages):
    return [tokens(f"{passage.title} {passage.text}") for passage in passages]


def assert_same_as_oracle(passages, queries, oracle, k):
    """Our scores are the oracle's over (k1 + 1), and our ranking sorts the oracle's scores."""
    place = {passage.id: i for i, passage in enumerate(passages)}
    words = [set(w) for w in words_of(passages)]
    for query, hits in zip(queries, BM25(passages).search_scored(queries, k), strict=True):
        expected = oracle.get_scores(tokens(query)) / (K1 + 1)
        found = [place[hit.passage.id] for hit in hits]
        np.testing.assert_allclose([hit.score for hit in hits], expected[found], atol=1e-5)
        sharing = [i for i, w in enumerate(words) if w & set(tokens(query))]
        assert set(found) <= set(sharing) and len(found) == min(k, len(sharing))
        # Where two scores differ by more than rounding, the order must be the oracle's.
        np.testing.assert_allclose(expected[found], np.sort(expected[sharing])[::-1][:k], atol=1e-5)


vocabulary = st.sampled_from("amber birch cedar delta ember fjord glade heath".split())
texts = st.lists(vocabulary, min_size=1, max_size=12).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(texts, min_size=1, max_size=12), st.lists(texts, min_size=1, max_size=3))
def test_random_corpora_agree_with_the_oracle(corpus, queries):
    passages = [Passage(f"p{i}", "", text) for i, text in enumerate(corpus)]
    # In so small a corpus, words stand in over half of the passages. Such a word weighs 0 here;
    # rank-bm25 puts `epsilon` times the mean weight in its place.
    oracle = BM25Okapi(words_of(passages), k1=K1, b=B, epsilon=0)
    assert_same_as_oracle(passages, queries, oracle, k=5)


@pytest.mark.skipif("SKILLRAG_DATA" not in os.environ, reason="set SKILLRAG_DATA to run this")
def test_a_benchmark_corpus_agrees_with_the_oracle_as_it_comes():
    passages = data.corpus("triviaqa")
    queries = [question.question for question in data.load("triviaqa", "dev")][:20]
    words = words_of(passages)
    # With the stop words gone no word stands in half of the passages, so the oracle's repair of
    # negative weights is never used and its own default will do.
    holders = Counter(word for passage in words for word in set(passage))
    assert max(holders.values()) < len(passages) / 2
    assert_same_as_oracle(passages, queries, BM25Okapi(words, k1=K1, b=B), k=TOP_K)


def test_the_best_passage_comes_first_and_ties_keep_corpus_order():
    (found,) = BM25(RIVERS).search(["Which river flows through Dresden?"])
    assert found == [RIVERS[0], RIVERS[3], RIVERS[1]]


def test_nothing_shared_means_nothing_found():
    found = BM25(RIVERS).search(["", "the of and", "zeppelin", "?!", "Łódź"])
    assert found == [[], [], [], [], [RIVERS[2]]]


def test_a_word_of_most_passages_still_finds_them_in_corpus_order():
    hits = BM25(RIVERS).search_scored(["flows"], k=10)[0]
    assert [hit.passage.id for hit in hits] == ["p0", "p1", "p3"]
    assert {hit.score for hit in hits} == {0.0}
    assert BM25(RIVERS[:1]).search(["elbe"]) == [[RIVERS[0]]]


def test_each_query_is_answered_in_its_place_and_k_is_kept():
    index = BM25(RIVERS)
    alone = [index.search([query], k=1)[0] for query in ("oder", "mills")]
    assert index.search(["oder", "mills"], k=1) == alone == [[RIVERS[1]], [RIVERS[2]]]
    assert index.search([]) == []


def test_one_bare_query_is_refused():
    with pytest.raises(TypeError, match=r"write search\(\[query\]\)"):
        BM25(RIVERS).search("elbe")


@pytest.mark.parametrize("passages", [[], [Passage("p", "", "the of ...")]])
def test_a_corpus_without_words_is_an_error(passages, tmp_path):
    with pytest.raises(ValueError, match="no words to search for"):
        BM25(passages)
    with pytest.raises(ValueError, match="no words to search for"):
        BM25.build(passages, tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_an_index_on_disk_is_memory_mapped_and_finds_the_same(tmp_path):
    queries = ["dresden elbe", "baltic", "Łódź", "zeppelin"]
    built = BM25.build(RIVERS, tmp_path / "index")
    opened = BM25.open(tmp_path / "index")
    assert isinstance(opened._index.scores["data"], np.memmap)
    expected = BM25(RIVERS).search_scored(queries)
    assert built.search_scored(queries) == opened.search_scored(queries) == expected
    # The passages lie beside it, in the form of any other corpus, and nothing is a pickle.
    assert data.read_passages(tmp_path / "index" / "corpus.jsonl")[0] == RIVERS[0]
    assert {path.suffix for path in (tmp_path / "index").iterdir()} == {".npy", ".json", ".jsonl"}


def test_an_index_is_replaced_whole_and_nothing_else_is(tmp_path):
    BM25.build(RIVERS[:2], tmp_path / "index")
    (tmp_path / "index.unfinished").mkdir()  # left by a build that was killed
    assert BM25.build(RIVERS, tmp_path / "index").search(["mills"]) == [[RIVERS[2]]]
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("keep me", encoding="utf-8")
    with pytest.raises(OSError):
        BM25.build(RIVERS, tmp_path / "letters")
    assert (tmp_path / "letters" / "dear.txt").exists()


def test_a_missing_or_damaged_index_says_what_to_do(tmp_path):
    with pytest.raises(ValueError, match="write one with BM25.build"):
        BM25.open(tmp_path / "nowhere")
    BM25.build(RIVERS, tmp_path / "index")
    scores = tmp_path / "index" / "data.csc.index.npy"
    scores.write_bytes(scores.read_bytes()[:-8])
    with pytest.raises(ValueError, match="holds no whole index"):
        BM25.open(tmp_path / "index")


def test_the_index_is_the_same_bytes_in_every_process(tmp_path):
    script = (
        "import sys; from skillrag_lite.retrieve import BM25; "
        "from skillrag_lite.data import Passage; "
        "BM25.build([Passage('a', 'x', 'red green blue'), Passage('b', 'y', 'blue')], sys.argv[1])"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / seed)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
        )
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Who wrote 'The Left Hand of Darkness'?", ["wrote", "left", "hand", "darkness"]),
        ("O'Connell's NAÏVE café-bar, 1,000 m²", "o connell naïve café bar 1 000 m²".split()),
        ("cafe\u0301", ["café"]),
        ("東京 Straße", ["東京", "straße"]),
        ("the and of", []),
        ("", []),
    ],
)
def test_tokens(text, words):
    assert tokens(text) == words


@given(st.text())
def test_tokens_are_words_in_lower_case_without_stopwords(text):
    found = tokens(text)
    assert not STOPWORDS & set(found)
    assert found == tokens(" ".join(found)) and all(found)
