"""Other packages that predict quantiles, fitted to the same rows and timed in the same run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from diffgbm._util.types import Array

LEVELS = np.arange(1, 50) / 50
"""The 49 levels of models that are fitted to levels."""
ASKED = np.arange(1, 100) / 100
"""The 99 levels of a question."""
TREES = 300

Predict = Callable[[Array], Any]
Peer = tuple[Predict, Predict]
"""From rows to the ends of a 90% interval, and to 99 quantiles."""


def interpolated(found: Array) -> Array:
    """Sort quantiles (n, 49) at ``LEVELS`` and interpolate those at ``ASKED``: shape (n, 99)."""
    found = np.sort(found, axis=1)
    position = np.clip(ASKED * 50 - 1, 0.0, len(LEVELS) - 1.0)
    low = np.minimum(position.astype(int), len(LEVELS) - 2)
    share = position - low
    return found[:, low] * (1.0 - share) + found[:, low + 1] * share


def lightgbm_quantiles(X: Array, y: Array) -> Peer:
    """LightGBM with one booster for each of 49 levels; an interval needs two of them."""
    import lightgbm as lgb

    def fit(level: float) -> Any:
        params = {"objective": "quantile", "alpha": float(level), "num_threads": 1, "verbosity": -1, "seed": 0}
        return lgb.train(params, lgb.Dataset(X, y), TREES)

    ends, boosters = [fit(0.05), fit(0.95)], [fit(level) for level in LEVELS]

    def predict(chosen: list[Any], rows: Array) -> Array:
        return np.column_stack([booster.predict(rows, num_threads=1) for booster in chosen])

    return (lambda rows: predict(ends, rows)), (lambda rows: interpolated(predict(boosters, rows)))


def catboost_quantiles(X: Array, y: Array) -> Peer:
    """CatBoost with one MultiQuantile model of 49 levels, which an interval needs as well."""
    from catboost import CatBoostRegressor

    alpha = ",".join(f"{level:.2f}" for level in LEVELS)
    model = CatBoostRegressor(
        loss_function=f"MultiQuantile:alpha={alpha}",
        iterations=TREES,
        thread_count=1,
        random_seed=0,
        verbose=0,
        allow_writing_files=False,
    ).fit(X, y)

    def quantiles(rows: Array) -> Array:
        return interpolated(model.predict(rows, thread_count=1))

    return (lambda rows: quantiles(rows)[:, [4, 94]]), quantiles


def ngboost_normal(X: Array, y: Array) -> Peer:
    """NGBoost with the normal distribution."""
    from ngboost import NGBRegressor

    model = NGBRegressor(n_estimators=TREES, verbose=False, random_state=0).fit(X, y)
    levels = ASKED[:, None]
    return (
        lambda rows: np.column_stack([model.pred_dist(rows).ppf(level) for level in (0.05, 0.95)]),
        lambda rows: model.pred_dist(rows).ppf(levels).T,
    )


def quantile_forest(X: Array, y: Array) -> Peer:
    """quantile-forest with its defaults."""
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(random_state=0, n_jobs=1).fit(X, y)
    return (
        lambda rows: model.predict(rows, quantiles=[0.05, 0.95]),
        lambda rows: model.predict(rows, quantiles=ASKED.tolist()),
    )


PEERS: dict[str, tuple[str, Callable[[Array, Array], Peer]]] = {
    "LightGBM, 49 quantiles": ("lightgbm", lightgbm_quantiles),
    "CatBoost MultiQuantile": ("catboost", catboost_quantiles),
    "NGBoost, normal": ("ngboost", ngboost_normal),
    "quantile-forest": ("quantile_forest", quantile_forest),
}
"""Modules that must be installed, and what fits them."""
