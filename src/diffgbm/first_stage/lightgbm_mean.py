"""LightGBM as a first-stage model: binned once, one booster for each fold, all of them summed in one traversal.

References
----------
.. [1] G. Ke, Q. Meng, T. Finley, T. Wang, W. Chen, W. Ma, Q. Ye, T.-Y. Liu (2017). LightGBM: A highly efficient
   gradient boosting decision tree. NeurIPS 30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import lightgbm as lgb
import numpy as np

from diffgbm._util.deadline import Deadline
from diffgbm._util.types import Array, Rows
from diffgbm.data.blocks import BlockDataset, MatrixSequence, is_large_map, map_rows
from diffgbm.data.splits import can_hold_out, holdout
from diffgbm.engine import TreeSum
from diffgbm.engine.forest import CannotCollapse
from diffgbm.engine.stored import AnyBooster
from diffgbm.first_stage.cross_fitting import CrossFitted, Task, combine
from diffgbm.first_stage.pacing import pacing
from diffgbm.first_stage.useful_threads import useful_threads, with_useful_threads


@dataclass(frozen=True)
class BoosterAverage:
    """The mean of several boosters' predictions for each response.

    Attributes
    ----------
    models : tuple of tuple of Booster
        For each response the boosters of the folds.
    """

    models: tuple[tuple[AnyBooster, ...], ...]

    @cached_property
    def averages(self) -> tuple[Callable[[Array], Array], ...]:
        """The mean of each response, made when first asked for: fitting needs no compiled code."""
        return tuple(map(_average, self.models))

    def __reduce__(self) -> tuple[Any, ...]:
        # the averages are made from the boosters, so they are not stored
        return BoosterAverage, (self.models,)

    def __call__(self, X: Array) -> Array:
        """Predict rows (n, p): shape (n, d)."""
        return np.column_stack([average(X) for average in self.averages])


@dataclass(frozen=True)
class SingleFold:
    """One fold of an average, which shares its tables: to read the boosters again would take longer than to predict.

    Attributes
    ----------
    of : BoosterAverage
        The average.
    number : int
        Number of the fold; an average of fewer folds is gone through again.
    """

    of: BoosterAverage
    number: int

    def __call__(self, X: Array) -> Array:
        """Predict rows (n, p): shape (n, d)."""
        columns = []
        for average, boosters in zip(self.of.averages, self.of.models, strict=True):
            k = self.number % len(boosters)
            if isinstance(average, TreeSum):
                columns.append(average.alone(k, X))
            else:
                columns.append(np.asarray(boosters[k].predict(X, num_threads=1)))
        return np.column_stack(columns)


@dataclass(frozen=True)
class LightGBMMean:
    """LightGBM with squared error.

    Attributes
    ----------
    params : mapping
        LightGBM's parameters, and ``n_estimators`` and ``early_stopping_rounds`` (on a tenth of the training rows).
    """

    params: Mapping[str, Any]

    def n_fits(self, task: Task) -> int:
        """How often ``task.tick`` will be called."""
        return task.n_models

    def cross_fit(self, task: Task) -> CrossFitted:
        """Fit one model for each fold and response."""
        params, rounds, patience = first_stage_params(self.params, task.seed, task.n_jobs)
        data = binned(task, params)
        clean = np.full((task.repeats, *task.y.shape), np.nan)
        models: list[list[lgb.Booster]] = [[] for _ in range(task.y.shape[1])]
        for r, folds in enumerate(task.folds):
            for train, held_out in folds:
                fitted, stop = train, None
                if patience and can_hold_out(part := task.structure.part(train), len(train)):
                    fitted, stop = (train[rows] for rows in holdout(len(train), 0.1, task.seed, part))
                for j in range(task.y.shape[1]):
                    valid = None if stop is None else subset(task, data, stop, j)
                    left = task.n_models * task.y.shape[1] - sum(map(len, models))
                    deadline = task.deadline.part(left)
                    booster = _train(params, subset(task, data, fitted, j), rounds, valid, patience, deadline)
                    predict: Callable[[Array], Any] = partial(booster.predict, num_threads=useful_threads(task.n_jobs))
                    if len(held_out):
                        clean[r, held_out, j] = map_rows(predict, task.X, held_out)
                    models[j].append(booster)
                task.tick()
        average, gained = combine(task, clean)
        return CrossFitted(BoosterAverage(tuple(tuple(task.predicting(folds)) for folds in models)), average, gained)


def binned(task: Task, params: dict[str, Any]) -> lgb.Dataset:
    """Bin all rows; those of a large map on disk block by block, with the same result."""
    params = with_useful_threads(params)
    options: dict[str, Any] = {"label": task.y[:, 0], "params": params, "categorical_feature": list(task.categorical)}
    if is_large_map(task.X):
        return BlockDataset(MatrixSequence(task.X), seeded=True, **options).construct()
    return lgb.Dataset(task.X, free_raw_data=False, **options).construct()


def subset(task: Task, data: lgb.Dataset, rows: Rows, response: int) -> lgb.Dataset:
    """Return some of the binned rows with one response of the task."""
    rows = np.sort(rows)
    part = data.subset(rows.tolist()).construct()
    part.set_label(task.y[rows, response])
    if task.weights is not None:
        part.set_weight(task.weights[rows])
    return part


def regression_params(seed: int, threads: int) -> dict[str, Any]:
    """Return the parameters of every booster: squared error, reproducible, silent."""
    return {
        "objective": "regression",
        "verbosity": -1,
        "num_threads": threads,
        "seed": seed,
        "deterministic": True,
        "force_col_wise": True,
    }


def first_stage_params(params: Mapping[str, Any], seed: int, threads: int) -> tuple[dict[str, Any], int, int | None]:
    """Split the user's parameters into LightGBM's, the number of rounds and the patience."""
    rest = dict(params)
    rounds, patience = rest.pop("n_estimators"), rest.pop("early_stopping_rounds", None)
    return {**regression_params(seed, threads), **rest}, rounds, patience


def _train(
    params: dict[str, Any],
    data: lgb.Dataset,
    rounds: int,
    valid: lgb.Dataset | None,
    patience: int | None,
    deadline: Deadline,
) -> lgb.Booster:
    """Train a booster; after the deadline it keeps the rounds that it has, at least one.

    If there is time for few rounds, their learning rate is larger.
    """
    callbacks: list[Callable[..., Any]] = [_ending(deadline), *pacing(deadline, params)] if deadline.is_set else []
    params = with_useful_threads(params)
    if valid is None or not patience:
        return lgb.train(params, data, rounds, callbacks=callbacks)
    callbacks.append(lgb.early_stopping(patience, verbose=False))
    return lgb.train(params, data, rounds, valid_sets=[valid], callbacks=callbacks)


def _ending(deadline: Deadline) -> Callable[[Any], None]:
    def after_round(env: Any) -> None:
        if deadline.over:
            raise lgb.callback.EarlyStopException(env.iteration, env.evaluation_result_list)

    return after_round


def _average(boosters: Sequence[AnyBooster]) -> Callable[[Array], Array]:
    """Return the mean of the folds' predictions as a function of rows (n, p)."""
    try:
        return TreeSum(boosters, [1.0 / len(boosters)] * len(boosters))
    except CannotCollapse:
        return lambda X: np.mean([booster.predict(X, num_threads=1) for booster in boosters], axis=0)
