"""Recalibration: distributions corrected by the PIT values of unseen rows, narrow ones differently from wide ones.

References
----------
Neyman, J. (1937). "Smooth" test for goodness of fit. Skandinavisk Aktuarietidskrift 20, 149-199.
James, W. and Stein, C. (1961). Estimation with quadratic loss. Fourth Berkeley Symposium 1, 361-379.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from scipy.special import ndtr, ndtri

from diffgbm._util.rows import interpolated_rows
from diffgbm._util.types import Array
from diffgbm.distributions import PredictiveDistribution
from diffgbm.metrics.randomisation import randomised_pit

DISTANCE_ORDERS = (slice(1, 2), slice(2, 4), slice(4, 8), slice(8, 16))
"""Orders of the polynomials in the distance of a PIT value from 1/2, in blocks that shrink together."""
WIDTH_ORDERS = (slice(0, 1), slice(1, 2), slice(2, 4))
"""Orders of those in the rank of a distribution's interquartile range; order 0 is common to all distributions."""
ROWS_PER_COEFFICIENT = 50
"""A block is estimated if there are this many rows for each of its coefficients."""
MIN_DENSITY = 0.1
"""Least density of PIT values: a polynomial may fall below zero."""
MAX_DISAGREEMENT = 0.5
"""Largest share of a distribution's variance by which bags are assumed to differ."""
CELLS = 200
"""Cells of the grid on which densities are integrated."""
NODES = 1024
"""Intervals of the ranks between which corrections are interpolated: usual ones are right to 1e-6 of a level."""
RANKS = np.linspace(0.0, 1.0, 101)
"""Ranks whose interquartile ranges are stored."""
LANDMARKS = np.array([0.0, 0.25, 0.75, 1.0])
"""Levels of the ends and the quartiles of a distribution."""


@dataclass(frozen=True, eq=False)
class Correction:
    r"""Density :math:`1 + \sum_{kl} \theta_{kl}\,\phi_k(c)\,\phi_l(r)` of PIT values, and the correction by it.

    :math:`c = |2u - 1|` is the distance of a PIT value from the middle, :math:`r` the rank of the distribution's
    interquartile range, and :math:`\phi` are the Legendre polynomials, orthonormal on [0, 1], as in Neyman's smooth
    test.

    Attributes
    ----------
    theta : ndarray of shape (16, 4)
        Coefficients.
    iqr_quantiles : ndarray of shape (101,)
        Interquartile range at each percent of the ranks.
    """

    theta: Array
    iqr_quantiles: Array

    def __call__(self, distribution: PredictiveDistribution) -> PredictiveDistribution:
        """Move the points of distributions so that central intervals attain nominal coverage."""
        m, support = len(distribution.levels), distribution.support
        low, first, third, high = distribution.quantile(LANDMARKS).T
        ranks = rank(_rounded(third - first), self.iqr_quantiles)
        if np.array_equal(distribution.levels, even_levels(m)) and (support is None or not support.has_atoms):
            from diffgbm.auto._mixture_kernels import moved_points

            if m not in self._levels_before:
                self._levels_before[m] = self._at_nodes(distribution.levels)
            values = np.require(distribution.values, dtype=np.float64, requirements=["C", "W"])
            out = np.empty(values.shape)
            moved_points(values, np.column_stack([low, high]), ranks, self._levels_before[m], out)
        else:
            out = distribution.quantile(self._between_nodes(ranks, distribution.levels))
        return PredictiveDistribution(out, distribution.levels, distribution.name, distribution.index, support)

    @cached_property
    def _levels_before(self) -> dict[int, Array]:
        """For numbers of even levels, what ``_at_nodes`` returns."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        # what is made from the attributes is not stored
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def _at_nodes(self, levels: Array) -> Array:
        """Level, before the correction, of the quantile that has each new level (m,) at even ranks: (NODES + 1, m).

        In between it is interpolated: the coverage is a smooth function of the rank.
        """
        grid, covered = np.linspace(0.0, 1.0, CELLS + 1), self.coverage(np.linspace(0.0, 1.0, NODES + 1))
        side = 2.0 * levels - 1.0
        return 0.5 + 0.5 * np.sign(side) * interpolated_rows(np.abs(side)[None], covered, grid[None])

    def _between_nodes(self, ranks: Array, levels: Array) -> Array:
        """Levels before the correction of rows of these ranks (n,): shape (n, m)."""
        nodes, position = self._at_nodes(levels), NODES * ranks
        low = np.minimum(position.astype(np.intp), NODES - 1)
        share = (position - low)[:, None]
        return (1.0 - share) * nodes[low] + share * nodes[low + 1]

    def scaled(self, share: float) -> Correction:
        """Return the correction with coefficients multiplied by ``share``."""
        return replace(self, theta=share * self.theta)

    @cached_property
    def _of_distance(self) -> Array:
        """Sums over the polynomials in the distance, at the middle of each cell: shape (200, 4)."""
        middle = (np.arange(CELLS) + 0.5) / CELLS
        return np.asarray(smooth_functions(middle, len(self.theta)) @ self.theta)

    def coverage(self, ranks: Array) -> Array:
        """Coverage of central intervals of levels 0, 1/200, ..., 1 at these ranks (n,): shape (n, 201)."""
        of_distance = self._of_distance
        of_width = smooth_functions(ranks, self.theta.shape[1])
        density = np.ones((len(ranks), CELLS))
        # not a matrix product: its order of summation depends on the number of rows
        for along, across in zip(of_width.T, of_distance.T, strict=True):
            density += along[:, None] * across
        covered = np.cumsum(np.maximum(density, MIN_DENSITY), axis=1)
        return np.column_stack([np.zeros(len(ranks)), covered / covered[:, -1:]])


def fit_correction(distribution: PredictiveDistribution, pit: Array, weights: Array | None = None) -> Correction | None:
    r"""Estimate the density of PIT values (n,) of distributions, as far as there are enough of them.

    :math:`\theta` are the coefficients of the regression of :math:`\phi_k(c)` on :math:`\phi_l(r)`. A block of ``p``
    coefficients shrinks by the factor of James and Stein, :math:`1 - p/\chi^2` with :math:`\chi^2 = n \sum \theta^2`.
    Returns ``None`` if nothing is left: then the values are no more uneven than random ones.
    """
    n, width = effective_sample_size(len(pit), weights), interquartile_range(distribution)
    iqr_quantiles = weighted_quantiles(width, RANKS, weights)
    root = np.sqrt(np.ones(len(pit)) if weights is None else weights)[:, None]
    of_width = smooth_functions(rank(width, iqr_quantiles), WIDTH_ORDERS[-1].stop)
    of_distance = smooth_functions(np.abs(2.0 * pit - 1.0), DISTANCE_ORDERS[-1].stop)
    # not means of products: if all widths are equal, only one of the functions of the rank is left
    theta = np.linalg.lstsq(root * of_width, root * of_distance, rcond=1e-6)[0].T
    kept = np.zeros_like(theta)
    for orders in DISTANCE_ORDERS:
        for block in ((orders, along) for along in WIDTH_ORDERS):
            p, chi2 = theta[block].size, n * np.sum(theta[block] ** 2)
            if n >= ROWS_PER_COEFFICIENT * p and chi2 > p:
                kept[block] = (1.0 - p / chi2) * theta[block]
    return Correction(kept, iqr_quantiles) if kept.any() else None


@lru_cache(maxsize=32)
def even_levels(m: int) -> Array:
    """Levels ``(j + 1/2) / m`` of equally likely points; not to be changed."""
    return (np.arange(m) + 0.5) / m


def smooth_functions(x: Array, count: int) -> Array:
    r"""Legendre polynomials :math:`\phi_0 = 1, \phi_1, \ldots` at ``x`` (n,), orthonormal on [0, 1]: (n, count)."""
    return legendre.legvander(2.0 * x - 1.0, count - 1) * np.sqrt(2.0 * np.arange(count) + 1.0)


def interquartile_range(distribution: PredictiveDistribution) -> Array:
    """Interquartile range of each row, shape (n,), rounded to 24 bits: distributions of one shape have equal ones."""
    return _rounded(np.ptp(distribution.interval(0.5), axis=1))


def _rounded(widths: Array) -> Array:
    mantissa, exponent = np.frexp(widths)
    return np.ldexp(np.round(mantissa * 2.0**24), exponent - 24)


def rank(values: Array, quantiles: Array) -> Array:
    """Rank, from 0 to 1, of values (n,) in a distribution whose ``quantiles`` are known at even levels.

    A value that equals several quantiles has the middle of their ranks.
    """
    levels = RANKS if len(quantiles) == len(RANKS) else np.linspace(0.0, 1.0, len(quantiles))
    from_above = np.interp(-values, -quantiles[::-1], levels)
    return 0.5 * (np.interp(values, quantiles, levels) + 1.0 - from_above)


def weighted_quantiles(values: Array, levels: Array, weights: Array | None = None) -> Array:
    """Quantiles of values (n,), each at the middle of its weight."""
    order = np.argsort(values, kind="stable")
    weight = np.ones(len(values)) if weights is None else weights[order]
    return np.interp(levels, (np.cumsum(weight) - 0.5 * weight) / weight.sum(), values[order])


def effective_sample_size(n: int, weights: Array | None) -> float:
    """Number of rows of equal weight with the same information: the square of the sum over the sum of squares."""
    return float(n) if weights is None else float(weights.sum() ** 2 / np.sum(weights**2))


def adjusted_observations(
    distribution: PredictiveDistribution, y: Array, disagreement: float, uniforms: Array
) -> Array:
    r"""Observations (n,) whose PIT in distributions of single bags equals that of ``y`` in the pool of many bags.

    If bags differ by a share :math:`\rho` of a distribution's variance, their mixture is wider by
    :math:`\sqrt{1 + \rho}` and its errors are smaller by :math:`\sqrt{1 - \rho}`. The adjusted observation is
    :math:`F^{-1}(\Phi(\kappa\,\Phi^{-1}(F(y))))` with :math:`\kappa^2 = (1 - \rho) / (1 + \rho)`. An observation
    outside the distribution stays.
    """
    rho = min(disagreement, MAX_DISAGREEMENT)
    pit = randomised_pit(distribution, y, uniforms)
    nearer = distribution.quantile(ndtr(np.sqrt((1.0 - rho) / (1.0 + rho)) * ndtri(pit))[:, None])[:, 0]
    return np.where((pit > 0.0) & (pit < 1.0), nearer, y)
