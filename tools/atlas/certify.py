"""Certify a question's failure type with the project's own retriever, or drop the question."""

import re
from functools import cache

from skillrag_lite.data import Passage
from skillrag_lite.retrieve import BM25, TOP_K, tokens

from .questions import DECOMPOSE, FOCUS, REWRITE, page

SKILLS = (REWRITE, DECOMPOSE, FOCUS)
EXIT = "insufficient_evidence"


@cache
def words(text):
    """The text as lower-case words between single spaces, to look for whole words in."""
    return " " + " ".join(re.findall(r"\w+", text.lower())) + " "


def holds(text, answers):
    """True if an answer occurs in the text as whole words."""
    text = words(text)
    return any(words(a) in text for a in answers)


def stems(text):
    """The text's words without stop words and without a plural s."""
    return {w.rstrip("s") for w in tokens(text)}


class Certifier:
    """The corpus, its index, and the definitions of the five failure types."""

    def __init__(self, rows, world):
        self.world = world
        self.texts = {r["id"]: f"{r['title']} {r['text']}" for r in rows}
        self.index = BM25([Passage(**r) for r in rows])
        self.cache = {}
        self.hints = {}  # an answer, such as France or French -> words that give it away
        for c in world.of("country"):
            for answer in (c.name, c.np, c.get("language"), c.get("continent")):
                self.hints.setdefault(answer, []).extend(c.values("people"))

    def top(self, query):
        """The ids of the query's top-k passages, best first."""
        if query not in self.cache:
            self.cache[query] = [p.id for p in self.index.search([query], k=TOP_K)[0]]
        return self.cache[query]

    def repaired_by(self, question, oracle, needed):
        """The skills whose query, after the raw question's, brings the missing pages."""
        missing = set(needed) - set(self.top(question))
        return [s for s in SKILLS if missing <= set(self.top(oracle[s]))]

    def label(self, p):
        """The failure type that holds for a proposal, or None; and the skills that repair it."""
        gold = [page(e, f, self.world)[0] for e, f in p.gold]
        raw = self.top(p.question)
        if p.family != "comparison" and self.guessable(p.question, p.answers):
            return None, []
        if not p.told:
            return (EXIT if self.absent(p) else None), []
        if p.family != "comparison" and not holds(self.texts[gold[-1]], p.answers):
            return None, []
        if set(gold) <= set(raw):
            return "none", []
        if p.family != "comparison" and self.tells(p.question, p.answers):
            return None, []  # answerable after all
        # along a chain the last page holds the answer; a comparison needs both pages
        repairs = self.repaired_by(
            p.question, p.oracle, gold if p.family == "comparison" else gold[-1:]
        )
        if len(gold) > 1:
            fits = (
                DECOMPOSE in repairs
                and gold[0] in raw
                and gold[-1] not in raw
                and all(i in self.top(q) for q, i in p.steps)
            )
            return (DECOMPOSE if fits else None), repairs
        sibling = any(i.startswith(p.gold[0][0].id) for i in raw)
        if FOCUS in repairs and sibling and self.top(p.oracle[FOCUS])[0] == gold[0]:
            return FOCUS, repairs
        if REWRITE in repairs and not sibling:
            return REWRITE, repairs
        return None, repairs

    def guessable(self, question, answers):
        """True if the question's own words hold or betray its answer."""
        asked = stems(question)
        return any(stems(a) <= asked or holds(question, self.hints.get(a, ())) for a in answers)

    def absent(self, p):
        """True if no passage tells the answer: none on the entity, none that a query finds."""
        entity = p.gold[-1][0]
        names = [entity.name, *entity.values("alias")]
        about = [t for t in self.texts.values() if holds(t, names)]
        found = any(self.tells(q, p.answers) for q in (p.question, *p.oracle.values()))
        return not found and not any(holds(t, p.answers) for t in about)

    def mended_by(self, row):
        """The skills that are right on a chosen question; to exit is, if no query can find it."""
        if row["gold_ids"]:
            whole = row["family"] == "comparison"
            needed = row["gold_ids"] if whole else row["gold_ids"][-1:]
            return self.repaired_by(row["question"], row["oracle"], needed)
        found = {s: self.tells(q, row["answers"]) for s, q in row["oracle"].items()}
        return [s for s in SKILLS if found[s]] or [EXIT]

    def tells(self, query, answers):
        """True if a passage that the query finds holds an answer."""
        return any(holds(self.texts[i], answers) for i in self.top(query))
