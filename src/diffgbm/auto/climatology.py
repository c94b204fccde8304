"""Climatology: the training responses as one predictive distribution for all rows, a member of every pool.

A model that was fitted to noise is worse than the responses themselves. Held-out rows say so: climatology then takes
the weight that lowers their CRPS most, and a pool is never worse out of bag than climatology.

References
----------
Gneiting, T. and Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and estimation. Journal of the
American Statistical Association 102, 359-378.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from diffgbm._util.types import Array
from diffgbm.data.splits import Split
from diffgbm.engine import normals

MAX_POINTS = 1000
"""Points that a model stores of the training responses, at most."""


@dataclass(frozen=True, eq=False)
class Climatology:
    """Equally likely training responses, with their weight in a pool.

    Attributes
    ----------
    values : ndarray of shape (m, d)
        Responses, sorted by the first of several.
    weight : float
        Weight in the pool, above 0 and at most 1.
    """

    values: Array
    weight: float = 1.0

    @classmethod
    def of(cls, y: Array, weights: Array | None, weight: float = 1.0, most: int = MAX_POINTS) -> Climatology:
        """Return the climatology of responses (n, d) with weights (n,): all of them, or ``most`` at even quantiles."""
        order = np.argsort(y[:, 0], kind="stable")
        count = len(y) if weights is None and len(y) <= most else most
        cumulative = np.cumsum(np.ones(len(y)) if weights is None else weights[order])
        levels = (np.arange(count) + 0.5) / count * cumulative[-1]
        return cls(y[order[np.searchsorted(cumulative, levels)]], weight)

    def points(self, count: int) -> Array:
        """Return ``count`` of the responses at even quantiles: shape (count, d)."""
        return self.values[((np.arange(count) + 0.5) / count * len(self.values)).astype(np.intp)]

    def sample(self, n_samples: int, n_rows: int, key: int, first_row: int) -> Array:
        """Draw responses (n_samples, n_rows, d); row ``i`` depends on ``(key, first_row + i)`` alone."""
        noise = normals(key, first_row + np.arange(n_rows), np.arange(n_samples), 0, 1)[:, :, 0]
        drawn = (ndtr(noise.T) * len(self.values)).astype(np.intp)
        return self.values[np.minimum(drawn, len(self.values) - 1)]


def out_of_bag_points(y: Array, weights: Array | None, splits: Sequence[Split], n_points: int) -> Array:
    """Points (rows, n_points, d) for the held-out rows of each split: the responses (n, d) of its training rows."""
    parts = []
    for train, held_out in splits:
        points = Climatology.of(y[train], None if weights is None else weights[train]).points(n_points)
        parts.append(np.broadcast_to(np.sort(points, axis=0), (len(held_out), *points.shape)))
    return np.concatenate(parts)


def out_of_bag_crps(y: Array, weights: Array | None, splits: Sequence[Split]) -> Array:
    r"""CRPS (n, d) of each response given those of its split's training rows; NaN where no split holds a row out.

    With the values :math:`x_j` of weight :math:`w_j`, :math:`\sum_j w_j = 1`, it is
    :math:`\sum_j w_j |x_j - y| - \tfrac12 \sum_{jk} w_j w_k |x_j - x_k|`.
    """
    losses = np.full(y.shape, np.nan)
    for train, held_out in splits:
        for j in range(y.shape[1]):
            losses[held_out, j] = _crps(y[train, j], None if weights is None else weights[train], y[held_out, j])
    return losses


def _crps(values: Array, weights: Array | None, y: Array) -> Array:
    order = np.argsort(values, kind="stable")
    x, w = values[order], np.ones(len(values)) if weights is None else weights[order]
    w = w / w.sum()
    # differences from one of the values: sums of numbers far from zero lose theirs
    centre = x[len(x) // 2]
    x, y = x - centre, y - centre
    mass, moment = np.concatenate([[0.0], np.cumsum(w)]), np.concatenate([[0.0], np.cumsum(w * x)])
    below = np.searchsorted(x, y)
    distance = y * (2.0 * mass[below] - mass[-1]) + moment[-1] - 2.0 * moment[below]
    return np.maximum(distance - np.sum(w * x * (mass[1:] + mass[:-1] - mass[-1])), 0.0)
