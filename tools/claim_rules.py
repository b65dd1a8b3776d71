"""From a claim's id to what it is compared with: one value a question, and a landmark."""

import re

import numpy as np

from skillrag_lite import data, exits, outcomes, results
from skillrag_lite.scores import bootstrap
from skillrag_lite.skills import LABELS

GROUPS = {"avg": data.DATASETS[1:], "in-domain": data.IN_DOMAIN}
ACTIONS = dict(zip(("rewriting", "decomposition", "focusing", "exit"), LABELS, strict=True))
KINDS = {"": "right", "-em": "exact"}
CHAPTERS = {  # measured by a chapter on the Atlas: its results, the row, the column, the landmark
    "router-calls": ("04_skill_prompts", "score", "llm_calls", 0),
    "orgad-auroc": ("02_probe_training", "probe", "auroc", 0.5),
    "free-auroc": ("02_probe_training", "free signal", "auroc", 0.5),
}


def folders(claim: dict) -> tuple[str, ...]:
    """The folders of results that a claim is compared with."""
    if claim["id"] in CHAPTERS:
        return CHAPTERS[claim["id"]][:1]
    named = tuple(n for n in (*GROUPS["avg"], *GROUPS) if f"-{n}" in claim["id"])
    return GROUPS.get(named[0], named[:1]) if named else GROUPS["avg"]


class Runs:
    """Results of the largest profile that ran, by folder, and the outcomes in them."""

    def __init__(self):
        chapters = {folder for folder, *_ in CHAPTERS.values()}
        found = {name: results.read(name) for name in (*GROUPS["avg"], *sorted(chapters))}
        self.files = {name: [*files.values()][-1] for name, files in found.items() if files}

    def of(self, name: str, method: str) -> list[outcomes.Outcome]:
        """A method's outcomes on a dataset or a group; KeyError where one is missing."""
        parts = [self.files[part]["rows"] for part in GROUPS.get(name, (name,))]
        return [outcome for rows in parts for outcome in outcomes.by_method(rows)[method]]

    def scores(self, name: str, method: str, em: str) -> list[int]:
        """ACC, or EM, question by question."""
        return [getattr(o, KINDS[em]) for o in self.of(name, method)]

    def pairs(self, name: str):
        """Each question with Skill-RAG and with Probing-RAG."""
        return list(zip(self.of(name, "skill_rag"), self.of(name, "probing_rag"), strict=True))

    def exits(self, name: str) -> dict[str, list[int]]:
        """What Skill-RAG's exit costs and saves on the hard cases."""
        places = exits.hard(self.of(name, "probing_rag"))
        both = (self.of(name, method) for method in ("skill_rag", "skill_rag_no_exit"))
        return exits.price(*([its[i] for i in places] for its in both))


# A rule returns one value a question, our landmark, and the side of it on which the paper's number
# lies: 1 above, -1 below, 0 level, None where there is no landmark.


def side(value, landmark) -> int:
    """1 above, -1 below, 0 level."""
    return int(np.sign(round(value - landmark, 9)))


def score(runs, claims, claim, name, method, em):
    """EM or ACC of a method, above or below no retrieval (v1, Table 1)."""
    base = claims[f"v1-{name}-no_retrieval{em}"]
    values, ours = (runs.scores(name, m, em) for m in (method, "no_retrieval"))
    return values, np.mean(ours), side(claim["value"], base["value"]) if claim != base else None


def ahead(runs, claims, claim, name, method, em):
    """EM or ACC of a method that is above Skill-RAG (v2, §4.2)."""
    return runs.scores(name, method, em), np.mean(runs.scores(name, "skill_rag", em)), 1


def rounds(runs, claims, claim, name, method):
    """Searches a question, below those of Probing-RAG (v2, Figure 3A)."""
    base = claims[f"v2-rounds-{name}-probing_rag"]
    values, ours = ([o.retrievals for o in runs.of(name, m)] for m in (method, "probing_rag"))
    return values, np.mean(ours), side(claim["value"], base["value"]) if claim != base else None


def share(runs, claims, claim, name, action):
    """Whether a label is that skill's, above or below an even split (v2, Figure 3B)."""
    labels = [label for o in runs.of(name, "skill_rag") for label in o.labels]
    even = 1 / len(LABELS)
    return [label == ACTIONS[action] for label in labels], even, side(claim["value"], even)


def gain(runs, claims, claim, name, em=""):
    """Skill-RAG less Probing-RAG, in ACC or EM (v2, Figure 3C and Table 1)."""
    values = [getattr(a, KINDS[em]) - getattr(b, KINDS[em]) for a, b in runs.pairs(name)]
    return values, *bound(claim, name)


def saved(runs, claims, claim, name):
    """Searches that Skill-RAG saves against Probing-RAG (v2, Figure 3C)."""
    return [b.retrievals - a.retrievals for a, b in runs.pairs(name)], *bound(claim, name)


def bound(claim, name):
    """In domain the paper gives an upper bound, elsewhere a number above zero."""
    return (claim["value"], -1) if name == "in-domain" else (0, side(claim["value"], 0))


def exit_rate(runs, claims, claim, name):
    """Whether the exit stops a hard case (v2, Table 2)."""
    return runs.exits(name)["exits"], 0, None


def exit_rate_of_model(runs, claims, claim, model):
    """The same on all five sets, for a model's row of the paper's table."""
    return exit_rate(runs, claims, claim, "avg")


def exit_cost(runs, claims, claim, end):
    """What the exit costs on hard cases, in ACC (v2, Table 2)."""
    return runs.exits("avg")["lost"], 0, 1


def exit_saved(runs, claims, claim, end):
    """Searches saved by each exit on hard cases (v2, Table 2)."""
    return runs.exits("avg")["saved"], 0, 1


def of_chapter(runs, claims, claim):
    """A row that is a mean already, with its interval where there is one."""
    folder, method, column, landmark = CHAPTERS[claim["id"]]
    row = next(row for row in runs.files[folder]["rows"] if row["method"] == method)
    ends = [row.get(f"{column}_{end}", row[column]) for end in ("low", "high")]
    return (row[column], *ends, row["n"]), landmark, side(claim["value"], landmark)


SET = f"({'|'.join((*GROUPS['avg'], *GROUPS))})"
RULES = {
    rf"v1-{SET}-(\w+?)(-em|)": score,
    rf"v2-llama-{SET}-(\w+?)(-em|)": ahead,
    rf"v2-rounds-{SET}-(\w+)": rounds,
    rf"v2-share-{SET}-(\w+)": share,
    rf"v2-gain-{SET}": gain,
    rf"v2-qwen-{SET}(-em|)": gain,
    rf"v2-saved-{SET}": saved,
    rf"v2-exit-{SET}": exit_rate,
    r"v2-exit-(.*-[89]b)": exit_rate_of_model,
    r"v2-exit-cost-(low|high)": exit_cost,
    r"v2-exit-saved-(low|high)": exit_saved,
    "|".join(CHAPTERS): of_chapter,
}


def compare(runs: Runs, claims: dict, claim: dict):
    """The mean, the ends of its interval, n, and whether the direction agrees (None: no landmark).

    None where the runs that it takes are missing or hold no such case.
    """
    matches = ((re.fullmatch(pattern, claim["id"]), rule) for pattern, rule in RULES.items())
    match, rule = next((match, rule) for match, rule in matches if match)
    try:
        values, landmark, theirs = rule(runs, claims, claim, *match.groups())
        found = values if rule is of_chapter else (*bootstrap(values), len(values))
    except (KeyError, ValueError):
        return None
    return *found, None if theirs is None else side(found[0], landmark) == theirs
