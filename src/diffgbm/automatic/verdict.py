"""Whether a correction helps, judged on rows that it was not learned from."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from diffgbm.automatic.pool import spread_of
from diffgbm.automatic.shape import ResponseShape
from diffgbm.calibration import recalibrated
from diffgbm.distribution import PredictiveDistribution

Array = NDArray[np.float64]

LEVELS = (0.5, 0.8, 0.9, 0.95)
LEAST_GAIN = 0.01
"""Share of the CRPS that confining must save."""
MOST_COVERAGE_LOST = 0.02
"""How much further from nominal confining may take coverage: intervals that end on a value hold all of it."""
LEAST_ROWS = 100
"""Fewer PIT values say little about a distribution."""
BLOCKS = (slice(1, 2), slice(2, 4), slice(4, 8), slice(8, 16))
"""Orders of the polynomials that describe a distribution of PIT values, in blocks that are judged together."""
ROWS_OF_AN_ORDER = 50
"""A block takes part if there are so many rows for each of its orders."""
LEAST_DENSITY = 0.1
"""Of corrected PIT values: a polynomial may fall below zero."""
VALUES = 500
"""Values that stand for a distribution of PIT values."""
JUDGES = 5
"""Parts of the rows of which each is judged by what was learned from the others."""


def point_crps(points: Array, y: Array) -> Array:
    """CRPS of each row's equally likely, sorted points (n, m): shape (n,)."""
    return np.abs(points - y[:, None]).mean(axis=1) - 0.5 * spread_of(points)


def helpful_shapes(training: Array, y: Array, points: Array, weights: Array | None) -> tuple[ResponseShape, ...]:
    """Shape of each response, where confining unseen laws (n, m, d) to it helps.

    It helps if it lowers their CRPS by a hundredth and leaves the coverage of their intervals where it was.
    """
    shapes = []
    for j in range(y.shape[1]):
        shape = ResponseShape.of(training[:, j])
        before, after = (np.sort(p, axis=1) for p in (points[:, :, j], shape(points[:, :, j])))
        crps = [np.average(point_crps(p, y[:, j]), weights=weights) for p in (before, after)]
        error = [coverage_error(PredictiveDistribution.from_points(p), y[:, j]) for p in (before, after)]
        helps = crps[1] < (1.0 - LEAST_GAIN) * crps[0] and error[1] <= error[0] + MOST_COVERAGE_LOST
        shapes.append(shape if helps else ResponseShape())
    return tuple(shapes)


def helpful_pit(law: PredictiveDistribution, y: Array, weights: Array | None, seed: int) -> Array | None:
    """Return values by which laws are recalibrated if that helps unseen laws, else ``None``.

    The correction is learned on four fifths of the rows and judged on the rest, in turn: over all rows together
    coverage must come closer to nominal on average over several levels, and the CRPS must not rise by more than the
    standard error of its change.
    """
    rng = np.random.default_rng(seed)
    part, chance = rng.permutation(len(y)) % JUDGES, rng.uniform(size=len(y))
    pit = random_pit(law, y, chance)
    whole = dispersion(pit, weights)
    if len(y) < LEAST_ROWS or whole is None:
        return None
    after, rise = pit.copy(), np.zeros(len(y))
    for k in range(JUDGES):
        judged = np.flatnonzero(part == k)
        learned = dispersion(pit[part != k], None if weights is None else weights[part != k])
        if learned is not None:
            better = recalibrated(law[judged], learned)
            after[judged] = random_pit(better, y[judged], chance[judged])
            rise[judged] = better.crps(y[judged]) - law[judged].crps(y[judged])
    closer = central_error(after, weights) < central_error(pit, weights)
    mean = np.average(rise, weights=weights)
    error = np.sqrt(np.average((rise - mean) ** 2, weights=weights) / effective_rows(len(y), weights))
    return whole if closer and mean <= error else None


def effective_rows(n: int, weights: Array | None) -> float:
    """How many rows of equal weight say as much as these."""
    return float(n) if weights is None else float(weights.sum() ** 2 / np.sum(weights**2))


def random_pit(law: PredictiveDistribution, y: Array, chance: Array) -> Array:
    """PIT values (n,), uniform for right laws with atoms too: at an atom ``chance`` says how much of it counts."""
    below, upto = law.cdf(np.nextafter(y, -np.inf)), law.cdf(y)
    return below + chance * (upto - below)


def dispersion(pit: Array, weights: Array | None = None) -> Array | None:
    r"""Sorted values (VALUES,) spread about 1/2 as PIT values are, as far as these are many enough to tell.

    The density of :math:`c = |2u - 1|` is :math:`1 + \sum_k \theta_k \phi_k(c)` with Legendre's polynomials,
    orthonormal on [0, 1], and :math:`\theta_k = \mathrm E\,\phi_k(c)`, as in Neyman's smooth test. The coefficients
    of a block of ``p`` orders are drawn towards zero by the factor of James and Stein, :math:`1 - p/\chi^2` with
    :math:`\chi^2 = n \sum_k \theta_k^2`. ``None`` if nothing is left of them: then the values are no more uneven
    than chance makes them.
    """
    n = effective_rows(len(pit), weights)
    theta = np.average(smooth_functions(np.abs(2.0 * pit - 1.0)), axis=0, weights=weights)
    kept = np.zeros_like(theta)
    for block in BLOCKS:
        orders, chi2 = block.stop - block.start, n * np.sum(theta[block] ** 2)
        if n >= ROWS_OF_AN_ORDER * orders and chi2 > orders:
            kept[block] = (1.0 - orders / chi2) * theta[block]
    if not kept.any():
        return None
    levels = np.linspace(0.0, 1.0, 2 * VALUES + 1)
    density = 1.0 + smooth_functions(0.5 * (levels[1:] + levels[:-1])) @ kept
    reached = np.concatenate([[0.0], np.cumsum(np.maximum(density, LEAST_DENSITY))])
    side = (2.0 * np.arange(VALUES) + 1.0) / VALUES - 1.0
    central = np.interp(np.abs(side), reached / reached[-1], levels)
    return np.clip(0.5 + 0.5 * np.sign(side) * central, 0.0, 1.0)


def smooth_functions(c: Array) -> Array:
    r"""Legendre's polynomials :math:`\phi_0 = 1, \phi_1, \ldots` at ``c`` (n,), orthonormal on [0, 1]: (n, 16)."""
    order = np.arange(BLOCKS[-1].stop)
    return legendre.legvander(2.0 * c - 1.0, order[-1]) * np.sqrt(2.0 * order + 1.0)


def central_error(pit: Array, weights: Array | None) -> float:
    """Mean absolute difference between the coverage of central intervals and their level, from PIT values."""
    distance = np.abs(2.0 * pit - 1.0)
    return float(np.mean([abs(np.average(distance <= level, weights=weights) - level) for level in LEVELS]))


def coverage_error(law: PredictiveDistribution, y: Array) -> float:
    """Mean absolute difference between the coverage of central intervals and their level."""
    errors = []
    for level in LEVELS:
        low, high = law.interval(level).T
        errors.append(abs(float(np.mean((low <= y) & (y <= high))) - level))
    return float(np.mean(errors))
