"""The published formats: a tiny file of each, in our own words, and what bad ones are told."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillrag_lite import __main__ as cli
from skillrag_lite import data
from skillrag_lite.data import DataError, Question
from skillrag_lite.formats import FORMATS, read_official
from skillrag_lite.rows import mend

HOTPOTQA = {
    "_id": "h1",
    "question": "Is the Elbe longer  than the Tom &amp; Ann ?",
    "answer": "yes",
    "type": "comparison",
    "level": "easy",
    "supporting_facts": [["Elbe", 0], ["Tom &amp; Ann", 1], ["Elbe", 1]],
    "context": [
        ["Elbe", ["The Elbe is long.", " It ends in the sea."]],
        ["Tom &amp; Ann", ["A brook( in no land) ."]],
        ["Oder", [" "]],
    ],
}
TWOWIKI = HOTPOTQA | {"evidences": [], "answer_id": "Q1", "answer_aliases": ["yes", "it is"]}
PARAGRAPH = {
    "idx": 0,
    "title": "Elbe",
    "paragraph_text": "A ``long ''river.",
    "is_supporting": True,
}
MUSIQUE = {
    "id": "2hop__1_2",
    "question": "Where does the river of Dresden end?",
    "answer": "the North Sea",
    "answer_aliases": ["North Sea", "the North Sea"],
    "answerable": True,
    "question_decomposition": [],
    "paragraphs": [
        PARAGRAPH,
        PARAGRAPH | {"title": "Oder", "is_supporting": False},
    ],
}
NQ = {"question": "where does the elbe end", "answer": ["North Sea", "the sea"]}
TRIVIAQA = {
    "QuestionId": "tc_1",
    "Question": "Which river flows through Dresden?",
    "Answer": {"Value": "Elbe", "Aliases": ["Labe", "Elbe"], "NormalizedAliases": ["labe"]},
    "EntityPages": [],
}
ROWS = {
    "nq": NQ,
    "triviaqa": TRIVIAQA,
    "hotpotqa": HOTPOTQA,
    "2wikimultihopqa": TWOWIKI,
    "musique": MUSIQUE,
}


def publish(folder, name, *rows):
    """Write the rows into a file as the authors of the format do."""
    lines = name in ("nq", "musique")
    whole = {"Data": list(rows), "Version": 1.0} if name == "triviaqa" else list(rows)
    text = "\n".join(map(json.dumps, rows)) if lines else json.dumps(whole, indent=1)
    path = folder / f"{name}.{'jsonl' if lines else 'json'}"
    path.write_text(text, encoding="utf-8")
    return path


def read_one(folder, name, row):
    (question,), passages = read_official(name, publish(folder, name, row))
    return question, [(p.title, p.text) for p in passages]


def test_hotpotqa(tmp_path):
    question, passages = read_one(tmp_path, "hotpotqa", HOTPOTQA)
    golds = ("Elbe", "Tom & Ann")
    asked = "Is the Elbe longer than the Tom & Ann?"
    assert question == Question("h1", asked, ("yes",), golds, "comparison")
    assert passages == [  # the Oder's page is empty
        ("Elbe", "The Elbe is long. It ends in the sea."),
        ("Tom & Ann", "A brook (in no land)."),
    ]


def test_2wikimultihopqa(tmp_path):
    question, passages = read_one(tmp_path, "2wikimultihopqa", TWOWIKI)
    assert question.answers == ("yes", "it is") and len(passages) == 2


def test_musique(tmp_path):
    question, passages = read_one(tmp_path, "musique", MUSIQUE)
    assert question.answers == ("the North Sea", "North Sea")
    assert (question.id, question.gold_titles, question.family) == ("2hop__1_2", ("Elbe",), "2hop")
    assert passages == [("Elbe", 'A "long" river.'), ("Oder", 'A "long" river.')]


def test_the_unanswerable_twin_stands_beside_its_sister(tmp_path):
    twin = MUSIQUE | {"answerable": False, "paragraphs": MUSIQUE["paragraphs"][1:]}
    (one, other), passages = read_official("musique", publish(tmp_path, "musique", MUSIQUE, twin))
    assert one.failure is None and one.id == "2hop__1_2"
    assert (other.id, other.failure) == ("2hop__1_2-unanswerable", "insufficient_evidence")
    assert other.gold_titles == () and other.answers == one.answers
    assert len(passages) == 2


def test_nq(tmp_path):
    question, passages = read_one(tmp_path, "nq", NQ)
    assert question == Question("nq-1", NQ["question"], ("North Sea", "the sea"))
    assert passages == []


def test_triviaqa(tmp_path):
    question, passages = read_one(tmp_path, "triviaqa", TRIVIAQA)
    assert question == Question("tc_1", TRIVIAQA["Question"], ("Elbe", "Labe"))
    assert passages == []


def test_a_shared_paragraph_is_one_passage_with_one_name_in_every_file(tmp_path):
    second = HOTPOTQA | {"_id": "h2", "context": HOTPOTQA["context"][1::-1]}
    _, both = read_official("hotpotqa", publish(tmp_path, "hotpotqa", HOTPOTQA, second))
    _, alone = read_official("hotpotqa", publish(tmp_path, "hotpotqa", second))
    assert len(both) == 2 and {p.id for p in both} == {p.id for p in alone}


def test_a_question_whose_page_is_missing_has_no_gold_titles(tmp_path):
    lost = HOTPOTQA | {"context": HOTPOTQA["context"][:1]}
    question, passages = read_one(tmp_path, "hotpotqa", lost)
    assert question.gold_titles == () and len(passages) == 1


BAD = [
    *((name, {"answer": None}, "no answer") for name in ("hotpotqa", "2wikimultihopqa", "musique")),
    ("nq", {"answer": []}, "no answer"),
    ("nq", {"answer": "Elbe"}, "not a row as nq has them"),
    ("nq", {"answer": ["Elbe", 7]}, "'answer' must be text, not int"),
    ("triviaqa", {"Answer": {}}, "no answer"),
    ("triviaqa", {"Question": ""}, "'question' is empty"),
    ("hotpotqa", {"_id": "h0"}, "the id 'h0' stands in an earlier row"),
    ("hotpotqa", {"context": [["Elbe"]]}, "not a row"),
    ("hotpotqa", {"context": [["Elbe", "One text."]]}, "not a row"),
    ("hotpotqa", {"context": [["", ["One."]]]}, "'title' is empty"),
    ("hotpotqa", {"supporting_facts": ["Elbe", 0]}, "not a row"),
    ("hotpotqa", {"question": "half \ud800"}, "'question' is not UTF-8"),
    ("musique", {"paragraphs": None}, "not a row"),
    ("musique", {"paragraphs": [{"title": "Elbe"}]}, "'is_supporting' is missing"),
    ("musique", {"answer_aliases": "Elbe"}, "not a row"),
    ("musique", {"id": 7}, "'id' must be text"),
]


@pytest.mark.parametrize(("name", "wrong", "says"), BAD)
def test_a_bad_row_is_named_and_nothing_is_half_read(tmp_path, name, wrong, says):
    others = [ROWS[name] | {"_id": "h0"}] if name in ("nq", "hotpotqa") else []
    rows = [*others, ROWS[name] | wrong]
    path = publish(tmp_path, name, *rows)
    with pytest.raises(DataError) as error:
        read_official(name, path)
    assert str(error.value).startswith(f"{path}, row {len(rows)}: ") and says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("row", [7, "text", [], None, {}])
def test_what_is_no_row_at_all(tmp_path, name, row):
    with pytest.raises(DataError, match=", row 1: "):
        read_official(name, publish(tmp_path, name, row))


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("a.json", "{}", "must hold a JSON array of rows"),
        ("a.json", "[]", "holds no rows"),
        ("a.json", '[{"a": ]', "a.json: broken JSON at character 8"),
        ("a.jsonl", "", "holds no rows"),
        ("a.jsonl", "\n{", "a.jsonl:2: broken JSON"),
        ("a.txt", None, "cannot be read"),
    ],
)
def test_a_file_of_something_else(tmp_path, file, content, says):
    if content is not None:
        (tmp_path / file).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=says):
        read_official("hotpotqa", tmp_path / file)


def test_an_unknown_format_lists_the_known():
    with pytest.raises(DataError, match="no format 'squad': choose one of nq, triviaqa, hotpotqa"):
        read_official("squad", "dev.json")


@given(st.binary(max_size=60) | st.text(alphabet='[]{}":,1 a', max_size=20).map(str.encode))
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_no_bytes_raise_anything_but_a_data_error(shared, name, ending, content):
    path = shared / f"any.{ending}"
    path.write_bytes(content)
    with pytest.raises(DataError):
        read_official(name, path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("shared")


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("one , two ; three .  Why ?", "one, two; three. Why?"),
        ("Vienna( born 1750)[ sic ]", "Vienna (born 1750) [sic]"),
        ("he wo n't take Ann 's hat", "he won't take Ann's hat"),
        ("called ``Mac ''or`` the Mac'' .", 'called "Mac" or "the Mac".'),
        ('the film" Emma"( 1996)," Elbe" and', 'the film "Emma" (1996), "Elbe" and'),
        ("a half- brother", "a half-brother"),
        ("line\none\u00a0two", "line one two"),
    ],
)
def test_a_tokenisers_traces_are_mended(text, mended):
    assert mend(text) == mended == mend(mended)


@pytest.mark.parametrize(
    "text",
    [
        "pre- and post-war, 1914 - 1918; a son(s) of 's-Hertogenbosch",
        "Emma is 5'6\" tall and Ann 5'7\".",
        'The "Emma" of ("so" they say) "Ann", "too," and "all".',
        'Emma" (1996), "Elbe" and "Ann',
        "the .NET of ... 3.5 (f(x))",
    ],
)
def test_what_may_be_meant_is_left_alone(text):
    assert mend(text) == text


def test_convert_makes_a_folder_that_load_reads(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SKILLRAG_DATA", str(tmp_path / "sets"))
    for split, id_ in (("train", "h1"), ("dev", "h2")):
        path = publish(tmp_path, "hotpotqa", HOTPOTQA | {"_id": id_})
        assert cli.main(["convert", "hotpotqa", split, str(path)]) == 0
    assert capsys.readouterr().out.endswith(f"ready: {tmp_path / 'sets' / 'hotpotqa'}\n")
    questions, passages = read_official("hotpotqa", path)
    assert data.load("hotpotqa", "dev") == questions
    assert data.corpus("hotpotqa") == passages  # once, though both files hold them
    assert [q.id for q in data.load("hotpotqa", "train")] == ["h1"]


def test_convert_without_passages_leaves_the_corpus_to_the_reader(tmp_path, monkeypatch):
    monkeypatch.setenv("SKILLRAG_DATA", str(tmp_path))
    assert cli.main(["convert", "nq", "test", str(publish(tmp_path, "nq", NQ))]) == 0
    assert [q.id for q in data.load("nq", "test")] == ["nq-1"]
    assert not (tmp_path / "nq" / "corpus.jsonl").exists()


HUB_HOTPOTQA = {
    "id": "h1",
    "question": HOTPOTQA["question"],
    "answer": "yes",
    "type": "comparison",
    "level": "easy",
    "supporting_facts": {"title": ["Elbe", "Tom &amp; Ann"], "sent_id": [0, 1]},
    "context": {
        "title": [title for title, _ in HOTPOTQA["context"]],
        "sentences": [sentences for _, sentences in HOTPOTQA["context"]],
    },
}
HUB_TRIVIAQA = {
    "question_id": "tc_1",
    "question": TRIVIAQA["Question"],
    "answer": {"value": "Elbe", "aliases": ["Labe", "Elbe"]},
}
HUB = ROWS | {"hotpotqa": HUB_HOTPOTQA, "triviaqa": HUB_TRIVIAQA}


def fake_hub(monkeypatch, load_dataset):
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))


@pytest.mark.parametrize("name", FORMATS)
def test_the_hub_gives_the_same_as_the_file(tmp_path, monkeypatch, name):
    asked = []
    fake_hub(monkeypatch, lambda *a, **how: asked.append((a, how)) or [HUB[name]])
    questions, passages = read_official(name, "hub:someone/set:config:validation")
    assert asked == [(("someone/set", "config"), {"split": "validation"})]
    from_file = read_official(name, publish(tmp_path, name, ROWS[name]))
    assert passages == from_file[1]
    assert [q.answers for q in questions] == [q.answers for q in from_file[0]]
    assert name == "nq" or questions == from_file[0]  # NQ's ids tell where they are from


def test_what_goes_wrong_with_the_hub(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match=r"install its reader: pip install -e '\.\[hub\]'"):
        read_official("nq", "hub:a/b:c:train")

    def fails(*_, **__):
        raise ConnectionError("no network\nat all")

    fake_hub(monkeypatch, fails)
    with pytest.raises(DataError, match=r"cannot be fetched \(no network\)"):
        read_official("nq", "hub:a/b:c:train")
    with pytest.raises(DataError, match="hub:DATASET:CONFIG:SPLIT"):
        read_official("nq", "hub:a/b")
    unanswered = TRIVIAQA | HUB_TRIVIAQA | {"answer": {"value": "<unk>", "aliases": []}}
    fake_hub(monkeypatch, lambda *_, **__: [unanswered])
    with pytest.raises(DataError, match="row 1: no answer"):
        read_official("triviaqa", "hub:a/b:c:test")


@pytest.mark.skipif("SKILLRAG_DATA" not in os.environ, reason="set SKILLRAG_DATA to run this")
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("hotpotqa", "hotpot_distractor.json"),
        ("2wikimultihopqa", "2wikimultihop.json"),
        ("musique", "musique_ans.jsonl"),
        ("nq", "nq_open.jsonl"),
    ],
)
def test_real_rows(name, file):
    path = Path(os.environ["SKILLRAG_DATA"], "official_formats", file)
    questions, passages = read_official(name, path)
    assert len(questions) >= 12 and all(q.answers for q in questions)
    if name != "nq":
        assert len(passages) > 100 and all(q.gold_titles for q in questions)
    for text in [p.title for p in passages] + [p.text for p in passages]:
        assert not any(trace in text for trace in ("&amp;", "( ", " ,", "``", "  "))
