"""The sampler of a noise model: several are compared on unseen rows, without training anything again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from diffgbm._util.types import Array, Rows
from diffgbm.auto.acceptance import mean_with_error
from diffgbm.auto.candidates import Candidate
from diffgbm.auto.scorer import Scorer
from diffgbm.auto.trainer import Trainer
from diffgbm.data.splits import Split
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
"""Samplers that are compared with each recipe's."""
ROWS = 1000
"""Unseen rows that decide, about, if there are so many."""
MIN_GAIN = 0.01
"""Share by which other samplers must lower the pool's CRPS. On fold 0 of the paper's tables, smaller gains out of bag
were losses on test rows as often as not."""


def deciding_bag(splits: Sequence[Split]) -> int:
    """Return the first bag after which ``ROWS`` rows were held out, or the last one."""
    held_out = np.cumsum([len(rows) for _, rows in splits])
    return min(int(np.searchsorted(held_out, ROWS)), len(splits) - 1)


def better_sampler(
    trainer: Trainer, scorer: Scorer, candidate: Candidate, model: FittedModel, held_out: Sequence[Rows]
) -> Sampler | None:
    """Return the sampler of lowest CRPS on held-out rows; ``None`` if that is the model's.

    Another sampler must be better by more than the standard error of the difference.

    Parameters
    ----------
    trainer, scorer : Trainer, Scorer
        What predicts and scores.
    candidate, model : Candidate, FittedModel
        The model, and what it is.
    held_out : sequence of ndarray of int
        For each bag of the model, rows that it was not trained on.
    """
    parts = [rows[:: max(1, len(rows) * len(held_out) // ROWS)] for rows in held_out]
    rows = np.concatenate(parts)

    def losses(sampler: Sampler) -> Array:
        points = trainer.out_of_bag(candidate, with_sampler(model, sampler), parts)
        return scorer.losses(np.concatenate(points), rows)

    reference = losses(model.recipe.sampler)
    tried: dict[Sampler, Array] = {}
    for sampler in SAMPLERS.get(candidate.recipe, ()):
        if trainer.stop():  # no time for another one
            break
        tried[sampler] = losses(sampler)
    weights = scorer.weights_of(rows)
    better = [sampler for sampler, other in tried.items() if lowers(other, reference, weights)]
    return min(better, key=lambda sampler: np.average(tried[sampler], weights=weights), default=None)


def lowers(losses: Array, reference: Array, weights: Array | None, min_gain: float = 0.0) -> bool:
    """Whether the mean of losses (n,) is below that of ``reference`` by a share ``min_gain`` and by a standard error.

    The standard error is that of the mean difference.
    """
    gain, error = mean_with_error(reference - losses, weights)
    return gain > max(min_gain * float(np.average(reference, weights=weights)), error)


def with_sampler(model: FittedModel, sampler: Sampler) -> FittedModel:
    """Return the model with another sampler."""
    return replace(model, recipe=replace(model.recipe, sampler=sampler))
