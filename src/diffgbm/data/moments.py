r"""Weighted moments of columns that can be merged, so that partitions together give those of the whole table.

.. math:: W = \sum w, \qquad \mu = \frac1W \sum w y, \qquad S = \sum w (y - \mu)^2,
          \qquad S_{AB} = S_A + S_B + \frac{W_A W_B}{W_A + W_B} (\mu_A - \mu_B)^2

References
----------
.. [1] T. F. Chan, G. H. Golub, R. J. LeVeque (1983). Algorithms for computing the sample variance: Analysis and
   recommendations. The American Statistician 37(3), 242-247.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from diffgbm._util.types import Array


@dataclass(frozen=True)
class Moments:
    """Moments of some rows.

    Attributes
    ----------
    weight : float
        Sum of the weights ``W``.
    mean, squares : ndarray of shape (d,)
        Weighted mean, and weighted sum ``S`` of squared distances from it.
    """

    weight: float
    mean: Array
    squares: Array

    @classmethod
    def of(cls, values: Array, weights: Array | None = None) -> Moments:
        """Moments of rows (n, d); no row of positive weight has a mean, and counts for nothing in ``merged``."""
        w = None if weights is None else weights[:, None]
        total = float(len(values) if weights is None else weights.sum())
        if total == 0.0:
            return cls(0.0, np.full(values.shape[1], np.nan), np.zeros(values.shape[1]))
        mean = (values if w is None else w * values).sum(axis=0) / total
        square = (values - mean) ** 2
        return cls(total, mean, (square if w is None else w * square).sum(axis=0))

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        step = other.mean - self.mean
        mean = self.mean + step * (other.weight / weight)
        squares = self.squares + other.squares + step**2 * (self.weight * other.weight / weight)
        return Moments(weight, mean, squares)

    @property
    def variance(self) -> Array:
        """Variance ``S / W``, as of a whole population."""
        return self.squares / self.weight

    @property
    def std(self) -> Array:
        """Standard deviation."""
        return np.sqrt(self.variance)


def merged(moments: Iterable[Moments]) -> Moments:
    """Moments of all rows together."""
    return reduce(Moments.__add__, [part for part in moments if part.weight > 0.0])
