"""Formats: the benchmarks as their authors publish them, read into questions and passages."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from tqdm import tqdm

from .data import DataError, Passage, Question, home, read_passages
from .rows import clean, json_lines, mend, parse_json, read_bytes

NO_ANSWER = (None, "", "<unk>")  # "<unk>" is the hub's word for it


def read_official(name: str, source: str | Path) -> tuple[list[Question], list[Passage]]:
    """Read a published file of one of FORMATS: its questions, and the paragraphs they come with.

    `source` is a file (JSON, or JSON Lines if it ends in .jsonl) or hub:DATASET:CONFIG:SPLIT.
    HTML entities and a tokeniser's spaces are mended. A paragraph that several questions share
    becomes one passage, whose id is made from its words; one without text is left out. A question
    of which a supporting page is missing from the file has no gold titles.

    MuSiQue's unanswerable twin has its own paragraphs less some of the evidence: its id ends in
    -unanswerable, its failure is `insufficient_evidence`. Read the unanswerable rows alone, for
    the passages of both twins together hold the evidence again.

    Raises DataError, which names the row; nothing is half read.
    """
    if name not in FORMATS:
        raise DataError(f"there is no format {name!r}: choose one of {', '.join(FORMATS)}")
    questions, passages = {}, {}
    for number, row in tqdm(_rows(source), desc="reading", unit=" rows", delay=2):
        try:
            question, paragraphs = FORMATS[name](row, f"{Path(source).stem}-{number}")
            if question.id in questions:
                raise ValueError(f"the id {question.id!r} stands in an earlier row, too")
            found = [_passage(name, title, text) for title, text in paragraphs if text.strip()]
        except KeyError as error:
            raise DataError(f"{source}, row {number}: {error} is missing") from None
        except (TypeError, AttributeError, IndexError):
            raise DataError(
                f"{source}, row {number}: not a row as {name} has them: check which file it is"
            ) from None
        except ValueError as error:
            raise DataError(f"{source}, row {number}: {error}") from None
        questions[question.id] = question
        passages |= {passage.id: passage for passage in found}
    if not questions:
        raise DataError(f"{source} holds no rows: check which file it is")
    titles = {passage.title for passage in passages.values()}
    whole = [
        question if titles.issuperset(question.gold_titles) else replace(question, gold_titles=())
        for question in questions.values()
    ]
    return whole, list(passages.values())


def convert(name: str, split: str, source: str | Path) -> Path:
    """Write a published file into $SKILLRAG_DATA/<name>, where `data.load` finds it.

    Makes <split>.jsonl, and adds the passages that are new to corpus.jsonl. Returns the folder.
    """
    questions, passages = read_official(name, source)
    folder = home() / name
    corpus = folder / "corpus.jsonl"
    kept = read_passages(corpus) if corpus.exists() else []
    merged = {passage.id: passage for passage in [*kept, *passages]}
    folder.mkdir(parents=True, exist_ok=True)
    if merged:
        _write(corpus, merged.values())
    _write(folder / f"{split}.jsonl", questions)
    return folder


def _rows(source) -> Iterator[tuple[int, dict]]:
    """Yield each row with its number, which in JSON Lines is that of its line."""
    if str(source).startswith("hub:"):
        yield from enumerate(_hub(source), start=1)
    elif Path(source).suffix == ".jsonl":
        yield from json_lines(source)
    else:
        value = parse_json(str(source), read_bytes(source))
        rows = value.get("Data") if isinstance(value, dict) else value
        if not isinstance(rows, list):
            raise DataError(f"{source} must hold a JSON array of rows; JSON Lines end in .jsonl")
        yield from enumerate(rows, start=1)


def _hub(source):
    try:
        import datasets
    except ImportError:
        raise DataError(f"to read {source}, install its reader: pip install -e '.[hub]'") from None
    try:
        _, dataset, config, split = source.split(":")
    except ValueError:
        raise DataError(f"{source} must read hub:DATASET:CONFIG:SPLIT, with all four") from None
    try:
        return datasets.load_dataset(dataset, config, split=split)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise DataError(f"{source} cannot be fetched ({reason}): check its name") from None


def _nq(row, unnamed):
    """NQ-open has no ids, no types and no paragraphs."""
    return _question(unnamed, row["question"], _answers(row.get("answer"))), []


def _triviaqa(row, _):
    """TriviaQA's evidence is whole web pages in files of their own: no paragraphs are read."""
    if "question_id" in row:  # the hub's names
        answer, names = row["answer"], ("question_id", "question", "value", "aliases")
    else:
        answer, names = row.get("Answer", {}), ("QuestionId", "Question", "Value", "Aliases")
    id_, question, value, aliases = names
    answers = _answers([answer.get(value)], answer.get(aliases, []))
    return _question(row[id_], row[question], answers), []


def _hotpotqa(row, _):
    """HotpotQA, and 2WikiMultiHopQA after it: paragraphs in sentences, facts as (title, number)."""
    answers = _answers([row.get("answer")], row.get("answer_aliases", []))
    context, facts = row["context"], row["supporting_facts"]
    if isinstance(context, dict):  # the hub's columns
        context = zip(context["title"], context["sentences"], strict=True)
        golds = facts["title"]
    else:
        golds = [fact[0] for fact in facts]
    id_ = row["_id"] if "_id" in row else row["id"]
    paragraphs = [(part[0], " ".join(_list(part[1]))) for part in context]
    family = clean(row["type"], "type")
    return _question(id_, row["question"], answers, golds, family), paragraphs


def _musique(row, _):
    """MuSiQue: paragraphs marked as supporting; the first part of an id tells how many hops."""
    id_, paragraphs = clean(row["id"], "id"), _list(row["paragraphs"])
    golds = [part["title"] for part in paragraphs if part["is_supporting"]]
    answers = _answers([row.get("answer")], row.get("answer_aliases", []))
    question = _question(id_, row["question"], answers, golds, id_.split("__")[0])
    if not row["answerable"]:
        question = replace(
            question, id=f"{id_}-unanswerable", gold_titles=(), failure="insufficient_evidence"
        )
    return question, [(part["title"], part["paragraph_text"]) for part in paragraphs]


FORMATS = {
    "nq": _nq,
    "triviaqa": _triviaqa,
    "hotpotqa": _hotpotqa,
    "2wikimultihopqa": _hotpotqa,
    "musique": _musique,
}


def _answers(answer, aliases=()):
    answers = [text for text in _list(answer or []) if text not in NO_ANSWER]
    if not answers:
        raise ValueError("no answer, as in the published test files: read train or dev")
    return answers + _list(aliases)


def _question(id_, question, answers, golds=(), family=None):
    def mended(texts, name):
        return tuple(dict.fromkeys(mend(clean(text, name)) for text in texts))

    (question,) = mended([question], "question")
    answers, golds = mended(answers, "answer"), mended(golds, "gold title")
    return Question(clean(id_, "id"), question, answers, golds, family)


def _passage(name, title, text):
    title, text = mend(clean(title, "title")), mend(clean(text, "text"))
    digest = hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()
    return Passage(f"{name}-{digest[:16]}", title, text)


def _list(value):
    """A text is no list: to go through its letters is never what was meant."""
    if not isinstance(value, list | tuple):
        raise TypeError
    return list(value)


def _write(path, items):
    lines = [json.dumps(asdict(item), ensure_ascii=False) for item in items]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
