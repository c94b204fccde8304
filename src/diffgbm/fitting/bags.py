"""Bags: several noise models of the same rows, each with its own held-out rows and its own noise.

Every row is held out by one bag, so that together they say of each row what a model that has not seen it would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffgbm._util.types import Array, Rows
from diffgbm.data.splits import Split
from diffgbm.diffusion.recipe import Recipe
from diffgbm.engine.stored import AnyBooster
from diffgbm.fitting.boosting import NoisyRows, noisy_rows, train_boosters

Tick = Callable[[float | None], None]

VALIDATION_ROWS = 5000
"""Noisy rows that decide when to stop. A small table's held-out rows are copied until there are so many: with one noisy
copy of 64 rows the published recipe stops anywhere between 60 and 660 rounds."""


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


@dataclass(frozen=True)
class NoiseTable:
    """What a noise model learns from.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Encoded rows.
    residuals : ndarray of shape (n, d)
        Standardised responses, without what the guides explain.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    categorical : sequence of int
        Categorical columns of ``X``.
    given : ndarray of shape (n, k) or None
        The guides' columns, if they are not among those of ``X``.
    """

    X: Array
    residuals: Array
    weights: Array | None
    categorical: Sequence[int]
    given: Array | None = None


ORDERED = 1 << 27
"""A table of more numbers (512 MB of float32) is read from its first row to its last. It may lie on disk, where another
order would take a read for each row of each copy."""


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
) -> Bag:
    """Train one noise model; ``params`` are the estimator's arguments, ``seeds`` those of the two draws of noise.

    ``stop`` is asked after each round; once it says yes the model is what it is by then.
    """
    train, held_out = split
    stopping = params["early_stopping_rounds"]
    repeats = params["n_repeats"]
    valid = None
    if stopping is not None and len(held_out):
        copies = min(repeats, -(-VALIDATION_ROWS // len(held_out)))
        valid = _noisy(table, recipe, held_out, copies, seeds[1])
    boosters = train_boosters(
        _noisy(table, recipe, train, repeats, seeds[0]),
        valid,
        params=lightgbm,
        n_estimators=params["n_estimators"],
        early_stopping_rounds=stopping,
        categorical=table.categorical,
        tick=tick,
        stop=stop,
    )
    return Bag(tuple(boosters), held_out)


def _noisy(table: NoiseTable, recipe: Recipe, rows: Rows, repeats: int, seed: np.random.SeedSequence) -> NoisyRows:
    # rows are looked up in the table when they are needed: it is not copied
    chosen = None if len(rows) == len(table.X) and np.array_equal(rows, np.arange(len(rows))) else rows
    weights = None if table.weights is None else table.weights[rows]
    rng = np.random.default_rng(seed)
    return noisy_rows(recipe, table.X, table.residuals[rows], weights, repeats, rng, chosen, table.given)
