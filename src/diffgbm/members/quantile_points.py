r"""From quantiles at some levels to equally likely points: rearranged, interpolated, with tails.

Quantiles that cross are sorted. Between two levels the quantile function is a straight line in normal scores
:math:`z = \Phi^{-1}(p)`. Beyond the outermost level :math:`p_1` the tail is exponential with the density that the
function has there,

.. math:: Q(p) = q_1 - s \log(p_1 / p), \qquad s = \frac{p_1}{\varphi(z_1)} \frac{q_2 - q_1}{z_2 - z_1},

and likewise above: a little heavier than that of a normal distribution, so that quantiles which stop at 0.1 and 0.9 do
not say that nothing lies beyond.

References
----------
Chernozhukov, V., Fernandez-Val, I. and Galichon, A. (2010). Quantile and probability curves without crossing.
Econometrica 78(3), 1093-1125.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from diffgbm._util.types import Array

MOST_BEYOND = 2.0
"""How far a tail reaches beyond the outermost quantile at most, in distances between the outermost quantiles."""


def even_levels(n_points: int) -> Array:
    """Return the levels ``(j + 1/2) / n_points`` of equally likely points."""
    return (np.arange(n_points) + 0.5) / n_points


def points_of(levels: Array, quantiles: Array, n_points: int) -> Array:
    """Equally likely points (n, n_points) of distributions with quantiles (n, k) at increasing levels (k,), k > 1.

    Rows with a quantile that is not finite have NaN.
    """
    q = np.sort(quantiles, axis=1)
    wanted = even_levels(n_points)
    z, at = ndtri(levels), ndtri(wanted)
    right = np.clip(np.searchsorted(levels, wanted), 1, len(levels) - 1)
    part = np.clip((at - z[right - 1]) / (z[right] - z[right - 1]), 0.0, 1.0)
    points = (1.0 - part) * q[:, right - 1] + part * q[:, right]
    reach = MOST_BEYOND * (q[:, -1:] - q[:, :1])
    below, above = wanted < levels[0], wanted > levels[-1]
    points[:, below] -= np.minimum(_tail(levels, z, q, wanted[below]), reach)
    mirrored = (1.0 - levels[::-1], -z[::-1], -q[:, ::-1])
    points[:, above] += np.minimum(_tail(*mirrored, 1.0 - wanted[above]), reach)
    points[~np.isfinite(quantiles).all(axis=1)] = np.nan
    return points


def _tail(levels: Array, z: Array, q: Array, wanted: Array) -> Array:
    """How far below the lowest quantile the quantiles at ``wanted`` levels (m,) are: shape (n, m)."""
    density = np.exp(-0.5 * z[0] ** 2) / np.sqrt(2.0 * np.pi)
    scale = levels[0] / density * (q[:, 1:2] - q[:, :1]) / (z[1] - z[0])
    return scale * np.log(levels[0] / wanted)
