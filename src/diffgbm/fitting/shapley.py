r"""Shapley values: which column moved a prediction how far from the average prediction.

With :math:`v(S)` the mean prediction of rows that have the columns ``S`` of the row to explain and all others of a
background row, the Shapley value of column ``j`` is the mean of :math:`v(S \cup j) - v(S)` over all orders in which the
columns may be replaced. The values of a row add up to its prediction less the mean prediction of the background.

With few columns all :math:`2^p` sets are evaluated. With more, columns are replaced in random orders, each also in
reverse: the values still add up exactly, because each order leads from the background row to the row.

References
----------
Lundberg, S. M. and Lee, S.-I. (2017). A unified approach to interpreting model predictions. Advances in Neural
Information Processing Systems, 30.

Mitchell, R., Cooper, J., Frank, E. and Holmes, G. (2022). Sampling permutations for Shapley value estimation. Journal
of Machine Learning Research, 23(43), 1-46.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np

from diffgbm._util.types import Array, Booleans, Rows

Function = Callable[[Array], Array]
"""From encoded rows (m, width) to numbers (m, k)."""
LEAST_BACKGROUND = 5
"""Background rows that are used at least, if there are as many."""
AT_ONCE = 16384
"""Rows that are evaluated together; those of one row to explain are never divided."""


@dataclass(frozen=True)
class Columns:
    """Columns of the user's table as ranges of the columns of the encoded rows.

    Attributes
    ----------
    starts, widths : tuple of int
        First column, and number of columns, of each.
    """

    starts: tuple[int, ...]
    widths: tuple[int, ...]

    @property
    def used(self) -> list[int]:
        """Columns that the encoded rows hold."""
        return [j for j, width in enumerate(self.widths) if width]

    def spread(self, chosen: Booleans, width: int) -> Booleans:
        """Turn a choice (m, used) of columns into one of encoded columns (m, width)."""
        out = np.zeros((len(chosen), width), dtype=bool)
        for i, j in enumerate(self.used):
            out[:, self.starts[j] : self.starts[j] + self.widths[j]] = chosen[:, i : i + 1]
        return out


@dataclass(frozen=True)
class Plan:
    """Which mixtures of a row and background rows are evaluated, and how they are added up.

    Attributes
    ----------
    chosen : ndarray of shape (m, p)
        Columns that come from the row.
    background : ndarray of shape (m,)
        Background row that the others come from.
    weights : ndarray of shape (p, m)
        Weights of the predictions in each column's value.
    """

    chosen: Booleans
    background: Rows
    weights: Array


def shapley_plan(n_columns: int, n_background: int, max_evals: int, seed: int) -> Plan:
    """Plan all sets of columns if ``max_evals`` allows it, else as many random orders as it allows."""
    if n_background * 2**n_columns <= max(max_evals, 2 * n_background):
        return _all_sets(n_columns, n_background)
    pairs = max(1, max_evals // (2 * n_columns * n_background))
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(n_columns) for _ in range(n_background * pairs)]
    both = [order for each in orders for order in (each, each[::-1])]
    return _orders(both, np.repeat(np.arange(n_background), 2 * pairs), n_background)


def background_size(n_columns: int, n_rows: int, max_evals: int) -> int:
    """Return how many background rows ``max_evals`` predictions of each row allow: two orders for each of them."""
    return min(n_rows, max(LEAST_BACKGROUND, max_evals // (2 * max(n_columns, 1))))


def _all_sets(p: int, n_background: int) -> Plan:
    sets = (np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(bool)
    size = sets.sum(axis=1)
    orders = [factorial(s) * factorial(p - 1 - s) / factorial(p) for s in range(p)]
    gain = np.array([0.0, *orders])[size]  # of a set with the column
    loss = np.array([*orders, 0.0])[size]  # of a set without it
    weights = np.where(sets.T, gain, -loss) / n_background
    return Plan(
        np.tile(sets, (n_background, 1)), np.repeat(np.arange(n_background), len(sets)), np.tile(weights, n_background)
    )


def _orders(orders: Sequence[Rows], background: Rows, n_background: int) -> Plan:
    p, n = len(orders[0]), len(orders)
    rank = np.argsort(np.array(orders), axis=1)
    # after k replacements the first k columns of the order come from the row
    chosen = rank[:, None, :] < np.arange(p + 1)[None, :, None]
    weights = np.zeros((p, n, p + 1))
    each = np.arange(n)
    for k in range(p):
        column = np.array([order[k] for order in orders])
        weights[column, each, k + 1] += 1.0 / n
        weights[column, each, k] -= 1.0 / n
    return Plan(chosen.reshape(-1, p), np.repeat(background, p + 1), weights.reshape(p, -1))


def shapley_values(
    function: Function, X: Array, background: Array, columns: Columns, max_evals: int, seed: int
) -> tuple[Array, Array]:
    """Compute the Shapley values of a function of encoded rows.

    Parameters
    ----------
    function : callable
        From encoded rows (m, width) to numbers (m, k), independently for each row.
    X, background : ndarray of shape (n, width) and (b, width)
        Rows to explain, and rows that stand for "not known".
    columns : Columns
        The columns that share the credit.
    max_evals : int
        Predictions for each row, about.
    seed : int
        Seed of the orders; all rows have the same.

    Returns
    -------
    values : ndarray of shape (n, p, k)
        Shapley values.
    base : ndarray of shape (k,)
        Mean prediction of the background.
    """
    used, width = columns.used, X.shape[1]
    at_background = function(background)
    base = at_background.mean(axis=0)
    values = np.zeros((len(X), len(columns.widths), at_background.shape[1]))
    if not used:
        return values, base
    plan = shapley_plan(len(used), len(background), max_evals, seed)
    # each mixture is predicted once; with all columns from the row it is the row, whatever the background
    keys = np.column_stack([np.where(plan.chosen.all(axis=1), 0, plan.background), plan.chosen])
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    masks, others = columns.spread(plan.chosen[first], width), background[plan.background[first]]
    weights = np.zeros((len(used), len(first)))
    np.add.at(weights.T, inverse.ravel(), plan.weights.T)
    at_once = max(1, AT_ONCE // len(first))
    for start in range(0, len(X), at_once):
        rows = X[start : start + at_once]
        mixed = np.where(masks, rows[:, None, :], others).reshape(-1, width)
        predicted = function(mixed).reshape(len(rows), len(first), -1)
        values[start : start + at_once, used] = np.einsum("pm,imk->ipk", weights, predicted)
    return values, base
