r"""Guides: first-stage models fitted by cross-fitting and taken out of the response before diffusion.

.. math:: r = \frac{(y - \hat\mu(x)) / \hat\sigma(x) - \text{centre}}{\text{scale}}

The noise model is trained on out-of-fold residuals, so that it sees the errors the mean makes on new rows; at
prediction the folds' models are averaged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, train_test_split

from diffgbm.engine import TreeSum
from diffgbm.engine.forest import CannotCollapse
from diffgbm.engine.stored import AnyBooster
from diffgbm.errors import DiffGBMWarning, known
from diffgbm.recipe import RESIDUALIZER_A

Array = NDArray[np.float64]
Average = Callable[[Array], Array]

RESIDUALIZE = ("off", "mean", "mean_scale")
MIN_ROWS = 80
"""Below this number of rows a cross-fitted mean is noisier than what it removes."""


@dataclass(frozen=True)
class Guide:
    """A fitted guide: ``y = location(x) + scale(x) r``.

    Attributes
    ----------
    mean_models, scale_models : tuple of tuple of Booster
        For each response the boosters of the folds; ``scale_models`` predict ``log sigma`` and may be empty.
    centre, spread : ndarray of shape (d,)
        Of the out-of-fold residuals.
    scale_floor : ndarray of shape (d,)
        Smallest conditional scale that is believed.
    """

    mean_models: tuple[tuple[AnyBooster, ...], ...]
    scale_models: tuple[tuple[AnyBooster, ...], ...]
    centre: Array
    spread: Array
    scale_floor: Array
    means: tuple[Average, ...] = field(init=False, repr=False, compare=False)
    scales: tuple[Average, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", tuple(map(_average, self.mean_models)))
        object.__setattr__(self, "scales", tuple(map(_average, self.scale_models)))

    def __reduce__(self) -> tuple[Any, ...]:
        # the averages are made from the boosters: they are not stored twice
        return Guide, tuple(getattr(self, f.name) for f in fields(self) if f.init)

    def location_scale(self, X: Array) -> tuple[Array, Array]:
        """Return location and scale, both (n, d), for encoded rows ``X`` (n, p), C-contiguous float64."""
        mean = np.column_stack([average(X) for average in self.means])
        sigma = np.ones_like(mean)
        if self.scale_models:
            log_sigma = np.column_stack([average(X) for average in self.scales])
            sigma = np.maximum(np.exp(log_sigma), self.scale_floor)
        return mean + sigma * self.centre, sigma * self.spread


def fit_guide(
    X: Array,
    y: Array,
    *,
    mode: str,
    k_folds: int,
    params: Mapping[str, Any] | None,
    categorical: Sequence[int],
    weights: Array | None,
    seed: int,
    n_jobs: int,
    tick: Callable[[], object],
) -> tuple[Guide | None, Array]:
    """Fit the residualizer and return it with the out-of-fold residuals (n, d).

    ``tick`` is called after each fold. With fewer than ``MIN_ROWS`` rows nothing is fitted, with a warning.
    """
    if known("residualize", mode, RESIDUALIZE) == "off":
        return None, y
    if len(y) < MIN_ROWS:
        warnings.warn(
            f"residualize={mode!r} needs at least {MIN_ROWS} rows and got {len(y)}: fitting without it. "
            "Set residualize='off' to silence this.",
            DiffGBMWarning,
            stacklevel=4,
        )
        return None, y
    folds = list(KFold(min(k_folds, len(y)), shuffle=True, random_state=seed).split(y))
    crossfit = _CrossFit(X, folds, dict(RESIDUALIZER_A, **(params or {})), categorical, weights, seed, n_jobs, tick)

    means, residuals = crossfit(y)
    scales: tuple[tuple[lgb.Booster, ...], ...] = ()
    floor = np.zeros(y.shape[1])
    if mode == "mean_scale":
        magnitude = np.abs(residuals)
        scales, log_error = crossfit(np.log(magnitude + 1e-3 * _winsorised_std(residuals)))
        sigma = np.exp(np.log(magnitude + 1e-3 * _winsorised_std(residuals)) - log_error)
        floor = 0.05 * np.median(sigma, axis=0)
        residuals = residuals / np.maximum(sigma, floor)
    centre = residuals.mean(axis=0)
    spread = _winsorised_std(residuals)
    return Guide(means, scales, centre, spread, floor), (residuals - centre) / spread


@dataclass(frozen=True)
class _CrossFit:
    """Fits one LightGBM model for each fold and response on a data set that is binned once."""

    X: Array
    folds: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]
    params: dict[str, Any]
    categorical: Sequence[int]
    weights: Array | None
    seed: int
    n_jobs: int
    tick: Callable[[], object]

    def __call__(self, y: Array) -> tuple[tuple[tuple[lgb.Booster, ...], ...], Array]:
        """Return the models and the out-of-fold errors ``y - prediction`` (n, d)."""
        params, rounds, patience = _lightgbm_params(self.params, self.seed, self.n_jobs)
        data = lgb.Dataset(
            self.X,
            label=y[:, 0],
            params=params,
            categorical_feature=list(self.categorical),
            free_raw_data=False,
        ).construct()
        errors = np.empty_like(y)
        models: list[list[lgb.Booster]] = [[] for _ in range(y.shape[1])]
        for train, held_out in self.folds:
            fitted, stop = train, None
            if patience:
                fitted, stop = train_test_split(train, test_size=0.1, random_state=self.seed)
            for j in range(y.shape[1]):
                valid = None if stop is None else self._subset(data, stop, y[:, j])
                booster = _train(params, self._subset(data, fitted, y[:, j]), rounds, valid, patience)
                errors[held_out, j] = y[held_out, j] - booster.predict(self.X[held_out], num_threads=self.n_jobs)
                models[j].append(booster)
            self.tick()
        return tuple(map(tuple, models)), errors

    def _subset(self, data: lgb.Dataset, rows: NDArray[np.intp], label: Array) -> lgb.Dataset:
        part = data.subset(np.sort(rows).tolist()).construct()
        part.set_label(label[np.sort(rows)])
        if self.weights is not None:
            part.set_weight(self.weights[np.sort(rows)])
        return part


def _lightgbm_params(params: dict[str, Any], seed: int, n_jobs: int) -> tuple[dict[str, Any], int, int | None]:
    """Split the user's parameters into LightGBM's, the number of rounds and the patience."""
    rest = dict(params)
    rounds, patience = rest.pop("n_estimators"), rest.pop("early_stopping_rounds", None)
    base = {
        "objective": "regression",
        "verbosity": -1,
        "num_threads": n_jobs,
        "seed": seed,
        "deterministic": True,
    }
    return {**base, "force_col_wise": True, **rest}, rounds, patience


def _train(
    params: dict[str, Any], data: lgb.Dataset, rounds: int, valid: lgb.Dataset | None, patience: int | None
) -> lgb.Booster:
    if valid is None or not patience:
        return lgb.train(params, data, rounds)
    return lgb.train(params, data, rounds, valid_sets=[valid], callbacks=[lgb.early_stopping(patience, verbose=False)])


def _average(boosters: Sequence[AnyBooster]) -> Average:
    """Return the mean of the folds' predictions as a function of rows (n, p)."""
    try:
        return TreeSum(boosters, [1.0 / len(boosters)] * len(boosters))
    except CannotCollapse:
        return lambda X: np.mean([booster.predict(X, num_threads=1) for booster in boosters], axis=0)


def _winsorised_std(residuals: Array) -> Array:
    """Return the standard deviation after clipping at the 1% and 99% quantiles, for each column.

    Where more than 98% of a column are equal it falls back to the plain standard deviation, then to one.
    """
    low, high = np.quantile(residuals, [0.01, 0.99], axis=0)
    std = np.clip(residuals, low, high).std(axis=0)
    std = np.where(std > 0.0, std, residuals.std(axis=0))
    return np.where(std > 0.0, std, 1.0)
