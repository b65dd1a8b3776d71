"""Four skills for four failures: three that write a better search query, and one that stops.

"Skill" here is a retrieval action of Skill-RAG, not a procedure fetched from a library.
"""

from dataclasses import dataclass

from .data import Passage
from .generation import Decoding, Generation
from .prompts import Prompt, evidence, one_line

EXIT = "insufficient_evidence"
LABELS = ("query_misaligned", "multi_hop_missing", "evidence_not_used", EXIT)
QUERY = Decoding(max_new_tokens=48, answer_tokens=24, mark="Search query:", states=False)


@dataclass(frozen=True)
class Case:
    """A detected failure: the question, the reply that failed, and the passages it was given."""

    question: str
    reply: Generation
    passages: tuple[Passage, ...]

    @property
    def shown(self) -> str:
        """What a router or a skill gets to read of it."""
        return situation(self.question, self.reply.text, self.passages)


@dataclass(frozen=True)
class Skill:
    """One way of mending a query: what it is told, and two worked examples.

    An example is (question, failed reply, passages, one line of thought, the query).
    """

    name: str
    instruction: str
    examples: tuple[tuple[str, str, tuple[Passage, ...], str, str], ...]


def situation(question: str, reply: str, passages) -> str:
    """A failure as text, every part on lines of its own."""
    return (
        f"{evidence(passages)}\n\nQuestion: {one_line(question)}\n"
        f"Failed reply: {one_line(reply, 60)}"
    )


def shots(instruction: str, examples, mark: str) -> tuple[tuple[str, str], ...]:
    """Worked examples as (asked, replied) pairs, the instruction in front of the first."""
    pairs = [
        (situation(question, reply, passages), f"{thought}\n{mark} {result}")
        for question, reply, passages, thought, result in examples
    ]
    return ((f"{instruction}\n\n{pairs[0][0]}", pairs[0][1]), *pairs[1:])


BEES = (
    Passage("", "Beehive", "A beehive is a structure in which honey bees live and raise young."),
    Passage("", "Honey", "Honey is a sweet food that bees make from the nectar of flowers."),
)
CHESS = (
    Passage("", "Chess clock", "A chess clock has two dials, one for each player of the game."),
    Passage("", "Sicilian Defence", "The Sicilian Defence is an opening of the game of chess."),
)
SAX = (
    Passage("", "Saxophone", "The saxophone was patented in 1846 by Adolphe Sax."),
    Passage("", "Clarinet", "The clarinet is a woodwind instrument with a single reed."),
)
TEA = (
    Passage("", "Tea ceremony", "The tea ceremony follows rules that Sen no Rikyu laid down."),
    Passage("", "Green tea", "Green tea is made from leaves that have not been oxidised."),
)
VIOLIN = (
    Passage("", "Violin", "The violin is a bowed string instrument with four strings."),
    Passage("", "Violin (makers)", "Famous violins were built in the Italian town of Cremona."),
)

REWRITE = Skill(
    "rewriting",
    "A search failed because the question does not use the words of the pages that answer it. "
    "Say in one line which thing is meant, then write one better search query.",
    (
        (
            "what is the sticky stuff called that workers smear on the walls of their home",
            "Bees make honey. Answer: honey",
            BEES,
            "The resin that worker bees gather to seal a hive is meant, which is called propolis.",
            "propolis bee resin hive",
        ),
        (
            "who came up with the game that ends when the monarch is trapped",
            "The game is chess. Answer: a chess player",
            CHESS,
            "The game whose king is checkmated is meant, and its early history is asked for.",
            "origin of chess history inventor",
        ),
    ),
)
DECOMPOSE = Skill(
    "decomposition",
    "A search failed because the question has several steps. Say in one line what the passages "
    "settle and which step is still open, then write one search query for the open step.",
    (
        (
            "In which town was the inventor of the saxophone born?",
            "The inventor was born in Paris. Answer: Paris",
            SAX,
            "The inventor of the saxophone is Adolphe Sax; still open is where Adolphe Sax was "
            "born.",
            "Adolphe Sax birthplace born",
        ),
        (
            "In which century did the man whose rules the tea ceremony follows live?",
            "It is an old ceremony. Answer: unknown",
            TEA,
            "The rules are those of Sen no Rikyu; still open is when Sen no Rikyu lived.",
            "Sen no Rikyu life born died",
        ),
    ),
)
FOCUS = Skill(
    "focusing",
    "A search found the right subject but not the fact that is asked for. Name the missing fact "
    "in one line, then write one search query for exactly that fact.",
    (
        (
            "of what wood is the back of a violin usually made",
            "A violin is made in Cremona. Answer: Cremona",
            VIOLIN,
            "Missing is the wood that the back of a violin is made of.",
            "violin back wood material maple",
        ),
        (
            "At which temperature should green tea be brewed?",
            "Green tea is not oxidised. Answer: not oxidised",
            TEA,
            "Missing is the temperature of the water for brewing green tea.",
            "green tea brewing water temperature",
        ),
    ),
)
SKILLS = dict(zip(LABELS[:-1], (REWRITE, DECOMPOSE, FOCUS), strict=True))


def query_prompt(label: str, case: Case) -> Prompt:
    """The prompt with which the label's skill writes its query."""
    skill = SKILLS[label]
    return Prompt(shots(skill.instruction, skill.examples, QUERY.mark), case.shown)


def write_queries(backbone, labels: list[str], cases: list[Case]) -> list[Generation]:
    """Let each case's skill write its search query; the query is the reply's `answer`.

    Source: Skill-RAG v2 §3.2 and appendix A.1. Taught in chapter 04.
    """
    prompts = [query_prompt(label, case) for label, case in zip(labels, cases, strict=True)]
    return backbone.generate(prompts, QUERY)
