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
LEAST_ROWS = 200
"""Fewer PIT values say little about a distribution."""


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


def helpful_pit(law: PredictiveDistribution, y: Array, seed: int) -> Array | None:
    """Return the sorted PIT values of unseen laws if recalibration by them helps, else ``None``.

    It is learned on one half of the rows and judged on the other, both ways: coverage must come closer to nominal on
    average over several levels, and the CRPS must not rise.
    """
    if len(y) < LEAST_ROWS:
        return None
    pit = law.pit(y)
    half = np.random.default_rng(seed).permutation(len(y)) % 2 == 0
    errors, scores = np.zeros(2), np.zeros(2)
    for learn, judge in ((half, ~half), (~half, half)):
        plain = law[np.flatnonzero(judge)]
        for k, candidate in enumerate((plain, recalibrated(plain, pit[learn]))):
            errors[k] += coverage_error(candidate, y[judge])
            scores[k] += candidate.crps(y[judge]).mean()
    return np.sort(pit) if errors[1] < errors[0] and scores[1] <= scores[0] else None


def coverage_error(law: PredictiveDistribution, y: Array) -> float:
    """Mean absolute difference between the coverage of central intervals and their level."""
    errors = []
    for level in LEVELS:
        low, high = law.interval(level).T
        errors.append(abs(float(np.mean((low <= y) & (y <= high))) - level))
    return float(np.mean(errors))
