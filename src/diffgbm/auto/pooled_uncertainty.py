"""Which uncertainty a pool has: that within and that between the submodels of all its members."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diffgbm._util.types import Array
from diffgbm.auto.effort import FOLDS
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.distributions import PredictiveDistribution
from diffgbm.distributions.uncertainty import Uncertainty
from diffgbm.fitting.joint_atoms import probabilities_of
from diffgbm.fitting.submodels import SubmodelPoints, Submodels, submodel_points, with_atoms

POINTS = 377
"""Points of the pool's distribution, which is compared with its correction."""

POINTS_OF_A_MEMBER = 89
"""Points of the distribution of one model of a member from outside."""


def pooled_uncertainty(pool: PooledModel, X: Array, threads: int = 1) -> Uncertainty:
    """Decompose the uncertainty of encoded rows (n, p) over the members of a pool and their submodels."""
    return pooled_submodels(pool, X, threads).uncertainty(pool.first.response.is_1d)


def pooled_submodels(pool: PooledModel, X: Array, threads: int = 1) -> Submodels:
    """Predict encoded rows (n, p) by the submodels of all members of a pool.

    Points are confined and recalibrated as those of the pool are: the correction moves each value of a row's
    distribution to another one, and the points of its submodels with it.
    """
    parts = [submodel_points(member, X, member.recipe.sampler, threads, FOLDS) for member in pool.members]
    for member in pool.outside:
        each = tuple(member.alone(b).points(X, POINTS_OF_A_MEMBER) for b in range(len(member.models)))
        parts.append(SubmodelPoints(each, np.full((len(X), 1), len(each) - 1.0)))
    if pool.climatology is not None:
        # one submodel: the training responses hardly depend on which rows are left out
        everywhere = np.tile(pool.climatology.points(parts[0].points[0].shape[1]), (len(X), 1, 1))
        parts.append(SubmodelPoints((everywhere,), np.mean([part.factor for part in parts], axis=0)))
    move = _correction(pool, X, threads)
    moved, found = [], probabilities_of(pool.joint_atoms, X)
    for part in parts:
        if any(pool.joint_atoms):  # several responses have no correction
            points = tuple(pool.confined(values.copy(), found) for values in part.points)
        else:
            points = tuple(pool.confined(move(pool.confined(values))) for values in part.points)
        points = points if pool.atoms is None else with_atoms(points, pool.atoms, X)
        moved.append(SubmodelPoints(points, part.factor))
    return Submodels(tuple(moved), pool.shares)


class Move:
    """Moves points (n, m, 1) as a correction moves those of a distribution; without one it leaves them as they are.

    Parameters
    ----------
    before, by : ndarray of shape (n, k) or None
        Points of the distribution, and how far the correction moves each.
    """

    def __init__(self, before: Array | None, by: Array | None) -> None:
        self.before, self.by = before, by

    def __call__(self, points: Array) -> Array:
        """Move points (n, m, 1)."""
        if self.before is None or self.by is None:
            return points
        shifts = [np.interp(p, v, d) for p, v, d in zip(points[:, :, 0], self.before, self.by, strict=True)]
        return points + np.array(shifts).reshape(points.shape)


def _correction(pool: PooledModel, X: Array, threads: int) -> Move:
    if pool.correction is None:
        return Move(None, None)
    plain = replace(pool, correction=None, atoms=None).distribution(X, POINTS, threads=threads)
    assert isinstance(plain, PredictiveDistribution)
    return Move(plain.values, pool.correction(plain).values - plain.values)
