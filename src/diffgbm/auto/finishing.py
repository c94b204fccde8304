"""What follows the training of a pool: the shapes of its responses, and the recalibration of its intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffgbm._util.types import Array
from diffgbm.auto.acceptance import accepted_correction, accepted_shapes
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.budget import Clock
from diffgbm.auto.disagreement import disagreement
from diffgbm.auto.final_models import Pool
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.auto.problem import Problem
from diffgbm.auto.recalibration import Correction, adjusted_observations
from diffgbm.auto.scorer import Scorer
from diffgbm.auto.trainer import Trainer
from diffgbm.distributions import PredictiveDistribution
from diffgbm.distributions.support import Support
from diffgbm.fitting.limits import given_limits
from diffgbm.fitting.training_table import TrainingTable

HOLDOUT_POINTS = 500
"""Points of the held-out rows' distributions."""

Shapes = tuple[ResponseShape, ...]
"""The shape of each response."""


@dataclass(frozen=True)
class Shaping:
    """What the arguments ``discrete`` and ``support`` ask for.

    Attributes
    ----------
    discrete : bool or str
        The argument.
    supports : tuple
        The argument ``support`` for each response, and its limits if these are numbers.
    """

    discrete: bool | str
    supports: tuple[tuple[Any, Support | None], ...]

    @classmethod
    def of(cls, discrete: bool | str, support: Any, X: Any, y: Any) -> Shaping:
        """Check the arguments against the user's table."""
        return cls(discrete if isinstance(discrete, str) else bool(discrete), given_limits(support, X, y))

    def of_pool(self, trainer: Trainer, scorer: Scorer, pool: Pool, observed: Array) -> Shapes:
        """Return the shapes of a pool's responses; ``discrete="auto"`` takes those that its held-out rows accept.

        Shapes are found in the responses as the user passed them: if atoms differed in the last bit, probabilities
        would be wrong. ``observed`` (n, d) are all of them; by time, the pool has not seen the first.
        """
        known = trainer.problem.table.observed
        if self.discrete == "auto":
            found = accepted_shapes(known, known[pool.rows], pool.points, scorer.weights_of(pool.rows))
        else:
            found = tuple(ResponseShape.of(column) if self.discrete else ResponseShape() for column in known.T)
        return tuple(map(self._limited, found, observed.T, self.supports))

    def of_responses(self, observed: Array) -> Shapes:
        """Return the shapes of responses (n, d) that are predicted by themselves."""
        return tuple(map(self._limited, map(ResponseShape.of, observed.T), observed.T, self.supports))

    def _limited(self, shape: ResponseShape, y: Array, given: tuple[Any, Support | None]) -> ResponseShape:
        """Add what ``support`` says to the shape of a response (n,): its limits, or none of our own.

        A response that is to be discrete and takes too many values for a list is a whole number. One that takes few,
        which are whole numbers in a row, can be any whole number between limits that the caller gave.
        """
        support, limits = given
        if shape.atoms is not None:
            return shape if limits is None else shape.as_counts(limits)
        if support is None:
            shape = replace(shape, limits=None)
        elif limits is not None:
            shape = shape.within(limits, y)
        if self.discrete is True and (y == np.rint(y)).all():
            least = Support(0.0) if isinstance(support, str) and y.min() >= 0.0 else Support()
            shape = replace(shape, limits=replace(shape.limits or least, integers=True))
        return shape


def finished(
    trainer: Trainer,
    scorer: Scorer,
    pool: Pool,
    shapes: Shapes,
    holdout: TrainingTable | None,
    clock: Clock,
) -> tuple[PooledModel, Array]:
    """Confine and recalibrate the pool where that helps on unseen rows.

    Returns
    -------
    model : PooledModel
        The pool with its shapes and its correction.
    points : ndarray of shape (rows, m, d)
        Sorted, confined points of the out-of-bag distributions.

    Notes
    -----
    The rows of ``holdout`` determine the correction, the out-of-bag distributions if it has no rows. Without
    ``holdout`` there is none.
    """
    table = trainer.problem.table
    weights = scorer.weights_of(pool.rows)
    model = PooledModel(pool.members, pool.weights, None, shapes, None, pool.climatology, pool.outside)
    points = np.sort(model.confined(pool.points.copy()), axis=1)
    if holdout is None or not table.response.is_1d or model.is_climatology or clock.over():
        return model, points
    if len(holdout.y):
        correction = _correction_by_holdout(model, holdout, trainer.problem)
    else:
        out_of_bag = model.distributions_of(points)
        assert isinstance(out_of_bag, PredictiveDistribution)
        adjusted = _adjusted(trainer, pool, out_of_bag, float(scorer.units[0]))
        adjusted = shapes[0](adjusted)
        structure = table.structure.part(pool.rows)
        correction = accepted_correction(out_of_bag, adjusted, weights, trainer.problem.seed, structure)
    return replace(model, correction=correction), points


def _adjusted(trainer: Trainer, pool: Pool, out_of_bag: PredictiveDistribution, unit: float) -> Array:
    """Observations (n,) for out-of-bag distributions: each of these comes from one bag, the pool's from all.

    By time they come from all bags as well.
    """
    y = trainer.problem.table.observed[pool.rows, 0]
    if trainer.problem.table.structure.order is not None:
        return y
    uniforms = np.random.default_rng(trainer.problem.seed).uniform(size=len(y))
    return adjusted_observations(out_of_bag, y, disagreement(trainer, pool, unit), uniforms)


def _correction_by_holdout(model: PooledModel, holdout: TrainingTable, problem: Problem) -> Correction | None:
    """Return the correction that helps on rows that no part of the model was trained on."""
    distribution = model.distribution(holdout.X, HOLDOUT_POINTS, threads=problem.n_jobs)
    assert isinstance(distribution, PredictiveDistribution)
    return accepted_correction(distribution, holdout.observed[:, 0], holdout.weights, problem.seed, holdout.structure)
