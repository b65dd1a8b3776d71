"""The readers: what they accept, and the sentence that every kind of bad input gets."""

import html
import json
import os
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillrag_lite import data
from skillrag_lite.data import DataError, Passage, Question, read_passages, read_questions

PASSAGE = {"id": "p1", "title": "Elbe", "text": "The Elbe is a river."}
QUESTION = {"id": "q1", "question": "which river?", "answers": ["Elbe"]}


def write(path, *rows):
    """Write each row as one line: text as it stands, anything else as JSON."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rows.jsonl"


def test_rows_come_back_in_file_order(file):
    write(file, PASSAGE | {"id": "b"}, PASSAGE | {"id": "a"})
    assert [p.id for p in read_passages(file)] == ["b", "a"]
    assert read_passages(file)[0] == Passage("b", "Elbe", "The Elbe is a river.")


def test_question_fields_and_defaults(file):
    full = QUESTION | {
        "id": "q2",
        "gold_titles": ["Elbe"],
        "family": "bridge",
        "failure": "query_misaligned",
        "gold_ids": ["p1"],
        "oracle": {"query_misaligned": "elbe river"},
        "tier": 2,
    }
    nulls = QUESTION | {"id": "q3", "gold_titles": None, "type": None, "oracle": None}
    typed = QUESTION | {"id": "q4", "type": "comparison"}
    plain, rich, empty, benchmark = read_questions(write(file, QUESTION, full, nulls, typed))
    assert plain == Question("q1", "which river?", ("Elbe",))
    assert rich == Question(
        "q2",
        "which river?",
        ("Elbe",),
        ("Elbe",),
        "bridge",
        "query_misaligned",
        ("p1",),
        {"query_misaligned": "elbe river"},
        2,
    )
    assert empty == Question("q3", "which river?", ("Elbe",))
    assert benchmark.family == "comparison"
    assert hash(rich) == hash(read_questions(file)[1])


def test_html_entities_are_undone_everywhere_a_title_may_stand(file):
    passage = {"id": "p", "title": "Simon &amp; Simon", "text": "caf&eacute;&nbsp;&#39;x&#39;"}
    assert read_passages(write(file, passage))[0] == Passage("p", "Simon & Simon", "café\xa0'x'")
    question = QUESTION | {"gold_titles": ["Simon &amp; Simon"], "answers": ["A &lt; B"]}
    (read,) = read_questions(write(file, question))
    assert read.gold_titles == ("Simon & Simon",) and read.answers == ("A < B",)


def test_byte_order_mark_crlf_blank_lines_and_odd_separators(file):
    odd = PASSAGE | {"id": "p2", "text": "one\u2028two"}  # a line end to some, not in JSON Lines
    text = f"{json.dumps(PASSAGE)}\r\n\r\n{json.dumps(odd, ensure_ascii=False)}"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode("utf-8"))
    assert [p.text for p in read_passages(file)] == ["The Elbe is a river.", "one\u2028two"]


def test_a_title_may_be_empty(file):
    assert read_passages(write(file, PASSAGE | {"title": ""}))[0].title == ""


def without(row, name):
    return {key: value for key, value in row.items() if key != name}


BAD_PASSAGES = [
    ('{"id": "p", "title"', "broken JSON at character"),
    ("[" * 100_000, "broken JSON"),
    ("[1, 2]", "must be a JSON object, not list"),
    ("1" * 5000, "broken JSON (Exceeds the limit"),
    (without(PASSAGE, "id"), "'id' is missing"),
    (without(PASSAGE, "title"), "'title' is missing"),
    (without(PASSAGE, "text"), "'text' is missing"),
    (PASSAGE | {"id": 7}, "'id' must be text, not int"),
    (PASSAGE | {"title": None}, "'title' is missing"),
    (PASSAGE | {"title": ["Elbe"]}, "'title' must be text, not list"),
    (PASSAGE | {"id": ""}, "'id' is empty"),
    (PASSAGE | {"text": " &nbsp; "}, "'text' is empty"),
    (PASSAGE | {"id": "first"}, "the id 'first' is already on line 1"),
    ('{"id": "p", "title": "half \\ud800", "text": "x"}', "not UTF-8"),
]
BAD_QUESTIONS = [
    (without(QUESTION, "question"), "'question' is missing"),
    (without(QUESTION, "answers"), "at least one answer"),
    (QUESTION | {"answers": []}, "at least one answer"),
    (QUESTION | {"answers": "Elbe"}, "'answers' must be a list of texts, not str"),
    (QUESTION | {"answers": ["Elbe", " "]}, "'answers' is empty"),
    (QUESTION | {"answers": ["Elbe", 3]}, "'answers' must be text, not int"),
    (QUESTION | {"gold_titles": "Elbe"}, "'gold_titles' must be a list"),
    (QUESTION | {"family": 2}, "'family' must be text"),
    (QUESTION | {"failure": "tired"}, "'failure' is 'tired', but must be one of none"),
    (QUESTION | {"tier": 4}, "'tier' is 4, but must be 1, 2 or 3"),
    (QUESTION | {"failure": ["none"]}, "must be one of none"),
    (QUESTION | {"oracle": {"none": "x"}}, "'oracle' must map query_misaligned"),
    (QUESTION | {"oracle": ["x"]}, "'oracle' must map"),
    (QUESTION | {"oracle": {"query_misaligned": ""}}, "'oracle' is empty"),
]


@pytest.mark.parametrize(
    ("read", "good", "bad", "says"),
    [(read_passages, PASSAGE, bad, says) for bad, says in BAD_PASSAGES]
    + [(read_questions, QUESTION, bad, says) for bad, says in BAD_QUESTIONS],
)
def test_a_bad_line_is_named_and_nothing_is_half_loaded(file, read, good, bad, says):
    write(file, good | {"id": "first"}, good | {"id": "second"}, bad, good | {"id": "last"})
    with pytest.raises(DataError) as error:
        read(file)
    assert str(error.value).startswith(f"{file}:3: ") and says in str(error.value)
    assert "\n" not in str(error.value)


def test_bytes_that_are_not_utf8(file):
    file.write_bytes(json.dumps(PASSAGE).encode() + b'\n{"id": "\xff"}')
    with pytest.raises(DataError, match=r":2: not UTF-8"):
        read_passages(file)


@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf\n"])
def test_a_file_without_rows_is_an_error(file, content):
    file.write_bytes(content)
    with pytest.raises(DataError, match="holds no rows"):
        read_questions(file)


def test_missing_places_say_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="cannot be read .*check the path"):
        read_passages(tmp_path / "nowhere.jsonl")
    with pytest.raises(DataError, match="choose one of train, dev, test"):
        data.load("atlas", "validation")
    monkeypatch.delenv("SKILLRAG_DATA", raising=False)
    with pytest.raises(DataError, match="set SKILLRAG_DATA to the folder"):
        data.corpus("nq")
    monkeypatch.setenv("SKILLRAG_DATA", str(tmp_path))
    with pytest.raises(DataError, match="there is no folder .*change SKILLRAG_DATA"):
        data.load("nq", "dev")


def test_load_and_corpus_read_a_folder_of_the_readers_own(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    write(tmp_path / "mine" / "corpus.jsonl", PASSAGE)
    write(tmp_path / "mine" / "dev.jsonl", QUESTION)
    monkeypatch.setenv("SKILLRAG_DATA", str(tmp_path))
    assert [p.id for p in data.corpus("mine")] == ["p1"]
    assert [q.id for q in data.load("mine", "dev")] == ["q1"]


def test_a_gold_title_must_be_in_the_corpus(tmp_path, monkeypatch):
    monkeypatch.setenv("SKILLRAG_DATA", str(tmp_path))
    (tmp_path / "mine").mkdir()
    write(tmp_path / "mine" / "corpus.jsonl", PASSAGE | {"title": "Elbe &amp; Oder"})
    dev = tmp_path / "mine" / "dev.jsonl"
    write(dev, QUESTION | {"gold_titles": ["Elbe & Oder"]})
    assert len(data.load("mine", "dev")) == 1
    write(dev, QUESTION, QUESTION | {"id": "q2", "gold_titles": ["Elbe & Oder", "Rhine"]})
    with pytest.raises(DataError, match="question 'q2' has the gold title 'Rhine', which no pass"):
        data.load("mine", "dev")


def test_a_line_of_megabytes_is_refused_before_it_is_parsed(file):
    write(file, PASSAGE, "[" * 10_000_000)
    with pytest.raises(DataError, match=":2: the line is longer than 1,000,000 bytes"):
        read_passages(file)


# Any text that a reader would leave as it is.
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(
    lambda text: text == text.strip() == html.unescape(text)
)
passages = st.builds(Passage, texts, texts | st.just(""), texts)
questions = st.builds(
    Question,
    texts,
    texts,
    st.lists(texts, min_size=1, max_size=3).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
    st.none() | texts,
    st.none() | st.sampled_from(data.FAILURES),
    st.lists(texts, max_size=2).map(tuple),
    st.dictionaries(st.sampled_from(data.FAILURES[1:-1]), texts),
)
many = {
    read_passages: st.lists(passages, min_size=1, max_size=5, unique_by=lambda p: p.id),
    read_questions: st.lists(questions, min_size=1, max_size=5, unique_by=lambda q: q.id),
}
readers = pytest.mark.parametrize("read", many)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("shared") / "rows.jsonl"


@readers
@given(drawn=st.data(), ascii_=st.booleans(), end=st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_rows_that_are_written_are_read_back(shared, read, drawn, ascii_, end):
    items = drawn.draw(many[read])
    lines = [json.dumps(asdict(item), ensure_ascii=ascii_) + end for item in items]
    shared.write_bytes("".join(lines).encode("utf-8"))
    assert read(shared) == items


@readers
@given(drawn=st.data(), junk=st.binary(min_size=1, max_size=4), cut=st.integers(0, 8))
def test_a_corrupted_line_is_named_or_does_no_harm_to_others(shared, read, drawn, junk, cut):
    items = drawn.draw(many[read])
    lines = [json.dumps(asdict(item)).encode() for item in items]
    wrong = drawn.draw(st.integers(0, len(lines) - 1))
    place = drawn.draw(st.integers(0, len(lines[wrong])))
    junk = junk.replace(b"\n", b"")  # or it were two lines
    lines[wrong] = lines[wrong][:place] + junk + lines[wrong][place + cut :]
    shared.write_bytes(b"\n".join(lines))
    try:
        found = read(shared)
    except DataError as error:
        # A changed id may be that of a later line, which is then the one that is named.
        named = int(str(error).removeprefix(f"{shared}:").split(":")[0])
        assert named == wrong + 1 or (named > wrong + 1 and "is already on line" in str(error))
    else:
        assert found[:wrong] + found[wrong + 1 :] == items[:wrong] + items[wrong + 1 :]


@readers
@given(content=st.binary(max_size=80) | st.text('[]{}":,\n1 ai', max_size=30).map(str.encode))
def test_no_bytes_raise_anything_but_a_data_error(shared, read, content):
    shared.write_bytes(content)
    with pytest.raises(DataError):
        read(shared)


def test_every_dataset_is_in_one_place():
    assert data.DATASETS == ("atlas", *data.IN_DOMAIN, *data.OUT_OF_DOMAIN)
    assert len(set(data.DATASETS)) == len(data.DATASETS)


@pytest.mark.skipif("SKILLRAG_DATA" not in os.environ, reason="set SKILLRAG_DATA to run this")
@pytest.mark.parametrize("name", data.DATASETS[1:])
def test_the_benchmark_samples_load_whole(name):
    ids = [q.id for split in data.SPLITS for q in data.load(name, split)]
    passages = data.corpus(name)
    assert len(ids) == len(set(ids)) > 0 and passages
    assert not any("&amp;" in p.title for p in passages)
