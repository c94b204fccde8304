r"""The conditional distribution function as a first-stage model: randomised trees on indicators of the response.

.. math:: \hat F(q_j \mid x) = \widehat{\mathrm E}[1\{y \le q_j\} \mid x]

at quantiles of the response (or between the values of a discrete one), together with its mean. Nothing is subtracted:
the columns are features of the noise model, which show it the shape of the distribution.

References
----------
.. [1] N. Meinshausen (2006). Quantile regression forests. Journal of Machine Learning Research 7, 983-999.
.. [2] P. Geurts, D. Ernst, L. Wehenkel (2006). Extremely randomized trees. Machine Learning 63(1), 3-42.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffgbm._util.types import Array
from diffgbm.first_stage.cross_fitting import CrossFitted, Task
from diffgbm.first_stage.leaf_forest import cross_fit_trees


@dataclass(frozen=True)
class ConditionalCDF:
    """Cross-fitted randomised trees on ``[y, 1{y <= q_1}, ..., 1{y <= q_m}]``.

    Attributes
    ----------
    n_trees : int
        Trees of each fold.
    min_samples_leaf : int
        Least rows in a leaf.
    levels : int
        Number of quantiles ``m``.
    """

    n_trees: int = 40
    min_samples_leaf: int = 1
    levels: int = 7

    def n_fits(self, task: Task) -> int:
        """How often ``task.tick`` will be called."""
        return task.n_models

    def cross_fit(self, task: Task) -> CrossFitted:
        """Fit one forest for each fold, for all responses and levels together."""
        outputs = np.hstack([cdf_outputs(y, self.levels) for y in task.y.T])
        return cross_fit_trees(task, outputs, self.n_trees, self.min_samples_leaf)


def cdf_outputs(y: Array, levels: int) -> Array:
    """Return a response (n,) and its indicators at distinct quantiles: shape (n, 1 + m), ``m <= levels``."""
    values = np.unique(y)
    if len(values) <= levels + 1:  # a discrete response: between all its values
        cuts = values[:-1]
    else:
        cuts = np.unique(np.quantile(y, np.arange(1, levels + 1) / (levels + 1), method="inverted_cdf"))
    return np.column_stack([y, y[:, None] <= cuts[None, :]]).astype(np.float64)
