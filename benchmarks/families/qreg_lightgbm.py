r"""Quantile regression with LightGBM: one booster for each level, rearranged, sampled by the inverse CDF.

The ``K`` levels are :math:`k / (K + 1)`. A row's predictions are sorted, so that quantiles never cross. Between levels
the quantile function is linear. Below the lowest and above the highest level it is the normal one through the
outermost quantile and the third from outside,

.. math:: Q(u) = q_1 + \frac{q_3 - q_1}{z(p_3) - z(p_1)} (z(u) - z(p_1)), \qquad z = \Phi^{-1},

which is exact if the distribution is normal there. The third quantile is used because gaps between neighbouring
boosters are noisy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import lightgbm as lgb
import numpy as np
from scipy.special import ndtri

from benchmarks.families.base import EXTERNAL_TRIALS, Family, Model
from benchmarks.protocol import Seeds
from diffgbm._util.parallel import n_threads
from diffgbm._util.types import Array
from diffgbm.tuning.search_spaces import Integer, Range, Real, suggest

RANGES: dict[str, Range] = {
    "quantile_count": Integer(24, 49),
    "n_estimators": Integer(50, 500, log=True),
    "learning_rate": Real(0.02, 0.2, log=True),
    "num_leaves": Integer(15, 127),
}
_OUTER = 2
"""The tail's scale is taken from the outermost quantile and the one this many steps inside."""


def levels_of(count: int) -> Array:
    """Return the levels ``k / (count + 1)``, k = 1 to ``count``."""
    return np.arange(1, count + 1) / (count + 1)


def inverse_cdf(quantiles: Array, u: Array) -> Array:
    """Evaluate the rows' quantile functions.

    Parameters
    ----------
    quantiles : ndarray of shape (n, K)
        Non-decreasing in each row, at the levels of ``levels_of(K)``; K >= 3.
    u : ndarray of shape (m, n)
        Probabilities in (0, 1).

    Returns
    -------
    ndarray of shape (m, n)
        ``Q_row(u)``, non-decreasing in ``u``.
    """
    n, count = quantiles.shape
    position = u * (count + 1) - 1.0  # levels are evenly spaced: level k is at position k
    left = np.clip(np.floor(position).astype(np.intp), 0, count - 2)
    rows = np.arange(n)
    low, high = quantiles[rows, left], quantiles[rows, left + 1]
    inside = low + np.clip(position - left, 0.0, 1.0) * (high - low)
    z = ndtri(levels_of(count))
    lower = (quantiles[:, _OUTER] - quantiles[:, 0]) / (z[_OUTER] - z[0])
    upper = (quantiles[:, -1] - quantiles[:, -1 - _OUTER]) / (z[-1] - z[-1 - _OUTER])
    score = ndtri(u)
    return inside + lower * np.minimum(score - z[0], 0.0) + upper * np.maximum(score - z[-1], 0.0)


@dataclass
class QuantileLightGBM:
    """One booster for each of ``quantile_count`` levels, on rows that are binned once."""

    quantile_count: int
    n_estimators: int
    learning_rate: float
    num_leaves: int
    seeds: Seeds
    n_jobs: int
    boosters: list[lgb.Booster] = field(init=False, repr=False)

    def fit(self, X: Array, y: Array) -> QuantileLightGBM:
        """Fit the levels one after another."""
        params = {
            "objective": "quantile",
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "num_threads": n_threads(self.n_jobs),
            "seed": self.seeds.model,
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
        }
        data = lgb.Dataset(X, label=y, params=params).construct()
        levels = levels_of(self.quantile_count)
        self.boosters = [lgb.train({**params, "alpha": float(p)}, data, self.n_estimators) for p in levels]
        return self

    def quantiles(self, X: Array) -> Array:
        """Predict the levels' quantiles, (n, K), non-decreasing in each row."""
        threads = n_threads(self.n_jobs)
        return np.sort(np.column_stack([b.predict(X, num_threads=threads) for b in self.boosters]), axis=1)

    def sample(self, X: Array, n_samples: int) -> Array:
        """Draw by the inverse CDF."""
        u = np.random.default_rng(self.seeds.sampler).random((n_samples, len(X)))
        return inverse_cdf(self.quantiles(X), np.clip(u, 1e-16, 1.0 - 1e-16))


def build(params: Mapping[str, Any], seeds: Seeds, n_jobs: int) -> Model:
    """Build the model."""
    return QuantileLightGBM(**params, seeds=seeds, n_jobs=n_jobs)


FAMILY = Family(
    name="qreg_lightgbm",
    label="QReg-LightGBM",
    build=build,
    suggest=lambda trial: suggest(trial, RANGES),
    n_trials=EXTERNAL_TRIALS,
    requires=("lightgbm",),
    packages=("lightgbm", "numpy", "scipy"),
    sampler="inverse CDF: linear between sorted quantiles, normal tails",
)
