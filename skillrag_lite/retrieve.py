"""Retrieval: find the passages that share a question's rarest words, by BM25."""

import os
import re
import shutil
import unicodedata
from pathlib import Path
from typing import NamedTuple

import bm25s
import numpy as np
from tqdm import tqdm

from .data import Passage

TOP_K = 3  # passages shown to the model, throughout the book

# Words that stand in most passages whatever they are about. They must go: BM25's weight of a word
# found in over half of the passages is negative, and every library repairs that in its own way.
STOPWORDS = frozenset(
    """
    a about after all also although an and any are as at be because been before being both but by
    can could did do does doing during each either for from had has have having he her here hers
    him his how i if in into is it its itself may me might more most must my neither no nor not of
    off on one only or other our ours out over own s same shall she should so some such t than that
    the their theirs them then there these they this those through to too under until up upon us
    very was we were what when where whether which while who whom whose why will with within
    without would you your yours
    """.split()
)


class Hit(NamedTuple):
    """A passage that was found, and its BM25 score (higher is better, 0 the least)."""

    passage: Passage
    score: float


def tokens(text: str) -> list[str]:
    """Cut a text into lower-case words without stop words; no stemming.

    >>> tokens("Who wrote 'The Left Hand of Darkness'?")
    ['wrote', 'left', 'hand', 'darkness']
    """
    # The normal form joins a letter with its accents, which would otherwise cut the word.
    words = re.findall(r"\w+", unicodedata.normalize("NFC", text.lower()))
    return [word for word in words if word not in STOPWORDS]


class BM25:
    """A searchable index of passages' titles and texts (Robertson's BM25, k1 = 1.2, b = 0.75).

    A word in more than half of the passages weighs nothing. Raises ValueError where no passage
    has a word to search for. Taught in chapter 00.
    """

    def __init__(self, passages: list[Passage]):
        number_of = {}  # word → its number, by first appearance: the same index in every run
        words = [
            [
                number_of.setdefault(word, len(number_of))
                for word in tokens(f"{passage.title} {passage.text}")
            ]
            for passage in tqdm(passages, desc="indexing", unit=" passages", delay=2)
        ]
        if not number_of:
            raise ValueError("the corpus has no words to search for: give at least one passage")
        self._index = bm25s.BM25(method="robertson", k1=1.2, b=0.75)
        self._index.index((words, number_of), create_empty_token=False, show_progress=False)
        self._index.corpus = [vars(passage) for passage in passages]

    @classmethod
    def build(cls, passages: list[Passage], folder: str | Path) -> "BM25":
        """Index the passages, write the index into a folder of its own, and open it."""
        folder = Path(folder)
        unfinished = folder.with_name(folder.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        cls(passages)._index.save(unfinished, show_progress=False)
        if (folder / "params.index.json").exists():
            shutil.rmtree(folder)  # an older index; any other folder in the way is an error
        os.replace(unfinished, folder)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path) -> "BM25":
        """Open an index that `build` wrote, memory-mapped: only what a search touches is read.

        Raises ValueError if there is none.
        """
        self = cls.__new__(cls)
        try:
            self._index = bm25s.BM25.load(folder, mmap=True, load_corpus=True, show_progress=False)
        except (OSError, ValueError):
            raise ValueError(
                f"{folder} holds no whole index: write one with BM25.build(passages, folder)"
            ) from None
        return self

    def search(self, queries: list[str], k: int = TOP_K) -> list[list[Passage]]:
        """Return, for each query, the k best passages, the best first, ties in corpus order.

        Every passage returned shares a word with its query, so there may be fewer than k, or none.
        """
        return [[hit.passage for hit in hits] for hits in self.search_scored(queries, k)]

    def search_scored(self, queries: list[str], k: int = TOP_K) -> list[list[Hit]]:
        """Search as `search` does, and keep each passage's score."""
        if isinstance(queries, str):
            raise TypeError("search takes a list of queries: write search([query])")
        return [self._best(query, k) for query in queries]

    def _best(self, query, k):
        words = self._index.get_tokens_ids(tokens(query))
        if not words:
            return []
        scores = self._index.get_scores_from_ids(words)  # (n_passages,)
        starts, holders = self._index.scores["indptr"], self._index.scores["indices"]
        found = np.unique(np.concatenate([holders[starts[w] : starts[w + 1]] for w in words]))
        best = found[np.argsort(-scores[found], kind="stable")[:k]]
        return [Hit(Passage(**self._index.corpus[int(i)]), float(scores[i])) for i in best]
