"""Laws corrected by the PIT values of rows that they have not seen, narrow laws apart from wide ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import legendre
from scipy.special import ndtr, ndtri

from diffgbm._util.types import Array
from diffgbm.distributions import PredictiveDistribution

DISTANCE = (slice(1, 2), slice(2, 4), slice(4, 8), slice(8, 16))
"""Orders of the polynomials in the distance of a PIT value from 1/2, in blocks that are judged together."""
SPREAD = (slice(0, 1), slice(1, 2), slice(2, 4))
"""Those in the rank of a law's spread; order 0 is what all laws have in common."""
ROWS_OF_AN_ORDER = 50
"""A block takes part if there are so many rows for each of its coefficients."""
LEAST_DENSITY = 0.1
"""Of corrected PIT values: a polynomial may fall below zero."""
MOST_DISAGREEMENT = 0.5
"""Share of a law's variance that bags are believed to differ by."""
CELLS = 200
"""Of the grid on which densities are added up."""
RANKS = np.linspace(0.0, 1.0, 101)
"""Ranks whose spreads are remembered."""


@dataclass(frozen=True, eq=False)
class Correction:
    r"""Density :math:`1 + \sum_{kl} \theta_{kl}\,\phi_k(c)\,\phi_l(r)` of PIT values, and laws made right by it.

    :math:`c = |2u - 1|` is the distance of a PIT value from the middle, :math:`r` the rank of its law's spread, and
    :math:`\phi` are Legendre's polynomials, orthonormal on [0, 1], as in Neyman's smooth test.

    Attributes
    ----------
    theta : ndarray of shape (16, 4)
        Coefficients.
    spreads : ndarray of shape (101,)
        Spread of a law at each percent of the ranks.
    """

    theta: Array
    spreads: Array

    def __call__(self, distribution: PredictiveDistribution) -> PredictiveDistribution:
        """Move the points of laws, so that central intervals cover what they say."""
        grid, covered = np.linspace(0.0, 1.0, CELLS + 1), self.coverage(rank(spread(distribution), self.spreads))
        side = 2.0 * distribution.levels - 1.0
        # level, in the law as it was, of the interval that covers what is wanted
        before = np.array([np.interp(np.abs(side), row, grid) for row in covered]).reshape(len(distribution), len(side))
        return PredictiveDistribution(
            distribution.quantile(0.5 + 0.5 * np.sign(side) * before),
            distribution.levels,
            distribution.name,
            distribution.index,
        )

    def part(self, share: float) -> Correction:
        """Return a correction that goes only a part of the way."""
        return replace(self, theta=share * self.theta)

    def coverage(self, ranks: Array) -> Array:
        """Coverage of central intervals of levels 0, 1/200, ..., 1 of laws with these ranks (n,): shape (n, 201)."""
        middle = (np.arange(CELLS) + 0.5) / CELLS
        of_distance = smooth_functions(middle, len(self.theta)) @ self.theta
        of_spread = smooth_functions(ranks, self.theta.shape[1])
        density = np.ones((len(ranks), CELLS))
        # not as a matrix product: the order in which that adds depends on how many rows there are
        for along, across in zip(of_spread.T, of_distance.T, strict=True):
            density += along[:, None] * across
        covered = np.cumsum(np.maximum(density, LEAST_DENSITY), axis=1)
        return np.column_stack([np.zeros(len(ranks)), covered / covered[:, -1:]])


def learned(distribution: PredictiveDistribution, pit: Array, weights: Array | None = None) -> Correction | None:
    r"""Describe PIT values (n,) of laws, as far as these are many enough to tell.

    :math:`\theta` are the coefficients of the regression of :math:`\phi_k(c)` on :math:`\phi_l(r)`. A block of ``p``
    of them is drawn towards zero by the factor of James and Stein, :math:`1 - p/\chi^2` with
    :math:`\chi^2 = n \sum \theta^2`. ``None`` if nothing is left: then the values are no more uneven than chance
    makes them, on the whole and along the spread.
    """
    n, size = effective_rows(len(pit), weights), spread(distribution)
    spreads = weighted_quantiles(size, RANKS, weights)
    root = np.sqrt(np.ones(len(pit)) if weights is None else weights)[:, None]
    of_spread = smooth_functions(rank(size, spreads), SPREAD[-1].stop)
    of_distance = smooth_functions(np.abs(2.0 * pit - 1.0), DISTANCE[-1].stop)
    # not simply means of products: spreads that are all the same leave only one of the functions of the rank
    theta = np.linalg.lstsq(root * of_spread, root * of_distance, rcond=1e-6)[0].T
    kept = np.zeros_like(theta)
    for orders in DISTANCE:
        for block in ((orders, along) for along in SPREAD):
            p, chi2 = theta[block].size, n * np.sum(theta[block] ** 2)
            if n >= ROWS_OF_AN_ORDER * p and chi2 > p:
                kept[block] = (1.0 - p / chi2) * theta[block]
    return Correction(kept, spreads) if kept.any() else None


def smooth_functions(x: Array, count: int) -> Array:
    r"""Legendre's polynomials :math:`\phi_0 = 1, \phi_1, \ldots` at ``x`` (n,), orthonormal on [0, 1]: (n, count)."""
    return legendre.legvander(2.0 * x - 1.0, count - 1) * np.sqrt(2.0 * np.arange(count) + 1.0)


def spread(distribution: PredictiveDistribution) -> Array:
    """Distance between the quartiles, shape (n,), to 24 bits whatever its size: laws of one shape have one spread."""
    mantissa, exponent = np.frexp(np.ptp(distribution.interval(0.5), axis=1))
    return np.ldexp(np.round(mantissa * 2.0**24), exponent - 24)


def rank(values: Array, quantiles: Array) -> Array:
    """Rank, from 0 to 1, of values (n,) among those of which ``quantiles`` are known at even levels.

    The rank of a value that several quantiles share is in the middle of theirs.
    """
    levels = np.linspace(0.0, 1.0, len(quantiles))
    from_above = np.interp(-values, -quantiles[::-1], levels)
    return 0.5 * (np.interp(values, quantiles, levels) + 1.0 - from_above)


def weighted_quantiles(values: Array, levels: Array, weights: Array | None = None) -> Array:
    """Quantiles of values (n,), each counted at the middle of its weight."""
    order = np.argsort(values, kind="stable")
    weight = np.ones(len(values)) if weights is None else weights[order]
    return np.interp(levels, (np.cumsum(weight) - 0.5 * weight) / weight.sum(), values[order])


def effective_rows(n: int, weights: Array | None) -> float:
    """How many rows of equal weight say as much as these."""
    return float(n) if weights is None else float(weights.sum() ** 2 / np.sum(weights**2))


def as_in_a_pool(distribution: PredictiveDistribution, y: Array, disagreement: float, chance: Array) -> Array:
    r"""Observations (n,) that lie in laws of one bag each where ``y`` lies in those of a pool of many.

    Where bags differ by a share :math:`\rho` of a law's variance, their mixture is wider by :math:`\sqrt{1 + \rho}` and
    its errors are smaller by :math:`\sqrt{1 - \rho}`: :math:`F^{-1}(\Phi(\kappa\,\Phi^{-1}(F(y))))` with
    :math:`\kappa^2 = (1 - \rho) / (1 + \rho)`. What is beyond a law stays there.
    """
    rho = min(disagreement, MOST_DISAGREEMENT)
    pit = random_pit(distribution, y, chance)
    nearer = distribution.quantile(ndtr(np.sqrt((1.0 - rho) / (1.0 + rho)) * ndtri(pit))[:, None])[:, 0]
    return np.where((pit > 0.0) & (pit < 1.0), nearer, y)


def random_pit(distribution: PredictiveDistribution, y: Array, chance: Array) -> Array:
    """PIT values (n,), uniform for right laws with atoms too: at an atom ``chance`` says how much of it counts."""
    below, upto = distribution.cdf(np.nextafter(y, -np.inf)), distribution.cdf(y)
    return below + chance * (upto - below)
