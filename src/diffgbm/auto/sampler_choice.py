"""The sampler of a noise model: several are tried, which costs no training, on rows that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from diffgbm._util.types import Array, Rows
from diffgbm.auto.acceptance import mean_with_error
from diffgbm.auto.search import POINTS, Candidate, Contest
from diffgbm.diffusion.sampler import Sampler
from diffgbm.fitting.model import FittedModel

SAMPLERS: dict[str, tuple[Sampler, ...]] = {
    "flow": (
        Sampler("heun", 10, "ode"),
        Sampler("heun", 20, "ode"),
        Sampler("heun", 25, "interpolant", 1.0),
        Sampler("heun", 25, "sde"),
    ),
    "edm": (
        Sampler("heun", 25, "ode"),
        Sampler("heun", 25, "sde"),
        Sampler("heun", 50, "interpolant", 1.0),
    ),
}
"""What is tried beside each recipe's own."""
ROWS = 1000
"""Unseen rows that decide, about, if there are so many."""
LEAST_GAIN = 0.01
"""Share of the CRPS that other samplers must save the pool, as confining it must. On fold 0 of the paper's tables
smaller savings out of bag were losses on test rows as often as not."""


def decisive_bag(cuts: Sequence[tuple[Rows, Rows]]) -> int:
    """Return the bag with which there are enough rows to decide, or the last one."""
    unseen = np.cumsum([len(out) for _, out in cuts])
    return min(int(np.searchsorted(unseen, ROWS)), len(cuts) - 1)


def better_sampler(
    contest: Contest, candidate: Candidate, model: FittedModel, unseen: Sequence[Rows]
) -> Sampler | None:
    """Return the sampler whose laws of unseen rows have the lowest CRPS; ``None`` if that is the model's own.

    Another must be better by more than the standard error of the difference. ``unseen`` are the rows that each bag of
    the model has not learned from.
    """
    rows = [out[:: max(1, len(out) * len(unseen) // ROWS)] for out in unseen]
    together = np.concatenate(rows)

    def losses(sampler: Sampler) -> Array:
        distributions = out_of_bag(contest, candidate, sampled_by(model, sampler), rows)
        return contest.losses(np.concatenate(distributions), together)

    own = losses(model.recipe.sampler)
    tried = {sampler: losses(sampler) for sampler in SAMPLERS[candidate.recipe]}
    weights = contest.weights(together)
    better = [sampler for sampler, other in tried.items() if saves(other, own, weights)]
    return min(better, key=lambda sampler: np.average(tried[sampler], weights=weights), default=None)


def saves(other: Array, own: Array, weights: Array | None, least: float = 0.0) -> bool:
    """Whether the mean of losses (n,) falls by a share ``least``, and by more than the standard error of its change."""
    gain, error = mean_with_error(own - other, weights)
    return gain > max(least * float(np.average(own, weights=weights)), error)


def sampled_by(model: FittedModel, sampler: Sampler) -> FittedModel:
    """Let a model be sampled otherwise."""
    return replace(model, recipe=replace(model.recipe, sampler=sampler))


def out_of_bag(
    contest: Contest, candidate: Candidate, model: FittedModel, unseen: Sequence[Rows], n_points: int = POINTS
) -> list[Array]:
    """Sorted points of the laws of rows that the bags have not learned from: (rows, n_points, d) for each bag."""
    bags = [replace(model, bags=(bag,)) for bag in model.bags]
    return [contest.points(candidate, bag, rows, n_points) for bag, rows in zip(bags, unseen, strict=True)]
