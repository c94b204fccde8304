r"""Linear pools: weights that minimise the CRPS of a mixture, exactly.

The CRPS of a mixture :math:`\sum_i w_i F_i` is a quadratic function of its weights,

.. math:: \sum_i w_i\, \mathrm E|X_i - y| - \tfrac12 \sum_{ij} w_i w_j\, \mathrm E|X_i - X_j|,

and convex on the simplex.

References
----------
Gneiting, T. and Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and estimation. Journal of the
American Statistical Association 102, 359-378.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from diffgbm._util.types import Array

MIN_WEIGHT = 0.05
"""Members of less weight are left out: they cost time and change nothing."""
SHRINKAGE, MAX_SHRINKAGE = 10.0, 0.03
"""How strongly weights shrink towards equal ones: a share of the CRPS, divided by the rows, and its maximum."""


def mean_difference(points: Array) -> Array:
    r"""Mean difference :math:`\mathrm E|X - X'|` of each row's sorted points (n, m): shape (n,)."""
    m = points.shape[1]
    rank = (2.0 * np.arange(m) + 1.0 - m) / (m * m)
    return 2.0 * np.sum(points * rank, axis=1)


def point_crps(points: Array, y: Array) -> Array:
    """CRPS of each row's equally likely, sorted points (n, m): shape (n,)."""
    return np.abs(points - y[:, None]).mean(axis=1) - 0.5 * mean_difference(points)


def pool_terms(members: Sequence[Array], y: Array, weights: Array | None = None) -> tuple[Array, Array]:
    r"""Average :math:`\mathrm E|X_i - y|` (k,) and :math:`\mathrm E|X_i - X_j|` (k, k) of sorted points (n, m) each.

    All members have the same number of points. With the equal mixture ``M`` of two distributions
    :math:`\mathrm E|A - B| = 2\,\mathrm E|M - M'| - \tfrac12(\mathrm E|A - A'| + \mathrm E|B - B'|)`.
    """
    k = len(members)
    to_y = np.array([np.average(np.abs(p - y[:, None]).mean(axis=1), weights=weights) for p in members])
    within = [mean_difference(p) for p in members]
    between = np.empty((k, k))
    for i in range(k):
        between[i, i] = np.average(within[i], weights=weights)
        for j in range(i):
            if members[i].shape != members[j].shape:
                raise ValueError("members must have the same number of points")
            mixture = mean_difference(np.sort(np.hstack([members[i], members[j]]), axis=1))
            value = np.average(2.0 * mixture - 0.5 * (within[i] + within[j]), weights=weights)
            between[i, j] = between[j, i] = value
    return to_y, between


def pool_crps(weights: Array, to_y: Array, between: Array) -> float:
    """CRPS of the mixture with weights (k,)."""
    return float(weights @ to_y - 0.5 * weights @ between @ weights)


def pool_weights(to_y: Array, between: Array, n_rows: int | None = None) -> Array:
    r"""Return the weights (k,) of the pool of least CRPS; small ones are zero.

    With ``n_rows``, the number of rows that the terms average, the weights shrink towards equal ones by
    :math:`\lambda k \lVert w - 1/k \rVert^2`. :math:`\lambda` is a share of the best member's CRPS that falls with the
    rows: few rows cannot tell good members from lucky ones.
    """
    share = 0.0 if n_rows is None else min(MAX_SHRINKAGE, SHRINKAGE / n_rows)
    weights = _shrunk_minimum(to_y, between, share)
    kept = weights >= MIN_WEIGHT
    out = np.zeros(len(to_y))
    out[kept] = _shrunk_minimum(to_y[kept], between[np.ix_(kept, kept)], share)
    return out / out.sum()


def _shrunk_minimum(to_y: Array, between: Array, share: float) -> Array:
    # |w - 1/k|^2 is quadratic as well: it only changes the terms
    k = len(to_y)
    penalty = share * k * float(np.min(to_y - 0.5 * np.diagonal(between)))
    return simplex_minimum(to_y - 2.0 * penalty / k, between - 2.0 * penalty * np.eye(k))


def simplex_minimum(to_y: Array, between: Array) -> Array:
    """Return the weights (k,) of least ``pool_crps``, which are not negative and sum to one."""
    k = len(to_y)
    if k == 1:
        return np.ones(1)
    scale = max(float(np.abs(to_y).max()), np.finfo(float).tiny)
    a, d = to_y / scale, between / scale
    result = minimize(
        lambda w: w @ a - 0.5 * w @ d @ w,
        np.full(k, 1.0 / k),
        jac=lambda w: a - d @ w,
        bounds=[(0.0, 1.0)] * k,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": lambda w: np.ones(k)},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    weights = np.clip(result.x, 0.0, None)
    best_alone = np.eye(k)[int(np.argmin(a - 0.5 * np.diagonal(d)))]
    if not np.isfinite(weights).all() or weights.sum() <= 0.0:
        return best_alone
    weights = weights / weights.sum()
    return weights if pool_crps(weights, a, d) <= pool_crps(best_alone, a, d) else best_alone


def point_counts(weights: Array, n: int) -> NDArray[np.intp]:
    """Divide ``n`` points in proportion to weights (k,), by largest remainder; each member of positive weight gets one.

    With fewer points than members, the members of least weight get none.
    """
    exact = weights * n
    counts = np.floor(exact).astype(np.intp)
    counts[(weights > 0.0) & (counts == 0)] = 1
    while counts.sum() > n:
        # take from members with more than one point as long as there are any
        spare = counts > 1 if counts.max() > 1 else counts > 0
        excess = np.where(spare, counts - exact, -np.inf)
        counts[np.argmax(excess)] -= 1
    for j in np.argsort(counts - exact, kind="stable")[: n - counts.sum()]:
        counts[j] += 1
    return counts


def mixture_points(distributions: Sequence[Array], weights: Array, n_points: int) -> Array:
    """Sorted points (n, n_points, d) of a mixture of distributions (n, m, d), in proportion to the weights.

    The points of a member are taken at even ranks of each coordinate.
    """
    if len(distributions) == 1 and distributions[0].shape[1] == n_points:
        return distributions[0]
    from diffgbm.auto._mixture_kernels import blend

    n, _, d = distributions[0].shape
    points = np.empty((n, d, n_points))
    ranks = _even_ranks(tuple(weights.tolist()), tuple(each.shape[1] for each in distributions), n_points)
    for distribution, (first, low, high, part) in zip(distributions, ranks, strict=True):
        blend(np.require(distribution, dtype=np.float64, requirements=["C", "W"]), low, high, part, first, points)
    points.sort(axis=2)
    return points[:, 0, :, None] if d == 1 else np.ascontiguousarray(points.swapaxes(1, 2))


@lru_cache(maxsize=128)
def _even_ranks(weights: tuple[float, ...], sizes: tuple[int, ...], n_points: int) -> list[tuple[Any, ...]]:
    """For each member of ``sizes`` points: where its share begins, the points around each rank, and how far between."""
    found, first = [], 0
    for size, count in zip(sizes, point_counts(np.array(weights), n_points).tolist(), strict=True):
        position = (np.arange(count) + 0.5) / count * size - 0.5
        low = np.clip(np.floor(position).astype(np.intp), 0, size - 1)
        found.append((first, low, np.minimum(low + 1, size - 1), np.clip(position - low, 0.0, 1.0)))
        first += count
    return found
