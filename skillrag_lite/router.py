"""The router: on a failure, say which of the four skills should act."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .generation import Decoding, Usage
from .prompts import Prompt
from .skills import BEES, CHESS, LABELS, SAX, VIOLIN, Case, shots, situation

DIAGNOSIS = Decoding(max_new_tokens=40, answer_tokens=10, mark="Label:", states=False)
UNPARSED = "unparsed"
OPTIONS = [f" {label}" for label in LABELS]

INSTRUCTION = """A question was answered wrongly although a search had been made. Say in one line \
why, then give one label:
query_misaligned: the passages are about other things, the search used the wrong words
multi_hop_missing: the passages settle the first step of the question, not the next one
evidence_not_used: the passages are about the right thing, the fact that is asked for is missing
insufficient_evidence: no search would help, there is nothing to be found"""
EXAMPLES = (
    (
        "what is the sticky stuff called that workers smear on the walls of their home",
        "Bees make honey. Answer: honey",
        CHESS,
        "The question describes a substance of bees without naming it, and no passage is about it.",
        LABELS[0],
    ),
    (
        "In which town was the inventor of the saxophone born?",
        "The inventor was born in Paris. Answer: Paris",
        SAX,
        "The passages name the inventor, Adolphe Sax, but say nothing of his birth.",
        LABELS[1],
    ),
    (
        "of what wood is the back of a violin usually made",
        "A violin is made in Cremona. Answer: Cremona",
        VIOLIN,
        "The passages are about violins but do not say which wood is used.",
        LABELS[2],
    ),
    (
        "How many bees lived in the hive on the roof of my school in 1987?",
        "Bees live in hives. Answer: many",
        BEES,
        "No page tells of the bees of one school, so no search can find it.",
        LABELS[3],
    ),
)
_SHOTS = shots(INSTRUCTION, EXAMPLES, DIAGNOSIS.mark)
# For `score` the examples' replies are the label alone, so that its likelihood can be read at once.
_LABEL_SHOTS = tuple(
    (asked, f"{DIAGNOSIS.mark} {label}") for (asked, _), label in zip(_SHOTS, LABELS, strict=True)
)
NOTHING = situation("N/A", "N/A", ())  # a case without content


@dataclass(frozen=True)
class Diagnosis:
    """Why a question failed, in a sentence where the router wrote one, and the skill it names.

    `label` is one of the four, or `unparsed`: never silently mapped to another.
    """

    label: str
    sentence: str
    usage: Usage


def generate(backbone, cases: list[Case]) -> list[Diagnosis]:
    """Let the model write a diagnosis and a label (Skill-RAG v2 §3.2, appendix A.1)."""
    prompts = [Prompt(_SHOTS, case.shown) for case in cases]
    replies = backbone.generate(prompts, DIAGNOSIS)
    return [
        Diagnosis(r.answer if r.answer in LABELS else UNPARSED, r.reasoning, r.usage)
        for r in replies
    ]


def score(backbone, cases: list[Case]) -> list[Diagnosis]:
    """Name the label whose likelihood gains most by the case: one prefill, and no decoding."""
    won, usages = gains(backbone, cases)
    best = won.argmax(1)
    return [Diagnosis(LABELS[i], "", usage) for i, usage in zip(best, usages, strict=True)]


def label_prompt(shown: str) -> Prompt:
    """The prompt for what is shown of a case, whose reply is one of OPTIONS."""
    return Prompt(_LABEL_SHOTS, shown, DIAGNOSIS.mark)


def gains(backbone, cases: list[Case], ask: Callable[[str], Prompt] = label_prompt,
          options: list[str] = OPTIONS) -> tuple[np.ndarray, list[Usage]]:  # fmt: skip
    """What each option's log-likelihood gains by each case, (n, n_options), in nats; the costs.

    It is set against the likelihood after an empty case, which a small model's liking for one
    option, and the options' lengths, do not survive.
    """
    prompts = [ask(shown) for shown in (NOTHING, *(case.shown for case in cases))]
    empty, *scored = backbone.score(prompts, options)
    likely = np.array([s.logprobs for s in scored]).reshape(-1, len(options))
    return likely - np.array(empty.logprobs), [s.usage for s in scored]


ROUTERS = {"generate": generate, "score": score}
