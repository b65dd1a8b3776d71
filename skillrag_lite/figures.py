"""The book's figures: a title that says the finding, axes with units, one style and its colours."""

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display

from .gate import calibrate
from .trace import Trace

# Tableau's palette for colour-blind readers, its greys kept for controls; large letters, for
# narrow screens.
RIGHT, WRONG, INK, CONTROL = "#006BA4", "#C85200", "#595959", "#ABABAB"
COLOURS = [RIGHT, "#FF800E", "#5F9ED1", WRONG, "#A2C8EC", "#FFBC79", INK]
MARKERS = "osD^vPX*h"
plt.rcParams |= {
    "axes.prop_cycle": plt.cycler(color=COLOURS),
    "figure.figsize": (5.6, 3.6),
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.fontsize": 9,
    "legend.frameon": False,
}


def show(figure):
    """Show a figure once, and give its notebook a description for those who cannot see it."""
    display(figure, metadata={"image/png": {"alt": described(figure)}})
    plt.close(figure)


def described(figure) -> str:
    """What a figure shows, in words: its title, and each panel's axes and series."""
    parts = [figure.get_suptitle()]
    for axes in figure.axes:
        series = ", ".join(axes.get_legend_handles_labels()[1])
        names = (("", axes.get_title()), ("x: ", axes.get_xlabel()), ("y: ", axes.get_ylabel()),
                 ("series: ", series))  # fmt: skip
        parts.append("; ".join(what + name.replace("\n", " ") for what, name in names if name))
    return ". ".join(filter(None, parts)) + "."


def by_layer(layers, curves: dict[str, np.ndarray], title: str, ylabel: str = "AUROC"):
    """A line a curve over the tapped layers; a curve named for a control is grey.

    A value that is the same at every layer is given as one number and drawn as a level.
    """
    figure, axes = plt.subplots()
    for name, values in curves.items():
        control = "shuffled" in name or "majority" in name
        values = np.broadcast_to(values, len(layers))
        style = {"color": CONTROL, "linestyle": ":"} if control else {"marker": "o"}
        axes.plot(list(layers), values, label=name, **style)
    axes.set(xlabel="decoder block", ylabel=ylabel, title=title)
    figure.legend(loc="outside lower center", ncols=2)
    show(figure)


def tradeoff(points, chosen, title: str):
    """Accuracy against retrieval rate over all thresholds, the chosen one marked."""
    figure, axes = plt.subplots()
    rates = [p.retrieval_rate for p in points]
    axes.plot(rates, [p.accuracy for p in points], color=INK, label="every τ")
    axes.plot([rates[0], rates[-1]], [points[0].accuracy, points[-1].accuracy],
              color=CONTROL, linestyle=":", label="retrieving at random")  # fmt: skip
    axes.plot(chosen.retrieval_rate, chosen.accuracy, "o", color=WRONG, label="τ chosen on dev")
    axes.set(xlabel="share of questions that retrieve", ylabel="ACC", title=title)
    axes.legend()
    show(figure)


def histogram(confidence, right, tau: float, title: str):
    """How p̂ is spread over right and wrong answers, and where τ cuts."""
    figure, axes = plt.subplots()
    confidence, right = np.asarray(confidence), np.asarray(right)
    bins = np.linspace(0, 1, 21)
    parts = [confidence[right == 0], confidence[right == 1]]
    axes.hist(parts, bins, color=[WRONG, RIGHT], label=["wrong", "right"], stacked=True)
    axes.axvline(tau, color=INK, linestyle="--", label=f"τ = {tau:.2f}")
    axes.set(xlabel="p̂", ylabel="answers", title=title)
    axes.legend()
    show(figure)


def confusion(tables: dict[str, np.ndarray], rows, columns, title: str, ylabel: str):
    """Counts as heat maps one below the other, a shade a share of its row.

    Each of `tables` has shape (n_rows, n_columns); `rows` and `columns` name them.
    """
    figure, axes = plt.subplots(len(tables), figsize=(5.6, 0.8 + 2.4 * len(tables)), sharex=True,
                                squeeze=False)  # fmt: skip
    words = [[name.replace("_", "\n") for name in names] for names in (rows, columns)]
    for panel, (name, counts) in zip(axes[:, 0], tables.items(), strict=True):
        shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        panel.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for (i, j), share in np.ndenumerate(shares):
            panel.text(j, i, int(counts[i, j]), ha="center", va="center",
                       color="white" if share > 0.6 else "black")  # fmt: skip
        panel.set_xticks(range(len(columns)), words[1], fontsize=9)
        panel.set_yticks(range(len(rows)), words[0], fontsize=9)
        panel.set(title=name, ylabel=ylabel)
    figure.suptitle(title)
    show(figure)


def endings(traces: list[Trace], title: str):
    """How many questions stopped after each search, and how: a bar a number of searches."""
    figure, axes = plt.subplots()
    kinds = (("sufficient", 1, RIGHT), ("sufficient", 0, WRONG), ("exit", None, INK),
             ("budget", None, CONTROL))  # fmt: skip
    bottom = np.zeros(max(t.retrievals for t in traces) + 1)
    for reason, right, colour in kinds:
        its = [t for t in traces if t.stopped_by == reason]
        if right is not None:
            its = [t for t in its if t.right == right]
        name = reason if right is None else f"trusted, {'right' if right else 'wrong'}"
        heights = np.bincount([t.retrievals for t in its], minlength=len(bottom))
        axes.bar(range(len(bottom)), heights, bottom=bottom, color=colour, label=name)
        bottom += heights
    axes.set(xlabel="searches", ylabel="questions", title=title, xticks=range(len(bottom)))
    figure.legend(loc="outside lower center", ncols=2)
    show(figure)


def frontier(sweeps: dict[str, list], title: str):
    """Each method's accuracy against its searches over all its thresholds, the best one ringed."""
    figure, axes = plt.subplots()
    for (name, points), marker in zip(sweeps.items(), MARKERS, strict=False):
        searches, right = [p.retrieval_rate for p in points], [p.accuracy for p in points]
        [line] = axes.plot(searches, right, marker=marker, markersize=4, label=name)
        best = next(p for p in points if p.tau == calibrate(points))
        axes.plot(best.retrieval_rate, best.accuracy, "o", markersize=11, fillstyle="none",
                  color=line.get_color())  # fmt: skip
    axes.set(xlabel="searches a question", ylabel="ACC", title=title)
    figure.legend(loc="outside lower center", ncols=2)
    show(figure)


def costs(rows: list[dict], cost: str, title: str, xlabel: str):
    """Methods as points: ACC with its interval against one of their costs."""
    figure, axes = plt.subplots(figsize=(5.6, 4.2))
    for row, marker in zip(rows, MARKERS, strict=False):
        low, high = row["acc"] - row["acc_low"], row["acc_high"] - row["acc"]
        axes.errorbar(row[cost], row["acc"], [[low], [high]], fmt=marker, label=row["method"],
                      capsize=2, elinewidth=0.8)  # fmt: skip
    axes.set(xlabel=xlabel, ylabel="ACC", title=title)
    figure.legend(loc="outside lower center", ncols=3)
    show(figure)


def efficiency(panels: list[dict], title: str):
    """Rows of `efficiency.panel`: rounds, skill shares, and what is gained for what is saved."""
    figure, (rounds, shares, gains) = plt.subplots(3, figsize=(5.6, 5 + 0.7 * len(panels)))
    names, places = [p["dataset"] for p in panels], np.arange(len(panels))
    for method, shift, colour in (("probing_rag", -0.15, CONTROL), ("skill_rag", 0.15, INK)):
        means, lows, highs = np.array([p["rounds"][method] for p in panels]).T
        rounds.errorbar(means, places + shift, xerr=[means - lows, highs - means], fmt="o",
                        color=colour, capsize=2, label=method)  # fmt: skip
    rounds.set(xlabel="searches a question", xlim=(0, None))
    left = np.zeros(len(panels))
    for label in sorted({label for p in panels for label in p["shares"]}):
        widths = np.array([p["shares"].get(label, 0) for p in panels])
        shares.barh(places, widths, left=left, height=0.6, label=label)
        left += widths
    shares.set(xlabel="share of the router's labels")
    for axes in (rounds, shares):
        axes.set_yticks(places, names)
        axes.invert_yaxis()
    for p, marker in zip(panels, MARKERS * 2, strict=False):
        saved, gain = p["saved"], p["gain"]
        across, up = ([[v[0] - v[1]], [v[2] - v[0]]] for v in (saved, gain))
        gains.errorbar(saved[0], gain[0], up, across, fmt=marker, capsize=2, elinewidth=0.8,
                       label=p["dataset"])  # fmt: skip
    gains.axhline(0, color=CONTROL, linestyle=":")
    gains.axvline(0, color=CONTROL, linestyle=":")
    gains.set(xlabel="searches saved a question", ylabel="ACC gained")
    for axes, columns in ((rounds, 2), (shares, 2), (gains, 3)):
        axes.legend(ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1))
    figure.suptitle(title)
    show(figure)


def failure_maps(maps: dict[str, dict[str, np.ndarray]], kinds, right, title: str):
    """Maps of the failures, a column a method of drawing, a row a condition, a colour a cause.

    `maps[method][condition]` are places (n, 2); `kinds` names each question's cause, and
    `right[condition]` says which were answered after all: they are drawn as pale rings.
    """
    names = sorted(set(kinds))
    figure, grid = plt.subplots(4, len(maps), figsize=(5.6, 9), squeeze=False,
                                sharex="col", sharey="col")  # fmt: skip
    for column, (method, places) in zip(grid.T, maps.items(), strict=True):
        for panel, (condition, points) in zip(column, places.items(), strict=True):
            for name, marker in zip(names, MARKERS, strict=False):
                its, done = np.asarray(kinds) == name, np.asarray(right[condition]) == 1
                [drawn] = panel.plot(*points[its & ~done].T, marker, markersize=3, label=name)
                panel.plot(*points[its & done].T, marker, markersize=4, fillstyle="none",
                           alpha=0.4, color=drawn.get_color())  # fmt: skip
            panel.set(xticks=[], yticks=[], title=f"{condition} ({method})")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.suptitle(title)
    show(figure)
