r"""The scorer: from points of predictive distributions to their CRPS, in units of each response's standard deviation.

References
----------
Gneiting, T. and Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and estimation. Journal of the
American Statistical Association 102, 359-378.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffgbm._util.types import Array, Rows
from diffgbm.auto.pool import point_crps, pool_crps, pool_terms
from diffgbm.fitting.training_table import TrainingTable


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores predictive distributions of training rows.

    Attributes
    ----------
    observed : ndarray of shape (n, d)
        Responses in units of their standard deviations.
    units : ndarray of shape (d,)
        The standard deviations; one for a constant response.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    """

    observed: Array
    units: Array
    weights: Array | None

    @classmethod
    def of(cls, table: TrainingTable) -> Scorer:
        """Make the scorer of a table."""
        response = table.response
        units = np.where(response.units == 0.0, 1.0, response.units)
        observed = response.location / units + table.y if response.power is None else table.observed / units
        return cls(observed, units, table.weights)

    def score(self, points: Array, rows: Rows) -> float:
        """Mean CRPS of the points (rows, m, d) of ``rows``, averaged over responses."""
        terms = [self.terms([points], rows, j) for j in range(points.shape[2])]
        return float(np.mean([pool_crps(np.ones(1), *term) for term in terms]))

    def losses(self, points: Array, rows: Rows) -> Array:
        """CRPS of each row's distribution (rows, m, d), averaged over responses: shape (rows,)."""
        crps = [point_crps(points[:, :, j] / self.units[j], self.observed[rows, j]) for j in range(points.shape[2])]
        return np.mean(crps, axis=0)

    def terms(self, members: Sequence[Array], rows: Rows, j: int) -> tuple[Array, Array]:
        """Terms of a pool's CRPS for response ``j``, see ``pool_terms``; ``members`` are points (rows, m, d) each."""
        points = [member[:, :, j] / self.units[j] for member in members]
        return pool_terms(points, self.observed[rows, j], self.weights_of(rows))

    def mean_terms(self, members: Sequence[Array], rows: Rows) -> tuple[Array, Array]:
        """Terms of the CRPS of a pool, averaged over responses."""
        parts = [self.terms(members, rows, j) for j in range(members[0].shape[2])]
        return np.mean([part[0] for part in parts], axis=0), np.mean([part[1] for part in parts], axis=0)

    def weights_of(self, rows: Rows) -> Array | None:
        """Weights of some rows, if rows have weights."""
        return None if self.weights is None else self.weights[rows]
