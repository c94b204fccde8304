"""How much the bags of a pool differ, which single bags know nothing of and the pool's distributions contain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diffgbm._util.types import Array
from diffgbm.auto.final_models import Pool
from diffgbm.auto.trainer import Trainer
from diffgbm.data.splits import subsample

ROWS = 500
"""Rows on which bags are compared."""


def disagreement(trainer: Trainer, pool: Pool, unit: float) -> float:
    r"""How much the bags of a pool differ: :math:`(1 - 1/B)\,v / w`, the median over rows, for one response.

    :math:`v` is the variance of the mean between bags and :math:`w` the variance of a bag's distribution. Most of the
    bags were trained on the rows; on new rows they differ as much (fold 0 of yacht, diabetes, energy and concrete:
    0.006, 0.005, 0.018 and 0.008 on training rows, 0.005, 0.006, 0.018 and 0.008 on new ones). Members from outside are
    taken to differ as our models do: a forest knows its training rows by heart, and differs there as on no new row.

    Parameters
    ----------
    trainer : Trainer
        What predicts.
    pool : Pool
        Members with their bags.
    unit : float
        Standard deviation of the response.
    """
    n_bags = min(len(member.bags) for member in pool.members)
    climatology = pool.climatology
    rows, _ = subsample(trainer.problem.n_rows, ROWS, trainer.problem.seed)
    centre: Array | None = None
    moments = np.zeros((2, n_bags, len(rows)))
    for member, candidate, weight in zip(pool.members, pool.candidates, _weights(pool), strict=True):
        for b, bag in enumerate(member.bags[:n_bags]):
            points = trainer.points(candidate, replace(member, bags=(bag,)), rows)[:, :, 0] / unit
            # moments about a mean: squares of numbers far from zero lose their differences
            centre = points.mean(axis=1, keepdims=True) if centre is None else centre
            points -= centre
            moments[:, b] += weight * np.array([points.mean(axis=1), np.mean(points**2, axis=1)])
    if climatology is not None and centre is not None:
        values = climatology.values[:, 0] / unit - centre
        moments += climatology.weight * np.array([values.mean(axis=1), np.mean(values**2, axis=1)])[:, None]
    mean, square = moments
    within = np.maximum((square - mean**2).mean(axis=0), np.finfo(float).tiny)
    # the unbiased variance of B means, times 1 - 1/B
    return float(np.median(mean.var(axis=0) / within))


def _weights(pool: Pool) -> Array:
    """Weights of our models, with those of members from outside divided among them."""
    if not pool.outside:
        return pool.weights
    rest = 1.0 if pool.climatology is None else 1.0 - pool.climatology.weight
    weights = pool.weights if pool.weights.any() else np.ones(len(pool.weights))
    return rest * weights / weights.sum()
