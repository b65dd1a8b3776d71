"""Tables of scores, as plain text; claims beside them, as a page's own table."""

import numpy as np
from IPython.display import Markdown

from .scores import acc, acc_loose, bootstrap, em, f1
from .trace import Trace


def score_row(method: str, traces: list[Trace], seed: int = 0) -> dict:
    """A method's scores and mean costs a question, with a 95% bootstrap interval for ACC."""
    answers = [(t.answer, t.question.answers) for t in traces]
    mean, low, high = bootstrap([acc(*pair) for pair in answers], seed=seed)
    usages = [t.usage for t in traces]
    return {
        "method": method,
        "n": len(traces),
        "em": np.mean([em(*pair) for pair in answers]),
        "acc": mean,
        "acc_low": low,
        "acc_high": high,
        "acc_loose": np.mean(
            [acc_loose(t.rounds[-1].generation.text, t.question.answers) for t in traces]
        ),
        "f1": np.mean([f1(*pair) for pair in answers]),
        "retrievals": np.mean([t.retrievals for t in traces]),
        "llm_calls": np.mean([u.calls for u in usages]),
        "prompt_tokens": np.mean([u.prompt_tokens for u in usages]),
        "new_tokens": np.mean([u.new_tokens for u in usages]),
        "seconds": np.mean([u.seconds for u in usages]),
    }


def table(rows: list[dict], columns: list[str] | None = None) -> str:
    """Rows as an aligned plain-text table: words to the left, numbers to the right."""
    aligned = []
    for name in columns or rows[0]:
        cells = [name, *(_cell(name, row[name]) for row in rows)]
        pad = str.ljust if isinstance(rows[0][name], str) else str.rjust
        aligned.append([pad(cell, max(map(len, cells))) for cell in cells])
    return "\n".join("  ".join(line).rstrip() for line in zip(*aligned, strict=True))


def _cell(name: str, value) -> str:
    if isinstance(value, str | int):
        return str(value)
    costs = ("retrievals", "llm_calls", "prompt_tokens", "new_tokens", "seconds")
    return f"{value:.1f}" if name in costs else f"{value:.2f}"


def claims_table(rows) -> Markdown:
    """Claims beside what was measured, as a table that a page can wrap.

    Each row is (claim, measured value, n, whether the direction agrees or None, and, where there
    is one, the interval as a pair).
    """
    words = {True: "yes", False: "no", None: "-"}
    lines = [["quantity", "paper", "here", "95%", "n", "same direction", "source"], ["---"] * 7]
    for claim, value, n, same, *interval in rows:
        between = "[{:.2f}, {:.2f}]".format(*interval[0]) if interval else "-"
        source = f"{claim['paper']}, {claim['where']}"
        numbers = (_cell("paper", claim["value"]), f"{value:.2f}", between, str(n))
        lines.append([claim["quantity"], *numbers, words[same], source])
    return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
