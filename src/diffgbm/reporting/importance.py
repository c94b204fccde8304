r"""Permutation importance of the features for the median and for the interquartile range.

With the values of feature ``j`` permuted between the rows, the importance for the median is the mean of
:math:`|m_i' - m_i|`, where ``m`` are the predicted medians. The importance for the interquartile range is defined in
the same way. No observations are needed: importance measures what the model uses, not whether it predicts well.

References
----------
Breiman (2001), Random forests, Machine Learning 45.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diffgbm._util.errors import kept_warnings
from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array
from diffgbm._util.types import Rows as Positions
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.reporting.rows import Rows

BUDGET = 1_000_000
"""Most rows that are predicted, over all features and repetitions."""
FEWEST = 50
"""Fewest rows that are permuted, if the table has as many."""
_POINTS = {True: 89, False: 128}
"""Points of the distributions of one response and of several: quartiles need fewer than usual."""


@dataclass(frozen=True, eq=False)
class Importance:
    """Mean absolute changes of medians and interquartile ranges.

    Attributes
    ----------
    median, iqr : ndarray of shape (p, d)
        Mean absolute changes, features in the order of the training table.
    median_std, iqr_std : ndarray of shape (p, d)
        Their standard deviations over the permutations.
    rows, repeats : int
        Rows, and permutations of each feature.
    """

    median: Array
    median_std: Array
    iqr: Array
    iqr_std: Array
    rows: int
    repeats: int

    def order(self, response: int) -> Positions:
        """Positions of the features, the most important first, by the sum of both importances."""
        return np.argsort(-(self.median + self.iqr)[:, response], kind="stable")


def permutation_importance(
    model: DistributionalRegressor, rows: Rows, max_rows: int = 2000, repeats: int = 5, seed: int = 0, verbose: int = 0
) -> Importance:
    """Permute each feature ``repeats`` times and measure how far medians and interquartile ranges move.

    At most ``max_rows`` rows are drawn at random, and fewer if there are many features.
    """
    n, p = rows.matrix.shape
    affordable = max(FEWEST, BUDGET // (p * repeats))
    rng = np.random.default_rng([seed, 2])
    chosen = np.sort(rng.permutation(n)[: min(max_rows, affordable)])
    orders = [rng.permutation(len(chosen)) for _ in range(repeats)]
    changes = np.zeros((2, repeats, p, len(model.response_names())))
    # scoring the rows has issued all warnings
    with progress_bar(p, "importance", verbose, "feature") as bar, kept_warnings():
        before = _median_and_iqr(model, rows.take(chosen))
        rounding = 1e-12 * np.abs(before).max()
        for j in range(p):
            column = rows.matrix[chosen, j]
            for r, order in enumerate(orders):
                if np.array_equal(column, column[order], equal_nan=True):
                    continue  # the permutation changes nothing
                change = np.abs(_median_and_iqr(model, rows.shuffled(chosen, j, order)) - before)
                changes[:, r, j] = np.where(change > rounding, change, 0.0).mean(axis=1)
            bar.update()
    (median, iqr), (median_std, iqr_std) = changes.mean(axis=1), changes.std(axis=1)
    return Importance(median, median_std, iqr, iqr_std, len(chosen), repeats)


def _median_and_iqr(model: DistributionalRegressor, X: Any) -> Array:
    """Medians and interquartile ranges (2, n, d)."""
    is_1d = model.fitted_models()[0].response.is_1d
    distribution = model.predict_distribution(X, grid=_POINTS[is_1d])
    quartiles = distribution.quantile([0.25, 0.5, 0.75]).reshape(len(distribution), -1, 3)
    return np.stack([quartiles[..., 1], quartiles[..., 2] - quartiles[..., 0]])
