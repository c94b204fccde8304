r"""The conditional distribution function as a smooth first-stage model: kernel ridge regression on indicators.

.. math:: \hat F(q_j \mid x) = \bar F_j + k(x, X) (K + \lambda I)^{-1} (1\{y \le q_j\} - \bar F_j)

with cross-fitted predictions of training rows in closed form, as those of a Gaussian process. Trees estimate the same
function (``ConditionalCDF``) but are not smooth; a noise model that has both can choose. The length scales are those of
a Gaussian process of the normal scores of the response, times one factor; the factor and :math:`\lambda` have the
lowest leave-one-out Brier score.

References
----------
.. [1] P. Hall, R. C. L. Wolff, Q. Yao (1999). Methods for estimating a conditional distribution function. Journal of
   the American Statistical Association 94(445), 154-163.
.. [2] I. Takeuchi, Q. V. Le, T. D. Sears, A. J. Smola (2006). Nonparametric quantile estimation. Journal of Machine
   Learning Research 7, 1231-1264.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh
from scipy.stats import norm, rankdata

from diffgbm._util.deadline import NEVER, Deadline
from diffgbm._util.types import Array
from diffgbm.first_stage.conditional_cdf import cdf_outputs
from diffgbm.first_stage.cross_fitting import CrossFitted, Task
from diffgbm.first_stage.gaussian_process import (
    Hyperparameters,
    Kernel,
    correlation,
    cross_fit_processes,
    hyperparameters,
    n_processes,
)

FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
"""Factors of the length scales: a probability changes at another rate than the response."""
RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Values of lambda."""


@dataclass(frozen=True)
class KernelCDF:
    """Kernel ridge regression of ``[y, 1{y <= q_1}, ..., 1{y <= q_k}]``.

    Attributes
    ----------
    kernel : {"matern", "rbf"}
        Smoothness.
    rows_for_lengths : int
        Rows that length scales and lambda are chosen on, at most.
    max_rows : int
        Rows that the regression is fitted to, at most.
    levels : int
        Number of quantiles ``k``.
    """

    kernel: Kernel = "rbf"
    rows_for_lengths: int = 500
    max_rows: int = 6000
    levels: int = 9

    def n_fits(self, task: Task) -> int:
        """How often ``task.tick`` will be called."""
        return n_processes(self, task)

    def cross_fit(self, task: Task) -> CrossFitted:
        """Fit one regression for each response: ``cross_fit_processes``."""
        return cross_fit_processes(self, task)

    def outputs_of(self, y: Array) -> Array:
        """Return a response (n,) and its indicators: ``cdf_outputs``."""
        return cdf_outputs(y, self.levels)

    def parameters(self, X: Array, outputs: Array, task: Task) -> Hyperparameters:
        """Choose length scales and lambda by rows (m, q) with centred outputs (m, 1 + k)."""
        scores = norm.ppf((rankdata(outputs[:, 0]) - 0.5) / len(outputs))
        params = hyperparameters(self.kernel, X, scores, task.seed, task.deadline)
        if outputs.shape[1] == 1:  # the response is constant
            return params
        return tuned(self.kernel, params, X, outputs[:, 1:], task.deadline)


def tuned(
    kernel: Kernel, params: Hyperparameters, X: Array, outputs: Array, deadline: Deadline = NEVER
) -> Hyperparameters:
    """Return the length scales and lambda with the lowest leave-one-out error on rows (n, q).

    ``outputs`` (n, k) are centred; the length scales of ``params`` are multiplied. Raise ``OutOfTime`` after the
    deadline.
    """
    best, lowest = params, np.inf
    for factor in FACTORS:
        deadline.check()
        lengths = factor * params.lengths
        scaled = X / lengths
        values, vectors = eigh(correlation(kernel, scaled, scaled), overwrite_a=True, check_finite=False)
        values, rotated, squares = np.maximum(values, 0.0), vectors.T @ outputs, vectors**2
        for ridge in RIDGES:
            inverse = 1.0 / (values + ridge)
            errors = vectors @ (inverse[:, None] * rotated) / (squares @ inverse)[:, None]
            loss = float(np.mean(errors**2))
            if loss < lowest:
                best, lowest = replace(params, signal=1.0, noise=ridge, lengths=lengths), loss
    return best
