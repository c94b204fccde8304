r"""Low-discrepancy noise instead of random noise (array-RQMC): distributions without sampling error.

At step ``k`` the ``n`` samples of a row are sorted, and the sample of rank ``i`` gets the normal

.. math:: \Phi^{-1}\Bigl(\frac{(\pi(i) + \lfloor n u_k \rfloor) \bmod n + 1/2}{n}\Bigr), \qquad
          u_k = (k \sqrt 3 + u_0) \bmod 1.

The permutation :math:`\pi` ranks the multiples of the golden ratio, so that the pairs (rank, noise) have low
discrepancy in the unit square. The level :math:`u_k` changes with the step, so that a sample whose rank stays does not
get the same noise twice: over any few steps it meets all levels. Multiples of the square root of 3 are spread evenly
and have nothing in common with the golden ratio, whose multiples would lead a sample along the lattice. Bags of one
model start at different :math:`u_0`, so that their errors differ. The remaining correlation between rank and noise is
removed, because it would add up over the steps. Fibonacci numbers of samples are best: their permutation is a lattice.

References
----------
L'Ecuyer, Lecot and Tuffin (2008), "A randomized quasi-Monte Carlo simulation method for Markov chains", Operations
Research 56(4), 958-975.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from diffgbm._util.types import Array, Integers
from diffgbm.engine.steps import Draws

GOLDEN = 0.6180339887498949
"""Fraction whose multiples have the lowest discrepancy."""
ROOT = 0.7320508075688772
"""Fractional part of the square root of 3."""

LANES = 8
"""Rows that the kernels sort at once: ``diffgbm._util.kernels.LANES``, which is there only with the compiler."""

FEW = 8
"""With fewer samples the correlation between rank and noise is not removed."""


class LowDiscrepancyNoise(NamedTuple):
    """What the samples of a row meet; of no samples at all, it means random noise.

    Attributes
    ----------
    normals : ndarray of shape (n_steps, n)
        Stratified normals of each step by rank.
    pairs : int32 ndarray of shape (comparisons, 2)
        Sorting network, as positions of the numbers of the first of several lanes.
    """

    normals: Array
    pairs: NDArray[np.int32]


@lru_cache(maxsize=64)
def low_discrepancy_noise(n: int, n_steps: int, first_level: float = 0.5) -> LowDiscrepancyNoise:
    """Arrange ``n`` stratified normals of variance one, uncorrelated with their rank, for ``n_steps`` steps.

    Some 100 kB for usual numbers of points and steps; the last 64 are kept.

    Parameters
    ----------
    n, n_steps : int
        Samples and steps.
    first_level : float
        The level at step 0, between 0 and 1.
    """
    values = ndtri((np.arange(n) + 0.5) / n)
    if n > 1:
        values /= values.std()
    permutation = np.argsort(np.argsort(np.arange(n) * GOLDEN % 1.0))
    shifts = ((np.arange(n_steps) * ROOT + first_level) % 1.0 * n).astype(np.int64)
    noise = values[(permutation + shifts[:, None]) % max(n, 1)]
    pairs = (LANES * sorting_network(n)).astype(np.int32)
    if n < FEW:
        return LowDiscrepancyNoise(noise, pairs)
    slope = noise @ values / n
    return LowDiscrepancyNoise((noise - slope[:, None] * values) / np.sqrt(1.0 - slope[:, None] ** 2), pairs)


def arranged_noise(draws: Draws, offset: int, stride: int, n_steps: int) -> LowDiscrepancyNoise:
    """Return the noise of samples ``offset, offset + stride, ...``; of none if the noise is random.

    Each of ``stride`` bags has a first level of its own.
    """
    if not draws.low_discrepancy:
        return low_discrepancy_noise(0, n_steps)
    bag = (offset + draws.first_sample) % stride
    return low_discrepancy_noise(-(-(draws.n_samples - offset) // stride), n_steps, (bag + 0.5) / stride)


def sorting_network(n: int) -> Integers:
    """Positions (comparisons, 2) whose numbers are put in order, one pair after the other, to sort ``n`` numbers.

    References
    ----------
    Batcher, K. E. (1968). Sorting networks and their applications. AFIPS Spring Joint Computer Conference, 307-314.
    """
    layers = [np.empty((0, 2), np.int64)]
    for p in _halves(n, 1):
        for k in _halves(2 * p, 1)[::-1]:
            first = np.arange(k % p, n - k)
            first = first[((first - k % p) // k % 2 == 0) & (first // (2 * p) == (first + k) // (2 * p))]
            layers.append(np.column_stack([first, first + k]))
    return np.concatenate(layers)


def _halves(end: int, first: int) -> list[int]:
    """Powers of two from ``first`` on, below ``end``."""
    return [first << i for i in range(end.bit_length()) if first << i < end]
