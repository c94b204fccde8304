"""From the estimator's arguments and the user's table to a fitted model: table -> guide -> boosters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import _check_sample_weight

from diffgbm.boosting import NoisyRows, noisy_rows, train_boosters
from diffgbm.engine.factory import Kind
from diffgbm.errors import check_count, known
from diffgbm.guides import RESIDUALIZE, fit_guide
from diffgbm.model import FittedModel
from diffgbm.parallel import n_threads
from diffgbm.progress import progress_bar
from diffgbm.recipe import Recipe, resolve
from diffgbm.table import FeatureTable, ResponseTable

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

VALIDATION_ROWS = 5000
"""Noisy rows that decide when to stop. A small table's held-out rows are copied until there are so many: with one noisy
copy of 64 rows the published recipe stops anywhere between 60 and 660 rounds."""


def fit_model(
    params: Mapping[str, Any], X: Any, y: Any, cat_idx: Sequence[int] | None, sample_weight: Any, owner: str
) -> FittedModel:
    """Fit everything; ``params`` are the estimator's arguments, ``owner`` its name for messages."""
    recipe = resolve(params)
    check_arguments(params)
    features, matrix = FeatureTable.learn(X, cat_idx, owner)
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
    response, standard = ResponseTable.learn(y, weights, len(matrix))
    if weights is not None:  # a row of no weight is a row that is not there
        counted = weights > 0.0
        matrix, standard, weights = matrix[counted], standard[counted], weights[counted]
    if len(matrix) < 2:
        raise ValueError(f"{owner} needs at least 2 rows of positive weight; got n_samples={len(matrix)}.")

    seeds = np.random.SeedSequence(params["seed"]).spawn(5)
    threads = n_threads(params["n_jobs"])
    folds = {"off": 0, "mean": 1, "mean_scale": 2}[params["residualize"]] * params["residualize_k_folds"]
    rounds = params["n_estimators"]
    with progress_bar(folds + standard.shape[1] * rounds, "fit", params["verbose"], "round") as bar:
        guide, residuals = fit_guide(
            matrix,
            standard,
            mode=params["residualize"],
            k_folds=params["residualize_k_folds"],
            params=params["extra_residualizer_params"],
            categorical=features.categorical,
            weights=weights,
            seed=_integer(seeds[0]),
            n_jobs=threads,
            tick=bar.update,
        )
        if params["sde_initialize_from_data"]:
            recipe = recipe.fitted_to(residuals)
        train, valid = _noisy_split(params, recipe, matrix, residuals, weights, seeds[1:4])
        boosters = train_boosters(
            train,
            valid,
            params=_lightgbm_params(params, _integer(seeds[4]), threads),
            n_estimators=rounds,
            early_stopping_rounds=params["early_stopping_rounds"],
            categorical=features.categorical,
            tick=_round_counter(bar, folds, rounds),
        )
    return FittedModel(features, response, guide, recipe, tuple(boosters), params["engine"], params["n_jobs"])


def _noisy_split(
    params: Mapping[str, Any],
    recipe: Recipe,
    X: Array,
    y: Array,
    weights: Array | None,
    seeds: Sequence[np.random.SeedSequence],
) -> tuple[NoisyRows, NoisyRows | None]:
    """Split the rows into training and early stopping, and draw their noise."""

    def noisy(part: Rows | slice, repeats: int, seed: np.random.SeedSequence) -> NoisyRows:
        w = None if weights is None else weights[part]
        return noisy_rows(recipe, X[part], y[part], w, repeats, np.random.default_rng(seed))

    if params["early_stopping_rounds"] is None:
        return noisy(slice(None), params["n_repeats"], seeds[1]), None
    rows = np.arange(len(y))
    train, valid = train_test_split(rows, test_size=params["eval_percent"], random_state=_integer(seeds[0]))
    copies = min(params["n_repeats"], -(-VALIDATION_ROWS // len(valid)))
    return noisy(train, params["n_repeats"], seeds[1]), noisy(valid, copies, seeds[2])


def _lightgbm_params(params: Mapping[str, Any], seed: int, threads: int) -> dict[str, Any]:
    return {
        "objective": "regression",
        "num_leaves": params["num_leaves"],
        "max_depth": params["max_depth"],
        "learning_rate": params["learning_rate"],
        "max_bin": params["max_bin"],
        "bin_construct_sample_cnt": params["subsample_for_bin"],
        "min_data_in_leaf": params["min_child_samples"],
        "bagging_fraction": params["subsample"],
        "bagging_freq": params["subsample_freq"],
        "num_threads": threads,
        "seed": seed,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
        **(params["extra_lightgbm_params"] or {}),
    }


_COUNTS = {
    "n_repeats": 1,
    "n_estimators": 1,
    "residualize_k_folds": 2,
    "num_leaves": 2,
    "max_depth": -1,
    "max_bin": 2,
    "subsample_for_bin": 1,
    "min_child_samples": 0,
    "subsample_freq": 0,
}
"""Arguments that are integers, with the least they may be."""


def check_arguments(params: Mapping[str, Any]) -> None:
    """Check what LightGBM and numpy would only complain about in their own words."""
    known("residualize", params["residualize"], RESIDUALIZE)
    known("engine", params["engine"], get_args(Kind))
    for name, low in _COUNTS.items():
        check_count(name, params[name], low)
    for name in ("learning_rate", "subsample", "eval_percent"):
        value = params[name]
        most = np.inf if name == "learning_rate" else 1.0
        if not isinstance(value, (int, float, np.integer, np.floating)) or not 0.0 < value <= most:
            raise ValueError(f"{name} must be a number > 0{' and <= 1' if most == 1.0 else ''}; got {value!r}.")
    if params["seed"] is not None:
        check_count("seed", params["seed"], 0)
    if params["early_stopping_rounds"] is not None:
        check_count("early_stopping_rounds", params["early_stopping_rounds"], 1)
        if params["eval_percent"] >= 1.0:
            raise ValueError(f"eval_percent must leave rows to train on; got {params['eval_percent']!r}.")
    for name in ("extra_lightgbm_params", "extra_residualizer_params"):
        if params[name] is not None and not isinstance(params[name], Mapping):
            raise TypeError(f"{name} must be a dict or None; got {type(params[name]).__name__}.")


def _integer(seed: np.random.SeedSequence) -> int:
    """Make 31 bits of a seed sequence, for LightGBM and scikit-learn."""
    return int(seed.generate_state(1)[0] >> 1)


def _round_counter(bar: Any, folds: int, rounds: int) -> Callable[[float | None], None]:
    """Advance the bar by boosting rounds; a booster that stops early jumps to its end."""
    finished = 0

    def tick(loss: float | None) -> None:
        nonlocal finished
        if loss is None:
            finished += 1
            bar.update(folds + finished * rounds - bar.n)
        else:
            bar.set_postfix_str(f"validation loss {loss:.4g}", refresh=False)
            bar.update()

    return tick
