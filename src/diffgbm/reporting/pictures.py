"""Pictures of a report as SVG, drawn from the numbers of ``metrics.diagnostics`` and of the report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffgbm._util.types import Array
from diffgbm.metrics.diagnostics import PitHistogram, Reliability, WidthAgainstError
from diffgbm.reporting import svg
from diffgbm.reporting.formatting import number, percent, shortened
from diffgbm.reporting.groups import Grouping
from diffgbm.reporting.svg import Frame

PERCENT_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
LABEL = 20
"""Most characters of a label beside a group or a bar."""


def pit_histogram(histogram: PitHistogram) -> str:
    """Bars of the probability integral transforms, with the band of a calibrated model."""
    top = 1.08 * max(float(histogram.counts.max()), float(histogram.high.max()), 1.0)
    frame = Frame((0.0, 1.0), (0.0, top))
    left, width = frame.x(0.0), frame.x(1.0) - frame.x(0.0)
    marks = [svg.y_axis(frame, [v for v in svg.ticks(0.0, top, 5) if v == round(v)], "observations")]
    for a, b, count in zip(histogram.edges[:-1], histogram.edges[1:], histogram.counts, strict=True):
        x, y = frame.x(a), frame.y(float(count))
        title = f"{number(a, 3)} to {number(b, 3)}: {count} observations"
        marks.append(svg.rect(x + 0.75, y, frame.x(b) - x - 1.5, frame.y(0.0) - y, "bar", title))
    low, high = float(histogram.low[0]), float(histogram.high[0])
    marks.append(svg.rect(left, frame.y(high), width, frame.y(low) - frame.y(high), "band"))
    expected = frame.y(float(histogram.expected[0]))
    marks += [svg.line(left, expected, left + width, expected, "nominal")]
    marks += [svg.x_axis(frame, PERCENT_TICKS, "predicted probability of values up to the observed one")]
    outside = int(np.sum((histogram.counts < histogram.low) | (histogram.counts > histogram.high)))
    description = (
        f"{len(histogram.counts)} bars, {outside} of them outside the band from {low:.0f} to {high:.0f} observations"
    )
    return svg.drawing(frame, marks, f"Histogram of probability integral transforms: {description}.")


def reliability(curve: Reliability, conformal: Sequence[tuple[float, float]] = ()) -> str:
    """Observed against nominal coverage; ``conformal`` are points of conformal intervals."""
    frame = Frame((0.0, 1.0), (0.0, 1.0))
    shares = [percent(v, 0) for v in PERCENT_TICKS]
    marks = [svg.y_axis(frame, PERCENT_TICKS, "observed coverage", shares)]
    marks.append(svg.band(frame, curve.at, curve.low, curve.high, "band"))
    marks.append(svg.line(frame.x(0.0), frame.y(0.0), frame.x(1.0), frame.y(1.0), "nominal"))
    points = [(frame.x(a), frame.y(b)) for a, b in zip(curve.nominal, curve.coverage, strict=True)]
    marks.append(svg.path(points, "curve"))
    for (x, y), a, b in zip(points, curve.nominal, curve.coverage, strict=True):
        marks.append(svg.circle(x, y, 3.2, "dot", f"{percent(a, 0)} intervals cover {percent(b)}"))
    marks += [svg.diamond(frame.x(a), frame.y(b), 6, "other") for a, b in conformal]
    marks += [svg.x_axis(frame, PERCENT_TICKS, "nominal coverage of the central interval", shares)]
    middle = int(np.argmin(np.abs(curve.nominal - 0.5)))
    description = f"{percent(curve.nominal[middle], 0)} intervals cover {percent(curve.coverage[middle])}"
    return svg.drawing(frame, marks, f"Observed against nominal coverage: {description}.")


def sharpness(result: WidthAgainstError) -> str:
    """Interval width against the error of the median."""
    widest = float(np.quantile(result.width, 0.99)) if len(result.width) > 100 else float(result.width.max())
    right = 1.04 * max(widest, float(result.mean_width.max())) or 1.0
    largest = float(np.quantile(result.error, 0.99)) if len(result.error) > 100 else float(result.error.max())
    top = 1.06 * max(largest, float(result.mean_error.max())) or 1.0
    # start the axis at the data if all intervals have almost the same width
    left = 0.9 * float(result.width.min()) if result.width.min() > 0.5 * right else 0.0
    frame = Frame((left, right), (0.0, top), left=_axis_margin(svg.ticks(0.0, top, 5)))
    marks = [svg.y_axis(frame, svg.ticks(0.0, top, 5), "absolute error of the median")]
    for width, error in zip(result.width, result.error, strict=True):
        if width <= right and error <= top:
            marks.append(svg.circle(frame.x(width), frame.y(error), 1.8, "faint"))
    reach = min(right, 2.0 * top)
    if reach > left:
        marks.append(svg.line(frame.x(left), frame.y(0.5 * left), frame.x(reach), frame.y(0.5 * reach), "nominal"))
    points = [(frame.x(a), frame.y(b)) for a, b in zip(result.mean_width, result.mean_error, strict=True)]
    marks += [svg.path(points, "curve strong"), *(svg.circle(x, y, 4, "dot strong") for x, y in points)]
    marks += [svg.x_axis(frame, svg.ticks(left, right, 6), "width of the 90% interval")]
    first, last = result.mean_error[0], result.mean_error[-1]
    description = (
        f"mean error {number(first, 3)} where intervals are narrowest, {number(last, 3)} where they are widest"
    )
    return svg.drawing(frame, marks, f"Width of intervals against errors: {description}.")


def coverage(grouping: Grouping, level: float) -> str:
    """Coverage of each group with its 95% interval, and coverage of intervals of constant width."""
    shares = [share for g in grouping.groups for share in (g.covered.low, g.constant, g.covered.high)]
    low = max(0.0, np.floor(10.0 * min(*shares, level) - 0.3) / 10.0)
    rows = len(grouping.groups)
    margin, height = _name_margin([g.label for g in grouping.groups]), 34.0 * rows + 66.0
    frame = Frame((low, 1.0), (rows, 0.0), height=height, left=margin, right=66.0, top=20.0)
    values = [v for v in svg.ticks(low, 1.0, 5) if v <= 1.0]
    marks = [svg.text(frame.width - 2, 13, "width", "end", "label")]
    marks += [svg.line(frame.x(v), frame.y(0), frame.x(v), frame.y(rows), "grid") for v in values]
    marks.append(svg.line(frame.x(level), frame.y(0), frame.x(level), frame.y(rows), "nominal"))
    for k, group in enumerate(grouping.groups):
        y, share = frame.y(k + 0.5), group.covered
        title = f"{group.label}: {share.count} rows, coverage {percent(share.value)}"
        marks.append(svg.text(frame.left - 10, y + 4, shortened(group.label, LABEL), "end", "name"))
        marks.append(svg.line(frame.x(share.low), y, frame.x(share.high), y, "whisker"))
        marks.append(svg.diamond(frame.x(group.constant), y, 4.5, "other"))
        marks.append(svg.circle(frame.x(share.value), y, 5, "dot", title))
        marks.append(svg.text(frame.width - 2, y + 4, number(group.width, 3), "end"))
    labels = [percent(v, 0) for v in values]
    marks.append(svg.x_axis(frame, values, f"proportion inside the {percent(level, 0)} interval", labels))
    description = ", ".join(f"{percent(g.covered.value)} of {g.label}" for g in grouping.groups)
    return svg.drawing(frame, marks, f"Coverage by {grouping.by}: {description}.", "rows")


def importance(names: Sequence[str], values: Array, errors: Array, title: str, style: str) -> str:
    """Bars (p,) of mean changes with their standard deviations over the permutations."""
    rows = len(names)
    right = 1.04 * float((values + errors).max()) or 1.0
    frame = Frame((0.0, right), (rows, 0.0), height=26.0 * rows + 56.0, left=_name_margin(names), right=62.0, top=8.0)
    marks = [svg.line(frame.x(v), frame.y(0), frame.x(v), frame.y(rows), "grid") for v in svg.ticks(0.0, right, 5)]
    for k, (name, value, error) in enumerate(zip(names, values, errors, strict=True)):
        y = frame.y(k + 0.5)
        width = frame.x(value) - frame.x(0.0)
        tooltip = f"{name}: {number(value, 3)} ± {number(error, 2)}"
        marks.append(svg.text(frame.left - 10, y + 4, shortened(name, LABEL), "end", "name"))
        marks.append(svg.rect(frame.left, y - 8, width, 16, style, tooltip))
        marks.append(svg.line(frame.x(max(0.0, value - error)), y, frame.x(value + error), y, "whisker thin"))
        marks.append(svg.text(frame.width - 2, y + 4, number(value, 3), "end"))
    marks.append(svg.x_axis(frame, svg.ticks(0.0, right, 5), title))
    description = ", ".join(f"{name} {number(value, 3)}" for name, value in zip(names[:5], values, strict=False))
    return svg.drawing(frame, marks, f"{title}: {description}.", "rows")


def _axis_margin(values: Sequence[float]) -> float:
    """Margin for the labels of a vertical axis."""
    return max(34.0, 14.0 + max(svg.text_width(number(value)) for value in values))


def _name_margin(names: Sequence[str]) -> float:
    """Margin for names beside the rows of a picture."""
    return 14.0 + max(60.0, *(svg.text_width(shortened(name, LABEL)) for name in names))
