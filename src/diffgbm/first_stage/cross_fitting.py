"""What a first-stage model is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from diffgbm._util.types import Array
from diffgbm.data.splits import Split, k_folds
from diffgbm.first_stage.dense import DenseTable


class Predictor(Protocol):
    """A fitted first-stage model: encoded rows (n, p), C-contiguous float64, to columns (n, k)."""

    def __call__(self, X: Array) -> Array:
        """Predict the columns."""
        ...


@dataclass(frozen=True)
class CrossFitted:
    """A first-stage model and what it says of rows it has not seen.

    Attributes
    ----------
    predictor : Predictor
        For new rows.
    out_of_fold : ndarray of shape (n, k)
        For each training row the average of the models that have not seen it, one for each repetition.
    gained : ndarray of shape (k,)
        Variance that ``predictor`` is rid of and ``out_of_fold`` is not, because it averages more models.
    """

    predictor: Predictor
    out_of_fold: Array
    gained: Array


class FirstStage(Protocol):
    """A kind of first-stage model, not yet fitted."""

    def cross_fit(self, task: Task) -> CrossFitted:
        """Fit it to a task."""
        ...

    def n_fits(self, task: Task) -> int:
        """How often ``task.tick`` will be called."""
        ...


@dataclass(frozen=True)
class Task:
    """A table to cross-fit on.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Encoded rows: codes for categories, NaN for what is missing.
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

    @cached_property
    def folds(self) -> list[list[Split]]:
        """For each repetition the pairs (rows to train on, rows held out)."""
        k = min(self.k_folds, len(self.y))
        return [k_folds(len(self.y), k, self.seed + r) for r in range(self.repeats)]

    @cached_property
    def dense(self) -> tuple[DenseTable, Array]:
        """The rows as regressors that know neither categories nor missing values can read them."""
        table = DenseTable.learn(self.X, self.categorical)
        return table, table(self.X)

    @property
    def n_models(self) -> int:
        """Models of one response: one for each fold of each repetition."""
        return self.repeats * min(self.k_folds, len(self.y))


def combine(task: Task, clean: Array) -> tuple[Array, Array]:
    r"""Average out-of-fold predictions (repeats, n, k) and estimate what more averaging will gain.

    A single model's prediction varies with variance ``v`` about that of many; the average over ``R`` repetitions still
    has ``v / R`` of it, the predictor, which averages all ``R K`` models, ``v / (R K)``. With one repetition ``v`` is
    not known, and nothing is claimed.
    """
    average = clean.mean(axis=0)
    if task.repeats == 1:
        return average, np.zeros(average.shape[1])
    v = clean.var(axis=0, ddof=1).mean(axis=0)
    return average, v * (1.0 / task.repeats - 1.0 / task.n_models)
