"""Whether a correction helps, judged on rows that it was not learned from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.pool import point_crps
from diffgbm.auto.recalibration import Correction, effective_rows, learned, random_pit, spread
from diffgbm.data.splits import fold_numbers
from diffgbm.distributions import PredictiveDistribution

LEVELS = (0.5, 0.8, 0.9, 0.95)
LEAST_GAIN = 0.01
"""Share of the CRPS that confining must save."""
MOST_COVERAGE_LOST = 0.02
"""How much further from nominal confining may take coverage: intervals that end on a value hold all of it."""
LEAST_ROWS = 100
"""Fewer PIT values say little about a distribution."""
FOURTHS = 4
"""Groups of rows by the spread of their laws, in which coverage is looked at beside that of all."""
SHARES = (1.0, 0.75, 0.5, 0.25)
"""Parts of a correction that are tried."""
JUDGES = 5
"""Parts of the rows of which each is judged by what was learned from the others."""


def helpful_shapes(
    training: Array, y: Array, points: Array, weights: Array | None, u: Array | None
) -> tuple[ResponseShape, ...]:
    """Shape of each response, where confining unseen laws (n, m, d) to it helps.

    It helps if it lowers their CRPS by a hundredth and leaves the coverage of their intervals where it was. If it does
    not, values with room may: they must not raise the CRPS, and coverage must come closer to nominal. ``u`` (n,) says
    where rows have this room; without it they have none.
    """
    shapes = map(ResponseShape.of, training.T)
    return tuple(_helpful_shape(s, y[:, j], points[:, :, j], weights, u) for j, s in enumerate(shapes))


def _helpful_shape(
    shape: ResponseShape, y: Array, points: Array, weights: Array | None, u: Array | None
) -> ResponseShape:
    def judged(points: Array) -> tuple[float, float]:
        crps = np.average(point_crps(points, y), weights=weights)
        return float(crps), coverage_error(PredictiveDistribution.from_points(points), y)

    free = np.sort(points, axis=1)
    crps, off = judged(free)
    confined = judged(shape(free))
    if confined[0] < (1.0 - LEAST_GAIN) * crps and confined[1] <= off + MOST_COVERAGE_LOST:
        return shape
    if u is not None and shape.atoms is not None:
        roomy = shape.with_room()
        after = judged(roomy.spread(free, u))
        if after[0] <= crps and after[1] < off:
            return roomy
    return ResponseShape()


def helpful_correction(
    distribution: PredictiveDistribution, y: Array, weights: Array | None, seed: int
) -> Correction | None:
    """Return as much of what laws are to be corrected by as helps unseen laws, else ``None``.

    The correction is learned on four fifths of the rows and judged on the rest, in turn: over all rows together
    coverage must come closer to nominal, and the CRPS must not rise by more than the standard error of its change. The
    largest of its ``SHARES`` that passes is taken. A part is for the laws of a response of few values, which are heaps
    on these: right ones cover more than they say, and must not be made to cover less.
    """
    rng = np.random.default_rng(seed)
    part, chance = fold_numbers(len(y), JUDGES, rng), rng.uniform(size=len(y))
    pit = random_pit(distribution, y, chance)
    whole = learned(distribution, pit, weights) if len(y) >= LEAST_ROWS else None
    if whole is None:
        return None
    size = spread(distribution)
    off = central_error(pit, size, weights)
    trials = []
    for k in range(JUDGES):
        others = np.flatnonzero(part != k)
        found = learned(distribution[others], pit[others], None if weights is None else weights[others])
        if found is not None:
            trials.append((np.flatnonzero(part == k), found))
    for share in SHARES:
        after, rise = pit.copy(), np.zeros(len(y))
        for rows, correction in trials:
            better = correction.part(share)(distribution[rows])
            after[rows] = random_pit(better, y[rows], chance[rows])
            rise[rows] = better.crps(y[rows]) - distribution[rows].crps(y[rows])
        mean_rise, error = mean_with_error(rise, weights)
        if central_error(after, size, weights) < off and mean_rise <= error:
            return whole.part(share)
    return None


def mean_with_error(values: Array, weights: Array | None) -> tuple[float, float]:
    """Mean of values (n,) and its standard error."""
    mean = np.average(values, weights=weights)
    variance = np.average((values - mean) ** 2, weights=weights)
    return float(mean), float(np.sqrt(variance / effective_rows(len(values), weights)))


def central_error(pit: Array, size: Array, weights: Array | None) -> float:
    """How far the coverage of central intervals is from their level, by PIT values (n,) of laws of spreads ``size``.

    The mean over levels of the absolute difference, for all rows, plus the same for each fourth of them by spread.
    """
    distance = np.abs(2.0 * pit - 1.0)
    weight = np.ones(len(pit)) if weights is None else weights
    order = np.argsort(size, kind="stable")

    def error(rows: NDArray[np.intp]) -> float:
        found = [np.average(distance[rows] <= level, weights=weight[rows]) for level in LEVELS]
        return float(np.mean(np.abs(np.subtract(found, LEVELS))))

    return error(order) + float(np.mean([error(rows) for rows in np.array_split(order, FOURTHS)]))


def coverage_error(distribution: PredictiveDistribution, y: Array) -> float:
    """Mean absolute difference between the coverage of central intervals and their level."""
    errors = []
    for level in LEVELS:
        low, high = distribution.interval(level).T
        errors.append(abs(float(np.mean((low <= y) & (y <= high))) - level))
    return float(np.mean(errors))
