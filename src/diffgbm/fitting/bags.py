"""Bags: several noise models of the same rows, each with other held-out rows and other noise.

Every row is held out by one bag: together they give each row the prediction of a model that has not seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffgbm._util.deadline import NEVER, Deadline
from diffgbm._util.types import Rows
from diffgbm.data.splits import Split
from diffgbm.diffusion.recipe import Recipe
from diffgbm.engine.stored import AnyBooster
from diffgbm.fitting.boosting import train_boosters
from diffgbm.fitting.noise_design import copies
from diffgbm.fitting.noise_table import NoiseTable

Tick = Callable[[float | None], None]


@dataclass(frozen=True)
class Bag:
    """One noise model.

    Attributes
    ----------
    boosters : tuple of Booster
        One for each response.
    held_out : ndarray of int
        Rows that it has not learned from.
    """

    boosters: tuple[AnyBooster, ...]
    held_out: Rows


ORDERED = 1 << 27
"""A table of more numbers (512 MB of float32) is read from its first row to its last. It may be on disk, where another
order needs one read for each row of each copy."""


def train_bag(
    table: NoiseTable,
    recipe: Recipe,
    split: Split,
    *,
    params: Mapping[str, Any],
    lightgbm: dict[str, Any],
    seeds: Sequence[np.random.SeedSequence],
    tick: Tick,
    stop: Callable[[], bool] | None = None,
    deadline: Deadline = NEVER,
    folds: Sequence[Rows] = (),
) -> Bag:
    """Train one noise model; ``params`` are the estimator's arguments, ``seeds`` those of the two draws of noise.

    ``stop`` is asked after each round; once it returns true the model keeps the rounds that it has.
    Before ``deadline``, when that happens, few rounds have a larger learning rate. ``folds`` of the rows to learn from
    decide when to stop if no rows are held out.
    """
    train, held_out = split
    stopping = params["early_stopping_rounds"]
    design, repeats = params["noise_design"], copies(params["n_repeats"], len(table.X))
    boosters = train_boosters(
        table.noisy_copies(train, recipe, repeats, seeds[0], design),
        None if stopping is None else table.validation_copies(held_out, recipe, repeats, seeds[1], design),
        params=lightgbm,
        n_estimators=params["n_estimators"],
        early_stopping_rounds=stopping,
        categorical=table.categorical,
        tick=tick,
        stop=stop,
        deadline=deadline,
        folds=folds,
    )
    return Bag(tuple(boosters), held_out)
