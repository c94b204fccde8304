"""Acceptance tests: whether confining or recalibrating a distribution helps on rows that it was not fitted to."""

from __future__ import annotations

import numpy as np

from diffgbm._util.types import Array
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.pool import point_crps
from diffgbm.auto.recalibration import (
    Correction,
    effective_sample_size,
    fit_correction,
    interquartile_range,
)
from diffgbm.data.splits import trial_folds
from diffgbm.data.structure import INDEPENDENT, Structure
from diffgbm.distributions import PredictiveDistribution
from diffgbm.metrics.diagnostics import inside_central
from diffgbm.metrics.randomisation import randomised_pit

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Levels of the central intervals whose coverage is tested."""
MIN_GAIN = 0.01
"""Share by which confining must lower the CRPS."""
MAX_COVERAGE_LOSS = 0.02
"""How much further from nominal confining may take coverage."""
MIN_ROWS = 100
"""Fewer PIT values do not describe a distribution."""
QUARTERS = 4
"""Groups of rows by interquartile range whose coverage is tested besides that of all rows."""
SHARES = (1.0, 0.75, 0.5, 0.25)
"""Shares of a correction that are tested."""
FOLDS = 5
"""Folds of the rows: each is tested with the correction that was fitted to the others."""


def accepted_shapes(training: Array, y: Array, points: Array, weights: Array | None) -> tuple[ResponseShape, ...]:
    """Return the shape of each response, where confining out-of-bag points (n, m, d) to it helps.

    Confining to limits never raises the CRPS; it helps if it lowers the CRPS by a share ``MIN_GAIN``. Confining to few
    values helps if it does not raise the CRPS. Neither may cost coverage, which is randomised at atoms: an interval
    covers an atom at its end as often as it should. A response that is never negative is always kept so.

    Parameters
    ----------
    training : ndarray of shape (n_training, d)
        Responses that the shapes are found in.
    y, points, weights : ndarray of shape (n, d), (n, m, d) and (n,) or None
        Observations, points of their out-of-bag distributions, and their weights.
    """
    return tuple(_accepted_shape(t, y[:, j], points[:, :, j], weights) for j, t in enumerate(training.T))


def _accepted_shape(training: Array, y: Array, points: Array, weights: Array | None) -> ResponseShape:
    def crps_and_coverage(points: Array, shape: ResponseShape) -> tuple[float, float]:
        crps = np.average(point_crps(points, y), weights=weights)
        return float(crps), coverage_error(PredictiveDistribution.from_points(points, support=shape.support), y)

    shape = ResponseShape.of(training)
    if not shape:  # nothing to test
        return ResponseShape.sign_of(training)
    free = np.sort(points, axis=1)
    (crps, error), (after, error_after) = (crps_and_coverage(s.confined(free), s) for s in (ResponseShape(), shape))
    gain = 0.0 if shape.atoms is not None else MIN_GAIN
    if after <= (1.0 - gain) * crps and error_after <= error + MAX_COVERAGE_LOSS:
        return shape
    return ResponseShape.sign_of(training)


def accepted_correction(
    distribution: PredictiveDistribution,
    y: Array,
    weights: Array | None,
    seed: int,
    structure: Structure = INDEPENDENT,
) -> Correction | None:
    """Return the largest share of the fitted correction that helps on unseen rows, or ``None``.

    The correction is fitted to four fifths of the rows and tested on the rest, in turn. Over all rows, coverage must
    come closer to nominal (``improves``), and the CRPS must not rise by more than the standard error of its change.
    The smaller ``SHARES`` are for responses of few values: intervals of correct distributions on few values cover more
    than their level, and the correction must not take that away.
    """
    rng = np.random.default_rng(seed)
    folds, uniforms = trial_folds(len(y), FOLDS, rng, structure), rng.uniform(size=len(y))
    pit = randomised_pit(distribution, y, uniforms)
    whole = fit_correction(distribution, pit, weights) if len(y) >= MIN_ROWS else None
    if whole is None:
        return None
    width = interquartile_range(distribution)
    corrections = []
    for others, rows in folds:
        correction = fit_correction(distribution[others], pit[others], None if weights is None else weights[others])
        if correction is not None:
            corrections.append((rows, correction))
    for share in SHARES:
        after, rise = pit.copy(), np.zeros(len(y))
        for rows, correction in corrections:
            corrected = correction.scaled(share)(distribution[rows])
            after[rows] = randomised_pit(corrected, y[rows], uniforms[rows])
            rise[rows] = corrected.crps(y[rows]) - distribution[rows].crps(y[rows])
        mean_rise, standard_error = mean_with_error(rise, weights)
        if improves(pit, after, width, weights) and mean_rise <= standard_error:
            return whole.scaled(share)
    return None


def mean_with_error(values: Array, weights: Array | None) -> tuple[float, float]:
    """Mean of values (n,) and its standard error."""
    mean = np.average(values, weights=weights)
    variance = np.average((values - mean) ** 2, weights=weights)
    return float(mean), float(np.sqrt(variance / effective_sample_size(len(values), weights)))


def improves(before: Array, after: Array, width: Array, weights: Array | None) -> bool:
    """Whether coverage by PIT values (n,) comes closer to nominal: within quarters by ``width``, and of all rows.

    Quarters that come closer must not take the coverage of all rows further away: it has to come closer too, or to
    differ from nominal by no more than its standard error.
    """
    rows = effective_sample_size(len(before), weights)
    chance = float(np.mean([np.sqrt(level * (1.0 - level) / rows) for level in LEVELS]))
    everywhere = [overall_error(pit, weights) for pit in (before, after)]
    closer = everywhere[1] < everywhere[0] or everywhere[1] <= chance
    return closer and central_error(after, width, weights) < central_error(before, width, weights)


def overall_error(pit: Array, weights: Array | None) -> float:
    """Mean absolute difference between the coverage of central intervals, by PIT values (n,), and their level."""
    distance = np.abs(2.0 * pit - 1.0)
    coverage = [np.average(distance <= level, weights=weights) for level in LEVELS]
    return float(np.mean(np.abs(np.subtract(coverage, LEVELS))))


def central_error(pit: Array, width: Array, weights: Array | None) -> float:
    """How far the coverage of central intervals is from their level, by PIT values (n,) and interquartile ranges (n,).

    The mean over levels of the absolute difference, for all rows, plus the same for each quarter by ``width``.
    """
    quarters = np.array_split(np.argsort(width, kind="stable"), QUARTERS)
    errors = [overall_error(pit[rows], None if weights is None else weights[rows]) for rows in quarters]
    return overall_error(pit, weights) + float(np.mean(errors))


def coverage_error(distribution: PredictiveDistribution, y: Array) -> float:
    """Mean absolute difference between the coverage of central intervals, randomised at atoms, and their level."""
    inside = inside_central(distribution, y, np.array(LEVELS))
    return float(np.mean(np.abs(inside.mean(axis=0) - LEVELS)))
