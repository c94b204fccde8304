r"""How the rows of a table are divided, in words, and hints about dependence that nobody mentioned.

Two things make scores too good. Rows that agree in ``X`` may be of one entity, and consecutive rows may resemble each
other beyond what ``X`` explains: they come in the order of time, or rows of one entity follow each other. The second is
measured by the lag-1 autocorrelation of residuals,

.. math:: r = \frac{\sum_i e_i e_{i+1}}{\sum_i e_i^2}

which is within a few :math:`1/\sqrt n` of zero for independent rows. Residuals are those of trees fitted to the other
half of the rows, drawn at random. A table that is sorted by its response or by a feature has no order in time.
"""

from __future__ import annotations

from dataclasses import dataclass

import lightgbm as lgb
import numpy as np

from diffgbm._util.types import Array, Booleans
from diffgbm.data.records import CHANCE, Records, pairs, pairs_by_chance, row_labels
from diffgbm.data.structure import GivenStructure

MIN_ROWS = 100
"""Rows below which the autocorrelation is too uncertain to speak of."""
MOST_ROWS = 4000
"""Consecutive rows that the autocorrelation is computed of, at most."""
MIN_CORRELATION = 0.2
"""Least autocorrelation that is worth a hint."""
ERRORS = 5.0
"""Standard errors that an autocorrelation must be above zero."""
SORTED_SHARE = 0.95
"""A response that rises, or falls, in so large a share of its steps is sorted."""
MIN_LEFT = 0.02
"""Share of the variance that residuals must have to be more than what trees miss: 0.003 in the tables energy and yacht,
which are designed experiments in order."""
MANY_VALUES = 20
"""A table that is sorted by a column of so many values has that order and no other."""
EVEN_SHARE = 0.5
"""A column whose most frequent positive step is so large a share of its steps counts the rows."""
MIN_REPEATED = 0.5
"""Share of rows that repeat another in ``X``, from which they repeat often."""


@dataclass(frozen=True)
class Division:
    """How the rows are divided; prints as sentences.

    Attributes
    ----------
    repetition : Records or None
        How rows repeat, or which groups the caller named.
    by_time : bool
        Whether the caller gave times.
    was_sorted : bool
        Whether rows came in the order of time.
    hint : str
        What the caller may have forgotten to say.
    """

    repetition: Records | None = None
    by_time: bool = False
    was_sorted: bool = True
    hint: str = ""

    def __str__(self) -> str:
        said = [str(self.repetition)] if self.repetition is not None and self.repetition.kind != "distinct" else []
        if self.by_time:
            said.append(
                "Rows are divided by time: models are judged on rows later than those they learned from, so that "
                "scores are those of the last part of the table."
            )
            if not self.was_sorted:
                said.append("The rows were not sorted by time; they were put in its order.")
        return " ".join([*said, self.hint] if self.hint else said)


GROUPS_ARE_WHOLE = "No split divides a group, so that scores are those of new groups."
"""What is said of groups that nobody counts."""
NOT_DIVIDED = Division()
"""No division."""


def divided_rows(
    X: Array, y: Array, repetition: Records, given: GivenStructure, later: str = "", period: str = ""
) -> Division:
    """Describe the division of rows ``X`` (n, p) with responses ``y`` (n, d).

    ``later`` says that later rows are harder to predict; ``period``, otherwise, that nobody knows whether they are.
    """
    by_time = given.order is not None
    hint = ""
    if given.labels is None and not by_time:
        hint = later or " ".join(filter(None, [period, serial_hint(X, y) or repetition_hint(X, repetition)]))
    return Division(repetition, by_time, given.sorted, hint)


def repetition_hint(X: Array, repetition: Records) -> str:
    """Return a hint if identical rows of ``X`` repeat often, and more often than independent columns would."""
    n, distinct = repetition.n_rows, repetition.n_distinct
    if n - distinct < MIN_REPEATED * n or repetition.kind in ("stacked", "together", "groups"):
        return ""
    if repetition.kind == "independent" and pairs(np.bincount(row_labels(X))) <= CHANCE * pairs_by_chance(X):
        return ""
    return (
        f"Hint: identical rows of X repeat often ({distinct:,} of {n:,} are different). If rows belong to customers, "
        "devices or other things that new data will not contain, pass groups= to fit (on the command line --groups)."
    )


def serial_hint(X: Array, y: Array) -> str:
    """Return a hint if the residuals of consecutive rows are strongly correlated."""
    r = serial_correlation(X, y)
    if r == 0.0:
        return ""
    return (
        f"Hint: consecutive rows have similar residuals (lag-1 autocorrelation {r:.2f}), and scores of rows drawn at "
        "random are too good then. If rows come in the order of time, pass time= to fit; if rows of one customer or "
        "device follow each other, pass groups= (on the command line --time, --groups)."
    )


def serial_correlation(X: Array, y: Array) -> float:
    """Return the lag-1 autocorrelation of residuals if it is strong, else 0.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Encoded rows, in the order of the table.
    y : ndarray of shape (n, d)
        Responses; the most correlated one counts.
    """
    rows = slice(0, MOST_ROWS)
    responses = y[rows]
    if len(responses) < MIN_ROWS:
        return 0.0
    # most tables end here: nothing of them is copied, and nothing is fitted to them
    suspects = [column for column in responses.T if _is_strong(lag_correlation(column), len(column))]
    suspects = [column for column in suspects if not is_sorted(column)]
    if not suspects:
        return 0.0
    some = np.asarray(X[rows], dtype=np.float64)
    features = some[:, ~counting_columns(some)]
    if any(is_sorted(column) and len(np.unique(column)) >= MANY_VALUES for column in features.T):
        return 0.0  # the order of the rows is that of a feature, and what trees miss of it is no sign of time
    left = [(column, _residuals(features, column)) for column in suspects]
    # where next to nothing is left, it is what trees miss of a smooth function: designed experiments are in order
    found = [lag_correlation(residuals) for column, residuals in left if residuals.var() > MIN_LEFT * column.var()]
    return max((r for r in found if _is_strong(r, len(some))), default=0.0)


def lag_correlation(values: Array) -> float:
    """Return the correlation of values (n,) with those of the row before; 0 for a constant."""
    centred = values - values.mean()
    total = float(np.sum(centred**2))
    return float(np.sum(centred[1:] * centred[:-1]) / total) if total > 0.0 else 0.0


def _is_strong(r: float, n: int) -> bool:
    return r > max(MIN_CORRELATION, ERRORS / np.sqrt(n))


def is_sorted(values: Array) -> bool:
    """Whether values (n,) rise, or fall, in nearly all steps."""
    steps = np.diff(values)
    return bool(max(np.mean(steps >= 0.0), np.mean(steps <= 0.0)) >= SORTED_SHARE)


def counting_columns(X: Array) -> Booleans:
    """Which columns of rows (n, p) count the rows: they rise all the time, mostly by one step.

    Trees would interpolate in them between neighbours in time, and leave no correlation.
    """
    counting = np.zeros(X.shape[1], dtype=bool)
    for j, column in enumerate(X.T):
        steps = np.diff(column)
        if np.all(steps >= 0.0) and np.any(steps > 0.0):
            _, counts = np.unique(steps[steps > 0.0], return_counts=True)
            counting[j] = counts.max() >= EVEN_SHARE * len(steps)
    return counting


def _residuals(X: Array, y: Array) -> Array:
    """Residuals (n,) of small trees fitted to the other half of the rows."""
    if X.shape[1] == 0:
        return y - y.mean()
    params = {"num_leaves": 15, "min_data_in_leaf": 5, "verbosity": -1, "num_threads": 1, "deterministic": True}
    half = np.random.default_rng(0).permutation(len(y)) % 2 == 0
    out = np.empty(len(y))
    for train in (half, ~half):
        booster = lgb.train(params, lgb.Dataset(X[train], y[train] - y.mean()), 60)
        out[~train] = y[~train] - y.mean() - booster.predict(X[~train], num_threads=1)
    return out
