"""Any scikit-learn regressor as a first-stage model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from diffgbm._util.parallel import one_blas_thread
from diffgbm._util.types import Array, Rows
from diffgbm.first_stage.cross_fitting import CrossFitted, Task, combine
from diffgbm.first_stage.dense import DenseTable

TOGETHER = 768
"""Rows of one call of ``predict``: a multiple of 4, 6, 8, 12, 16 and 24, which matrix products take at a time."""


@dataclass(frozen=True)
class RegressorAverage:
    """The mean of several fitted regressors' predictions for each response.

    Attributes
    ----------
    models : tuple of tuple of regressor
        For each response the regressors of the folds.
    dense : DenseTable or None
        How rows are prepared for regressors that accept neither categories nor missing values.
    """

    models: tuple[tuple[Any, ...], ...]
    dense: DenseTable | None

    @one_blas_thread()
    def __call__(self, X: Array) -> Array:
        """Predict rows (n, p): shape (n, d)."""
        rows = X if self.dense is None else self.dense(X)
        return np.column_stack([np.mean([_predict(m, rows) for m in folds], axis=0) for folds in self.models])


@dataclass(frozen=True)
class AnyRegressor:
    """A regressor that follows scikit-learn's conventions, cloned for each fold and response.

    A regressor whose tags allow missing values sees the encoded rows, categories as codes. Any other sees standardised
    numbers without missing values and one column for each category. Regressors that accept weights get them.

    Attributes
    ----------
    regressor : object
        With ``fit`` and ``predict``.
    """

    regressor: Any

    def __post_init__(self) -> None:
        if not (hasattr(self.regressor, "fit") and hasattr(self.regressor, "predict")):
            raise TypeError(f"a first-stage model must be a regressor with fit and predict; got {self.regressor!r}.")

    def n_fits(self, task: Task) -> int:
        """How often ``task.tick`` will be called."""
        return task.n_models

    def cross_fit(self, task: Task) -> CrossFitted:
        """Fit one clone for each fold and response."""
        dense, rows = (None, task.X) if get_tags(self.regressor).input_tags.allow_nan else task.dense
        weighted = task.weights is not None and has_fit_parameter(self.regressor, "sample_weight")

        def fit(train: Rows, j: int, seed: int) -> Any:
            weights = {"sample_weight": task.weights[train]} if weighted and task.weights is not None else {}
            task.deadline.check(_projected(seconds, task))
            before = task.deadline.now()
            fitted = seeded(self.regressor, seed).fit(rows[train], task.y[train, j], **weights)
            seconds.append(task.deadline.now() - before)
            return fitted

        seconds: list[float] = []
        clean = np.full((task.repeats, *task.y.shape), np.nan)
        jobs = [(r, train, out) for r, folds in enumerate(task.folds) for train, out in folds]
        models: list[tuple[Any, ...]] = []
        for j in range(task.y.shape[1]):
            # threads: scikit-learn's solvers release the GIL, and nothing needs to be copied to other processes
            fitted = Parallel(n_jobs=task.n_jobs, prefer="threads")(
                delayed(fit)(train, j, task.seed + i) for i, (_, train, _) in enumerate(jobs)
            )
            for model, (r, _, held_out) in zip(fitted, jobs, strict=True):
                if len(held_out):
                    clean[r, held_out, j] = _predict(model, rows[held_out])
            models.append(tuple(task.predicting(fitted)))
        for _ in jobs:
            task.tick()
        average, gained = combine(task, clean)
        return CrossFitted(RegressorAverage(tuple(models), dense), average, gained)


def _projected(seconds: list[float], task: Task) -> float:
    """Time that the fits which are left take, by those that were made."""
    left = task.n_models * task.y.shape[1] - len(seconds)
    return max(seconds) * left / task.n_jobs if seconds else 0.0


def seeded(regressor: Any, seed: int) -> Any:
    """Clone a regressor; set random states that are ``None``, also those of a pipeline's steps."""
    copy = clone(regressor)
    unset = [
        name for name, value in copy.get_params().items() if name.split("__")[-1] == "random_state" and value is None
    ]
    return copy.set_params(**dict.fromkeys(unset, seed)) if unset else copy


def _predict(model: Any, rows: Array) -> Array:
    """Predict rows (n, q), always ``TOGETHER`` of them, so that a prediction does not depend on the other rows.

    The order of addition in a matrix product depends on its shape, and with it the last bit of linear models and
    networks.
    """
    missing = -len(rows) % TOGETHER
    padded = np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)]) if missing else rows
    parts = [model.predict(padded[i : i + TOGETHER]) for i in range(0, len(padded), TOGETHER)]
    return np.concatenate([np.empty(0), *(np.asarray(part, dtype=np.float64).ravel() for part in parts)])[: len(rows)]
