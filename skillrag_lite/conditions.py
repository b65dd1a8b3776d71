"""Four conditions for a question that stays wrong: left, diagnosed, four skills, invented ones."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from . import router
from .generation import Decoding, Generation
from .loop import case
from .prompts import QA, Prompt, answer_prompt
from .skills import QUERY, REWRITE, SKILLS, Case, Skill, shots, write_queries
from .trace import Trace

LIST = Decoding(max_new_tokens=320, answer_tokens=0, mark="", stop=(), states=False)
# A worked example from another matter, so that the model takes over its form and nothing else.
EXAMPLE = (
    "Name five ways of finding a key that was lost, each on a line of its own: a name, a colon, "
    "and what to do.",
    "retracing: Walk once more the way that you came.\n"
    "asking: Ask everyone who was in the room.\n"
    "emptying: Empty every pocket and bag on a table.\n"
    "lighting: Shine a lamp flat across the floor.\n"
    "waiting: Do something else until you remember.",
)
REQUEST = (
    "Name {n} ways of writing a better search query after a search for a question failed, each on "
    "a line of its own: a name, a colon, and what to do."
)
LINE = re.compile(r"^[\W\d]*([A-Za-z][\w -]{2,39}?)[*\s]*:[*\s]*(\S.{9,})$")
CHOOSE = "These are the ways of mending a search that failed:\n{}\nI will say which one fits."


@dataclass(frozen=True)
class Condition:
    """What a condition made of each question: its newest reply, and the action that led to it."""

    replies: list[Generation]
    actions: list[str]


def invent(backbone, n: int = 8) -> list[Skill]:
    """Skills that the model makes up itself, at most n, each name once.

    It is asked once; lines that are not a name, a colon and an instruction are left out. What to
    do is the model's, the worked examples are those of rewriting. Source: Skill-RAG v1 §4.3 (more
    than six; its prompt is not given). Taught in chapter 07.
    """
    [reply] = backbone.generate([Prompt((EXAMPLE,), REQUEST.format(n=n))], LIST)
    told = {}
    for found in filter(None, (LINE.match(line.strip()) for line in reply.text.splitlines())):
        told.setdefault(found[1].strip().lower(), found[2].strip())
    return [Skill(name, what, REWRITE.examples) for name, what in list(told.items())[:n]]


def choose(backbone, invented: list[Skill], cases: list[Case]) -> list[int]:
    """The number of the invented skill whose name gains most by each case, as `router.score`."""
    listed = "\n".join(f"{skill.name}: {skill.instruction}" for skill in invented)
    ways = ((CHOOSE.format(listed), "Show me the case."),)
    names = [f" {skill.name}" for skill in invented]
    won, _ = router.gains(backbone, cases, lambda shown: Prompt(ways, shown, "Way:"), names)
    return won.argmax(1).tolist()


def run(traces: list[Trace], backbone, retriever, route: Callable) -> dict[str, Condition]:
    """The four conditions of questions that are still wrong after standard retrieval.

    A, as they are. B, a written diagnosis is added to the question, which is searched for once
    more. C, the skill that `route(backbone, cases)` names acts; an exit leaves the reply as it is.
    D, the fitting one of the invented skills acts. Source: Skill-RAG v1 §4.3. Taught in chapter 07.
    """
    cases = [case(t.question, t.rounds[-1]) for t in traces]
    old = [c.reply for c in cases]

    def again(queries):
        """Each question's reply after one more search; the old one where there is no query."""
        going = [i for i, query in enumerate(queries) if query is not None]
        found = retriever.search([queries[i] or cases[i].question for i in going])
        asked = [answer_prompt(cases[i].question, f) for i, f in zip(going, found, strict=True)]
        new = dict(zip(going, backbone.generate(asked, QA), strict=True))
        return [new.get(i, reply) for i, reply in enumerate(old)]

    said = router.generate(backbone, cases)
    diagnosed = [f"{c.question} {d.sentence}" for c, d in zip(cases, said, strict=True)]

    labels = [d.label for d in route(backbone, cases)]
    acting = [i for i, label in enumerate(labels) if label in SKILLS]
    written = write_queries(backbone, [labels[i] for i in acting], [cases[i] for i in acting])
    skilled = [None] * len(cases)
    for i, query in zip(acting, written, strict=True):
        skilled[i] = query.answer

    invented = invent(backbone)
    chosen = choose(backbone, invented, cases)
    prompts = [
        Prompt(shots(invented[k].instruction, invented[k].examples, QUERY.mark), c.shown)
        for k, c in zip(chosen, cases, strict=True)
    ]
    made_up = [reply.answer for reply in backbone.generate(prompts, QUERY)]
    return {
        "A": Condition(old, ["none"] * len(cases)),
        "B": Condition(again(diagnosed), ["diagnosis"] * len(cases)),
        "C": Condition(again(skilled), labels),
        "D": Condition(again(made_up), [invented[k].name for k in chosen]),
    }
