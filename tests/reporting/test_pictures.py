"""Pictures draw the numbers of the diagnostics, and describe them for screen readers."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from diffgbm.metrics.diagnostics import (
    Proportion,
    event_reliability,
    observed_against_predicted,
    pit_counts,
    reliability_of,
    width_against_error,
)
from diffgbm.reporting import pictures, svg
from diffgbm.reporting.groups import Group, Grouping
from diffgbm.reporting.importance import Effect, EffectGroup


def parsed(drawn):
    """Parse a picture and return its elements by class."""
    root = ElementTree.fromstring(drawn.replace("&nbsp;", " "))
    elements: dict[str, list] = {}
    for element in root.iter():
        elements.setdefault(element.get("class", ""), []).append(element)
    return root, elements


def test_pit_histogram_has_a_bar_for_each_bin():
    pit = np.concatenate([np.full(40, 0.05), np.linspace(0.0, 1.0, 60)])
    histogram = pit_counts(pit, 5)
    root, elements = parsed(pictures.pit_histogram(histogram))
    heights = [float(bar.get("height")) for bar in elements["bar"]]
    assert len(heights) == 5
    assert heights[0] == max(heights)
    assert len(elements["band"]) == len(elements["nominal"]) == 1
    outside = np.sum((histogram.counts < histogram.low) | (histogram.counts > histogram.high))
    assert f"5 bars, {outside} of them outside the band" in root.get("aria-label")
    assert elements["bar"][0][0].text.endswith("observations")


def test_reliability_has_a_dot_for_each_level_and_marks_conformal_intervals():
    nominal = np.array([0.25, 0.5, 0.75])
    inside = np.arange(100)[:, None] < np.array([20, 50, 80])
    root, elements = parsed(pictures.reliability(reliability_of(inside, nominal), [(0.9, 0.88)]))
    assert len(elements["dot"]) == 3
    assert len(elements["other"]) == 1
    assert root.get("aria-label") == "Observed against nominal coverage: 50% intervals cover 50.0%."
    assert "other" not in parsed(pictures.reliability(reliability_of(inside, nominal)))[1]


def test_sharpness_draws_points_and_means():
    width, error = np.linspace(1.0, 4.0, 30), np.linspace(0.1, 2.0, 30)
    root, elements = parsed(pictures.sharpness(width_against_error(width, error, 3)))
    assert len(elements["dot strong"]) == 3
    assert len(elements["faint"]) == 30
    assert "where intervals are narrowest" in root.get("aria-label")
    # intervals without width and medians without error can be drawn
    parsed(pictures.sharpness(width_against_error(np.zeros(4), np.zeros(4), 2)))


def test_coverage_has_a_row_for_each_group():
    groups = tuple(
        Group(f"<{name}>", Proportion(10, v, v - 0.1, 1.0), 0.8, 2.0) for name, v in zip("ab", (0.9, 0.7), strict=True)
    )
    root, elements = parsed(pictures.coverage(Grouping("size", groups), 0.9))
    assert [element.text for element in elements["name"]] == ["<a>", "<b>"]
    assert len(elements["dot"]) == len(elements["other"]) == len(elements["whisker"]) == 2
    assert root.get("aria-label") == "Coverage by size: 90.0% of <a>, 70.0% of <b>."


def test_importance_has_a_bar_for_each_feature():
    values = np.array([2.0, 1.0, 0.0])
    root, elements = parsed(pictures.importance(["a", "b", "x" * 40], values, 0.1 * values, "mean change", "bar-main"))
    widths = [float(bar.get("width")) for bar in elements["bar-main"]]
    assert widths[0] > widths[1] > widths[2] == 0.0
    assert len(elements["name"][2].text) <= pictures.LABEL
    assert re.match(r"mean change: a 2 \(no order\), b 1 \(no order\), x+ 0 \(no order\)\.$", root.get("aria-label"))


def test_importance_shows_directions():
    values, directions = np.array([3.0, 2.0, 1.0, 0.0]), np.array([0.9, -0.9, 0.1, 0.9])
    root, elements = parsed(pictures.importance("abcd", values, 0.1 * values, "change", "bar-main", directions))
    assert [element.text for element in elements["arrow"]] == ["↑", "↓", "↔", None]
    assert "a 3 (increases), b 2 (decreases), c 1 (mixed)" in root.get("aria-label")


@pytest.mark.parametrize("log", [False, True])
def test_observed_against_predicted(log):
    predicted = np.geomspace(1.0, 1e4, 60) if log else np.linspace(-1.0, 1.0, 60)
    root, elements = parsed(pictures.centre(observed_against_predicted(predicted, predicted, 5)))
    assert len(elements["faint"]) == 60
    assert len(elements["dot strong"]) == 5
    assert ("logarithmic" in elements["label"][1].text) == log
    for dot in elements["faint"]:  # all lie on the diagonal, which goes from corner to corner
        frame = svg.Frame((0.0, 1.0), (0.0, 1.0), height=340.0)
        assert frame.top <= float(dot.get("cy")) <= frame.height - frame.bottom
    assert root.get("aria-label").startswith("Observed against predicted: ")
    parsed(pictures.centre(observed_against_predicted(np.zeros(4), np.zeros(4), 2)))


def test_events_have_a_dot_for_each_group():
    probability = np.repeat([0.1, 0.5, 0.9], 20)
    observed = np.concatenate([np.arange(20) < k for k in (2, 10, 18)]) * 2.0
    root, elements = parsed(pictures.event(event_reliability(1.0, probability, observed, 3)))
    assert len(elements["dot"]) == len(elements["whisker"]) == 3
    assert root.get("aria-label").endswith(
        "values above 1: predicted 10%, happened 10%; predicted 50%, happened 50%; predicted 90%, happened 90%."
    )


def test_effects_have_a_dot_for_each_group():
    groups = (EffectGroup("<low>", 9, -1.0, 0.1, 0.2, 0.1), EffectGroup("high", 1, 2.0, np.nan, 0.0, np.nan))
    root, elements = parsed(pictures.effect(Effect("size", groups)))
    assert len(elements["dot"]) == len(elements["other"]) == 2
    assert [element.text for element in elements["name"]] == ["<low>", "high"]
    assert "−1 for <low>, +2 for high" in root.get("aria-label")  # noqa: RUF001
