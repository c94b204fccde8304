r"""A regressor without a distribution: its residuals on rows that it has not seen make one.

The distribution of a row with prediction :math:`m` is :math:`m + r_i` with the residuals :math:`r_i` of the held-out
rows whose predictions are nearest to :math:`m`: large predictions often have large errors.

References
----------
Lei, J., G'Sell, M., Rinaldo, A., Tibshirani, R. J. and Wasserman, L. (2018). Distribution-free predictive inference for
regression. Journal of the American Statistical Association 113, 1094-1111.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffgbm._util.types import Array
from diffgbm.members.quantile_points import even_levels

NEAREST = 200
"""Residuals that make the distribution of a row, if there are twice as many; otherwise all of them do."""
FEWEST = 20
"""Fewer residuals do not describe a distribution."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of held-out rows, by their predictions.

    Attributes
    ----------
    predictions : ndarray of shape (m,)
        Sorted predictions.
    values : ndarray of shape (m,)
        Observations less predictions.
    """

    predictions: Array
    values: Array

    @classmethod
    def of(cls, predictions: Array, y: Array) -> Residuals:
        """Return the residuals of observations (m,) and out-of-sample predictions (m,)."""
        if len(y) < FEWEST:
            raise ValueError(f"{len(y)} held-out rows are too few for a distribution of residuals: {FEWEST} are needed")
        order = np.argsort(predictions, kind="stable")
        return cls(predictions[order], (y - predictions)[order])

    def points(self, predictions: Array, n_points: int) -> Array:
        """Equally likely points (n, n_points) of the distributions of rows with predictions (n,)."""
        m = len(self.values)
        count = NEAREST if m >= 2 * NEAREST else m
        middle = np.searchsorted(self.predictions, predictions)
        start = np.clip(middle - count // 2, 0, m - count)
        near = np.sort(self.values[start[:, None] + np.arange(count)], axis=1)
        position = np.clip(even_levels(n_points) * count - 0.5, 0.0, count - 1.0)
        low = np.floor(position).astype(np.intp)
        part = position - low
        high = np.minimum(low + 1, count - 1)
        return predictions[:, None] + (1.0 - part) * near[:, low] + part * near[:, high]
