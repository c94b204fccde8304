r"""Cross-fitting: every row is predicted by models that have not seen it.

The rows are divided into folds, one model is fitted without each fold, and each predicts the fold it has not seen. New
rows get the average of all models.

If rows have an order in time, the folds are expanding windows, and each model is fitted to what is before its window.
The rows of the first window have no model of the past: their predictions are NaN, and the noise model does not learn
from them. (If they are all of one time, they have folds of their own.) New rows are predicted by one more model, which
is fitted to all rows: the models of the early windows are out of date.

References
----------
.. [1] V. Chernozhukov, D. Chetverikov, M. Demirer, E. Duflo, C. Hansen, W. Newey, J. Robins (2018). Double/debiased
   machine learning for treatment and structural parameters. The Econometrics Journal 21(1), C1-C68.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from diffgbm._util.deadline import NEVER, Deadline
from diffgbm._util.types import Array, Rows
from diffgbm.data import splits
from diffgbm.data.structure import INDEPENDENT, Structure
from diffgbm.first_stage.dense import DenseTable

Model = TypeVar("Model")

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
        For each training row the average of the models that have not seen it, one for each repetition; NaN for a row
        that no fold holds out. On a cluster one future for each partition.
    gained : ndarray of shape (k,)
        Variance that ``predictor`` lacks and ``out_of_fold`` has, because it averages more models.
    as_columns : ndarray of shape (n, k) or None
        What another model may see of the training rows, if not ``out_of_fold``: the prediction of a row that is left
        out alone differs from a smooth function of ``x`` by what its own response does to that function, and trees that
        see both find the response. To subtract it is safe.
    """

    predictor: Predictor
    out_of_fold: Columns
    gained: Array
    as_columns: Columns | None = None

    @property
    def columns(self) -> Columns:
        """Predictions of the training rows as columns of another model."""
        return self.out_of_fold if self.as_columns is None else self.as_columns

    def part(self, rows: Rows) -> CrossFitted:
        """Return the model with its predictions of some training rows."""
        columns = None if self.as_columns is None else self.as_columns[rows]
        return replace(self, out_of_fold=self.out_of_fold[rows], as_columns=columns)


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
    k_folds : int, splitter or iterable of (train, test)
        Folds of the rows, each row in one at most.
    repeats : int
        Divisions of the rows into folds; one by time, or with a splitter.
    seed, n_jobs : int
        Seed and threads.
    tick : callable
        Called after each fit.
    structure : Structure
        Rows that no fold divides, and their order.
    deadline : Deadline
        When cross-fitting ends: with smaller models where that is possible, else by raising ``OutOfTime``.
    """

    X: Array
    y: Array
    categorical: Sequence[int]
    weights: Array | None
    k_folds: Any
    repeats: int
    seed: int
    n_jobs: int
    tick: Callable[[], object] = lambda: None
    structure: Structure = INDEPENDENT
    deadline: Deadline = NEVER

    @cached_property
    def folds(self) -> list[list[splits.Split]]:
        """For each repetition the pairs (rows to train on, rows held out).

        By time the last pair holds nothing out: its model predicts new rows.
        """
        folds = [self._folds(self.seed + r) for r in range(self.repeats)]
        return [[*folds[0], (np.arange(self.n_rows), np.arange(0))]] if self.is_ordered else folds

    def _folds(self, seed: int) -> list[splits.Split]:
        if not isinstance(self.k_folds, (int, np.integer)):
            return single_folds(self.k_folds, self.X, self.y[:, 0], self.structure)
        k = min(int(self.k_folds), self.n_rows)
        folds = splits.ordered_folds if self.is_ordered else splits.k_folds
        return folds(self.n_rows, k, seed, self.structure)

    @property
    def is_ordered(self) -> bool:
        """Whether the rows have an order in time."""
        return self.structure.order is not None

    @property
    def held_out(self) -> Rows:
        """Rows that some fold of the first repetition holds out, in order."""
        return np.unique(np.concatenate([held_out for _, held_out in self.folds[0]]))

    def predicting(self, models: Sequence[Model]) -> Sequence[Model]:
        """Return those of the models of all folds that predict new rows: all, or by time the last one."""
        return models[-1:] if self.is_ordered else models

    @cached_property
    def dense(self) -> tuple[DenseTable, Array]:
        """The rows for regressors that accept neither categories nor missing values."""
        table = DenseTable.learn(self.X, self.categorical)
        return table, table(self.X)

    @property
    def n_models(self) -> int:
        """Models of one response: one for each fold of each repetition."""
        return sum(map(len, self.folds))

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
        """Fit a first-stage model to ``targets`` (n, d) instead of the responses; rows without one are left out."""
        known = known_rows(targets)
        if known is None:
            return stage.cross_fit(self if targets is self.y else replace(self, y=targets))
        fitted = stage.cross_fit(replace(self.part(known), y=targets[known]))
        out_of_fold, columns = (
            np.full((self.n_rows, values.shape[1]), np.nan) for values in (fitted.out_of_fold, fitted.columns)
        )
        out_of_fold[known], columns[known] = fitted.out_of_fold, fitted.columns
        return replace(fitted, out_of_fold=out_of_fold, as_columns=columns)

    def part(self, rows: Rows) -> Task:
        """Return the task of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], weights=weights, structure=self.structure.part(rows))

    def apply(self, function: Callable[..., Any], *columns: Any, **common: Any) -> Any:
        """Apply a function to columns of all rows."""
        return function(*columns, **common)

    def gather(self, columns: Any) -> list[Any]:
        """Return the one partition."""
        return [columns]

    def sample(self, columns: Array) -> Array:
        """Return all rows that have values."""
        return with_values(columns)


def single_folds(cv: Any, X: Array, y: Array, structure: Structure) -> list[splits.Split]:
    """Return the folds of a splitter, or of pairs of row numbers, that holds out each row once at most."""
    name = "residualize_k_folds"
    folds = splits.cross_validation_splits(cv, X, y, 0, structure, name)
    splits.check_splits(folds, structure, name)
    if np.bincount(np.concatenate([held_out for _, held_out in folds]), minlength=len(X)).max() > 1:
        raise ValueError(f"{name} must hold out each row once at most; {cv!r} holds some out several times.")
    return list(folds)


def known_rows(values: Array) -> Rows | None:
    """Return the rows of values (n, k) that are all known; ``None`` if these are all rows."""
    known = ~np.isnan(values).any(axis=1)
    return None if known.all() else np.flatnonzero(known)


def with_values(values: Array) -> Array:
    """Return the rows of values (n, k) without NaN."""
    known = known_rows(values)
    return values if known is None else values[known]


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
