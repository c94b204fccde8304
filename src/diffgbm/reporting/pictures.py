"""Pictures of a report as SVG, drawn from the numbers of ``metrics.diagnostics`` and of the report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffgbm._util.types import Array
from diffgbm.metrics.diagnostics import (
    EventReliability,
    ObservedAgainstPredicted,
    PitHistogram,
    Reliability,
    WidthAgainstError,
)
from diffgbm.reporting import svg
from diffgbm.reporting.formatting import number, percent, shortened
from diffgbm.reporting.groups import Grouping
from diffgbm.reporting.importance import Effect
from diffgbm.reporting.svg import Frame

PERCENT_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SPREAD = 30.0
"""Ratio of high to low values from which on the axes of observations and predictions are logarithmic."""
MIXED = 0.5
"""Absolute direction of an effect below which it is neither increasing nor decreasing."""
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


def centre(result: ObservedAgainstPredicted) -> str:
    """Observations against predicted medians, on logarithmic axes if all are positive and spread widely."""
    everything = np.concatenate([result.predicted, result.observed])
    log = bool(everything.min() > 0.0) and float(np.quantile(everything, 0.99) / np.quantile(everything, 0.01)) > SPREAD
    scale = np.log10 if log else np.asarray
    # a few extreme values would take most of the picture
    ends = np.quantile(scale(everything), [0.003, 0.997] if len(everything) > 200 else [0.0, 1.0])
    margin = 0.05 * (ends[1] - ends[0]) or 0.5 * max(1.0, abs(float(ends[0])))
    low, high = float(ends[0]) - margin, float(ends[1]) + margin
    values = svg.log_ticks(low, high) if log else svg.ticks(low, high, 6)
    labels = [number(10.0**value if log else value) for value in values]
    left = max(34.0, 14.0 + max((svg.text_width(label) for label in labels), default=0.0))
    frame = Frame((low, high), (low, high), height=340.0, left=left)
    marks = [svg.y_axis(frame, values, "observed", labels)]
    for predicted, observed in zip(scale(result.predicted), scale(result.observed), strict=True):
        if low <= predicted <= high and low <= observed <= high:
            marks.append(svg.circle(frame.x(float(predicted)), frame.y(float(observed)), 1.8, "faint"))
    marks.append(svg.line(frame.x(low), frame.y(low), frame.x(high), frame.y(high), "nominal"))
    groups = zip(scale(result.group_predicted), scale(result.group_observed), strict=True)
    points = [(frame.x(float(np.clip(a, low, high))), frame.y(float(np.clip(b, low, high)))) for a, b in groups]
    marks += [svg.path(points, "curve strong"), *(svg.circle(x, y, 4, "dot strong") for x, y in points)]
    marks.append(svg.x_axis(frame, values, "predicted median" + (", logarithmic axes" if log else ""), labels))
    first, last = result.group_predicted[0], result.group_predicted[-1]
    description = (
        f"where the median is about {number(first, 3)}, half of the observations are below "
        f"{number(result.group_observed[0], 3)}; where it is about {number(last, 3)}, below "
        f"{number(result.group_observed[-1], 3)}"
    )
    return svg.drawing(frame, marks, f"Observed against predicted: {description}.")


def event(result: EventReliability) -> str:
    """How often the threshold was exceeded against the predicted probability, with 95% intervals."""
    frame = Frame((0.0, 1.0), (0.0, 1.0), height=280.0)
    shares = [percent(v, 0) for v in PERCENT_TICKS]
    marks = [svg.y_axis(frame, PERCENT_TICKS, "happened", shares)]
    marks.append(svg.line(frame.x(0.0), frame.y(0.0), frame.x(1.0), frame.y(1.0), "nominal"))
    points = [(frame.x(float(p)), h) for p, h in zip(result.probability, result.happened, strict=True)]
    marks.append(svg.path([(x, frame.y(h.value)) for x, h in points], "curve"))
    for (x, share), p in zip(points, result.probability, strict=True):
        title = f"predicted {percent(float(p))}, happened in {percent(share.value)} of {share.count} rows"
        marks.append(svg.line(x, frame.y(share.low), x, frame.y(share.high), "whisker"))
        marks.append(svg.circle(x, frame.y(share.value), 4, "dot", title))
    marks.append(svg.x_axis(frame, PERCENT_TICKS, "predicted probability", shares))
    text = "; ".join(
        f"predicted {percent(float(p), 0)}, happened {percent(h.value, 0)}"
        for p, h in zip(result.probability, result.happened, strict=True)
    )
    return svg.drawing(
        frame, marks, f"Reliability of the probability of values above {number(result.threshold)}: {text}."
    )


def effect(result: Effect) -> str:
    """Mean changes of median (dots) and interquartile range (diamonds) when a feature takes values of each group."""
    rows = len(result.groups)
    ends = [
        (mean - 1.96 * np.nan_to_num(error), mean + 1.96 * np.nan_to_num(error))
        for g in result.groups
        for mean, error in ((g.median, g.median_error), (g.iqr, g.iqr_error))
    ]
    low, high = min(0.0, *(a for a, _ in ends)), max(0.0, *(b for _, b in ends))
    margin = 0.05 * (high - low) or 1.0
    frame = Frame(
        (low - margin, high + margin),
        (rows, 0.0),
        height=38.0 * rows + 56.0,
        left=_name_margin([g.label for g in result.groups]),
        right=20.0,
        top=8.0,
    )
    values = svg.ticks(low - margin, high + margin, 5)
    marks = [svg.line(frame.x(v), frame.y(0), frame.x(v), frame.y(rows), "grid") for v in values]
    marks.append(svg.line(frame.x(0.0), frame.y(0), frame.x(0.0), frame.y(rows), "nominal"))
    for k, (group, median, iqr) in enumerate(zip(result.groups, ends[::2], ends[1::2], strict=True)):
        y = frame.y(k + 0.5)
        marks.append(svg.text(frame.left - 10, y + 4, shortened(group.label, LABEL), "end", "name"))
        title = f"{group.label}: median {_signed(group.median)}, interquartile range {_signed(group.iqr)}"
        marks.append(svg.line(frame.x(median[0]), y - 6, frame.x(median[1]), y - 6, "whisker"))
        marks.append(svg.circle(frame.x(group.median), y - 6, 5, "dot", title))
        marks.append(svg.line(frame.x(iqr[0]), y + 7, frame.x(iqr[1]), y + 7, "whisker thin"))
        marks.append(svg.diamond(frame.x(group.iqr), y + 7, 4.5, "other"))
    marks.append(svg.x_axis(frame, values, "change of the prediction"))
    description = ", ".join(f"{_signed(g.median)} for {g.label}" for g in result.groups)
    return svg.drawing(frame, marks, f"Effect of {result.by} on the median: {description}.", "rows")


def _signed(value: float) -> str:
    return ("+" if value > 0.0 else "") + number(value, 3)


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


def importance(
    names: Sequence[str], values: Array, errors: Array, title: str, style: str, directions: Array | None = None
) -> str:
    """Bars (p,) of mean changes with their standard errors, and arrows of the directions of the effects."""
    rows = len(names)
    right = 1.04 * float((values + errors).max()) or 1.0
    frame = Frame((0.0, right), (rows, 0.0), height=26.0 * rows + 56.0, left=_name_margin(names), right=84.0, top=8.0)
    arrows = [arrow(d) for d in (np.full(rows, np.nan) if directions is None else directions)]
    marks = [svg.line(frame.x(v), frame.y(0), frame.x(v), frame.y(rows), "grid") for v in svg.ticks(0.0, right, 5)]
    for k, (name, value, error) in enumerate(zip(names, values, errors, strict=True)):
        y = frame.y(k + 0.5)
        sign, words = arrows[k] if value > 0.0 else ("", "no effect")
        width = frame.x(value) - frame.x(0.0)
        tooltip = f"{name}: {number(value, 3)} ± {number(error, 2)}, {words}"
        marks.append(svg.text(frame.left - 10, y + 4, shortened(name, LABEL), "end", "name"))
        marks.append(svg.rect(frame.left, y - 8, width, 16, style, tooltip))
        marks.append(svg.line(frame.x(max(0.0, value - error)), y, frame.x(value + error), y, "whisker thin"))
        marks.append(svg.text(frame.width - 20, y + 4, number(value, 3), "end"))
        marks.append(svg.text(frame.width - 8, y + 5, sign, "middle", "arrow"))
    marks.append(svg.x_axis(frame, svg.ticks(0.0, right, 5), title))
    description = ", ".join(
        f"{name} {number(value, 3)} ({words})"
        for name, value, (_, words) in zip(names[:5], values, arrows, strict=False)
    )
    return svg.drawing(frame, marks, f"{title}: {description}.", "rows")


def arrow(direction: float) -> tuple[str, str]:
    """Symbol and words of the direction of an effect."""
    if np.isnan(direction):
        return "", "no order"
    if abs(direction) < MIXED:
        return "\N{LEFT RIGHT ARROW}", "mixed"
    return ("\N{UPWARDS ARROW}", "increases") if direction > 0.0 else ("\N{DOWNWARDS ARROW}", "decreases")


def _axis_margin(values: Sequence[float]) -> float:
    """Margin for the labels of a vertical axis."""
    return max(34.0, 14.0 + max(svg.text_width(number(value)) for value in values))


def _name_margin(names: Sequence[str]) -> float:
    """Margin for names beside the rows of a picture."""
    return 14.0 + max(60.0, *(svg.text_width(shortened(name, LABEL)) for name in names))
