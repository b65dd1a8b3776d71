"""The book's figures: a title that says the finding, axes with units, one set of colours."""

import matplotlib.pyplot as plt
import numpy as np

from .gate import calibrate
from .trace import Trace

RIGHT, WRONG, INK, CONTROL = "#2a9d4e", "#d1762b", "#4878a8", "#999999"
plt.style.use("tableau-colorblind10")


def by_layer(layers, curves: dict[str, np.ndarray], title: str, ylabel: str = "AUROC"):
    """A line a curve over the tapped layers; a curve named for a control is grey.

    A value that is the same at every layer is given as one number and drawn as a level.
    """
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for name, values in curves.items():
        control = "shuffled" in name or "majority" in name
        values = np.broadcast_to(values, len(layers))
        style = {"color": CONTROL, "linestyle": ":"} if control else {"marker": "o"}
        axes.plot(list(layers), values, label=name, **style)
    axes.set(xlabel="decoder block", ylabel=ylabel, title=title)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return _finish(figure)


def tradeoff(points, chosen, title: str):
    """Accuracy against retrieval rate over all thresholds, the chosen one marked."""
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    rates = [p.retrieval_rate for p in points]
    axes.plot(rates, [p.accuracy for p in points], color=INK)
    axes.plot([rates[0], rates[-1]], [points[0].accuracy, points[-1].accuracy],
              color=CONTROL, linestyle=":", label="retrieving at random")  # fmt: skip
    axes.plot(chosen.retrieval_rate, chosen.accuracy, "o", color=WRONG, label="τ chosen on dev")
    axes.set(xlabel="share of questions that retrieve", ylabel="ACC", title=title)
    axes.legend(frameon=False, fontsize=8)
    return _finish(figure)


def histogram(confidence, right, tau: float, title: str):
    """How p̂ is spread over right and wrong answers, and where τ cuts."""
    figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
    confidence, right = np.asarray(confidence), np.asarray(right)
    bins = np.linspace(0, 1, 21)
    parts = [confidence[right == 0], confidence[right == 1]]
    axes.hist(parts, bins, color=[WRONG, RIGHT], label=["wrong", "right"], stacked=True)
    axes.axvline(tau, color="#333333", linestyle="--", label=f"τ = {tau:.2f}")
    axes.set(xlabel="p̂", ylabel="answers", title=title)
    axes.legend(frameon=False, fontsize=8)
    return _finish(figure)


def confusion(tables: dict[str, np.ndarray], rows, columns, title: str, ylabel: str):
    """Counts as heat maps side by side, a shade a share of its row.

    Each of `tables` has shape (n_rows, n_columns); `rows` and `columns` name them.
    """
    figure, axes = plt.subplots(1, len(tables), figsize=(1 + 2.3 * len(tables), 3.4), sharey=True,
                                layout="constrained", squeeze=False)  # fmt: skip
    words = [[name.replace("_", "\n") for name in names] for names in (rows, columns)]
    for panel, (name, counts) in zip(axes[0], tables.items(), strict=True):
        shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        panel.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for (i, j), share in np.ndenumerate(shares):
            panel.text(j, i, int(counts[i, j]), ha="center", va="center", fontsize=8,
                       color="white" if share > 0.6 else "black")  # fmt: skip
        panel.set_xticks(range(len(columns)), words[1], fontsize=6)
        panel.set_yticks(range(len(rows)), words[0], fontsize=7)
        panel.set_title(name, fontsize=9)
    axes[0, 0].set_ylabel(ylabel)
    figure.suptitle(title, fontsize=11)
    return _finish(figure)


def endings(traces: list[Trace], title: str):
    """How many questions stopped after each search, and how: a bar a number of searches."""
    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
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
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return _finish(figure)


def frontier(sweeps: dict[str, list], title: str):
    """Each method's accuracy against its searches over all its thresholds, the best one ringed."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for (name, points), marker in zip(sweeps.items(), "osD^", strict=False):
        searches, right = [p.retrieval_rate for p in points], [p.accuracy for p in points]
        [line] = axes.plot(searches, right, marker=marker, markersize=4, label=name)
        best = next(p for p in points if p.tau == calibrate(points))
        axes.plot(best.retrieval_rate, best.accuracy, "o", markersize=11, fillstyle="none",
                  color=line.get_color())  # fmt: skip
    axes.set(xlabel="searches a question", ylabel="ACC", title=title)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return _finish(figure)


def costs(rows: list[dict], cost: str, title: str, xlabel: str):
    """Methods as points: ACC with its interval against one of their costs."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for row, marker in zip(rows, "osD^vPX*h", strict=False):
        low, high = row["acc"] - row["acc_low"], row["acc_high"] - row["acc"]
        axes.errorbar(row[cost], row["acc"], [[low], [high]], fmt=marker, label=row["method"],
                      capsize=2, elinewidth=0.8)  # fmt: skip
    axes.set(xlabel=xlabel, ylabel="ACC", title=title)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return _finish(figure)


def efficiency(panels: list[dict], title: str):
    """Rows of `efficiency.panel`: rounds, skill shares, and what is gained for what is saved."""
    figure, (rounds, shares, gains) = plt.subplots(
        3, figsize=(6.4, 2.6 + 0.75 * len(panels)), layout="constrained",
        height_ratios=(1, 1, max(1, 4 / len(panels))),
    )  # fmt: skip
    names, places = [p["dataset"] for p in panels], np.arange(len(panels))
    for method, shift, colour in (("probing_rag", -0.15, CONTROL), ("skill_rag", 0.15, INK)):
        means, lows, highs = np.array([p["rounds"][method] for p in panels]).T
        rounds.errorbar(means, places + shift, xerr=[means - lows, highs - means], fmt="o",
                        color=colour, capsize=2, label=method)  # fmt: skip
    rounds.set(xlabel="searches a question", xlim=(0, None))
    rounds.legend(frameon=False, fontsize=8)
    left = np.zeros(len(panels))
    for label in sorted({label for p in panels for label in p["shares"]}):
        widths = np.array([p["shares"].get(label, 0) for p in panels])
        shares.barh(places, widths, left=left, height=0.6, label=label)
        left += widths
    shares.set(xlabel="share of the router's labels")
    shares.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False, fontsize=8)
    for axes in (rounds, shares):
        axes.set_yticks(places, names)
        axes.invert_yaxis()
    for p, marker in zip(panels, "osD^vPX*h", strict=False):
        (saved, *across), (gain, *up) = p["saved"], p["gain"]
        gains.errorbar(saved, gain, [[gain - up[0]], [up[1] - gain]],
                       [[saved - across[0]], [across[1] - saved]], fmt=marker, capsize=2,
                       elinewidth=0.8, label=p["dataset"])  # fmt: skip
    gains.axhline(0, color=CONTROL, linestyle=":")
    gains.axvline(0, color=CONTROL, linestyle=":")
    gains.set(xlabel="searches saved a question", ylabel="ACC gained")
    gains.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False, fontsize=8)
    figure.suptitle(title)
    return _finish(figure)


def failure_maps(maps: dict[str, dict[str, np.ndarray]], kinds, right, title: str):
    """Maps of the failures, a row a method of drawing, a panel a condition, a colour a cause.

    `maps[method][condition]` are places (n, 2); `kinds` names each question's cause, and
    `right[condition]` says which were answered after all: they are drawn as pale rings.
    """
    names = sorted(set(kinds))
    figure, axes = plt.subplots(len(maps), 4, figsize=(9, 2.4 * len(maps)), squeeze=False,
                                layout="constrained", sharex="row", sharey="row")  # fmt: skip
    for row, (method, places) in zip(axes, maps.items(), strict=True):
        for panel, (condition, points) in zip(row, places.items(), strict=True):
            for name, marker in zip(names, "osD^v", strict=False):
                its, done = np.asarray(kinds) == name, np.asarray(right[condition]) == 1
                [drawn] = panel.plot(*points[its & ~done].T, marker, markersize=3, label=name)
                panel.plot(*points[its & done].T, marker, markersize=4, fillstyle="none",
                           alpha=0.4, color=drawn.get_color())  # fmt: skip
            panel.set(xticks=[], yticks=[], title=f"{condition} ({method})")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center",
                  ncols=len(names), frameon=False, fontsize=8)  # fmt: skip
    figure.suptitle(title)
    return _finish(figure)


def _finish(figure):
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    plt.show()
