"""Random numbers that belong to rows: functions of a row's position in the whole table, whatever its partition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array

Positions = NDArray[np.int64]


def uniform(positions: Positions, key: int) -> Array:
    """Return a number in [0, 1) for each position (n,), by the mixing steps of splitmix64."""
    with np.errstate(over="ignore"):
        z = (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + _mixed(np.uint64(key))
        return np.asarray(_mixed(z) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def folds(positions: Positions, k: int, key: int) -> NDArray[np.intp]:
    """Deal rows out to ``k`` folds; the same row goes to the same fold whatever the other rows are."""
    return (uniform(positions, key) * k).astype(np.intp)


def nth(seed: np.random.SeedSequence, i: int) -> np.random.SeedSequence:
    """Return the ``i``-th child of a seed, without making the others."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, i))


def _mixed(z: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64] | np.uint64:
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
