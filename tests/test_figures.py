"""Figures: what is drawn are the numbers that were given, and words say what is drawn."""

import numpy as np
import pytest

from skillrag_lite import figures
from skillrag_lite.gate import Point


@pytest.fixture
def shown(monkeypatch):
    """The figures that were shown, each with its description."""
    seen = []

    def keep(figure, metadata):
        seen.append((figure, metadata["image/png"]["alt"]))

    monkeypatch.setattr(figures, "display", keep)
    return seen


def test_a_description_has_title_axes_and_series(shown):
    figures.by_layer([2, 5], {"probe": np.array([0.6, 0.8]), "majority": 0.5}, "It rises")
    [(figure, alt)] = shown
    assert alt == "It rises; x: decoder block; y: AUROC; series: probe, majority."
    probe, majority = figure.axes[0].lines
    assert probe.get_ydata().tolist() == [0.6, 0.8] and majority.get_ydata().tolist() == [0.5, 0.5]
    assert majority.get_color() == figures.CONTROL
    assert not figures.plt.fignum_exists(figure.number)  # shown once, and closed


def test_panels_are_described_one_by_one(shown):
    tables = {"score": np.array([[1, 2], [0, 3]]), "probe": np.array([[3, 0], [0, 3]])}
    figures.confusion(tables, ["a_b", "c"], ["a", "c"], "One label", "certified")
    [(figure, alt)] = shown
    assert alt == "One label. score; y: certified. probe; y: certified."
    assert [text.get_text() for text in figure.axes[0].texts] == ["1", "2", "0", "3"]


def test_the_frontier_rings_what_calibration_takes(shown):
    points = [Point(0.1, 0.0, 0.2), Point(0.5, 1.0, 0.4), Point(0.9, 2.0, 0.4)]
    figures.frontier({"flare": points}, "One search is enough")
    line, ring = shown[0][0].axes[0].lines
    assert line.get_xdata().tolist() == [0.0, 1.0, 2.0]
    assert (*ring.get_xdata(), *ring.get_ydata()) == (1.0, 0.4)


def test_costs_have_intervals(shown):
    row = {"method": "flare", "acc": 0.3, "acc_low": 0.2, "acc_high": 0.35, "retrievals": 1.5}
    figures.costs([row], "retrievals", "Cheap", "searches")
    figure, alt = shown[0]
    assert alt == "Cheap; x: searches; y: ACC; series: flare."
    [bar] = figure.axes[0].collections
    assert bar.get_segments()[0].tolist() == [[1.5, 0.2], [1.5, 0.35]]


def test_the_efficiency_panels_draw_what_they_are_given(shown):
    rounds = {"probing_rag": (2.0, 1.8, 2.2), "skill_rag": (1.5, 1.2, 1.9)}
    panel = {"dataset": "nq", "n": 9, "rounds": rounds, "shares": {"b": 0.75, "a": 0.25},
             "gain": (0.1, -0.1, 0.2), "saved": (0.5, 0.2, 0.6)}  # fmt: skip
    figures.efficiency([panel, panel | {"dataset": "hotpotqa", "shares": {}}], "Saves rounds")
    figure, alt = shown[0]
    assert alt.startswith("Saves rounds. x: searches a question; series: probing_rag, skill_rag. ")
    top, shares, gains = figure.axes
    assert [tick.get_text() for tick in top.get_yticklabels()] == ["nq", "hotpotqa"]
    widths = [[bar.get_width() for bar in bars] for bars in shares.containers]
    assert widths == [[0.25, 0], [0.75, 0]]
    across, up = gains.containers[0].lines[2]
    assert across.get_segments()[0].tolist() == [[0.2, 0.1], [0.6, 0.1]]
    assert up.get_segments()[0].tolist() == [[0.5, -0.1], [0.5, 0.2]]


def test_maps_of_failures_have_a_panel_a_condition(shown):
    places = {name: np.arange(8.0).reshape(4, 2) for name in "ABCD"}
    right = {name: np.array([0, 0, 1, 0]) for name in "ABCD"}
    figures.failure_maps({"PCA": places}, ["x", "y", "x", "y"], right, "One cloud")
    figure, alt = shown[0]
    assert alt == "One cloud. " + ". ".join(f"{c} (PCA); series: x, y" for c in "ABCD") + "."
    wrong, done, *_ = figure.axes[0].lines
    assert wrong.get_xydata().tolist() == [[0, 1]] and done.get_xydata().tolist() == [[4, 5]]
