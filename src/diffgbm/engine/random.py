"""Random numbers of a request: every normal is a pure function of key, row, sample, step and coordinate.

References
----------
Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA: the hash.

Marsaglia and Tsang (2000), "The ziggurat method for generating random variables", Journal of Statistical Software 5(8).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffgbm._util.types import Array
from diffgbm.engine.steps import Draws

Positions = NDArray[np.int64]
_MASK = (1 << 64) - 1
_BLOCK = 4096


def normals(key: int, rows: ArrayLike, samples: ArrayLike, step: int, d: int) -> Array:
    """Return the standard normals of one step: shape (rows, samples, d).

    Parameters
    ----------
    key : int
        64 bits made from the user's seed.
    rows, samples : array-like of int
        Positions of rows and samples in the whole request.
    step : int
        0 for the starting points; ``k + 1`` for the noise of step ``k``.
    d : int
        Number of coordinates of a state.
    """
    from diffgbm.engine import _random_kernels as kernels

    rows = np.asarray(rows, dtype=np.int64).reshape(-1)
    samples = np.asarray(samples, dtype=np.int64).reshape(-1)
    out = np.empty((len(rows), len(samples), d))
    kernels.fill_normals(as_key(key), rows, samples, np.int64(step), out)
    return out


def row_uniforms(X: Array) -> Array:
    """Hash each row of ``X`` (n, p) to a number between 0 and 1: shape (n,).

    Equal rows have equal numbers; zeros of either sign are equal, and so are all missing values. The numbers of
    different rows are uniform and independent.
    """
    from diffgbm.engine import _random_kernels as kernels

    out = np.empty(len(X))
    for first in range(0, len(X), _BLOCK):  # a table may be mapped into memory, and larger than it
        block = np.array(X[first : first + _BLOCK], dtype=np.float64, order="C")
        block += 0.0
        block[np.isnan(block)] = np.nan
        kernels.fill_row_uniforms(block.view(np.uint64), out[first : first + _BLOCK])
    return out


def as_key(key: int) -> np.uint64:
    """Return the key as 64 unsigned bits."""
    return np.uint64(int(key) & _MASK)


def positions(draws: Draws, n_rows: int, offset: int, stride: int) -> tuple[Positions, Positions]:
    """Return a block's rows, and its samples ``offset, offset + stride, ...``, as their positions."""
    rows = np.zeros(n_rows, np.int64) if draws.shared else draws.first_row + np.arange(n_rows, dtype=np.int64)
    samples = draws.first_sample + np.arange(offset, draws.n_samples, stride, dtype=np.int64)
    return rows, samples
