"""DRAGIN: search where the model is unsure of a word that matters to what it says next.

The trigger is called RIND (real-time information needs detection), the query QFS (query
formulation by self-attention); both read the attention of the last layer.
"""

import re
from dataclasses import dataclass

from . import retrieve
from .attended import Attended, words
from .data import Question
from .generation import Generation
from .loop import BUDGET
from .prompts import answer_prompt
from .resume import continue_from
from .trace import Round, Trace
from .training import closed_book

FRAME = re.compile(r"Passages:|\[\d+\]|Question:|Answer:")  # our words in prompts and replies


@dataclass(frozen=True)
class Dragin:
    """DRAGIN's two settings."""

    theta: float = 1.0  # RIND above it calls for a search (the paper's: 0.6 to 1.5 by model, set)
    top_n: int = 25  # tokens in focus, the query's source (the paper's: 25 to 35)


def run(questions: list[Question], backbone, retriever, config: Dragin = Dragin(),
        budget: int = BUDGET, k: int = retrieve.TOP_K) -> list[Trace]:  # fmt: skip
    """Answer the questions by DRAGIN; one Trace a question, in order.

    A reply is cut before its first content word that fires, the words in that word's focus are
    searched for, and the reply is written again from the cut on, with the passages; what stands
    before a cut is not looked at again. A cut on the answer line leaves the reasoning as it is.

    A round's `confidence` is the negative of the largest RIND that the trigger saw, 0 where
    nothing was left to look at. Ends as `sufficient` when nothing fires, else as `budget`: when
    the searches are spent, or when one finds the same passages for the same cut as the one before.
    Source: DRAGIN (Su et al. 2024, arXiv 2403.10081) §3. Taught in chapter 06.
    """
    drafts = closed_book(questions, backbone)
    settled = [0] * len(questions)  # how many tokens of each draft stand
    queries = [None] * len(questions)
    found: list[tuple] = [()] * len(questions)
    paths: list[list[Round]] = [[] for _ in questions]
    ended = {}
    still_open = list(range(len(questions)))
    for number in range(budget + 1):
        if not still_open:
            break
        prompts = [answer_prompt(questions[i].question, found[i]) for i in still_open]
        seen = backbone.attention(prompts, [drafts[i] for i in still_open], config.top_n)
        cuts = {}
        for i, attended in zip(still_open, seen, strict=True):
            needs = [need for need in rind(drafts[i], attended) if need[0] >= settled[i]]
            paths[i].append(Round(
                query=queries[i], passages=found[i], generation=drafts[i],
                confidence=0.0 - max((value for _, value in needs), default=0.0),
                layer_confidence=(), usage=drafts[i].usage + attended.usage,
            ))  # fmt: skip
            cut = next((token for token, value in needs if value > config.theta), None)
            if cut is None:
                ended[i] = "sufficient"
            elif number == budget:
                ended[i] = "budget"
            else:
                cuts[i] = cut
                queries[i] = qfs(attended, cut) or questions[i].question
        for i, hits in zip(cuts, retriever.search([queries[i] for i in cuts], k), strict=True):
            if (cuts[i], found[i]) == (settled[i], tuple(hits)):
                ended[i] = "budget"  # the same prompt would get the same reply
            settled[i], found[i] = cuts[i], tuple(hits)
        still_open = [i for i in cuts if i not in ended]
        asked = [(questions[i].question, drafts[i], settled[i], found[i]) for i in still_open]
        for i, draft in zip(still_open, continue_from(backbone, asked), strict=True):
            drafts[i] = draft
    return [Trace(q, tuple(paths[i]), ended[i]) for i, q in enumerate(questions)]


def rind(reply: Generation, attended: Attended) -> list[tuple[int, float]]:
    """The need for a search at each content word: (number of its first token, RIND), in order.

    RIND of a token is its entropy times the most attention that a later token pays to it; of a
    word, the largest among its tokens that hold a letter or a digit. The released code also
    divides the attention by its sum in the sentence and multiplies by the sentence's length.
    Source: DRAGIN §3.1.
    """
    needs = []
    for word in words(reply.tokens, (reply.answer_start,)):
        if content("".join(reply.tokens[t] for t in word).strip()):
            spelled = [t for t in word if any(map(str.isalnum, reply.tokens[t]))]
            values = [reply.entropies[t] * attended.received[t] for t in spelled]
            needs.append((word.start, round(max(values, default=0.0), 4)))
    return needs


def qfs(attended: Attended, token: int) -> str:
    """The query for a search at that token: the content words in its focus (DRAGIN §3.2)."""
    return " ".join(word for word in attended.focus[token] if content(word))


def content(word: str) -> bool:
    """Whether a word says something: it is neither a stop word nor punctuation.

    The stop words are the retriever's. The paper goes by part of speech, which would need a
    tagger, a second model; the classes that it leaves out are those that a stop list names.
    """
    return not FRAME.fullmatch(word) and bool(retrieve.tokens(word))
