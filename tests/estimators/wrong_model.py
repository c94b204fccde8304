"""A model whose predictive distributions are wrong in a known way, and tables that it is wrong about."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.base import BaseEstimator

from diffgbm import PredictiveDistribution

Z = stats.norm.ppf((np.arange(64) + 0.5) / 64)


class Wrong(BaseEstimator):
    """Normal distributions whose standard deviation is ``factor`` times the truth, shifted by ``bias``.

    The truth is ``y = x + (0.5 + x) e`` for the first column ``x`` of X.
    """

    def __init__(self, factor=1.0, bias=0.0):
        self.factor = factor
        self.bias = bias

    def fit(self, X, y, sample_weight=None):
        first = self._first(X)
        self.shift_ = float(np.average(np.asarray(y) - first, weights=sample_weight))
        return self

    def predict_distribution(self, X, **options):
        first = self._first(X)
        points = (first + self.shift_ + self.bias)[:, None] + self.factor * (0.5 + first)[:, None] * Z
        index = X.index if isinstance(X, pd.DataFrame) else None
        return PredictiveDistribution.from_points(points, "price", index)

    @staticmethod
    def _first(X):
        return np.asarray(X["x"] if hasattr(X, "columns") else X[:, 0], dtype=np.float64)


def draw(n, rng):
    """First column: a number that moves the mean; second: a group 0, 1, 2 with noise 1, 2 and 4 times as large."""
    x, group = rng.uniform(size=n), rng.integers(0, 3, n)
    y = x + (0.5 + x) * 2.0**group * rng.standard_normal(n)
    return np.column_stack([x, group]), y


def plain(n, rng):
    x = rng.uniform(size=n)
    return x[:, None], x + (0.5 + x) * rng.standard_normal(n)
