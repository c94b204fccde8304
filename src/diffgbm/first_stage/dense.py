"""Encoded rows for regressors that accept neither categories nor missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array
from diffgbm.data.outliers import winsorised

MOST_LEVELS = 32
"""Categories of a column that are one-hot encoded, the most frequent first; rarer ones get no column."""


@dataclass(frozen=True)
class DenseTable:
    """Standardised numbers with missing values imputed by the median, flags for them, and one-hot encoded categories.

    Attributes
    ----------
    numeric, gaps : ndarray of int
        Numeric columns, and those of them that had missing values.
    fill, centre, scale : ndarray
        Median, mean and standard deviation of each numeric column.
    levels : tuple of (int, ndarray)
        Categorical columns and the codes that get a column.
    low, high : ndarray
        Limits of each numeric column; values beyond are moved to them. They are one range away from the training
        values, outliers aside: smooth functions extrapolate without bound, and one outlier would squeeze all others.
    """

    numeric: NDArray[np.intp]
    gaps: NDArray[np.intp]
    fill: Array
    centre: Array
    scale: Array
    levels: tuple[tuple[int, Array], ...]
    low: Array
    high: Array

    @classmethod
    def learn(cls, X: Array, categorical: Sequence[int]) -> DenseTable:
        """Learn from training rows (n, p)."""
        numeric = np.array([j for j in range(X.shape[1]) if j not in set(categorical)], dtype=np.intp)
        values = X[:, numeric].astype(np.float64)
        values[~np.isfinite(values)] = np.nan
        known = np.isfinite(values)
        fill = np.array([np.median(v[k]) if k.any() else 0.0 for v, k in zip(values.T, known.T, strict=True)])
        filled, low, high = _limited(np.where(known, values, fill))
        scale = filled.std(axis=0)
        levels = []
        for j in categorical:
            codes, counts = np.unique(X[np.isfinite(X[:, j]), j], return_counts=True)
            kept = codes[np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
            levels.append((int(j), np.sort(kept)))
        return cls(
            numeric,
            numeric[~known.all(axis=0)] if len(numeric) else numeric,
            fill,
            filled.mean(axis=0),
            np.where(scale > 0.0, scale, 1.0),
            tuple(levels),
            low,
            high,
        )

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.numeric) + len(self.gaps) + sum(len(codes) for _, codes in self.levels)

    def __call__(self, X: Array) -> Array:
        """Return rows (n, p) as finite numbers (n, width)."""
        values = X[:, self.numeric].astype(np.float64)
        values = np.where(np.isfinite(values), values, self.fill)
        values = (np.minimum(np.maximum(values, self.low), self.high) - self.centre) / self.scale
        if not len(self.gaps) and not self.levels:
            return np.ascontiguousarray(values)
        flags = ~np.isfinite(X[:, self.gaps])
        ones = [X[:, [j]] == codes[None, :] for j, codes in self.levels]
        return np.ascontiguousarray(np.hstack([values, flags, *ones], dtype=np.float64))


def _limited(values: Array) -> tuple[Array, Array, Array]:
    """Move outliers of columns (n, q); return the columns and the limits (q,), one range beyond the other values."""
    inner, found = winsorised(values)
    low, high = (end(inner, axis=0) if len(inner) else np.zeros(values.shape[1]) for end in (np.min, np.max))
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        span = np.minimum(high - low, largest)
        low, high = np.maximum(low - span, -largest), np.minimum(high + span, largest)
    return (np.clip(values, low, high) if any(found) else values), low, high
