r"""What moves the centre of the laws, and what moves their spread: permutation importance.

With the values of feature ``j`` shuffled between the rows, the importance for the centre is the mean of
:math:`|m_i' - m_i|`, ``m`` the predicted medians, and that for the spread the same for interquartile ranges.
No observation is needed: it is said what the model uses, not whether it is right to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.errors import kept_warnings
from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.reporting.rows import Rows

BUDGET = 1_000_000
"""Rows that are predicted at most, over all features and repetitions."""
FEWEST = 50
"""Rows that are shuffled at least, if there are so many."""
_POINTS = {True: 89, False: 128}
"""Points of the laws of one response and of several: fewer than usual, as quartiles need no more."""


@dataclass(frozen=True, eq=False)
class Importance:
    """Mean absolute changes (p, d), over ``rows`` rows, and their standard deviations over the shuffles.

    Features are in the order of the model's table.
    """

    centre: Array
    centre_std: Array
    spread: Array
    spread_std: Array
    rows: int
    repeats: int

    def order(self, response: int) -> NDArray[np.intp]:
        """Positions of the features, the most important first, by how far they move centre and spread together."""
        return np.argsort(-(self.centre + self.spread)[:, response], kind="stable")


def permutation_importance(
    model: DistributionalRegressor, rows: Rows, max_rows: int = 2000, repeats: int = 5, seed: int = 0, verbose: int = 0
) -> Importance:
    """Shuffle each feature ``repeats`` times and see how far medians and interquartile ranges move.

    At most ``max_rows`` rows are taken, at random, and fewer if there are many features.
    """
    n, p = rows.matrix.shape
    affordable = max(FEWEST, BUDGET // (p * repeats))
    rng = np.random.default_rng([seed, 2])
    chosen = np.sort(rng.permutation(n)[: min(max_rows, affordable)])
    orders = [rng.permutation(len(chosen)) for _ in range(repeats)]
    changes = np.zeros((2, repeats, p, model.fitted_models()[0].n_responses))
    # what is to be warned of was warned of when the rows were scored
    with progress_bar(p, "importance", verbose, "feature") as bar, kept_warnings():
        usual = _quartiles(model, rows.take(chosen))
        rounding = 1e-12 * np.abs(usual).max()
        for j in range(p):
            column = rows.matrix[chosen, j]
            for r, order in enumerate(orders):
                if np.array_equal(column, column[order], equal_nan=True):
                    continue  # a constant stays where it is
                moved = _quartiles(model, rows.shuffled(chosen, j, order))
                changes[:, r, j] = np.where(np.abs(moved - usual) > rounding, np.abs(moved - usual), 0.0).mean(axis=1)
            bar.update()
    (centre, spread), (centre_std, spread_std) = changes.mean(axis=1), changes.std(axis=1)
    return Importance(centre, centre_std, spread, spread_std, len(chosen), repeats)


def _quartiles(model: DistributionalRegressor, X: Any) -> Array:
    """Medians and interquartile ranges (2, n, d)."""
    one = model.fitted_models()[0].response.is_1d
    distributions = model.predict_distribution(X, grid=_POINTS[one])
    found = distributions.quantile([0.25, 0.5, 0.75]).reshape(len(distributions), -1, 3)
    return np.stack([found[..., 1], found[..., 2] - found[..., 0]])
