r"""Novelty: how unlike the training rows a row is, as a p-value.

Some training rows are kept as a reference, and others are held out. The score of a row is its mean squared distance to
the nearest reference rows, in ranks of the columns. The p-value of a new row is the conformal one,

.. math:: p = \frac{1 + \#\{i : s_i \ge s\}}{m + 1},

with the scores :math:`s_i` of the ``m`` held-out rows. For rows from the distribution of the training rows it is
uniform: :math:`P(p \le \alpha) \le \alpha`, whatever the distribution and the score.

References
----------
Bates, S., Candes, E., Lei, L., Romano, Y. and Sesia, M. (2023). Testing for outliers with conformal p-values. The
Annals of Statistics, 51(1), 149-178.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array, Booleans, Rows
from diffgbm.data.features import EncodedTable, FeatureTable
from diffgbm.data.kinds import Category, Number
from diffgbm.data.splits import reserve, subsample
from diffgbm.data.structure import INDEPENDENT, Structure

MOST_ROWS, LEAST_ROWS = 512, 32
"""Reference rows; wide tables keep fewer, so that a model file holds at most ``MOST_NUMBERS`` of their numbers."""
MOST_NUMBERS = 1 << 16
MIN_TABLE = 20
"""Rows below which there is no novelty: a p-value could not be small."""
NEIGHBOURS = 5
"""Reference rows whose distances are averaged."""
OTHER_LEVEL, MISSING = 0.5, 0.25
"""Squared distance of two categories, and of a missing value and a known one. Two random ranks have 1/6."""
NEW_LEVEL = 4.0
"""Added to the score for a category that training did not have: the squared distance of two ranges."""
LIMIT = float(np.finfo(np.float32).max) / 4.0
"""Numbers beyond are moved here."""
BLOCK = 2048
"""Rows whose distances are held at a time."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Training rows that new rows are compared with.

    Attributes
    ----------
    values : ndarray of shape (r, p), float32
        Reference rows: one number for each column of the user's table, NaN for missing values.
    scores : ndarray of shape (m,)
        Sorted scores of training rows that are not among them.
    ordered : bool
        Whether the rows had an order in time; the held-out rows are then the last ones.
    """

    values: NDArray[np.float32]
    scores: Array
    ordered: bool = False

    def p_values(self, values: Array, categories: Booleans, unseen: Booleans) -> Array:
        """Return the p-value of each row (n,); arguments as in ``distances``."""
        scores = self.distances(values, categories, unseen)
        above = len(self.scores) - np.searchsorted(self.scores, scores, side="left")
        return np.asarray((1.0 + above) / (len(self.scores) + 1.0))

    def distances(self, values: Array, categories: Booleans, unseen: Booleans) -> Array:
        """Return the score of each row (n,).

        Parameters
        ----------
        values : ndarray of shape (n, p)
            One number for each column of the user's table.
        categories : ndarray of shape (p,)
            Which columns are codes of categories, which are equal or different.
        unseen : ndarray of shape (n, p)
            Which values are categories that training did not have.
        """
        blocks = [self._distances(values[i : i + BLOCK], categories) for i in range(0, len(values), BLOCK)]
        return np.concatenate([np.empty(0), *blocks]) + NEW_LEVEL * unseen.sum(axis=1)

    def _distances(self, values: Array, categories: Booleans) -> Array:
        total = np.zeros((len(values), len(self.values)))
        for j, column in enumerate(self._columns):
            if column is None:
                continue
            new, known = values[:, j], self.values[:, j].astype(np.float64)
            missing = np.isnan(new)[:, None] | np.isnan(known)
            if categories[j]:
                part = OTHER_LEVEL * (new[:, None] != known)
            else:
                with np.errstate(over="ignore", invalid="ignore"):
                    part = (column(new)[:, None] - column(known)) ** 2
            part[missing] = MISSING
            part[np.isnan(new)[:, None] & np.isnan(known)] = 0.0
            total += part
        k = min(NEIGHBOURS, total.shape[1])
        return np.asarray(np.partition(total, k - 1, axis=1)[:, :k].mean(axis=1))

    @cached_property
    def _columns(self) -> tuple[_Ranks | None, ...]:
        """Ranks of each column; ``None`` for a column without values, which is left out."""
        finite = [column[~np.isnan(column)].astype(np.float64) for column in self.values.T]
        return tuple(_Ranks.learn(column) if len(column) else None for column in finite)


@dataclass(frozen=True, eq=False)
class _Ranks:
    """Ranks of numbers among sorted ones, from 0 to 1, and beyond their range in units of the central 90% range."""

    values: Array
    unit: float

    @classmethod
    def learn(cls, values: Array) -> _Ranks:
        ordered = np.sort(values)
        low, high = np.quantile(ordered, [0.05, 0.95])
        span = (high - low) or (ordered[-1] - ordered[0])
        # a constant column: a tenth of its value away is as far as a range
        return cls(ordered, float(span or 0.1 * abs(ordered[0]) or 1.0))

    def __call__(self, x: Array) -> Array:
        x = np.clip(x, -LIMIT, LIMIT)
        rank = np.searchsorted(self.values, x, side="left") + np.searchsorted(self.values, x, side="right")
        below, above = np.maximum(self.values[0] - x, 0.0), np.maximum(x - self.values[-1], 0.0)
        return np.asarray(0.5 * rank / len(self.values) + (above - below) / self.unit)


def learn_reference(
    X: Any, features: FeatureTable, rows: Rows, owner: str, structure: Structure = INDEPENDENT
) -> Reference | None:
    """Choose reference rows from training, and score rows that are not among them; ``None`` for very few rows.

    Rows of one group are on one side. By time, the scores are those of the last rows.

    Parameters
    ----------
    X : array-like or frame
        The user's table.
    features : FeatureTable
        How it is read.
    rows : ndarray of shape (n,)
        Positions in ``X`` of the rows that the model learns from.
    owner : str
        The estimator's name for messages.
    structure : Structure
        Groups and order of these rows.
    """
    n = len(rows)
    if n < MIN_TABLE or structure.n_units(n) < 2:
        return None
    size = int(np.clip(MOST_NUMBERS // max(features.n_features, 1), LEAST_ROWS, MOST_ROWS))
    # a fixed seed: the rows that are kept do not depend on that of the model
    rest, held_out = reserve(n, min(MOST_ROWS, n // 2), 0, structure)
    kept, scored = (_some(part, most) for part, most in ((rest, size), (held_out, MOST_ROWS)))
    if len(kept) == 0 or len(scored) == 0:
        return None
    values, unseen = table_numbers(X, features, owner, rows[np.concatenate([kept, scored])])
    reference = Reference(values[: len(kept)].astype(np.float32), np.zeros(0), structure.order is not None)
    scores = reference.distances(values[len(kept) :], category_columns(features), unseen[len(kept) :])
    return Reference(reference.values, np.sort(scores), reference.ordered)


def category_columns(features: FeatureTable) -> Booleans:
    """Return which columns (p,) of the user's table are categories."""
    return np.array([levels is not None for levels in features.levels], dtype=bool)


def table_numbers(X: Any, features: FeatureTable, owner: str, rows: Rows | None = None) -> tuple[Array, Booleans]:
    """Return one number for each cell of a table (n, p), and which of them are categories that training did not have.

    ``rows`` selects some rows. Of a table that is encoded already, columns other than numbers and categories are NaN.
    """
    if not isinstance(X, EncodedTable):
        values = features.overview(X, owner, rows).astype(np.float64)
        return np.clip(values, -LIMIT, LIMIT), features.unseen(X, owner, rows)
    chosen = slice(None) if rows is None else rows
    values = np.full((len(X.matrix[chosen]), features.n_features), np.nan)
    for j, start in enumerate(X.features.starts):
        if isinstance(features.columns[j], (Number, Category)):
            values[:, j] = X.matrix[chosen, start]
    return np.clip(values, -LIMIT, LIMIT), np.zeros(values.shape, dtype=bool)


def _some(rows: Rows, most: int) -> Rows:
    return rows if len(rows) <= most else rows[subsample(len(rows), most, 1)[0]]


def novelty(reference: Reference, X: Any, features: FeatureTable, owner: str) -> Array:
    """Return the p-values (n,) of the rows of the user's table."""
    values, unseen = table_numbers(X, features, owner)
    if isinstance(X, EncodedTable):
        plain = [isinstance(column, (Number, Category)) for column in features.columns]
        lacking = [j for j, known in enumerate(plain) if not known and not np.isnan(reference.values[:, j]).all()]
        if lacking:
            name = lacking[0] if features.names is None else repr(features.names[lacking[0]])
            raise ValueError(f"X: column {name} of an encoded table cannot be compared; pass the table as it was read.")
    return reference.p_values(values, category_columns(features), unseen)
