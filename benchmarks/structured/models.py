"""Models of the comparison, each a function from training rows and new rows to predictive distributions.

Sizes and numbers of rounds were chosen on tables of other seeds: ours on 100 and 101, those of other packages on 100.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import lightgbm as lgb
import numpy as np

from benchmarks.structured.tables import Ends, Table
from diffgbm import AutoDiffGBM, DiffGBM, PredictiveDistribution
from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.distributions.support import Support

Model = Callable[[Table, Array, Ends, int], PredictiveDistribution]
"""From training rows, new rows, limits and a seed to the distributions of the new rows."""
LEVELS = np.round(np.arange(0.025, 1.0, 0.05), 3)
"""Levels of models that predict quantiles; the 90% interval goes from the second to the last but one."""
OURS: dict[str, Any] = {
    "residualize": "mean_scale",
    "n_estimators": 300,
    "n_repeats": 20,
    "num_leaves": 8,
    "extra_residualizer_params": {"n_estimators": 100, "num_leaves": 4, "learning_rate": 0.05},
    "n_jobs": 1,
}
"""Small trees, which suit a few hundred rows."""
SECONDS = 20.0
"""Time limit of ``AutoDiffGBM``."""


def ours(support: bool) -> Model:
    """Return ``DiffGBM`` with the limits, or without."""

    def predict(train: Table, X: Array, ends: Ends, seed: int) -> PredictiveDistribution:
        counts = support and bool((train[1] == np.rint(train[1])).all())
        model = DiffGBM.flow(**OURS, seed=seed, support=ends if support else None, discrete=counts)
        return model.fit(*train).predict_distribution(X)  # type: ignore[return-value]

    return predict


def automatic(seed: int, **options: Any) -> AutoDiffGBM:
    """Return an ``AutoDiffGBM`` that is not fitted."""
    return AutoDiffGBM(preset="fast", time_limit=SECONDS, seed=seed, n_jobs=1, **options)


def _automatic(train: Table, X: Array, ends: Ends, seed: int) -> PredictiveDistribution:
    return automatic(seed, support=ends).fit(*train).predict_distribution(X)  # type: ignore[return-value]


def _lightgbm(train: Table, X: Array, ends: Ends, seed: int) -> PredictiveDistribution:
    params = {"objective": "quantile", "num_leaves": 4, "learning_rate": 0.05, "verbose": -1, "num_threads": 1}
    fits = [
        lgb.train({**params, "alpha": level, "seed": seed}, lgb.Dataset(*train), 100).predict(X)
        for level in LEVELS.tolist()
    ]
    return PredictiveDistribution(np.sort(np.column_stack(fits), axis=1), LEVELS)


def _catboost(train: Table, X: Array, ends: Ends, seed: int) -> PredictiveDistribution:
    loss = "MultiQuantile:alpha=" + ",".join(map(str, LEVELS.tolist()))
    options = {"iterations": 300, "depth": 2, "thread_count": 1, "random_seed": seed, "verbose": False}
    model = need("catboost").CatBoostRegressor(loss_function=loss, allow_writing_files=False, **options)
    return PredictiveDistribution(np.sort(model.fit(*train).predict(X), axis=1), LEVELS)


def _ngboost(family: str) -> Model:
    def predict(train: Table, X: Array, ends: Ends, seed: int) -> PredictiveDistribution:
        ngboost = need("ngboost")
        dist = getattr(ngboost.distns, family)
        y = train[1] + (1e-6 if family == "LogNormal" else 0.0)
        y = y.astype(int) if family == "Poisson" else y
        model = ngboost.NGBRegressor(Dist=dist, n_estimators=200, verbose=False, random_state=seed).fit(train[0], y)
        levels = (np.arange(199) + 0.5) / 199
        found = model.pred_dist(X)
        points = np.column_stack([found.ppf(level) for level in levels.tolist()])
        support = Support(0.0, integers=True) if family == "Poisson" else None
        return PredictiveDistribution(points, levels, support=support)

    return predict


RIVALS: dict[str, Model] = {
    "LightGBM quantiles": _lightgbm,
    "CatBoost quantiles": _catboost,
    "NGBoost Normal": _ngboost("Normal"),
    "NGBoost LogNormal": _ngboost("LogNormal"),
    "NGBoost Poisson": _ngboost("Poisson"),
}
MODELS: dict[str, Model] = {
    "DiffGBM": ours(False),
    "DiffGBM, support": ours(True),
    "AutoDiffGBM, support": _automatic,
    **RIVALS,
}
FAMILY_FREE = ("LightGBM quantiles", "CatBoost quantiles", "NGBoost Normal")
"""Other packages' models that suit responses without limits."""


def skipped(model: str, table: str) -> str:
    """Return why a model has no line for a table; empty if it has one."""
    package = {"CatBoost": "catboost", "NGBoost": "ngboost"}.get(model.split()[0])
    if package is not None and find_spec(package) is None:
        return f"{package} is not installed"
    if model == "NGBoost Poisson" and table not in ("counts", "hourly rides"):
        return "the family is for counts"
    if model == "NGBoost LogNormal" and table not in ("demand", "exponential", "claims"):
        return "the family is for positive responses"
    return ""
