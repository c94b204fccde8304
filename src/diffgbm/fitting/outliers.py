"""Responses far from what the features predict: found in out-of-fold residuals, and moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from diffgbm._util.errors import warn
from diffgbm._util.types import Array, Rows
from diffgbm.data.outliers import MAX_NAMED, farthest, is_continuous, winsorised
from diffgbm.diffusion.recipe import RESIDUALIZER_C
from diffgbm.first_stage import MIN_ROWS, FirstStageValues, Task
from diffgbm.first_stage.lightgbm_mean import LightGBMMean

MAX_PASSES = 2
"""How often first-stage models are fitted again: one outlier may hide another."""
SUSPICIOUS = 0.2
"""Share of the squared residuals in one row above which a robust model is asked."""
MANY_VALUES = 20
"""Different values of a response from which one far beyond them is no event of its own."""
ROBUST = {**RESIDUALIZER_C, "objective": "regression_l1"}
"""Parameters of the robust model."""


def without_residual_outliers(y: Array, values: FirstStageValues) -> tuple[Array, Rows]:
    """Move standardised responses (n, d) whose out-of-fold residuals are outliers; return these rows as well.

    A response inside the range of all others can be far from those of similar rows. It would bend smooth first-stage
    models and be most of the noise model's loss. It is moved to the edge of the other rows' residuals. In a response
    of few values, one that was not expected is no outlier but an event of small probability; among counts, one that is
    far beyond all others is an outlier, and is moved to one of them.
    """
    residuals = values.residuals(y)
    # the first rows of a table in the order of time have no out-of-fold values
    moved, found = winsorised(residuals, np.asarray(np.isfinite(residuals).all(axis=1)))
    for j, outliers in enumerate(found):
        if outliers is not None and not is_continuous(y[:, j]) and not _beyond(y[:, j], outliers.rows):
            moved[:, j], found[j] = residuals[:, j], None
    rows = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *(o.rows for o in found if o is not None)]))
    if len(rows) == 0:
        return y, rows
    out = y.copy()
    changed = (moved != residuals) & np.isfinite(residuals)
    out[changed] = (values.location + values.scale * moved)[changed]
    for column, before, outliers in zip(out.T, y.T, found, strict=True):
        if outliers is not None and not is_continuous(before):
            others = np.unique(np.delete(before, outliers.rows))
            column[outliers.rows] = others[np.abs(column[outliers.rows, None] - others).argmin(axis=1)]
    return out, rows


def _beyond(y: Array, rows: Rows) -> bool:
    """Whether the responses of ``rows`` are farther from those of the others (n,) than these are from each other."""
    others = np.delete(y, rows)
    low, high = float(others.min()), float(others.max())
    distance = np.maximum(low - y[rows], y[rows] - high)
    return len(np.unique(others)) >= MANY_VALUES and bool(np.all(distance > high - low))


def fitted_without_outliers(
    task: Task,
    fit: Callable[[Task], tuple[Any, FirstStageValues]],
    may_repeat: Callable[[], bool] = lambda: True,
    suspects: Rows | None = None,
) -> tuple[Any, FirstStageValues, Array, Rows]:
    """Fit first-stage models to a task, again after outliers among the residuals were moved.

    Squared error takes the neighbours of an outlier along, whose residuals then look like its tail. If one row holds a
    share ``SUSPICIOUS`` of the squared residuals, the rows that are farthest from a robust model are moved to its
    predictions, and their residuals are judged by models that were fitted to this.

    Parameters
    ----------
    task : Task
        Rows with standardised responses (n, d).
    fit : callable
        From a task to fitted models and their out-of-fold values.
    may_repeat : callable
        Whether there is time to fit again.
    suspects : ndarray of int, optional
        Rows whose responses are outliers among all responses.

    Returns
    -------
    fitted : object
        What ``fit`` returned last.
    values : FirstStageValues
        Out-of-fold values.
    y : ndarray of shape (n, d)
        The responses that models learn from.
    rows : ndarray of int
        Rows whose responses were moved.
    """
    fitted, values = fit(task)
    everything = np.empty(0, dtype=np.intp)
    if suspects is not None and len(suspects):
        task, everything = replace(task, y=_nearer(task.y, values, suspects)), suspects
        if may_repeat():
            fitted, values = fit(task)
    for _ in range(MAX_PASSES):
        cleaned, rows = without_residual_outliers(task.y, values)
        if not may_repeat():
            task, everything = replace(task, y=cleaned), np.union1d(everything, rows)
            break
        if len(rows) == 0 and (task.n_rows < MIN_ROWS or not _suspicious(values.residuals(task.y))):
            break
        other_fit = fit(replace(task, y=cleaned if len(rows) else _with_farthest_moved(task)))
        if len(rows) == 0:
            cleaned, rows = without_residual_outliers(task.y, other_fit[1])
        if len(rows) == 0:
            break
        task, everything = replace(task, y=cleaned), np.union1d(everything, rows)
        fitted, values = other_fit
    return fitted, values, task.y, everything


def _nearer(y: Array, values: FirstStageValues, rows: Rows) -> Array:
    """Move responses (n, d) of some rows to the 1% and 99% quantiles of all residuals: their size says nothing."""
    residuals = values.residuals(y)
    low, high = np.nanquantile(residuals, [0.01, 0.99], axis=0)
    rows = rows[np.isfinite(residuals[rows]).all(axis=1)]
    out = y.copy()
    inside = np.clip(residuals[rows], low, high)
    out[rows] = values.location[rows] + values.scale[rows] * inside
    return out


def _with_farthest_moved(task: Task) -> Array:
    """Responses (n, d) of a task, those that are farthest from a robust model moved to its predictions."""
    predicted = LightGBMMean(ROBUST).cross_fit(replace(task, repeats=1, tick=lambda: None)).out_of_fold
    out = task.y.copy()
    for j, residuals in enumerate((task.y - predicted).T):
        known = np.flatnonzero(np.isfinite(residuals))
        rows = known[farthest(residuals[known])]
        out[rows, j] = predicted[rows, j]
    return out


def _suspicious(residuals: Array) -> bool:
    """Whether one row holds much of the squared residuals (n, d) of a response."""
    known = residuals[np.isfinite(residuals).all(axis=1)]
    squares = (known - np.median(known, axis=0)) ** 2
    return bool(np.any(squares.max(axis=0) > SUSPICIOUS * np.maximum(squares.sum(axis=0), np.finfo(float).tiny)))


def warn_of_residuals(rows: Rows, observed: Array, moved: Array, labels: Any) -> None:
    """Warn of rows whose responses (n, d) were moved because of their residuals."""
    if len(rows) == 0:
        return
    shown = [f"{labels[row]} (y = {_shown(observed[row])}, moved to {_shown(moved[row])})" for row in rows[:MAX_NAMED]]
    more = f" and {len(rows) - MAX_NAMED} more" if len(rows) > MAX_NAMED else ""
    warn(
        f"y is far from what X predicts, compared with all other rows, in {len(rows)} row(s): row "
        f"{', '.join(shown)}{more}. They are moved to the edge of the other rows' residuals for the fit, so that they "
        "do not decide it. Correct or remove these rows, or add the feature that explains them.",
    )


def _shown(values: Array) -> str:
    return " and ".join(f"{value:.6g}" for value in values)
