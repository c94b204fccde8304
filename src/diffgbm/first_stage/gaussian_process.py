r"""A Gaussian process as a first-stage model: exact, with cross-fitted predictions in closed form.

.. math:: \hat\mu(x) = k(x, X) \alpha, \quad \alpha = K^{-1} y, \qquad
          \hat\mu_{-I}(x_I) = y_I - (K^{-1}_{II})^{-1} \alpha_I

References
----------
.. [1] C. E. Rasmussen, C. K. I. Williams (2006). Gaussian Processes for Machine Learning. MIT Press. Leave-one-out
   predictions: section 5.4.2.
.. [2] D. Ginsbourger, C. Schaerer (2021). Fast calculation of Gaussian process multiple-fold cross-validation residuals
   and their covariances. arXiv:2101.03108.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Protocol

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
"""Rows for each length scale below which predictions in closed form are too good: the length scales have seen all rows.
On noise, 80 rows of 10 columns, they explain 5% of the variance; 100 rows of 30 columns, left out one by one, 31%."""
ROWS_PER_LENGTH_OF_COLUMNS = 100
"""The same for columns of another model, which makes more of what they tell: on noise, 400 rows of 5 columns, models
with columns in closed form promised 1 to 4% less than the CRPS of climatology, and new rows had up to 2% more."""
FEW_ROWS = 4
"""In a table of this many times the rows that length scales are estimated from, most rows do not tell of themselves."""


PRECISION = 1e-6
"""Predictions without a row are multiples of this share of the standard deviation. Far from all others, the prediction
of a row is the mean but for a rounding error that depends on the row's response: trees find it in the last digits."""
PART_RIDGE, PART_JITTER = 1e-6, 1e-8
"""Small terms that keep the coefficients of a part finite where points are close to each other."""


@dataclass(frozen=True)
class GaussianProcess:
    """Posterior means of one process for each output: a response, or a function of it.

    Attributes
    ----------
    dense : DenseTable
        How rows are prepared.
    kernel : {"matern", "rbf"}
        Smoothness: Matern 5/2 or squared exponential.
    points : ndarray of shape (m, q)
        Training rows, prepared.
    lengths, alpha : ndarray of shape (d, q) and (d, m)
        Length scales and coefficients of each output.
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
        for outputs, points in zip(self.alike, self.scaled_points, strict=True):
            found = np.empty((len(X), outputs.stop - outputs.start))
            alpha = np.require(self.alpha[outputs], dtype=np.float64, requirements=["C", "W"])
            process_means(rows / self.lengths[outputs.start], points, alpha, self.kernel == "matern", found)
            out[:, outputs] = self.offset[outputs] + found
        return out

    @cached_property
    def alike(self) -> tuple[slice, ...]:
        """Outputs that follow each other with the same length scales: their correlations are computed once."""
        changes = np.flatnonzero(np.any(self.lengths[1:] != self.lengths[:-1], axis=1)) + 1
        ends = [0, *changes.tolist(), len(self.lengths)]
        return tuple(slice(first, last) for first, last in pairwise(ends))

    @cached_property
    def scaled_points(self) -> tuple[Array, ...]:
        """For outputs that are alike the training rows in units of their length scales, column by column (q, m)."""
        return tuple(np.ascontiguousarray((self.points / self.lengths[outputs.start]).T) for outputs in self.alike)

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
        for outputs in self.alike:
            scaled, alpha = self.points / self.lengths[outputs.start], self.alpha[outputs].T
            cross = correlation(self.kernel, scaled, scaled[chosen])
            means = np.empty((m, alpha.shape[1]))
            for first in range(0, m, BLOCK):
                block = slice(first, first + BLOCK)
                means[block] = correlation(self.kernel, scaled[block], scaled) @ alpha
            gram = cross.T @ cross + PART_RIDGE * m / count * cross[chosen]
            gram.flat[:: count + 1] += PART_JITTER * np.trace(gram) / count
            try:
                alphas.append(cho_solve(cho_factor(gram, lower=True, overwrite_a=True), cross.T @ means).T)
            except np.linalg.LinAlgError:
                return self
        return replace(self, points=self.points[chosen], alpha=np.concatenate(alphas))


def warmup() -> None:
    """Compile the kernel by predicting one row from one point."""
    from diffgbm.first_stage._process_kernels import process_means

    one = np.ones((1, 1))
    process_means(one, one, one, False, np.empty((1, 1)))


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
        return n_processes(self, task)

    def cross_fit(self, task: Task) -> CrossFitted:
        """Fit one process for each response: ``cross_fit_processes``."""
        return cross_fit_processes(self, task)

    def outputs_of(self, y: Array) -> Array:
        """Return a response (n,) as the only output (n, 1)."""
        return y[:, None]

    def parameters(self, X: Array, outputs: Array, task: Task) -> Hyperparameters:
        """Maximise the marginal likelihood of rows (m, q)."""
        return hyperparameters(self.kernel, X, outputs[:, 0], task.seed, task.deadline)


class ProcessStage(Protocol):
    """A first-stage model that is made of processes."""

    @property
    def kernel(self) -> Kernel:
        """Smoothness."""
        ...

    @property
    def rows_for_lengths(self) -> int:
        """Rows that length scales are estimated from, at most."""
        ...

    @property
    def max_rows(self) -> int:
        """Rows that the processes are fitted to, at most."""
        ...

    def outputs_of(self, y: Array) -> Array:
        """Return the outputs (n, k) that belong to a response (n,)."""
        ...

    def parameters(self, X: Array, outputs: Array, task: Task) -> Hyperparameters:
        """Choose hyperparameters by rows (m, q) with outputs (m, k) that are centred."""
        ...


def n_processes(stage: ProcessStage, task: Task) -> int:
    """How often ``task.tick`` will be called."""
    again = len(task.folds[0])
    if _needs_folds(stage, task):
        return again + (not task.is_ordered)
    return 1 + again * _has_few_rows(stage, task, ROWS_PER_LENGTH_OF_COLUMNS)


def cross_fit_processes(stage: ProcessStage, task: Task) -> CrossFitted:
    """Fit the processes of each response; training rows are left out one by one, and for columns fold by fold.

    Both are exact without another fit. By time there are other processes for each window, fitted to what is before it.
    If groups are too large to be drawn whole, or length scales are many for the rows, there are others for each fold.
    """
    outputs = [stage.outputs_of(y) for y in task.y.T]
    nothing = np.zeros(sum(each.shape[1] for each in outputs))
    if not _needs_folds(stage, task):
        fitted, alone, columns = _fit(stage, task, outputs, _fold_numbers(task))
        task.tick()
        if _has_few_rows(stage, task, ROWS_PER_LENGTH_OF_COLUMNS):
            columns, _ = _by_folds(stage, task, outputs, columns)
        return CrossFitted(fitted, alone, nothing, columns)
    clean, fitted = _by_folds(stage, task, outputs, np.full((len(task.y), len(nothing)), np.nan))
    if not task.is_ordered:
        fitted, *_ = _fit(stage, task, outputs)
        task.tick()
    return CrossFitted(fitted, clean, nothing)


def _by_folds(stage: ProcessStage, task: Task, outputs: Sequence[Array], found: Array) -> tuple[Array, GaussianProcess]:
    """Predict each fold without it, into ``found`` (n, d); return them, and the processes of the last fold."""
    for train, held_out in task.folds[0]:
        fitted, *_ = _fit(stage, task.part(train), [each[train] for each in outputs])
        found[held_out] = fitted(task.X[held_out])
        task.tick()
    return found, fitted


def _needs_folds(stage: ProcessStage, task: Task) -> bool:
    """Whether rows are predicted fold by fold: by time, if groups are too large to be drawn whole, or by chance."""
    labels = task.structure.labels
    if task.is_ordered or (labels is not None and not draws_labels(labels, stage.max_rows)):
        return True
    return _has_few_rows(stage, task, ROWS_PER_LENGTH)


def _has_few_rows(stage: ProcessStage, task: Task, for_each: int) -> bool:
    """Whether there are fewer rows than ``for_each`` for a length scale.

    The length scales are estimated from the rows that are left out, too. Many of them, from few rows, fit noise.
    """
    rows = min(len(task.y), stage.rows_for_lengths)
    return rows < for_each * task.dense[1].shape[1] and len(task.y) < FEW_ROWS * rows


def _fold_numbers(task: Task) -> Integers:
    """Return the fold of the first repetition that holds out each row: shape (n,).

    Rows that a splitter of the user never holds out are left out with the first fold.
    """
    fold = np.zeros(len(task.y), dtype=np.intp)
    for number, (_, held_out) in enumerate(task.folds[0]):
        fold[held_out] = number
    return fold


def _fit(
    stage: ProcessStage, task: Task, outputs: Sequence[Array], fold: Integers | None = None
) -> tuple[GaussianProcess, Array, Array]:
    """Fit the processes of each response's outputs (n, k) to all rows.

    Return them with the predictions (n, d) of each row without it, or its record, and without its ``fold`` (n,).
    """
    dense, rows = task.dense
    seen, rest = subsample(len(rows), stage.max_rows, task.seed, ordered=False, structure=task.structure)
    records = task.structure.part(seen).labels
    # rows of one record would make the noise look small: one of each is enough for the length scales
    one_each = np.arange(len(seen)) if records is None else np.unique(records, return_index=True)[1]
    some = one_each[: stage.rows_for_lengths]
    points = rows[seen]
    parts = [records] if fold is None else [records, fold[seen]]
    lengths, alphas, offsets, found = [], [], [], []
    for columns in outputs:
        offset = columns[seen].mean(axis=0)
        centred = columns[seen] - offset
        params = stage.parameters(points[some], centred[some], task)
        if task.deadline.is_set:  # the work grows with the cube of the rows
            before = task.deadline.now()
            left_out_predictions(stage.kernel, params, points[some], centred[some])
            task.deadline.check((task.deadline.now() - before) * (len(points) / len(some)) ** 3)
        alpha, *left_out = left_out_predictions(stage.kernel, params, points, centred, *parts)
        lengths.append(np.tile(params.lengths, (len(offset), 1)))
        alphas.append(alpha.T)
        offsets.append(offset)
        found.append([offset + each for each in left_out])
    fitted = GaussianProcess(dense, stage.kernel, points, *map(np.concatenate, (lengths, alphas, offsets)))
    clean = np.empty((len(parts), len(rows), len(fitted.offset)))
    for way, by_output in zip(clean, zip(*found, strict=True), strict=True):
        way[seen] = np.hstack(by_output)
    for i in range(0, len(rest), BLOCK):
        task.deadline.check()
        clean[:, rest[i : i + BLOCK]] = fitted(task.X[rest[i : i + BLOCK]])
    return fitted, clean[0], clean[-1]


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


def left_out_predictions(
    kernel: Kernel, params: Hyperparameters, X: Array, y: Array, *parts: Integers | None
) -> tuple[Array, ...]:
    r"""Return the coefficients (n, k), and for each of ``parts`` the predictions (n, k) of rows without some of them.

    A part (n,) numbers the rows that are left out together; ``None``, the default, leaves each row out alone. For the
    rows :math:`I` of one number the prediction without them is :math:`y_I - (K^{-1}_{II})^{-1} \alpha_I`, rounded.
    """
    scaled = X / params.lengths
    gram = correlation(kernel, scaled, scaled)
    gram.flat[:: len(gram) + 1] += max(params.noise / params.signal, 1e-10)
    factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
    alpha = cho_solve((factor, True), y, check_finite=False)
    inverse, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    return alpha, *(_without(part, inverse, alpha, y) for part in parts or (None,))


def _without(part: Integers | None, inverse: Array, alpha: Array, y: Array) -> Array:
    """Predict rows without those of the same number in ``part`` (n,); ``inverse`` has a lower triangle only."""
    left_out = y - alpha / np.diagonal(inverse)[:, None]
    together = [] if part is None else np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part))[:-1])
    for rows in together:
        if len(rows) > 1:
            block = np.maximum.outer(rows, rows), np.minimum.outer(rows, rows)
            left_out[rows] = y[rows] - np.linalg.solve(inverse[block], alpha[rows])
    unit = PRECISION * np.maximum(y.std(axis=0), np.finfo(np.float64).tiny / PRECISION)
    return np.round(left_out / unit) * unit
