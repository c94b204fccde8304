"""Pictures draw the numbers of the diagnostics, and describe them for screen readers."""

import re
from xml.etree import ElementTree

import numpy as np

from diffgbm.metrics.diagnostics import Proportion, pit_counts, reliability_of, width_against_error
from diffgbm.reporting import pictures
from diffgbm.reporting.groups import Group, Grouping


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
    assert re.match(r"mean change: a 2, b 1, x+ 0\.$", root.get("aria-label"))
