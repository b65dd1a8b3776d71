"""Every text that the model is given, written for this book, and the parsers of what it returns."""

from dataclasses import dataclass

from .data import Passage
from .generation import ANSWER, Decoding

MAX_WORDS = 150  # of one passage; the rest of a longer one is cut
QA = Decoding(max_new_tokens=64, answer_tokens=24, mark=ANSWER)


@dataclass(frozen=True)
class Prompt:
    """A few-shot prompt: worked examples that many prompts share, then this question's own part.

    `shots` holds (asked, replied) pairs; `ask` is what is asked now; `lead` is how the reply
    begins, put into the model's mouth. The backbone turns it into chat turns or plain text.
    """

    shots: tuple[tuple[str, str], ...]
    ask: str
    lead: str = ""


INSTRUCTION = (
    "Answer the question. First reason in one short sentence, then give only the answer, "
    f"as briefly as you can, on a second line that starts with {ANSWER}"
)
WITH_PASSAGES = INSTRUCTION + " Use the passages where they help."

# Nothing here is a fact that the Atlas asks about.
SHOTS = (
    (
        "what do you call a group of lions",
        "Lions live together in family groups, and such a group is called a pride.",
        "pride",
        (
            Passage("", "Lion", "The lion is the most social of the big cats. Lions live in "
                    "prides of related females, their cubs and a few males."),
            Passage("", "Wolf", "Wolves hunt in packs, which are led by a breeding pair."),
        ),
    ),
    (
        "This board game, played on 64 squares, ends when a king cannot escape attack. "
        "What is that final position called?",
        "The game is chess, and a king that is attacked and cannot escape is checkmated.",
        "checkmate",
        (
            Passage("", "Stalemate", "In chess a stalemate is a draw: the player to move is not "
                    "in check but has no legal move."),
            Passage("", "Rules of chess", "Chess is played on a board of 64 squares. A game is "
                    "won by checkmate, when the attacked king has no way out."),
        ),
    ),
    (
        "In which country was the inventor of the saxophone born?",
        "The saxophone was invented by Adolphe Sax, who was born in Dinant in Belgium.",
        "Belgium",
        (
            Passage("", "Saxophone", "The saxophone is a family of single-reed instruments that "
                    "Adolphe Sax patented in 1846."),
            Passage("", "Adolphe Sax", "Adolphe Sax was a maker of musical instruments, born in "
                    "1814 in Dinant, in present-day Belgium."),
        ),
    ),
    (
        "Which has more strings, a violin or a standard guitar?",
        "A violin has four strings and a standard guitar has six, so the guitar has more.",
        "a standard guitar",
        (
            Passage("", "Violin", "The violin is played with a bow. It has four strings, tuned "
                    "in fifths."),
            Passage("", "Guitar", "A standard guitar has six strings and a fretted neck."),
        ),
    ),
)  # fmt: skip


def one_line(text: str, max_words: int = MAX_WORDS) -> str:
    """The text on one line, cut after so many words: evidence can never start a line of ours."""
    words = text[: 12 * max_words].split()[:max_words]
    return " ".join(words)


def evidence(passages: list[Passage] | tuple[Passage, ...]) -> str:
    """The passages as a numbered list, one line each."""
    shown = [f"{one_line(p.title, 20)}: {one_line(p.text)}" for p in passages]
    return "\n".join(["Passages:", *(f"[{i}] {text}" for i, text in enumerate(shown, 1))])


def question_block(question: str, passages=None) -> str:
    """What is asked in one turn: the passages, where there are any, then the question."""
    asked = f"Question: {one_line(question)}"
    return f"{evidence(passages)}\n\n{asked}" if passages else asked


def answer_prompt(question: str, passages: list[Passage] | None = None) -> Prompt:
    """The 4-shot chain-of-thought prompt, closed-book or with passages.

    The shots of the closed-book prompt are the same questions without their passages.
    Source: Skill-RAG v2 §4.1 (4-shot). Taught in chapter 00.
    """
    with_passages = bool(passages)
    instruction = WITH_PASSAGES if with_passages else INSTRUCTION
    shots = [
        (question_block(asked, given if with_passages else None), f"{why}\n{ANSWER} {answer}")
        for asked, why, answer, given in SHOTS
    ]
    shots[0] = (f"{instruction}\n\n{shots[0][0]}", shots[0][1])
    return Prompt(tuple(shots), question_block(question, passages))
