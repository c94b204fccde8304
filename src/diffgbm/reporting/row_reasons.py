"""Why chosen rows of a report have the predictions that they have: Shapley values of the median and of the width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from diffgbm._util.errors import kept_warnings
from diffgbm._util.types import Array
from diffgbm.distributions import Distribution
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.reporting.formatting import number, percent, shortened
from diffgbm.reporting.markup import note, section, table
from diffgbm.reporting.rows import Rows
from diffgbm.reporting.scores import MAIN
from diffgbm.reporting.shown import random_rows

PREDICTIONS = 500
"""Predictions for each row that is explained, about."""
BACKGROUND = 200
"""Rows of the report that a row is compared with, at most."""
MOST_FEATURES = 100
"""A table of more features is not explained: it would take more predictions than all else in the report."""
LINES = 8
"""Features that the table of a row names; the others are added up."""


@dataclass(frozen=True, eq=False)
class RowReasons:
    """Shapley values of some rows.

    Attributes
    ----------
    positions : tuple of int
        The rows.
    chosen : tuple of int
        Those of them that the caller chose.
    median, width : ndarray of shape (k, p, d)
        Parts of the features in the median, and in the width of the interval.
    average_median, average_width : ndarray of shape (d,)
        Averages that the parts are added to.
    background : int
        Rows that the averages are those of.
    """

    positions: tuple[int, ...]
    chosen: tuple[int, ...]
    median: Array
    width: Array
    average_median: Array
    average_width: Array
    background: int


def row_reasons(
    model: DistributionalRegressor, rows: Rows, named: Sequence[int], chosen: Sequence[int], seed: int
) -> RowReasons | None:
    """Explain rows, compared with random rows of the report; ``None`` where the model or the table is not explained."""
    positions = tuple(dict.fromkeys((*named, *chosen)))
    if rows.features.n_features > MOST_FEATURES:
        return None
    others = np.sort(random_rows(len(rows), seed)[:BACKGROUND])
    try:
        with kept_warnings():  # scoring the rows has issued all warnings
            found = model.explain_rows(
                rows.take(np.array(positions)), of=_both, background=rows.take(others), max_evals=PREDICTIONS, seed=seed
            )
    except (ValueError, TypeError, AttributeError, NotImplementedError):  # models that have no answer
        return None
    values, base = np.asarray(found.values), np.asarray(found.base_values)[0]
    d = values.shape[2] // 2
    return RowReasons(positions, tuple(chosen), values[:, :, :d], values[:, :, d:], base[:d], base[d:], len(others))


def _both(distribution: Distribution) -> Array:
    """Medians and widths of intervals (n, 2d)."""
    ends = distribution.interval(MAIN)
    n = len(distribution)
    return np.column_stack([distribution.median().reshape(n, -1), (ends[..., 1] - ends[..., 0]).reshape(n, -1)])


def reasons_section(
    reasons: RowReasons | None, rows: Rows, names: dict[str, int], response: int, unit: str, key: str
) -> str:
    """Show for each row which features move its median and its width; ``names`` are those of some rows."""
    if reasons is None:
        return ""
    words = {position: name for name, position in reversed(names.items())}
    shown = dict.fromkeys((*names.values(), *reasons.chosen))
    tables = "".join(_row(reasons, rows, reasons.positions.index(i), words.get(i, ""), response) for i in shown)
    intro = (
        f"How far each feature of a row moves the median of {escape(unit)}, and the width of the "
        f"{percent(MAIN, 0)} interval, from the averages of {reasons.background:,} rows "
        f"(median {number(float(reasons.average_median[response]))}, "
        f"width {number(float(reasons.average_width[response]))}). These Shapley values add up to the difference from "
        "the average. They describe the model, not causes; features with the same information share their part."
    )
    return section(f"reasons-{key}", "Why these predictions", note(intro) + tables)


def _row(reasons: RowReasons, rows: Rows, k: int, word: str, response: int) -> str:
    """Make the table of one row, the features that move it most first."""
    position = reasons.positions[k]
    median, width = reasons.median[k, :, response], reasons.width[k, :, response]
    sizes = [np.abs(part) / max(float(np.abs(part).sum()), np.finfo(float).tiny) for part in (median, width)]
    order = np.argsort(-np.maximum(*sizes), kind="stable")
    lines = [
        [
            f"{shortened(rows.names[f], 40)} = {shortened(rows.text(position, int(f)), 40)}",
            _signed(median[f]),
            _signed(width[f]),
        ]
        for f in order[:LINES]
    ]
    if len(order) > LINES:
        rest = order[LINES:]
        lines.append([f"{len(rest)} other features", _signed(median[rest].sum()), _signed(width[rest].sum())])
    lines.append(
        [
            "together: this row",
            number(float(reasons.average_median[response] + median.sum())),
            number(float(reasons.average_width[response] + width.sum())),
        ]
    )
    label = f", {rows.labels[position]}" if rows.labels is not None else ""
    title = f"{word.capitalize()} row: " if word else ""
    caption = f"{title}row {position + 1}{shortened(label, 60)}"
    return table(["", "median", "width"], lines, caption, plain=True)


def _signed(value: float) -> str:
    text = number(float(value), 3)
    return f"+{text}" if value > 0.0 else text
