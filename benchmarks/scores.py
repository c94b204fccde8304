"""Scores of predictive samples (n_samples, n_rows) against what happened (n_rows,)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_BLOCK_VALUES = 4_000_000
"""Samples sorted at a time."""


def crps(samples: Array, y: Array) -> Array:
    r"""Return the CRPS of each row, in its ensemble form.

    .. math:: \frac1n \sum_i |y_i - y| - \frac1{2 n^2} \sum_{i,j} |y_i - y_j|

    The double sum is :math:`2 \sum_i (2i - n - 1) y_{(i)}` over the sorted samples. Rows are taken in blocks.
    """
    samples, y = np.asarray(samples, dtype=float), np.asarray(y, dtype=float)
    n = len(samples)
    weights = (2.0 * np.arange(1, n + 1) - n - 1.0) / n**2
    step = max(1, _BLOCK_VALUES // n)
    out = np.empty(len(y))
    for start in range(0, len(y), step):
        rows = slice(start, start + step)
        ordered = np.sort(samples[:, rows], axis=0)
        out[rows] = np.abs(ordered - y[rows]).mean(axis=0) - weights @ ordered
    return out


def coverage(samples: Array, y: Array, level: float) -> float:
    """Return the share of rows inside the central interval of probability ``level``."""
    low, high = np.quantile(samples, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return float(np.mean((low <= y) & (y <= high)))
