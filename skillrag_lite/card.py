"""The trace card: one question's path, to be looked at. Everything that is shown is escaped."""

from html import escape

ENDINGS = {
    "sufficient": "the answer was trusted",
    "exit": "the router chose to stop",
    "budget": "the budget was spent",
}


def as_text(trace) -> str:
    """The card for a terminal."""
    lines = [f"Q: {trace.question.question}"]
    for number, r in enumerate(trace.rounds):
        lines.append(f"  round {number}: " + (f"search: {r.query}" if r.query else "closed book"))
        if r.passages:
            lines.append("    found   " + " | ".join(p.title for p in r.passages))
        if r.generation.reasoning:
            lines.append(f"    thought {r.generation.reasoning}")
        lines.append(f"    answer  {r.generation.answer}   (confidence {r.confidence:.2f})")
        if r.label:
            lines.append(f"    router  {r.label}" + (f": {r.diagnosis}" if r.diagnosis else ""))
    lines.append(f"  stopped: {ENDINGS[trace.stopped_by]}. {cost_line(trace)}")
    return "\n".join(lines)


def cost_line(trace) -> str:
    """The cost of a trace in words."""
    usage, searches = trace.usage, trace.retrievals
    return (
        f"{usage.calls} call{'s' * (usage.calls != 1)}, {usage.prompt_tokens:,} tokens read, "
        f"{usage.new_tokens} written, {searches} search{'es' * (searches != 1)}, "
        f"{usage.seconds:.1f} s"
    )


STYLE = """<style>
.trace{border:1px solid #8886;border-radius:8px;padding:.7em 1em;max-width:46em;line-height:1.45}
.trace ol{list-style:none;margin:.5em 0;padding:0}
.trace li{border-left:3px solid #8886;padding:.1em 0 .4em .8em;margin:.35em 0}
.trace li.good{border-color:#2a9d4e}.trace li.bad{border-color:#d1762b}
.trace .bar{display:inline-block;width:6em;height:.6em;background:#8883;border-radius:3px}
.trace .bar i{display:block;height:100%;background:#4878a8;border-radius:3px}
.trace .tag{background:#d1762b26;border-radius:4px;padding:0 .4em}
.trace small{opacity:.75}</style>"""


def as_html(trace) -> str:
    """The card for a notebook: a step a round, its confidence as a bar."""
    steps = "".join(_step(number, r, trace) for number, r in enumerate(trace.rounds))
    return (
        f'{STYLE}<div class="trace"><b>{escape(trace.question.question)}</b><ol>{steps}</ol>'
        f"<b>{escape(trace.answer)}</b> &nbsp;<small>stopped: {ENDINGS[trace.stopped_by]} · "
        f"{cost_line(trace)}</small></div>"
    )


def _step(number: int, r, trace) -> str:
    last = number == len(trace.rounds) - 1
    kind = "good" if last and trace.stopped_by == "sufficient" else "bad"
    parts = [
        f"<small>round {number}</small> "
        + (f"search <i>{escape(r.query)}</i>" if r.query else "closed book")
    ]
    if r.passages:
        found = " · ".join(escape(p.title) for p in r.passages)
        parts.append(f"<small>found: {found}</small>")
    parts.append(f"{escape(r.generation.reasoning)} → <b>{escape(r.generation.answer)}</b>")
    width = round(100 * min(max(r.confidence, 0), 1))
    parts.append(
        f'<span class="bar"><i style="width:{width}%"></i></span> confidence {r.confidence:.2f}'
    )
    if r.label:
        said = f" {escape(r.diagnosis)}" if r.diagnosis else ""
        parts.append(f'<span class="tag">{escape(r.label)}</span>{said}')
    return f'<li class="{kind}">{"<br>".join(parts)}</li>'
