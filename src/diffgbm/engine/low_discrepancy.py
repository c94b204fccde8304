r"""Low-discrepancy noise instead of random noise (array-RQMC): distributions without sampling error.

At step ``k`` the ``n`` samples of a row are sorted, and the sample of rank ``i`` gets the normal

.. math:: \Phi^{-1}\Bigl(\frac{\pi((i + s_k) \bmod n) + 1/2}{n}\Bigr).

The permutation :math:`\pi` ranks the multiples of the golden ratio, so that the pairs (rank, noise) have low
discrepancy in the unit square. The shift :math:`s_k` changes with the step, so that a sample does not get the same
noise twice. The remaining correlation between rank and noise is removed, because it would add up over the steps.
Fibonacci numbers of samples are best: their permutation is a lattice.

References
----------
L'Ecuyer, Lecot and Tuffin (2008), "A randomized quasi-Monte Carlo simulation method for Markov chains", Operations
Research 56(4), 958-975.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from diffgbm._util.types import Array

GOLDEN = 0.6180339887498949
PLASTIC = 0.7548776662466927
"""Fractions whose multiples have the lowest discrepancy in one and in two dimensions."""

FEW = 8
"""With fewer samples the correlation between rank and noise is not removed."""

LEVELS = 65536
"""Distinct positions between the smallest and the largest sample when samples are sorted."""


class LowDiscrepancyNoise(NamedTuple):
    """Stratified normals of each step by rank, of shape (n_steps, n); (n_steps, 0) means random noise."""

    normals: Array


def low_discrepancy_noise(n: int, n_steps: int) -> LowDiscrepancyNoise:
    """Arrange ``n`` stratified normals of variance one, uncorrelated with their rank, for ``n_steps`` steps."""
    values = ndtri((np.arange(n) + 0.5) / n)
    if n > 1:
        values /= values.std()
    permutation = np.argsort(np.argsort(np.arange(n) * GOLDEN % 1.0))
    shifts = (np.arange(n_steps) * PLASTIC % 1.0 * n).astype(np.int64)
    noise = values[permutation[(np.arange(n) + shifts[:, None]) % max(n, 1)]]
    if n < FEW:
        return LowDiscrepancyNoise(noise)
    slope = noise @ values / n
    return LowDiscrepancyNoise((noise - slope[:, None] * values) / np.sqrt(1.0 - slope[:, None] ** 2))


def roughly_sorted(states: Array) -> Array:
    """Sort each row of ``states`` (rows, n) by position between its smallest and largest, as the kernels do."""
    low, high = states.min(axis=1, keepdims=True), states.max(axis=1, keepdims=True)
    width = high - low
    usable = (width > 0.0) & (width < np.inf)
    inverse = np.divide(LEVELS - 1, width, out=np.zeros_like(width), where=usable)
    keys = ((states - low) * inverse).astype(np.uint16)
    return np.take_along_axis(states, np.argsort(keys, axis=1, kind="stable"), axis=1)
