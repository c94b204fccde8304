r"""A Gaussian process as a first-stage model: exact, with leave-one-out predictions in closed form.

.. math:: \hat\mu(x) = k(x, X) \alpha, \quad \alpha = K^{-1} y, \qquad
          \hat\mu_{-i}(x_i) = y_i - \alpha_i / (K^{-1})_{ii}

References
----------
.. [1] C. E. Rasmussen, C. K. I. Williams (2006). Gaussian Processes for Machine Learning. MIT Press. Leave-one-out
   predictions: section 5.4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, lapack
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from diffgbm._util.deadline import NEVER, Deadline
from diffgbm._util.types import Array, Integers
from diffgbm.data.splits import draws_labels, subsample
from diffgbm.first_stage.cross_fitting import CrossFitted, Task
from diffgbm.first_stage.dense import DenseTable

Kernel = Literal["matern", "rbf"]

BLOCK = 2048
"""Rows predicted at a time: a block's kernel matrix stays below 200 MB."""
ROWS_PER_LENGTH = 30
"""Rows for each length scale below which leave-one-out predictions are too good. On noise, 100 rows of 10 columns, they
explain 10 to 28% of the variance; 100 rows of 30 columns, 31 to 44%; 400 rows of 10 columns, 1 to 6%."""
FEW_ROWS = 4
"""In a table of this many times the rows that length scales are estimated from, most rows do not tell of themselves."""


PART_RIDGE, PART_JITTER = 1e-6, 1e-8
"""Small terms that keep the coefficients of a part finite where points are close to each other."""


@dataclass(frozen=True)
class GaussianProcess:
    """Posterior means of one process for each response.

    Attributes
    ----------
    dense : DenseTable
        How rows are prepared.
    kernel : {"matern", "rbf"}
        Smoothness: Matern 5/2 or squared exponential.
    points : ndarray of shape (m, q)
        Training rows, prepared.
    lengths, alpha : ndarray of shape (d, q) and (d, m)
        Length scales and coefficients of each response.
    offset : ndarray of shape (d,)
        Prior means.
    """

    dense: DenseTable
    kernel: Kernel
    points: Array
    lengths: Array
    alpha: Array
    offset: Array

    def __call__(self, X: Array) -> Array:
        """Predict rows (n, p): shape (n, d)."""
        from diffgbm.first_stage._process_kernels import process_means

        rows = self.dense(X)
        out = np.empty((len(X), len(self.alpha)))
        for j, (lengths, points) in enumerate(zip(self.lengths, self.scaled_points, strict=True)):
            found = np.empty(len(X))
            alpha = np.require(self.alpha[j], dtype=np.float64, requirements=["C", "W"])
            process_means(rows / lengths, points, alpha, self.kernel == "matern", found)
            out[:, j] = self.offset[j] + found
        return out

    @cached_property
    def scaled_points(self) -> tuple[Array, ...]:
        """For each response the training rows in units of its length scales, column by column (q, m)."""
        return tuple(np.ascontiguousarray((self.points / lengths).T) for lengths in self.lengths)

    def __getstate__(self) -> dict[str, Any]:
        # what is made from the attributes is not stored
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def part(self, count: int) -> GaussianProcess:
        r"""Return nearly the same means from ``count`` of the ``m`` points, evenly chosen.

        Their coefficients minimise :math:`\lVert K_{ms} a - K \alpha \rVert^2 + \lambda a^\top K_{ss} a`: a subset of
        regressors, fitted to the means at all points instead of the responses. The process itself if there are no more
        points, or no such coefficients.

        References
        ----------
        .. [1] J. Quinonero-Candela, C. E. Rasmussen (2005). A unifying view of sparse approximate Gaussian process
           regression. Journal of Machine Learning Research 6, 1939-1959. Subset of regressors: section 5.
        """
        m = len(self.points)
        if count >= m:
            return self
        chosen = ((np.arange(count) + 0.5) / count * m).astype(np.intp)
        alphas = []
        for lengths, alpha in zip(self.lengths, self.alpha, strict=True):
            scaled = self.points / lengths
            cross = correlation(self.kernel, scaled, scaled[chosen])
            means = np.empty(m)
            for first in range(0, m, BLOCK):
                block = slice(first, first + BLOCK)
                means[block] = correlation(self.kernel, scaled[block], scaled) @ alpha
            gram = cross.T @ cross + PART_RIDGE * m / count * cross[chosen]
            gram.flat[:: count + 1] += PART_JITTER * np.trace(gram) / count
            try:
                alphas.append(cho_solve(cho_factor(gram, lower=True, overwrite_a=True), cross.T @ means))
            except np.linalg.LinAlgError:
                return self
        return replace(self, points=self.points[chosen], alpha=np.array(alphas))


def warmup() -> None:
    """Compile the kernel by predicting one row from one point."""
    from diffgbm.first_stage._process_kernels import process_means

    one = np.ones((1, 1))
    process_means(one, one, np.ones(1), False, np.empty(1))


@dataclass(frozen=True)
class GaussianProcessMean:
    """Gaussian-process regression with one length scale for each column.

    Attributes
    ----------
    kernel : {"matern", "rbf"}
        Smoothness.
    rows_for_lengths : int
        Rows that length scales are estimated from, at most.
    max_rows : int
        Rows that the process is fitted to, at most.
    """

    kernel: Kernel = "matern"
    rows_for_lengths: int = 500
    max_rows: int = 6000

    def n_fits(self, task: Task) -> int:
        """How often ``task.tick`` will be called."""
        return len(task.folds[0]) + (not task.is_ordered) if self._needs_folds(task) else 1

    def _needs_folds(self, task: Task) -> bool:
        """Whether rows are predicted fold by fold: by time, if groups are too large to be drawn whole, or by chance.

        The length scales are estimated from the rows that are left out, too. Many of them, from few rows, fit noise.
        """
        labels = task.structure.labels
        if task.is_ordered or (labels is not None and not draws_labels(labels, self.max_rows)):
            return True
        rows = min(len(task.y), self.rows_for_lengths)
        return rows < ROWS_PER_LENGTH * task.dense[1].shape[1] and len(task.y) < FEW_ROWS * rows

    def cross_fit(self, task: Task) -> CrossFitted:
        """Fit one process for each response; its predictions of training rows are leave-one-out.

        By time there is one process for each window, fitted to what is before it. If groups are too large to be drawn
        whole, or length scales are many for the rows, there is one for each fold.
        """
        if not self._needs_folds(task):
            fitted, clean = self._fit(task)
            task.tick()
            return CrossFitted(fitted, clean, np.zeros(task.y.shape[1]))
        clean = np.full_like(task.y, np.nan)
        for train, held_out in task.folds[0]:
            fitted, _ = self._fit(task.part(train))
            clean[held_out] = fitted(task.X[held_out])
            task.tick()
        if not task.is_ordered:
            fitted, _ = self._fit(task)
            task.tick()
        return CrossFitted(fitted, clean, np.zeros(task.y.shape[1]))

    def _fit(self, task: Task) -> tuple[GaussianProcess, Array]:
        """Fit one process for each response to all rows; return it with the leave-one-out predictions (n, d)."""
        dense, rows = task.dense
        seen, rest = subsample(len(rows), self.max_rows, task.seed, ordered=False, structure=task.structure)
        records = task.structure.part(seen).labels
        # rows of one record would make the noise look small: one of each is enough for the length scales
        one_each = np.arange(len(seen)) if records is None else np.unique(records, return_index=True)[1]
        some = one_each[: self.rows_for_lengths]
        points = rows[seen]
        lengths, alphas, offsets = [], [], []
        clean = np.empty_like(task.y)
        for j in range(task.y.shape[1]):
            offset = float(task.y[seen, j].mean())
            y = task.y[seen, j] - offset
            params = hyperparameters(self.kernel, points[some], y[some], task.seed, task.deadline)
            if task.deadline.is_set:  # the work grows with the cube of the rows
                before = task.deadline.now()
                leave_one_out(self.kernel, params, points[some], y[some])
                task.deadline.check((task.deadline.now() - before) * (len(points) / len(some)) ** 3)
            alpha, left_out = leave_one_out(self.kernel, params, points, y, records)
            lengths.append(params.lengths)
            alphas.append(alpha)
            offsets.append(offset)
            clean[seen, j] = offset + left_out
        fitted = GaussianProcess(dense, self.kernel, points, np.array(lengths), np.array(alphas), np.array(offsets))
        for i in range(0, len(rest), BLOCK):
            task.deadline.check()
            clean[rest[i : i + BLOCK]] = fitted(task.X[rest[i : i + BLOCK]])
        return fitted, clean


@dataclass(frozen=True)
class Hyperparameters:
    """Signal variance, noise variance and length scales (q,)."""

    signal: float
    noise: float
    lengths: Array


def correlation(kernel: Kernel, a: Array, b: Array) -> Array:
    """Correlations (n, m) between scaled rows (n, q) and (m, q)."""
    if kernel == "rbf":
        return np.exp(-0.5 * cdist(a, b, "sqeuclidean"))
    r = np.sqrt(5.0) * cdist(a, b)
    return (1.0 + r + r * r / 3.0) * np.exp(-r)


def hyperparameters(kernel: Kernel, X: Array, y: Array, seed: int, deadline: Deadline = NEVER) -> Hyperparameters:
    """Maximise the marginal likelihood of rows (n, q); raise ``OutOfTime`` after the deadline."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

    q = X.shape[1]
    start = np.full(q, np.sqrt(q))
    bounds = (1e-2, 1e3)
    shape: Any = RBF(start, bounds) if kernel == "rbf" else Matern(start, bounds, nu=2.5)
    prior = ConstantKernel(1.0, (1e-2, 1e3)) * shape + WhiteKernel(0.1, (1e-8, 2.0))
    model = GaussianProcessRegressor(prior, optimizer=None, random_state=seed).fit(X, y)

    def loss(theta: Array) -> tuple[float, Array]:
        deadline.check()
        likelihood, gradient = model.log_marginal_likelihood(theta, eval_gradient=True, clone_kernel=False)
        return -likelihood, -gradient

    # scikit-learn's own optimiser does the same, but warns when a bound is reached, which is a valid result
    model.kernel_.theta = minimize(loss, prior.theta, jac=True, bounds=prior.bounds, method="L-BFGS-B").x
    theta = np.exp(model.kernel_.theta)
    return Hyperparameters(float(theta[0]), float(theta[-1]), theta[1:-1])


def leave_one_out(
    kernel: Kernel, params: Hyperparameters, X: Array, y: Array, records: Integers | None = None
) -> tuple[Array, Array]:
    r"""Return the coefficients (n,) and the prediction for each row without it, or without its record (n,).

    For the rows :math:`I` of a record the prediction without them is :math:`y_I - (K^{-1}_{II})^{-1} \alpha_I`.
    """
    scaled = X / params.lengths
    gram = correlation(kernel, scaled, scaled)
    gram.flat[:: len(gram) + 1] += max(params.noise / params.signal, 1e-10)
    factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
    alpha = cho_solve((factor, True), y, check_finite=False)
    inverse, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    left_out = y - alpha / np.diagonal(inverse)
    if records is not None:
        sizes = np.bincount(records)
        order = np.argsort(records, kind="stable")
        for rows in np.split(order, np.cumsum(sizes)[:-1]):
            if len(rows) > 1:
                # LAPACK fills the lower triangle only
                block = np.maximum.outer(rows, rows), np.minimum.outer(rows, rows)
                left_out[rows] = y[rows] - np.linalg.solve(inverse[block], alpha[rows])
    return alpha, left_out
