"""Pictures of a report: what was found in, SVG out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffgbm._util.types import Array
from diffgbm.metrics.diagnostics import PitHistogram, Reliability
from diffgbm.reporting import svg
from diffgbm.reporting.facts import Sharpness
from diffgbm.reporting.groups import Grouping
from diffgbm.reporting.svg import Frame
from diffgbm.reporting.words import number, percent, shortened

PERCENT_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
LABEL = 20
"""Characters of a label beside a group or a bar."""


def pit_histogram(found: PitHistogram) -> str:
    """Bars of the probability integral transforms, with the band of a calibrated model."""
    top = 1.08 * max(float(found.counts.max()), float(found.high.max()), 1.0)
    frame = Frame((0.0, 1.0), (0.0, top))
    left, width = frame.x(0.0), frame.x(1.0) - frame.x(0.0)
    marks = [svg.y_axis(frame, [v for v in svg.ticks(0.0, top, 5) if v == round(v)], "observations")]
    for a, b, count in zip(found.edges[:-1], found.edges[1:], found.counts, strict=True):
        x, y = frame.x(a), frame.y(float(count))
        title = f"{number(a, 3)} to {number(b, 3)}: {count} observations"
        marks.append(svg.rect(x + 0.75, y, frame.x(b) - x - 1.5, frame.y(0.0) - y, "bar", title))
    low, high = float(found.low[0]), float(found.high[0])
    marks.append(svg.rect(left, frame.y(high), width, frame.y(low) - frame.y(high), "band"))
    expected = frame.y(float(found.expected[0]))
    marks += [svg.line(left, expected, left + width, expected, "nominal")]
    marks += [svg.x_axis(frame, PERCENT_TICKS, "probability the model gave to values up to the observed one")]
    outside = int(np.sum((found.counts < found.low) | (found.counts > found.high)))
    words = f"{len(found.counts)} bars, {outside} of them outside the band from {low:.0f} to {high:.0f} observations"
    return svg.drawing(frame, marks, f"Histogram of probability integral transforms: {words}.")


def reliability(found: Reliability, promised: Sequence[tuple[float, float]] = ()) -> str:
    """Observed against nominal coverage; ``promised`` are points of a calibrated model's intervals."""
    frame = Frame((0.0, 1.0), (0.0, 1.0))
    shares = [percent(v, 0) for v in PERCENT_TICKS]
    marks = [svg.y_axis(frame, PERCENT_TICKS, "observed coverage", shares)]
    marks.append(svg.band(frame, found.at, found.low, found.high, "band"))
    marks.append(svg.line(frame.x(0.0), frame.y(0.0), frame.x(1.0), frame.y(1.0), "nominal"))
    points = [(frame.x(a), frame.y(b)) for a, b in zip(found.nominal, found.coverage, strict=True)]
    marks.append(svg.path(points, "curve"))
    for (x, y), a, b in zip(points, found.nominal, found.coverage, strict=True):
        marks.append(svg.circle(x, y, 3.2, "dot", f"{percent(a, 0)} intervals hold {percent(b)}"))
    marks += [svg.diamond(frame.x(a), frame.y(b), 6, "other") for a, b in promised]
    marks += [svg.x_axis(frame, PERCENT_TICKS, "nominal coverage of the central interval", shares)]
    middle = int(np.argmin(np.abs(found.nominal - 0.5)))
    words = f"intervals of {percent(found.nominal[middle], 0)} hold {percent(found.coverage[middle])}"
    return svg.drawing(frame, marks, f"Observed against nominal coverage: {words}.")


def sharpness(found: Sharpness) -> str:
    """Interval width against the error of the median."""
    widest = float(np.quantile(found.width, 0.99)) if len(found.width) > 100 else float(found.width.max())
    right = 1.04 * max(widest, float(found.mean_width.max())) or 1.0
    largest = float(np.quantile(found.error, 0.99)) if len(found.error) > 100 else float(found.error.max())
    top = 1.06 * max(largest, float(found.mean_error.max())) or 1.0
    # intervals of almost the same width would all lie at the right edge
    left = 0.9 * float(found.width.min()) if found.width.min() > 0.5 * right else 0.0
    frame = Frame((left, right), (0.0, top), left=_room(svg.ticks(0.0, top, 5)))
    marks = [svg.y_axis(frame, svg.ticks(0.0, top, 5), "absolute error of the median")]
    for width, error in zip(found.width, found.error, strict=True):
        if width <= right and error <= top:
            marks.append(svg.circle(frame.x(width), frame.y(error), 1.8, "faint"))
    reach = min(right, 2.0 * top)
    if reach > left:
        marks.append(svg.line(frame.x(left), frame.y(0.5 * left), frame.x(reach), frame.y(0.5 * reach), "nominal"))
    points = [(frame.x(a), frame.y(b)) for a, b in zip(found.mean_width, found.mean_error, strict=True)]
    marks += [svg.path(points, "curve strong"), *(svg.circle(x, y, 4, "dot strong") for x, y in points)]
    marks += [svg.x_axis(frame, svg.ticks(left, right, 6), "width of the 90% interval")]
    first, last = found.mean_error[0], found.mean_error[-1]
    words = f"mean error {number(first, 3)} where intervals are narrowest, {number(last, 3)} where they are widest"
    return svg.drawing(frame, marks, f"Width of intervals against errors: {words}.")


def coverage(found: Grouping, level: float) -> str:
    """Coverage of each group with its 95% interval, beside that of intervals of constant width."""
    shares = [share for g in found.groups for share in (g.covered.low, g.constant, g.covered.high)]
    low = max(0.0, np.floor(10.0 * min(*shares, level) - 0.3) / 10.0)
    rows = len(found.groups)
    height = 34.0 * rows + 66.0
    frame = Frame(
        (low, 1.0), (rows, 0.0), height=height, left=_names_room([g.label for g in found.groups]), right=66.0, top=20.0
    )
    values = [v for v in svg.ticks(low, 1.0, 5) if v <= 1.0]
    marks = [svg.text(frame.width - 2, 13, "width", "end", "label")]
    marks += [svg.line(frame.x(v), frame.y(0), frame.x(v), frame.y(rows), "grid") for v in values]
    marks.append(svg.line(frame.x(level), frame.y(0), frame.x(level), frame.y(rows), "nominal"))
    for k, group in enumerate(found.groups):
        y, share = frame.y(k + 0.5), group.covered
        title = f"{group.label}: {share.count} rows, coverage {percent(share.value)}"
        marks.append(svg.text(frame.left - 10, y + 4, shortened(group.label, LABEL), "end", "name"))
        marks.append(svg.line(frame.x(share.low), y, frame.x(share.high), y, "whisker"))
        marks.append(svg.diamond(frame.x(group.constant), y, 4.5, "other"))
        marks.append(svg.circle(frame.x(share.value), y, 5, "dot", title))
        marks.append(svg.text(frame.width - 2, y + 4, number(group.width, 3), "end"))
    marks.append(
        svg.x_axis(frame, values, f"share inside the {percent(level, 0)} interval", [percent(v, 0) for v in values])
    )
    words = ", ".join(f"{percent(g.covered.value)} of {g.label}" for g in found.groups)
    return svg.drawing(frame, marks, f"Coverage by {found.by}: {words}.", "rows")


def importance(names: Sequence[str], values: Array, errors: Array, title: str, style: str) -> str:
    """Bars (p,) of mean changes with their standard deviations over the shuffles."""
    rows = len(names)
    right = 1.04 * float((values + errors).max()) or 1.0
    frame = Frame((0.0, right), (rows, 0.0), height=26.0 * rows + 56.0, left=_names_room(names), right=62.0, top=8.0)
    marks = [svg.line(frame.x(v), frame.y(0), frame.x(v), frame.y(rows), "grid") for v in svg.ticks(0.0, right, 5)]
    for k, (name, value, error) in enumerate(zip(names, values, errors, strict=True)):
        y = frame.y(k + 0.5)
        width = frame.x(value) - frame.x(0.0)
        said = f"{name}: {number(value, 3)} ± {number(error, 2)}"
        marks.append(svg.text(frame.left - 10, y + 4, shortened(name, LABEL), "end", "name"))
        marks.append(svg.rect(frame.left, y - 8, width, 16, style, said))
        marks.append(svg.line(frame.x(max(0.0, value - error)), y, frame.x(value + error), y, "whisker thin"))
        marks.append(svg.text(frame.width - 2, y + 4, number(value, 3), "end"))
    marks.append(svg.x_axis(frame, svg.ticks(0.0, right, 5), title))
    words = ", ".join(f"{name} {number(value, 3)}" for name, value in zip(names[:5], values, strict=False))
    return svg.drawing(frame, marks, f"{title}: {words}.", "rows")


def _room(values: Sequence[float]) -> float:
    """Room for the labels of a vertical axis."""
    return max(34.0, 14.0 + max(svg.room(number(value)) for value in values))


def _names_room(names: Sequence[str]) -> float:
    """Room for names beside the rows of a picture."""
    return 14.0 + max(60.0, *(svg.room(shortened(name, LABEL)) for name in names))
