r"""Whether rows are harder to predict from earlier rows than from rows around them: a measurement, in words.

A table with dates that is divided at random is scored on rows between its training rows in time. Whoever predicts the
next month gets other scores. Small trees measure how different: on the last fifth of the rows in time,

.. math:: \frac{\sum_i |y_i - m_{\mathrm{earlier}}(x_i)|}{\sum_i |y_i - m_{\mathrm{around}}(x_i)|}

compares means learned from the first four fifths with cross-fitted means learned from as many of all rows, in normal
scores of the response. It is near one, or below, if rows are independent of their time.
"""

from __future__ import annotations

from collections.abc import Mapping

import lightgbm as lgb
import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from diffgbm._util.types import Array, Booleans
from diffgbm.data.dates import Dates
from diffgbm.data.features import FeatureTable
from diffgbm.data.kinds import Number
from diffgbm.data.row_numbers import are_years

MIN_ROWS, MOST_ROWS = 100, 2000
"""Rows below which the ratio is too uncertain to speak of, and last rows in time that it is computed of, at most."""
MIN_TIMES = 10
"""Different times that a column of them must have."""
FOLDS = 5
"""Parts of the cross-fitted means."""
RATIO, ERRORS = 1.35, 3.0
"""Ratio from which a user is warned, and standard errors by which later rows must have larger errors. In 480 tables of
rows that are independent of their time, with up to 2,000 rows, the largest ratio was 1.28."""
PARAMS = {"num_leaves": 31, "min_data_in_leaf": 3, "num_threads": 1, "verbosity": -1}
ROUNDS = 100


def later_hint(X: Array, y: Array, times: Mapping[str, Array]) -> str:
    """Say which column of times makes later rows much harder to predict; nothing if none does.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Encoded rows.
    y : ndarray of shape (n, d)
        Responses; the one that is hardest to predict counts.
    times : dict
        Times (n,) of the rows by the names of their columns; missing ones are NaN.
    """
    ratios = {name: later_error(X, y, when) for name, when in times.items()}
    name = max(ratios, key=lambda name: ratios[name], default="")
    if not name or ratios[name] < RATIO:
        return ""
    return (
        f"Rows are divided at random, but later rows are harder to predict: learned from rows that are earlier by "
        f"{name!r}, the last fifth has {ratios[name]:.1f} times the error that it has beside rows of its own time. If "
        f"you will predict rows later than these, scores and intervals are too good: pass time={name!r} to fit (on the "
        "command line --time)."
    )


def period_note(times: Mapping[str, Array]) -> str:
    """Say of which rows scores are if rows with ``times`` (by the names of their columns) are divided at random."""
    if not times:
        return ""
    name = next(iter(times))
    return (
        "Rows are divided at random: scores and intervals are those of other rows of the same period. If you will "
        f"predict rows that are later by {name!r}, pass time={name!r} to fit (on the command line --time)."
    )


def time_columns(features: FeatureTable, X: Array) -> dict[str, Array]:
    """Return the times (n,) of encoded rows (n, p) by the names of their columns: dates, and numbers that are years."""
    found = {}
    for name, how, start in zip(features.names or (), features.columns, features.starts, strict=False):
        is_date = isinstance(how, Dates) and how.parts[:1] == ("elapsed days",)
        if is_date or (isinstance(how, Number) and name.lower() == "year" and are_years(X[:, start])):
            found[name] = X[:, start].astype(np.float64)
    return found


def later_error(X: Array, y: Array, when: Array) -> float:
    """Return the largest ratio of errors over the responses, 1 where too little is known or it may be chance.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Encoded rows.
    y : ndarray of shape (n, d)
        Responses.
    when : ndarray of shape (n,)
        Times; rows without one do not count.
    """
    rows = np.argsort(when, kind="stable")[: np.isfinite(when).sum()][-MOST_ROWS:]
    if len(rows) < MIN_ROWS or len(np.unique(when[rows])) < MIN_TIMES:
        return 1.0
    later = _last_fifth(when[rows])
    some = np.asarray(X[rows], dtype=np.float64)
    # normal scores: in skewed responses a few rows would decide
    scores = ndtri((rankdata(y[rows], axis=0) - 0.5) / len(rows))
    return max((_ratio(some, column, later) for column in scores.T), default=1.0)


def _last_fifth(when: Array) -> Booleans:
    """Return which rows are of the last fifth of sorted times (n,); rows of one time are not divided."""
    after = when > when[-1 - len(when) // 5]
    return np.asarray(after if after.any() else when == when[-1])


def _ratio(X: Array, y: Array, later: Booleans) -> float:
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
    around = np.zeros(len(y))
    for k in range(FOLDS):
        held_out = later & (fold == k)
        around[held_out] = _predicted(X, y, fold != k, held_out)
    own = np.abs(y - around)[later]
    other = np.abs(y[later] - _predicted(X, y, ~later, later))
    error = np.std(other - own) / np.sqrt(len(own))
    return float(other.sum() / own.sum()) if np.mean(other - own) > ERRORS * error and own.any() else 1.0


def _predicted(X: Array, y: Array, train: Booleans, rows: Booleans) -> Array:
    """Learn a mean from the rows ``train`` (n,) and predict others."""
    mean = y[train].mean()
    booster = lgb.train({**PARAMS, "deterministic": True}, lgb.Dataset(X[train], y[train] - mean), ROUNDS)
    return np.asarray(booster.predict(X[rows], num_threads=1)) + mean
