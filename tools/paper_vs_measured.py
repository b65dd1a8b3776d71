"""Write book/paper_vs_measured.md: every number of the papers that is on file, beside ours.

python -m tools.paper_vs_measured
"""

from itertools import groupby
from pathlib import Path

from skillrag_lite import data

from .claim_rules import Runs, compare, folders

PAGE = Path(__file__).parents[1] / "book" / "paper_vs_measured.md"
WORDS = {True: "yes", False: "no", None: "-"}
MISSING = ["not measured", "-", "-", "-"]
INTRO = """# The papers' numbers beside ours

Every number of the papers that this project keeps (`data/paper_claims.json`), and what was measured
here on the same dataset. The papers ran models of 8 to 9 billion parameters on whole test sets;
ours are small models on samples. So levels cannot be compared, but directions can: each number lies
above or below a landmark, the paper's in its table and ours in our own.

| number | landmark |
|---|---|
| a score | the score of no retrieval |
| a method that the second version reports to be ahead | the score of Skill-RAG |
| rounds of Skill-RAG | rounds of Probing-RAG |
| a skill's share of the router's labels | an even split of four |
| a gain, a saving, a cost | zero |
| an upper bound | the bound |
| additional calls | zero |
| an AUROC | one half |

Intervals are 95% bootstrap intervals over questions (over labels, for shares). Where one holds the
landmark, the direction is a guess. A dash stands where there is no landmark. This page is written
by `python -m tools.paper_vs_measured` from `results/`; a test fails when the two differ.
"""


def page() -> str:
    """The page's text: a table for each table or figure of a paper, and how to rerun ours."""
    runs, claims = Runs(), data.claims()
    cells = {name: ours(runs, claims, claim) for name, claim in claims.items()}
    done = sum(its != MISSING for its in cells.values())
    parts = [INTRO, f"Measured so far: {done} of {len(claims)}."]
    for place, group in groupby(claims.values(), lambda c: f"{c['paper']}, {c['where']}"):
        rows = [[c["quantity"], f"{c['value']:g}", *cells[c["id"]]] for c in group]
        names = ["quantity", "paper", "ours", "n", "same direction?", "results, profile"]
        parts += [f"## {place}", table(names, rows)]
    rows = [[name, f["profile"], f["model"], f"`{f['made_by']}`"] for name, f in runs.files.items()]
    parts += ["## Rerun it", table(["results", "profile", "model", "command"], rows)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def ours(runs, claims, claim) -> list[str]:
    """Our columns of a row."""
    if (found := compare(runs, claims, claim)) is None:
        return MISSING
    mean, low, high, n, same = found
    names = folders(claim)
    profiles = sorted({runs.files[name]["profile"] for name in names})
    source = f"{names[0] if len(names) == 1 else f'{len(names)} sets'}, {'/'.join(profiles)}"
    return [f"{mean:.2f} [{low:.2f}, {high:.2f}]", str(n), WORDS[same], source]


def table(names: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: book/{PAGE.name}")
