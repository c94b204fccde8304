r"""Cross-fitting: every row is predicted by models that have not seen it.

The rows are divided into folds, one model is fitted without each fold, and each predicts the fold it has not seen. New
rows get the average of all models.

References
----------
.. [1] V. Chernozhukov, D. Chetverikov, M. Demirer, E. Duflo, C. Hansen, W. Newey, J. Robins (2018). Double/debiased
   machine learning for treatment and structural parameters. The Econometrics Journal 21(1), C1-C68.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from diffgbm._util.types import Array, Integers
from diffgbm.data import splits
from diffgbm.first_stage.dense import DenseTable

Columns = Any
"""Numbers of all training rows: an array (n, k) in memory, one future for each partition on a cluster."""


class Predictor(Protocol):
    """A fitted first-stage model: encoded rows (n, p), C-contiguous float64, to columns (n, k)."""

    def __call__(self, X: Array) -> Array:
        """Predict the columns."""
        ...


@dataclass(frozen=True)
class CrossFitted:
    """A first-stage model and its predictions of rows that it has not seen.

    Attributes
    ----------
    predictor : Predictor
        For new rows.
    out_of_fold : ndarray of shape (n, k)
        For each training row the average of the models that have not seen it, one for each repetition. On a cluster
        one future for each partition.
    gained : ndarray of shape (k,)
        Variance that ``predictor`` lacks and ``out_of_fold`` has, because it averages more models.
    """

    predictor: Predictor
    out_of_fold: Columns
    gained: Array


class FirstStage(Protocol):
    """A kind of first-stage model, not yet fitted."""

    def cross_fit(self, task: Task) -> CrossFitted:
        """Fit it to a task."""
        ...

    def n_fits(self, task: Task) -> int:
        """How often ``task.tick`` will be called."""
        ...


class TrainingRows(Protocol):
    """The rows that first-stage models are fitted to: in memory (``Task``), or in partitions on a cluster.

    Everything that is computed from all rows uses these few operations, so that it is written once: a table in memory
    is one partition.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def responses(self) -> Columns:
        """Standardised responses (n, d)."""
        ...

    @property
    def n_responses(self) -> int:
        """Number of response coordinates ``d``."""
        ...

    @property
    def repeats(self) -> int:
        """Number of divisions of the rows into folds."""
        ...

    @property
    def n_models(self) -> int:
        """Models of one response: one for each fold of each division."""
        ...

    def cross_fit(self, stage: FirstStage, targets: Columns) -> CrossFitted:
        """Fit a first-stage model to ``targets`` (n, d) instead of the responses."""
        ...

    def apply(self, function: Callable[..., Any], *columns: Columns, **common: Any) -> Columns:
        """Apply a function to columns, partition by partition; ``common`` arguments are the same for all."""
        ...

    def gather(self, columns: Columns) -> list[Any]:
        """Return what each partition holds, in order."""
        ...

    def sample(self, columns: Columns) -> Array:
        """Return the rows of columns (n, k) that quantiles are estimated from; all rows where they fit in memory."""
        ...


@dataclass(frozen=True)
class Task:
    """A table in memory to cross-fit on.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Encoded rows: codes for categories, NaN for missing values.
    y : ndarray of shape (n, d)
        Standardised responses.
    categorical : sequence of int
        Categorical columns of ``X``.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    k_folds, repeats : int
        ``repeats`` divisions of the rows into ``k_folds``.
    seed, n_jobs : int
        Seed and threads.
    tick : callable
        Called after each fit.
    records : ndarray of shape (n,) or None
        Labels of rows that no fold divides.
    """

    X: Array
    y: Array
    categorical: Sequence[int]
    weights: Array | None
    k_folds: int
    repeats: int
    seed: int
    n_jobs: int
    tick: Callable[[], object] = lambda: None
    records: Integers | None = None

    @cached_property
    def folds(self) -> list[list[splits.Split]]:
        """For each repetition the pairs (rows to train on, rows held out)."""
        return [splits.k_folds(self.n_rows, self._n_folds, self.seed + r, self.records) for r in range(self.repeats)]

    @property
    def _n_folds(self) -> int:
        return min(self.k_folds, self.n_rows if self.records is None else splits.count_records(self.records))

    @cached_property
    def dense(self) -> tuple[DenseTable, Array]:
        """The rows for regressors that accept neither categories nor missing values."""
        table = DenseTable.learn(self.X, self.categorical)
        return table, table(self.X)

    @property
    def n_models(self) -> int:
        """Models of one response: one for each fold of each repetition."""
        return self.repeats * self._n_folds

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def responses(self) -> Array:
        """Standardised responses (n, d)."""
        return self.y

    @property
    def n_responses(self) -> int:
        """Number of response coordinates ``d``."""
        return self.y.shape[1]

    def cross_fit(self, stage: FirstStage, targets: Array) -> CrossFitted:
        """Fit a first-stage model to ``targets`` (n, d) instead of the responses."""
        return stage.cross_fit(self if targets is self.y else replace(self, y=targets))

    def apply(self, function: Callable[..., Any], *columns: Any, **common: Any) -> Any:
        """Apply a function to columns of all rows."""
        return function(*columns, **common)

    def gather(self, columns: Any) -> list[Any]:
        """Return the one partition."""
        return [columns]

    def sample(self, columns: Array) -> Array:
        """Return all rows."""
        return columns


def combine(rows: TrainingRows, clean: Columns) -> tuple[Columns, Array]:
    r"""Average out-of-fold predictions (repeats, n, k) and estimate the variance that more averaging removes.

    A single model's prediction varies with variance ``v`` about that of many; the average over ``R`` repetitions still
    has ``v / R`` of it, the predictor, which averages all ``R K`` models, ``v / (R K)``. With one repetition ``v``
    cannot be estimated, and the gain is zero.

    Returns
    -------
    average : Columns
        Mean over the repetitions (n, k).
    gained : ndarray of shape (k,)
        :math:`v (1/R - 1/(R K))`.
    """
    average = rows.apply(np.mean, clean, axis=0)
    v = sum(rows.gather(rows.apply(_variance_between_repeats, clean))) / rows.n_rows
    return average, v * (1.0 / rows.repeats - 1.0 / rows.n_models)


def _variance_between_repeats(clean: Array) -> Array:
    """Variance over the first axis of predictions (repeats, n, k), summed over rows: shape (k,)."""
    return np.zeros(clean.shape[2]) if len(clean) == 1 else np.asarray(clean.var(axis=0, ddof=1).sum(axis=0))
