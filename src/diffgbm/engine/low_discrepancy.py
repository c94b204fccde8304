"""Noise that is spread evenly instead of drawn at random (array-RQMC), for laws without sampling error.

At each step the samples of a row are put in order; the one at rank ``i`` meets the normal number
``permutation[i + shift]``, counted around. The permutation ranks the multiples of the golden ratio, so that
(rank, noise) fill the unit square evenly; the shift moves with the step, so that no sample meets the same noise again.
What is left of a correlation between rank and noise is taken out, because it would add up over the steps. Fibonacci
numbers of samples are arranged best: their permutation is a perfect lattice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from diffgbm._util.types import Array

GOLDEN = 0.6180339887498949
PLASTIC = 0.7548776662466927
"""Fractions whose multiples are the most evenly spread in one and in two dimensions."""

FEW = 8
"""Samples that are too few to be made uncorrelated with anything."""

LEVELS = 65536
"""Positions in the range of the samples that are told apart when they are put in order."""


class SpreadNoise(NamedTuple):
    """Evenly spread normals of each step by rank, of shape (n_steps, n); (n_steps, 0) stands for random noise."""

    normals: Array


def spread_noise(n: int, n_steps: int) -> SpreadNoise:
    """Arrange ``n`` evenly spread normals of variance one, uncorrelated with their rank, for ``n_steps`` steps."""
    values = ndtri((np.arange(n) + 0.5) / n)
    if n > 1:
        values /= values.std()
    permutation = np.argsort(np.argsort(np.arange(n) * GOLDEN % 1.0))
    shifts = (np.arange(n_steps) * PLASTIC % 1.0 * n).astype(np.int64)
    noise = values[permutation[(np.arange(n) + shifts[:, None]) % max(n, 1)]]
    if n < FEW:
        return SpreadNoise(noise)
    slope = noise @ values / n
    return SpreadNoise((noise - slope[:, None] * values) / np.sqrt(1.0 - slope[:, None] ** 2))


def roughly_sorted(states: Array) -> Array:
    """Sort each row of ``states`` (rows, n) by its position in the row's range, as the kernels do."""
    low, high = states.min(axis=1, keepdims=True), states.max(axis=1, keepdims=True)
    width = high - low
    usable = (width > 0.0) & (width < np.inf)
    inverse = np.divide(LEVELS - 1, width, out=np.zeros_like(width), where=usable)
    keys = ((states - low) * inverse).astype(np.uint16)
    return np.take_along_axis(states, np.argsort(keys, axis=1, kind="stable"), axis=1)
