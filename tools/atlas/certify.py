"""Certify a question's failure type with the project's own retriever, or drop the question."""

import re

from skillrag_lite.data import Passage
from skillrag_lite.retrieve import BM25, TOP_K

from .questions import DECOMPOSE, FOCUS, REWRITE, page

SKILLS = (REWRITE, DECOMPOSE, FOCUS)


def words(text):
    return " " + " ".join(re.findall(r"\w+", text.lower())) + " "


def holds(text, answers):
    """True if an answer occurs in the text as whole words."""
    text = words(text)
    return any(words(a) in text for a in answers)


class Certifier:
    """The corpus, its index, and the definitions of the five failure types."""

    def __init__(self, rows, world):
        self.world = world
        self.texts = {r["id"]: f"{r['title']} {r['text']}" for r in rows}
        self.index = BM25([Passage(**r) for r in rows])
        self.cache = {}

    def top(self, query):
        """The ids of the query's top-k passages, best first."""
        if query not in self.cache:
            self.cache[query] = [p.id for p in self.index.search([query], k=TOP_K)[0]]
        return self.cache[query]

    def repaired_by(self, question, oracle, gold_ids):
        """The skills whose query, after the raw question's, brings the missing gold pages."""
        missing = set(gold_ids) - set(self.top(question))
        return [s for s in SKILLS if s in oracle and missing <= set(self.top(oracle[s]))]

    def label(self, p):
        """The failure type that holds for a proposal, or None; and the skills that repair it."""
        gold = [page(e, f, self.world)[0] for e, f in p.gold]
        raw = self.top(p.question)
        if p.family != "comparison" and holds(p.question, p.answers):
            return None, []
        if not p.told:
            return ("insufficient_evidence" if self.absent(p) else None), []
        if p.family != "comparison" and not holds(self.texts[gold[-1]], p.answers):
            return None, []
        if set(gold) <= set(raw):
            return "none", []
        if p.family != "comparison" and any(holds(self.texts[i], p.answers) for i in raw):
            return None, []  # answerable after all
        repairs = self.repaired_by(p.question, p.oracle, gold)
        if len(gold) > 1:
            fits = DECOMPOSE in repairs and gold[0] in raw and gold[-1] not in raw
            return (DECOMPOSE if fits else None), repairs
        sibling = any(i.startswith(p.gold[0][0].id) for i in raw)
        if FOCUS in repairs and sibling and self.top(p.oracle[FOCUS])[0] == gold[0]:
            return FOCUS, repairs
        if REWRITE in repairs and not sibling:
            return REWRITE, repairs
        return None, repairs

    def absent(self, p):
        """True if no passage tells the answer: none on the entity, none that a query finds."""
        entity = p.gold[-1][0]
        names = [entity.name, *entity.values("alias")]
        about = [t for i, t in self.texts.items() if holds(t, names)]
        found = [self.texts[i] for q in (p.question, *p.oracle.values()) for i in self.top(q)]
        return not any(holds(t, p.answers) for t in about + found)
