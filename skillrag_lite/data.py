"""Questions and passages: what flows in, read from JSON Lines files and checked line by line."""

import html
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

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


class DataError(ValueError):
    """A file of questions or passages is missing or wrong; the message says where and how."""


@dataclass(frozen=True)
class Passage:
    """A titled paragraph of the corpus, the unit that retrieval finds; the title may be empty."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Question:
    """A question, every accepted answer, and, where known, what it takes to answer it.

    `failure` is one of FAILURES; `oracle` maps a failure to the search query that mends it.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    gold_titles: tuple[str, ...] = ()
    family: str | None = None
    failure: str | None = None
    gold_ids: tuple[str, ...] = ()
    oracle: dict[str, str] = field(default_factory=dict, hash=False)


def load(name: str, split: str) -> list[Question]:
    """Return the questions of one split (train, dev, test) of a dataset, in the file's order.

    `name` is "atlas" or a folder under $SKILLRAG_DATA. Raises DataError.
    """
    if split not in SPLITS:
        raise DataError(f"there is no split {split!r}: choose one of {', '.join(SPLITS)}")
    return read_questions(_folder(name) / f"{split}.jsonl")


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


def _folder(name):
    if name == "atlas":
        return ATLAS
    if "SKILLRAG_DATA" not in os.environ:
        raise DataError(
            f"to read {name!r}, set SKILLRAG_DATA to the folder that holds {name}/corpus.jsonl"
        )
    folder = Path(os.environ["SKILLRAG_DATA"], name)
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}: put {name} there, or change SKILLRAG_DATA")
    return folder


def _read(path, parse):
    items, line_of = [], {}
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check the path") from None
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8-sig").strip()  # some editors put a mark before the text
            if not text:
                continue
            item = parse(json.loads(text))
            if item.id in line_of:
                raise ValueError(f"the id {item.id!r} is already on line {line_of[item.id]}")
        except json.JSONDecodeError as error:
            raise DataError(
                f"{path}:{number}: broken JSON at column {error.colno} ({error.msg})"
            ) from None
        except RecursionError:
            raise DataError(f"{path}:{number}: broken JSON (nested too deeply)") from None
        except UnicodeError:
            raise DataError(f"{path}:{number}: not UTF-8 text: save the file as UTF-8") from None
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
    title = _text(row["title"], "title") if row["title"] != "" else ""
    return Passage(_text(row.get("id"), "id"), title, _text(row.get("text"), "text"))


def _question(row):
    _require_object(row)
    failure, oracle = row.get("failure"), row.get("oracle") or {}
    if failure is not None and failure not in FAILURES:
        raise ValueError(f"'failure' is {failure!r}, but must be one of {', '.join(FAILURES)}")
    if not isinstance(oracle, dict) or not set(oracle) <= set(FAILURES[1:-1]):
        raise ValueError(f"'oracle' must map {', '.join(FAILURES[1:-1])} to search queries")
    answers = _texts(row, "answers")
    if not answers:
        raise ValueError("'answers' is missing or empty: a question needs at least one answer")
    family = row.get("family") or row.get("type")
    return Question(
        id=_text(row.get("id"), "id"),
        question=_text(row.get("question"), "question"),
        answers=answers,
        gold_titles=_texts(row, "gold_titles"),
        family=None if family is None else _text(family, "family"),
        failure=failure,
        gold_ids=_texts(row, "gold_ids"),
        oracle={label: _text(query, "oracle") for label, query in oracle.items()},
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
    return tuple(_text(value, name) for value in values)


def _text(value, name):
    """Return a text cleaned of HTML entities (some sources carry them) and outer spaces."""
    if value is None:
        raise ValueError(f"{name!r} is missing")
    if not isinstance(value, str):
        raise ValueError(f"{name!r} must be text, not {type(value).__name__}")
    value.encode("utf-8")  # JSON may carry half a character, which no tokeniser can read
    value = html.unescape(value).strip()
    if not value:
        raise ValueError(f"{name!r} is empty")
    return value
