"""Any scikit-learn regressor as a first-stage model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from diffgbm._util.parallel import one_blas_thread
from diffgbm._util.types import Array
from diffgbm.first_stage.cross_fitting import CrossFitted, Task, combine
from diffgbm.first_stage.dense import DenseTable

TOGETHER = 768
"""Rows that are predicted in one call; the kernels of matrix products take 4, 6, 8, 12, 16 or 24 at a time."""


@dataclass(frozen=True)
class RegressorAverage:
    """The mean of several fitted regressors' predictions for each response.

    Attributes
    ----------
    models : tuple of tuple of regressor
        For each response the regressors of the folds.
    dense : DenseTable or None
        How rows are prepared for regressors that know neither categories nor missing values.
    """

    models: tuple[tuple[Any, ...], ...]
    dense: DenseTable | None

    @one_blas_thread()
    def __call__(self, X: Array) -> Array:
        """Predict rows (n, p): shape (n, d)."""
        rows = X if self.dense is None else self.dense(X)
        return np.column_stack([np.mean([_predict(m, rows) for m in own], axis=0) for own in self.models])


@dataclass(frozen=True)
class AnyRegressor:
    """A regressor that follows scikit-learn's conventions, cloned for each fold and response.

    A regressor whose tags allow missing values sees the encoded rows, categories as codes. Any other sees standardised
    numbers without gaps and one column for each category. Weights go to those that accept them.

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

        def fit(train: NDArray[np.intp], j: int, seed: int) -> Any:
            weights = {"sample_weight": task.weights[train]} if weighted and task.weights is not None else {}
            return seeded(self.regressor, seed).fit(rows[train], task.y[train, j], **weights)

        clean = np.empty((task.repeats, *task.y.shape))
        jobs = [(r, train, out) for r, folds in enumerate(task.folds) for train, out in folds]
        models: list[tuple[Any, ...]] = []
        for j in range(task.y.shape[1]):
            # threads: scikit-learn's solvers release the GIL, and nothing needs to be copied to other processes
            own = Parallel(n_jobs=task.n_jobs, prefer="threads")(
                delayed(fit)(train, j, task.seed + i) for i, (_, train, _) in enumerate(jobs)
            )
            for model, (r, _, held_out) in zip(own, jobs, strict=True):
                clean[r, held_out, j] = _predict(model, rows[held_out])
            models.append(tuple(own))
        for _ in jobs:
            task.tick()
        average, gained = combine(task, clean)
        return CrossFitted(RegressorAverage(tuple(models), dense), average, gained)


def seeded(regressor: Any, seed: int) -> Any:
    """Clone a regressor; where its random state is open, close it, in the parts of pipelines as well."""
    copy = clone(regressor)
    open_states = [
        name for name, value in copy.get_params().items() if name.split("__")[-1] == "random_state" and value is None
    ]
    return copy.set_params(**dict.fromkeys(open_states, seed)) if open_states else copy


def _predict(model: Any, rows: Array) -> Array:
    """Predict rows (n, q), always ``TOGETHER`` of them: what a row is told must not depend on its company.

    The order in which a matrix product adds depends on its shape, and with it the last bit of linear models and
    networks.
    """
    missing = -len(rows) % TOGETHER
    padded = np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)]) if missing else rows
    parts = [model.predict(padded[i : i + TOGETHER]) for i in range(0, len(padded), TOGETHER)]
    return np.concatenate([np.empty(0), *(np.asarray(part, dtype=np.float64).ravel() for part in parts)])[: len(rows)]
