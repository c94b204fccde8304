"""Whether a correction helps, judged on rows that it was not learned from."""

from __future__ import annotations

import numpy as np
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
ROWS_OF_A_BIN, LEAST_BINS, MOST_BINS = 100, 5, 20
"""Rows for each bin of the central intervals' levels, and how many bins there are at least and at most."""
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
    coverage must come closer to nominal on average over several levels, and the CRPS must not rise.
    """
    rng = np.random.default_rng(seed)
    part, chance = rng.permutation(len(y)) % JUDGES, rng.uniform(size=len(y))
    pit = random_pit(law, y, chance)
    whole = dispersion(pit, weights)
    if len(y) < LEAST_ROWS or whole is None:
        return None
    after, crps = pit.copy(), law.crps(y)
    before_crps = np.average(crps, weights=weights)
    for k in range(JUDGES):
        judged = np.flatnonzero(part == k)
        learned = dispersion(pit[part != k], None if weights is None else weights[part != k])
        if learned is not None:
            better = recalibrated(law[judged], learned)
            after[judged] = random_pit(better, y[judged], chance[judged])
            crps[judged] = better.crps(y[judged])
    closer = central_error(after, weights) < central_error(pit, weights)
    return whole if closer and np.average(crps, weights=weights) <= before_crps else None


def random_pit(law: PredictiveDistribution, y: Array, chance: Array) -> Array:
    """PIT values (n,), uniform for right laws with atoms too: at an atom ``chance`` says how much of it counts."""
    below, upto = law.cdf(np.nextafter(y, -np.inf)), law.cdf(y)
    return below + chance * (upto - below)


def dispersion(pit: Array, weights: Array | None = None) -> Array | None:
    r"""Sorted values (VALUES,) spread about 1/2 as PIT values are, as far as these are many enough to tell.

    The shares :math:`p_k` of :math:`|2u - 1|` in ``K`` even bins are drawn towards :math:`1/K` by the factor of James
    and Stein, :math:`1 - (K - 1)/\chi^2` with :math:`\chi^2 = nK\sum_k (p_k - 1/K)^2`. ``None`` if nothing is left of
    their difference: then it is no more than chance makes it.
    """
    n = len(pit) if weights is None else float(weights.sum() ** 2 / np.sum(weights**2))
    bins = int(np.clip(n // ROWS_OF_A_BIN, LEAST_BINS, MOST_BINS))
    levels = np.linspace(0.0, 1.0, bins + 1)
    share = np.histogram(np.abs(2.0 * pit - 1.0), levels, weights=weights)[0]
    excess = share / share.sum() - 1.0 / bins
    chi2 = n * bins * np.sum(excess**2)
    if chi2 <= bins - 1.0:
        return None
    reached = levels + np.concatenate([[0.0], np.cumsum((1.0 - (bins - 1.0) / chi2) * excess)])
    side = (2.0 * np.arange(VALUES) + 1.0) / VALUES - 1.0
    central = np.interp(np.abs(side), reached, levels)
    return np.clip(0.5 + 0.5 * np.sign(side) * central, 0.0, 1.0)


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
