"""DRAGIN's trigger, query and loop, and going on from a cut, by scripted replies."""

from conftest import FakeBackbone, reply

from skillrag_lite import dragin, resume
from skillrag_lite.attended import Attended
from skillrag_lite.data import Passage, Question
from skillrag_lite.dragin import Dragin, content, qfs, rind
from skillrag_lite.generation import Usage
from skillrag_lite.prompts import QA, answer_prompt
from skillrag_lite.retrieve import BM25
from skillrag_lite.trace import Trace

PASSAGES = [
    Passage("p1", "Seine", "The Seine flows through Paris."),
    Passage("p2", "Paris", "Paris is the capital of France."),
    Passage("p3", "Rhine", "The Rhine flows through Basel and Cologne."),
]
QUESTIONS = [Question(str(i), f"question {i} about Paris", ("x",)) for i in range(4)]


def said(reasoning: list[str], answer: list[str], entropies, **how):
    """A reply of these tokens, with a forced answer line."""
    tokens = (*reasoning, *answer)
    given = {
        "tokens": tokens, "logprobs": (-0.5,) * len(tokens), "answer_start": len(reasoning),
        "entropies": tuple(map(float, entropies)), "well_formed": False, **how,
    }  # fmt: skip
    return reply("".join(answer).strip(), "".join(reasoning).strip(), **given)


# The Rh|ine fl|ows .  answer: Ba|sel      unsure of the Rhine, then of Basel
RIVER = ["The", " Rh", "ine", " flows", "."]
TOWN = [" Ba", "sel", ""]
SURE = said(RIVER, TOWN, [0] * 8)
UNSURE = said(RIVER, TOWN, [9, 0, 3, 2, 9, 0.5, 4, 0])


def attend(received=0.5, focus=("the", "Rhine", "Passages:", "[2]", "of", "Cologne?")):
    """Attention that pays the same to every token and has one focus, the last token none."""

    def attended(_, said):
        n = len(said.tokens)
        paid = (received,) * (n - 1) + (0.0,)
        return Attended(paid[-n:] if n else (), (focus,) * n, Usage(1, 110, 60, 0, 0.25))

    return attended


def number(prompt) -> int:
    return next(i for i in range(4) if f"question {i}" in prompt.ask)


def run(script, attended=None, questions=QUESTIONS, **how):
    """`script` gives each question's replies, one after the other."""
    turns = {i: list(replies) for i, replies in script.items()}
    backbone = FakeBackbone(lambda p: turns[number(p)].pop(0), attend=attended or attend())
    return dragin.run(questions, backbone, BM25(PASSAGES), **how), backbone


def test_rind_is_entropy_times_received_attention_of_content_words():
    attended = Attended((0.9, 0.5, 0.25, 0.1, 0.9, 0.5, 0.25, 0.0), ((),) * 8, Usage())
    assert rind(UNSURE, attended) == [(1, 0.75), (3, 0.2), (5, 1.0)]  # neither "The" nor "."
    own_mark = said([" Rome", ".", " Answer:"], [" Rome"], [1, 9, 9, 2])
    assert rind(own_mark, attended) == [(0, 0.9), (3, 0.2)]


def test_content_words_are_neither_stop_words_nor_punctuation_nor_ours():
    assert all(map(content, ["Rhine", "1984", "(Paris)", "questions", "Élan", "passages"]))
    assert not any(map(content, ["The", "of", ",", "—", "Answer:", "Question:", "[3]", ""]))


def test_the_query_is_the_focus_content_words_in_text_order():
    (attended,) = [attend()(None, SURE)]
    assert qfs(attended, 1) == "Rhine Cologne?"
    assert qfs(attend(focus=("the", "of"))(None, SURE), 1) == ""


def test_a_reply_that_fires_nowhere_stands():
    (trace,), backbone = run({0: [SURE]}, questions=QUESTIONS[:1])
    assert trace.stopped_by == "sufficient" and trace.retrievals == 0
    assert trace.answer == "Basel" and trace.rounds[0].confidence == 0
    assert trace.rounds[0].query is None and trace.rounds[0].layer_confidence == ()
    assert [p.ask for p in backbone.asked[0]] == [answer_prompt(QUESTIONS[0].question).ask]


def test_rind_at_the_threshold_does_not_fire():
    (trace,), _ = run({0: [UNSURE]}, questions=QUESTIONS[:1], config=Dragin(theta=2.0))
    assert trace.stopped_by == "sufficient" and trace.rounds[0].confidence == -2.0


def test_a_word_that_fires_is_cut_searched_for_and_written_again():
    rest = said([" Seine", " flows"], [" Paris"], [0, 0, 0])
    (trace,), backbone = run({0: [UNSURE, rest]}, questions=QUESTIONS[:1])
    prompt = backbone.asked[2][0]
    assert prompt.lead == "The" and prompt.shots == answer_prompt("x", PASSAGES).shots
    first, second = trace.rounds
    assert first.generation == UNSURE and first.confidence == -2.0
    assert second.query == "Rhine Cologne?" and second.passages[0] == PASSAGES[2]
    assert second.generation.reasoning == "The Seine flows" and trace.answer == "Paris"
    assert second.generation.tokens == ("The", " Seine", " flows", " Paris")
    assert second.generation.entropies == (9, 0, 0, 0) and second.generation.answer_start == 3
    assert second.usage == Usage(2, 210, 120, 2, 0.75) and trace.usage.calls == 4
    assert trace.stopped_by == "sufficient" and Trace.from_json(trace.to_json()) == trace


def test_what_stands_before_a_cut_is_not_looked_at_again():
    doubtful = said([" The", " Ganges", " flows"], [" Paris"], [9, 1, 9, 9])
    rest = said([" slowly", " flows"], [" Paris"], [0, 0, 0])
    (trace,), backbone = run({0: [doubtful, rest]}, questions=QUESTIONS[:1])
    assert backbone.asked[2][0].lead == " The Ganges"
    assert trace.rounds[1].confidence == 0 and trace.stopped_by == "sufficient"


def test_a_cut_on_the_answer_line_keeps_the_reasoning():
    doubtful = said(RIVER, [" city", " Basel", "."], [0, 0, 0, 0, 0, 0, 4, 0])
    rest = said([], [" Cologne"], [0], mark="", well_formed=True)
    (trace,), backbone = run({0: [doubtful, rest]}, questions=QUESTIONS[:1])
    assert backbone.asked[2][0].lead == "The Rhine flows.\nAnswer: city"
    whole = trace.rounds[1].generation
    assert whole.text == "The Rhine flows.\nAnswer: city Cologne"
    assert whole.tokens[5:] == (" city", " Cologne") and whole.answer_start == 5
    assert whole.mark == "Answer:" and not whole.well_formed and not whole.states


def test_the_first_answer_word_is_cut_behind_the_mark():
    prompt = resume.resume_prompt("who?", UNSURE, 5, PASSAGES)
    assert prompt.lead == "The Rhine flows.\nAnswer:"
    own_mark = said([" A", " town.", " Answer:"], [" Rome", " or"], [0] * 5)
    assert resume.resume_prompt("who?", own_mark, 3, PASSAGES).lead == " A town. Answer:"
    assert resume.resume_prompt("who?", own_mark, 4, PASSAGES).lead == " A town. Answer: Rome"
    assert resume.resume_prompt("who?", own_mark, 0, PASSAGES) == answer_prompt("who?", PASSAGES)


def test_a_mark_of_the_models_own_stays_out_of_the_reasoning():
    new = said([" is", " Rome.", " Answer:"], [" Rome"], [0] * 4, well_formed=True)
    whole = resume.splice(SURE, 1, new)
    assert whole.reasoning == "The is Rome." and whole.answer == "Rome" and whole.well_formed


def test_the_budget_bounds_the_searches():
    replies = [said([" Rhine", " flows", f" w{i}"], [" x"], [0, 0, 4, 0]) for i in range(5)]
    (trace,), _ = run({0: replies}, questions=QUESTIONS[:1])
    assert trace.stopped_by == "budget" and len(trace.rounds) == 4 and trace.retrievals == 3
    again = [said([" Rhine", " flows", " w"], [" x"], [0, 0, 4, 0])] * 2
    (trace,), _ = run({0: again}, questions=QUESTIONS[:1], budget=1)
    assert trace.stopped_by == "budget" and len(trace.rounds) == 2


def test_the_same_passages_for_the_same_cut_end_the_search():
    (trace,), backbone = run({0: [UNSURE, said([" Rhine"], [" x"], [4, 0])]},
                             questions=QUESTIONS[:1])  # fmt: skip
    assert trace.stopped_by == "budget" and len(trace.rounds) == 2 and len(backbone.asked) == 4


def test_an_empty_query_becomes_the_question():
    (trace,), _ = run({0: [UNSURE, SURE]}, attend(focus=("of", ",")), QUESTIONS[:1])
    assert trace.rounds[1].query == QUESTIONS[0].question


def test_a_search_that_finds_nothing_goes_on_closed_book():
    (trace,), backbone = run({0: [UNSURE, SURE]}, attend(focus=("zebra",)), QUESTIONS[:1])
    assert trace.rounds[1].passages == () and backbone.asked[2][0].lead == "The"
    start = said(RIVER[1:], TOWN, [4] + [0] * 6)
    (trace,), _ = run({0: [start]}, attend(focus=("zebra",)), QUESTIONS[:1])
    assert trace.stopped_by == "budget" and len(trace.rounds) == 1


def test_a_reply_of_nothing_fires_nowhere():
    (trace,), _ = run({0: [said([], [], [])]}, questions=QUESTIONS[:1])
    assert trace.stopped_by == "sufficient" and trace.answer == ""


def scripts():
    line = said(RIVER, [" city", " Basel", "."], [0, 0, 0, 0, 0, 0, 4, 0])
    return {
        0: [SURE],
        1: [UNSURE, said([" Seine"], [" Paris"], [0, 0])],
        2: [line, said([], [" Cologne"], [0], mark="")],
        3: [said([" Rhine", " flows", f" w{i}"], [" x"], [0, 0, 4, 0]) for i in range(4)],
    }


def test_a_batch_equals_one_by_one_and_asks_once_a_step():
    together, backbone = run(scripts())
    for i, trace in enumerate(together):
        (alone,), _ = run({i: scripts()[i]}, questions=QUESTIONS[i : i + 1])
        assert alone == trace
    assert [t.stopped_by for t in together] == ["sufficient"] * 3 + ["budget"]
    # answers, attention; then the reasonings, the answer line, attention; and so on
    assert [len(p) for p in backbone.asked] == [4, 4, 2, 1, 3, 1, 1, 1, 1]


def test_no_questions_no_calls_of_the_model():
    traces, backbone = run({}, questions=[])
    assert traces == [] and sum(map(len, backbone.asked)) == 0


def test_the_rest_is_asked_for_without_states():
    assert resume.REST.mark == QA.mark and not resume.REST.states
    assert resume.REST_OF_ANSWER.mark == "" and resume.REST_OF_ANSWER.max_new_tokens == 24
