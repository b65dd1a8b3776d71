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
REQUEST = (
    "A question was searched for, and the passages that came back did not answer it. Invent {n} "
    "different skills that each write a better search query. Number them. Write each on one line: "
    "the skill's name, a colon, and one sentence that says what to do."
)
LINE = re.compile(r"^\d+[.)]\s*(\S.{9,})$")
CHOOSE = "These are the ways of mending a search that failed:\n{}\nI will say which one fits."


@dataclass(frozen=True)
class Condition:
    """What a condition made of each question: its newest reply, and the action that led to it."""

    replies: list[Generation]
    actions: list[str]


def invent(backbone, n: int = 8) -> list[Skill]:
    """Skills that the model makes up itself, at most n, each once; what it wrote is name and task.

    It is asked once, and without a worked example, which a small model would copy; lines that are
    not numbered are left out. The worked examples of the skills are those of rewriting. Source:
    Skill-RAG v1 §4.3 (more than six; its prompt is not given). Taught in chapter 07.
    """
    [reply] = backbone.generate([Prompt((), REQUEST.format(n=n))], LIST)
    lines = map(str.strip, reply.text.splitlines())
    told = dict.fromkeys(found[1] for found in map(LINE.match, lines) if found)
    return [Skill(line, line, REWRITE.examples) for line in list(told)[:n]]


def choose(backbone, invented: list[Skill], cases: list[Case]) -> list[int]:
    """The number of the invented skill that gains most by each case, as `router.score`."""
    names = [skill.name for skill in invented]
    ways = ((CHOOSE.format("\n".join(names)), "Show me the case."),)
    options = [f" {name}" for name in names]
    won, _ = router.gains(backbone, cases, lambda shown: Prompt(ways, shown, "Way:"), options)
    return won.argmax(1).tolist()


def run(traces: list[Trace], backbone, retriever, route: Callable) -> dict[str, Condition]:
    """The four conditions of questions that are still wrong after standard retrieval.

    A, as they are. B, a written diagnosis is added to the question, which is searched for once
    more. C, the skill that `route(backbone, cases)` names acts; an exit leaves the reply as it is.
    D, the fitting one of the invented skills acts. Raises ValueError where the model invented none.
    Source: Skill-RAG v1 §4.3. Taught in chapter 07.
    """
    invented = invent(backbone)
    if not invented:
        raise ValueError("the model invented no skill: it should write a numbered list of them")
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
