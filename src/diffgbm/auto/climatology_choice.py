"""How much of a pool is climatology: as much as lowers the CRPS of held-out rows, and none where models are better."""

from __future__ import annotations

import numpy as np

from diffgbm._util.types import Array, Rows
from diffgbm.auto.pool import MIN_WEIGHT, mixture_points, pool_crps, pool_weights
from diffgbm.auto.sampler_choice import MIN_GAIN, lowers
from diffgbm.auto.scorer import Scorer


def climatology_weight(scorer: Scorer, points: Array, climatology: Array, rows: Rows) -> float:
    """Return the weight of climatology beside a pool, from out-of-bag points (rows, m, d) of both.

    Models that beat climatology by more than the standard error of the difference stay alone, unless the mixture
    lowers their CRPS by a share ``MIN_GAIN`` and by its standard error. Otherwise the weights are those of a pool of
    two, which few rows draw towards equal ones, or climatology alone if it is better than this mixture.
    """
    to_y, between = scorer.mean_terms([points, climatology], rows)
    losses, weights = [scorer.losses(member, rows) for member in (points, climatology)], scorer.weights_of(rows)
    if lowers(losses[0], losses[1], weights):
        best = pool_weights(to_y, between)
        if best[1] == 0.0:
            return 0.0
        # with equally many points: the CRPS of few points is a little higher
        n_points = 4 * points.shape[1]
        mixed = scorer.losses(mixture_points([points, climatology], best, n_points), rows)
        alone = scorer.losses(mixture_points([points], np.ones(1), n_points), rows)
        return float(best[1]) if lowers(mixed, alone, weights, MIN_GAIN) else 0.0
    shrunk = pool_weights(to_y, between, len(rows))
    reference = pool_crps(np.array([0.0, 1.0]), to_y, between)
    if reference <= pool_crps(shrunk, to_y, between) or shrunk[1] > 1.0 - MIN_WEIGHT:
        return 1.0
    return float(shrunk[1])
