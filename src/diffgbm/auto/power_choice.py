"""On which scale a skewed response is learned: small models on power scales against one on the user's, on unseen rows.

Trees average. On the scale of a skewed response a few large rows decide the averages, and the noise grows with the
level; the logarithm or the square root of the response has neither trouble.
"""

from __future__ import annotations

import numpy as np

from diffgbm._util.types import Array
from diffgbm.auto.atom_choice import probe_losses
from diffgbm.auto.budget import Clock
from diffgbm.auto.sampler_choice import MIN_GAIN, lowers
from diffgbm.auto.search import part_folds
from diffgbm.data.power_scale import PowerScale
from diffgbm.fitting.training_table import TrainingTable

POWERS = (0.5, 0.0)
"""The square root and the logarithm."""
ROWS = 1500
"""Rows of the comparison, at most."""
MIN_ROWS = 100
"""Fewer rows do not tell scales apart."""
MIN_SKEWNESS = 0.8
"""Skewness from which scales are compared. Responses of less are hardly changed by them."""
MIN_NOISE = 0.2
"""CRPS of unseen rows on the user's scale, in standard deviations, from which scales are compared. Where columns
explain nearly everything, small models do not say which scale suits large ones: on one of three splits of yacht the
logarithm doubled the CRPS of the pool."""
LEAST_SECONDS = 20.0
"""A time limit below this leaves no time for the comparison."""


def on_best_scale(table: TrainingTable, seed: int, n_jobs: int, clock: Clock) -> TrainingTable:
    """Return the table with its response on the scale that lowers the CRPS of unseen rows, in the user's units.

    The user's scale stays if the response is negative somewhere, little skewed or nearly known, if there are few rows
    or little time, and unless another one is better by a share ``MIN_GAIN`` and by the standard error of the
    difference.
    """
    y = table.observed[:, 0]
    if not table.response.is_1d or len(y) < MIN_ROWS or y.min() < 0.0 or skewness(y, table.weights) < MIN_SKEWNESS:
        return table
    if clock.limit is not None and clock.limit < LEAST_SECONDS:
        return table
    found = [PowerScale.of(y, table.weights, power) for power in POWERS]
    tables = [table, *(table.on_scale(scale) for scale in found if scale is not None)]
    begin, losses = clock.spent, [_losses(table, seed, n_jobs) for table in tables[:1]]
    if float(np.mean(losses[0][0])) < MIN_NOISE * float(table.response.units[0]):
        return table
    for other in tables[1:]:
        # each comparison takes as long as the first
        if not clock.fits((clock.spent - begin) / len(losses), begin / (clock.limit or np.inf) + clock.budget.scale):
            break
        losses.append(_losses(other, seed, n_jobs))
    best = int(np.argmin([np.mean(loss[0]) for loss in losses]))
    return tables[best] if best and lowers(losses[best][0], losses[0][0], losses[0][1], MIN_GAIN) else table


def _losses(table: TrainingTable, seed: int, n_jobs: int) -> tuple[Array, Array | None]:
    """CRPS (m,) of unseen rows of a small model, and their weights."""
    folds = part_folds(len(table.y), min(ROWS, len(table.y)), seed, table.structure)
    losses = np.concatenate([probe_losses(table, fold, seed, n_jobs) for fold in folds])
    rows = np.concatenate([held_out for _, held_out in folds])
    return losses, None if table.weights is None else table.weights[rows]


def skewness(y: Array, weights: Array | None) -> float:
    """Third standardised moment of responses (n,); zero if all are equal."""
    deviation = y - np.average(y, weights=weights)
    variance = np.average(deviation**2, weights=weights)
    return float(np.average(deviation**3, weights=weights) / variance**1.5) if variance > 0.0 else 0.0
