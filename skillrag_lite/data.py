"""Questions and passages: what flows in, read from JSON Lines files and checked line by line."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from .rows import DataError, clean, json_lines

# Skill-RAG v2 §4.1: the probe and the threshold see the first group only. The Atlas stands
# beside both, because it holds out families of questions instead of whole datasets.
IN_DOMAIN = ("nq", "triviaqa", "hotpotqa")
OUT_OF_DOMAIN = ("musique", "2wikimultihopqa")
DATASETS = ("atlas", *IN_DOMAIN, *OUT_OF_DOMAIN)
SPLITS = ("train", "dev", "test")

# Why the first retrieval fails. Each label between the first and the last has a skill that mends
# it by writing a better search query.
FAILURES = (
    "none",
    "query_misaligned",
    "multi_hop_missing",
    "evidence_not_used",
    "insufficient_evidence",
)

DATA = Path(__file__).resolve().parent.parent / "data"
ATLAS = DATA / "atlas"


@dataclass(frozen=True)
class Passage:
    """A titled paragraph of the corpus, the unit that retrieval finds; the title may be empty."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Question:
    """A question, every accepted answer, and, where known, what it takes to answer it.

    `failure` is one of FAILURES; `oracle` maps a failure to the search query that mends it; `tier`
    says how famous the facts are that it takes, from 1 (every schoolbook) to 3.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    gold_titles: tuple[str, ...] = ()
    family: str | None = None
    failure: str | None = None
    gold_ids: tuple[str, ...] = ()
    oracle: dict[str, str] = field(default_factory=dict, hash=False)
    tier: int | None = None


def load(name: str, split: str) -> list[Question]:
    """Return the questions of one split (train, dev, test) of a dataset, in the file's order.

    `name` is "atlas" or a folder under $SKILLRAG_DATA. Every gold title must be the title of a
    passage of its corpus. Raises DataError.
    """
    if split not in SPLITS:
        raise DataError(f"there is no split {split!r}: choose one of {', '.join(SPLITS)}")
    path = _folder(name) / f"{split}.jsonl"
    questions = read_questions(path)
    golds = [(question.id, title) for question in questions for title in question.gold_titles]
    titles = {passage.title for passage in corpus(name)} if golds else set()
    for question_id, title in golds:
        if title not in titles:
            raise DataError(
                f"{path}: question {question_id!r} has the gold title {title!r}, which no passage "
                f"of corpus.jsonl has: add the passage, or take the title out"
            )
    return questions


def corpus(name: str) -> list[Passage]:
    """Return the passages of a dataset, named as in `load`, in the file's order."""
    return read_passages(_folder(name) / "corpus.jsonl")


def claims() -> dict[str, dict]:
    """The numbers that the papers report and this book tests, by id, each with its source."""
    rows = json.loads((DATA / "paper_claims.json").read_text(encoding="utf-8"))
    return {row["id"]: row for row in rows}


def read_questions(path: str | Path) -> list[Question]:
    """Read a JSON Lines file of questions; a bad line is a DataError, and nothing is returned."""
    return _read(path, _question)


def read_passages(path: str | Path) -> list[Passage]:
    """Read a JSON Lines file of passages; a bad line is a DataError, and nothing is returned."""
    return _read(path, _passage)


def home() -> Path:
    """Return the folder that holds a folder for each dataset: $SKILLRAG_DATA. Raises DataError."""
    if "SKILLRAG_DATA" not in os.environ:
        raise DataError("set SKILLRAG_DATA to the folder that holds a folder for each dataset")
    return Path(os.environ["SKILLRAG_DATA"])


def _folder(name):
    if name == "atlas":
        return ATLAS
    folder = home() / name
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}: put {name} there, or change SKILLRAG_DATA")
    return folder


def _read(path, parse):
    items, line_of = [], {}
    for number, row in json_lines(path):
        try:
            item = parse(row)
            if item.id in line_of:
                raise ValueError(f"the id {item.id!r} is already on line {line_of[item.id]}")
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
        line_of[item.id] = number
        items.append(item)
    if not items:
        raise DataError(f"{path} holds no rows: it needs one JSON object a line")
    return items


def _passage(row):
    _require_object(row)
    if "title" not in row:
        raise ValueError("'title' is missing")  # but may be empty: not every source has titles
    title = clean(row["title"], "title") if row["title"] != "" else ""
    return Passage(clean(row.get("id"), "id"), title, clean(row.get("text"), "text"))


def _question(row):
    _require_object(row)
    failure, oracle = row.get("failure"), row.get("oracle") or {}
    if failure is not None and failure not in FAILURES:
        raise ValueError(f"'failure' is {failure!r}, but must be one of {', '.join(FAILURES)}")
    if (tier := row.get("tier")) not in (None, 1, 2, 3):
        raise ValueError(f"'tier' is {tier!r}, but must be 1, 2 or 3")
    if not isinstance(oracle, dict) or not set(oracle) <= set(FAILURES[1:-1]):
        raise ValueError(f"'oracle' must map {', '.join(FAILURES[1:-1])} to search queries")
    answers = _texts(row, "answers")
    if not answers:
        raise ValueError("'answers' is missing or empty: a question needs at least one answer")
    family = row.get("family") or row.get("type")
    return Question(
        id=clean(row.get("id"), "id"),
        question=clean(row.get("question"), "question"),
        answers=answers,
        gold_titles=_texts(row, "gold_titles"),
        family=None if family is None else clean(family, "family"),
        failure=failure,
        gold_ids=_texts(row, "gold_ids"),
        oracle={label: clean(query, "oracle") for label, query in oracle.items()},
        tier=tier,
    )


def _require_object(row):
    if not isinstance(row, dict):
        raise ValueError(f"a row must be a JSON object, not {type(row).__name__}")


def _texts(row, name):
    values = row.get(name)
    if values is None:
        return ()
    if not isinstance(values, list):
        raise ValueError(f"{name!r} must be a list of texts, not {type(values).__name__}")
    return tuple(clean(value, name) for value in values)
