"""The Atlas: facts that agree with each other, prose of the stated size, labels re-certified."""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from skillrag_lite.data import Passage
from skillrag_lite.retrieve import BM25, TOP_K
from tools.atlas import __main__ as atlas
from tools.atlas.certify import SKILLS, holds
from tools.atlas.facts import read_all
from tools.atlas.prose import read_specs

FOLDER = Path(__file__).resolve().parents[1] / "data" / "atlas"
SPLITS = ("train", "dev", "test")


def read(name):
    text = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def world():
    return read_all(read_specs())


@pytest.fixture(scope="module")
def passages():
    return read("corpus")


@pytest.fixture(scope="module")
def questions():
    return {split: read(split) for split in SPLITS}


@pytest.fixture(scope="module")
def top(passages):
    index = BM25([Passage(**row) for row in passages])

    def search(query):
        return [p.id for p in index.search([query], k=TOP_K)[0]]

    return search


def every(questions):
    return [q for split in SPLITS for q in questions[split]]


def test_generator_is_byte_identical(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["atlas", str(tmp_path)])
    atlas.main()
    for name in ("corpus", *SPLITS):
        assert (tmp_path / f"{name}.jsonl").read_bytes() == (FOLDER / f"{name}.jsonl").read_bytes()


def test_facts_agree(world):
    ids = Counter(e.id for e in world.entities)
    assert max(ids.values()) == 1
    assert {e.tier for e in world.entities} == {1, 2, 3}
    for e in world.entities:
        if e.get("born"):
            assert 20 < int(e.get("died")) - int(e.get("born")) < 105, e.name
    for e in world.of("country"):
        if city := world.link(e, "capital"):
            assert city.get("country") in (e.np, e.name), e.name
    elements = world.of("element")
    for field in ("symbol", "number"):
        assert len({e.get(field) for e in elements}) == len(elements)
    for e in elements:
        assert 1 <= int(e.get("number")) <= 118
        if who := world.link(e, "discoverer"):
            assert int(who.get("born")) < int(e.get("year")) <= int(who.get("died")), e.name
    for e in world.of("painting"):
        painter = world.link(e, "painter")
        assert int(painter.get("born")) < int(e.get("year")) <= int(painter.get("died")), e.name
    posthumous = {"The Trial", "The Leopard", "The Master and Margarita"}
    for e in world.of("book"):
        author = world.link(e, "author")
        assert int(author.get("born")) < int(e.get("year")), e.name
        assert (int(e.get("year")) > int(author.get("died"))) == (e.name in posthumous), e.name
    for e in world.of("mountain"):
        assert 1000 <= int(e.get("height")) <= 8849
        assert not e.get("ascent") or 1700 <= int(e.get("ascent")) <= 2000
    museums = defaultdict(set)
    for e in world.of("painting"):
        museums[e.values("museum")[-1], e.get("city")].add(e.get("city"))
    assert all(len(cities) == 1 for cities in museums.values())


def test_every_table_says_what_was_checked():
    for path in (FOLDER / "facts").glob("*.csv"):
        head = [x for x in path.read_text(encoding="utf-8").splitlines() if x.startswith("#")]
        assert "Checked" in " ".join(head) and "Tier 1" in " ".join(head), path.name


def test_prose(passages):
    assert len(passages) >= 300
    assert len({p["title"] for p in passages}) == len(passages)
    assert len({p["text"] for p in passages}) == len(passages)
    for p in passages:
        assert 50 <= len(p["text"].split()) <= 110, p["id"]
        assert not re.search(r"[{}\[\]|]|  |\.\.", p["text"]), p["id"]


def test_four_templates_for_every_aspect():
    for domain, spec in read_specs().items():
        for aspect, templates in spec["aspects"].items():
            assert len(templates) >= 4, (domain, aspect)


def test_questions(questions, passages):
    ids = {p["id"]: p for p in passages}
    titles = {p["title"] for p in passages}
    rows = every(questions)
    assert len({q["id"] for q in rows}) == len({q["question"] for q in rows}) == len(rows)
    for q in rows:
        assert set(q["gold_ids"]) <= set(ids) and set(q["gold_titles"]) <= titles
        if q["family"] == "single":
            assert q["question"] == q["question"].lower()
        if q["family"] != "comparison":
            assert not holds(q["question"], q["answers"]), q["question"]
            if q["gold_ids"]:
                page = ids[q["gold_ids"][-1]]
                assert holds(page["title"] + " " + page["text"], q["answers"])
    for split in ("train", "dev"):
        assert {q["family"] for q in questions[split]} == {"single", "trivia", "bridge"}
    assert {q["family"] for q in questions["test"]} == {
        "single",
        "trivia",
        "bridge",
        "comparison",
        "three_hop",
    }
    assert len(questions["train"]) >= 105 and len(questions["dev"]) >= 48
    counts = Counter(q["failure"] for q in questions["test"])
    assert counts.most_common(1)[0][0] == "none" and min(counts.values()) >= 8
    assert len(counts) == 5


def test_splits_share_no_entity(questions, world):
    homes = defaultdict(set)
    for split in SPLITS:
        for q in questions[split]:
            for title in q["gold_titles"]:
                homes[re.sub(r" \([a-z]+\)$", "", title)].add(split)
            # a question without gold pages still names its entity
            if not q["gold_titles"]:
                for e in world.entities:
                    if len(e.name) > 4 and holds(q["question"], [e.get("clue") or e.np]):
                        homes[e.title].add(split)
    assert [t for t, s in homes.items() if len(s) > 1] == []


def test_sides_are_balanced(questions):
    rows = [q for q in questions["test"] if q["family"] == "comparison"]
    answers = Counter(q["answers"][0] for q in rows)
    assert abs(answers["yes"] - answers["no"]) <= 1
    first = [
        q["answers"][0] in q["question"].split(" or ")[0]
        for q in rows
        if q["answers"][0] not in ("yes", "no")
    ]
    assert abs(2 * sum(first) - len(first)) <= 2


def test_fame(questions):
    rows = [q for q in every(questions) if q["family"] in ("single", "trivia")]
    share = sum(q["tier"] == 1 for q in rows) / len(rows)
    assert 0.3 <= share <= 0.6


def repaired(q, skill, top):
    """The skill's query, after the raw question's, brings every missing gold page."""
    return set(q["gold_ids"]) <= {*top(q["question"]), *top(q["oracle"][skill])}


def test_every_label_holds_again(questions, passages, top):
    texts = {p["id"]: p["title"] + " " + p["text"] for p in passages}
    stem = {p["id"]: re.sub(r" \([a-z]+\)$", "", p["title"]) for p in passages}
    for q in every(questions):
        raw, gold = top(q["question"]), q["gold_ids"]
        match q["failure"]:
            case "none":
                assert set(gold) <= set(raw), q["id"]
            case "query_misaligned":
                assert len(gold) == 1 and gold[0] not in raw, q["id"]
                assert gold[0] in top(q["oracle"]["query_misaligned"]), q["id"]
            case "multi_hop_missing":
                assert gold[0] in raw and gold[-1] not in raw, q["id"]
                assert repaired(q, "multi_hop_missing", top), q["id"]
            case "evidence_not_used":
                assert len(gold) == 1 and gold[0] not in raw, q["id"]
                assert stem[gold[0]] in {stem[i] for i in raw}, q["id"]
                assert top(q["oracle"]["evidence_not_used"])[0] == gold[0], q["id"]
            case "insufficient_evidence":
                assert gold == [], q["id"]
                for query in (q["question"], *q["oracle"].values()):
                    assert not any(holds(texts[i], q["answers"]) for i in top(query)), q["id"]
            case other:
                raise AssertionError(other)
        if q["failure"] not in ("none", "insufficient_evidence") and q["family"] != "comparison":
            assert not any(holds(texts[i], q["answers"]) for i in raw), q["id"]


def test_who_repairs_what(questions, passages, top):
    """Print failure type x skill oracle -> share repaired; the diagonal must dominate."""
    texts = {p["id"]: p["title"] + " " + p["text"] for p in passages}
    groups = defaultdict(list)
    for q in every(questions):
        if q["failure"] != "none":
            groups[q["failure"]].append(q)
    for failure, rows in sorted(groups.items()):
        share = {}
        for skill in SKILLS:
            if failure == "insufficient_evidence":
                hits = [
                    any(holds(texts[i], q["answers"]) for i in top(q["oracle"][skill]))
                    for q in rows
                ]
            else:
                hits = [repaired(q, skill, top) for q in rows]
            share[skill] = sum(hits) / len(hits)
        print(f"{failure:22} n={len(rows):3} ", {s: round(v, 2) for s, v in share.items()})
        for skill, value in share.items():
            assert value >= 0.95 if skill == failure else value <= 0.25, (failure, skill)


def test_size_on_disk():
    assert sum(p.stat().st_size for p in FOLDER.rglob("*") if p.is_file()) < 4_000_000
