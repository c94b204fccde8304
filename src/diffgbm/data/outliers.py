r"""Outliers: a few values so far from all others that no tail explains them, and where they are moved to.

Let :math:`D_1 \ge D_2 \ge \ldots` be the distances from the median. In a tail :math:`P(D > d) \propto d^{-1/\gamma}`
the log spacings :math:`j \log(D_j / D_{j+1})` are independent and exponential with mean :math:`\gamma` (Rényi). So the
gap between the ``m`` farthest values and the rest, measured against the mean of the next ``k`` spacings (Hill's
estimate of :math:`\gamma`), has under *any* such tail, Pareto with infinite mean included, the tail probability

.. math:: p_m = \Bigl(1 + \frac{m \log(D_m / D_{m+1})}{k\,\hat\gamma}\Bigr)^{-k}.

The ``m`` farthest values are outliers if :math:`p_m` is tiny and they hold most of the sum of squares. Each is moved
to the distance that the other values' tail predicts for its rank,
:math:`\log D_i = \log D_{m+1} + \hat\gamma \sum_{j=i}^m 1/j`.

References
----------
.. [1] A. Rényi (1953). On the theory of order statistics. Acta Mathematica Hungarica 4, 191-231.
.. [2] B. M. Hill (1975). A simple general approach to inference about the tail of a distribution. Annals of Statistics
   3(5), 1163-1174.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffgbm._util.errors import warn
from diffgbm._util.types import Array, Booleans, Rows

MIN_ROWS = 20
"""Fewer values do not show a tail."""
MAX_SHARE, MAX_COUNT = 0.01, 19
"""Most outliers: a share of the rows, and fewer than a leaf of the default trees. More rows can be a group that
the features explain."""
SPACINGS = 50
"""Spacings that the tail is estimated from, at most; a fifth of the rows, and at least five."""
MIN_INDEX = 0.15
"""Least tail index: that of normal tails. Tails of rounded values would look lighter than any."""
SIGNIFICANCE = 1e-3
"""Probability that the values of a Pareto tail are taken for outliers, over all possible numbers of them."""
MIN_VARIANCE = 0.2
"""Share of the sum of squares that outliers hold."""
SIGNIFICANCE_OF_NEARLY_ALL, NEARLY_ALL = 1e-2, 0.95
"""The same probability for outliers that hold so much of the sum of squares. They decide every scale and every score,
also where the tail is heavy: an insurance claim in cents, say. No model can learn from them, right or wrong."""
MAX_NAMED = 5
"""Rows that a warning names."""


@dataclass(frozen=True)
class Outliers:
    """Outliers of one column.

    Attributes
    ----------
    rows : ndarray of int
        Their positions, the farthest first.
    moved : ndarray of float
        The values that they are moved to.
    share : float
        Share of the sum of squared distances from the median that they hold.
    """

    rows: Rows
    moved: Array
    share: float


def find_outliers(values: Array) -> Outliers | None:
    """Find the outliers of finite values (n,); ``None`` if there are none."""
    n = len(values)
    if n < MIN_ROWS:
        return None
    most, k = _most(n), int(np.clip(n // 5, 5, SPACINGS))
    # half of the values at a time: a difference of the largest numbers overflows
    centre = float(np.median(values))
    distance = np.abs(0.5 * values - 0.5 * centre)
    top = np.argpartition(distance, n - (most + k + 1))[n - (most + k + 1) :]
    top = top[np.argsort(-distance[top], kind="stable")]
    farthest = distance[top]
    if farthest[-1] <= 0.0 or not np.isfinite(farthest[0]):
        return None
    log = np.log(farthest)
    # j log(D_j / D_(j+1)), j = 1, 2, ...: the tail index is the mean of k of them after the m-th
    spacings = np.arange(1, most + k + 1) * -np.diff(log)
    sums = np.concatenate([[0.0], np.cumsum(spacings)])
    m = np.arange(1, most + 1)
    index = np.maximum((sums[m + k] - sums[m]) / k, MIN_INDEX)
    with np.errstate(under="ignore"):
        p = (1.0 + spacings[m - 1] / (k * index)) ** -float(k)
        squares = (farthest / farthest[0]) ** 2
        total = np.sum((distance / farthest[0]) ** 2)
    shares = np.cumsum(squares)[m - 1] / total
    # one outlier is likelier than many: its part of the significance is half, then a sixth, a twelfth, ...
    surely = (p < SIGNIFICANCE / most) & (shares >= MIN_VARIANCE)
    nearly_all = (p < SIGNIFICANCE_OF_NEARLY_ALL / (m * (m + 1))) & (shares >= NEARLY_ALL)
    found = np.flatnonzero(surely | nearly_all)
    if len(found) == 0:
        return None
    count = int(m[found[-1]])
    rows = top[:count]
    steps = np.cumsum(1.0 / np.arange(count, 0, -1))[::-1]
    moved = 2.0 * np.exp(log[count] + index[count - 1] * steps)
    target = centre + np.sign(values[rows] - centre) * moved
    if not is_continuous(values):  # a response of few values has no values between them
        others = np.unique(np.delete(values, rows))
        target = others[np.abs(target[:, None] - others).argmin(axis=1)]
    return Outliers(rows, target, float(shares[count - 1]))


def is_continuous(values: Array) -> bool:
    """Whether at least half of the values (n,) are distinct."""
    return 2 * len(np.unique(values)) >= len(values)


def farthest(values: Array) -> Rows:
    """Return the rows beyond the largest gap among the farthest of values (n,): those most likely to be outliers."""
    distance = np.abs(values - np.median(values))
    order = np.argsort(-distance, kind="stable")[: _most(len(values)) + 1]
    log = np.log(np.maximum(distance[order], np.finfo(np.float64).tiny))
    return order[: int(np.argmax(np.arange(1, len(order)) * -np.diff(log))) + 1]


def _most(n: int) -> int:
    """Most outliers among ``n`` values."""
    return int(np.clip(MAX_SHARE * n, 1, MAX_COUNT))


def winsorised(values: Array, counted: Booleans | None = None) -> tuple[Array, list[Outliers | None]]:
    """Move the outliers of columns (n, d); return the columns and the outliers of each.

    Only the rows ``counted`` (n,) are looked at. Without outliers the columns are returned as they are.
    """
    rows = None if counted is None else np.flatnonzero(counted)
    found = [find_outliers(column if rows is None else column[rows]) for column in values.T]
    if not any(found):
        return values, found
    out = values.copy()
    for j, outliers in enumerate(found):
        if outliers is not None:
            at = outliers.rows if rows is None else rows[outliers.rows]
            out[at, j] = outliers.moved
            found[j] = Outliers(at, outliers.moved, outliers.share)
    return out, found


def warn_of_outliers(values: Array, found: Sequence[Outliers | None], labels: Any = None) -> None:
    """Warn of the outliers of responses (n, d); ``labels`` (n,) name the rows, their positions otherwise."""
    for j, outliers in enumerate(found):
        if outliers is None:
            continue
        shown = [
            f"{row if labels is None else labels[row]} ({values[row, j]:.6g})"
            for row in outliers.rows[:MAX_NAMED].tolist()
        ]
        more = f" and {len(outliers.rows) - MAX_NAMED} more" if len(outliers.rows) > MAX_NAMED else ""
        column = f" (column {j})" if values.shape[1] > 1 else ""
        warn(
            f"y{column} has {len(outliers.rows)} outlier(s), which hold {100.0 * outliers.share:.4g}% of its variance: "
            f"row {', '.join(shown)}{more}. For the fit they are moved next to the other rows "
            f"({', '.join(f'{value:.4g}' for value in outliers.moved[:MAX_NAMED])}), so that they do not decide every "
            "scale. Correct or remove these rows; if they are right, fit a transformed response such as np.arcsinh(y).",
        )
