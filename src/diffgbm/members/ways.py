"""The ways in which estimators of other packages give a distribution, by what their methods and arguments are called.

Nothing is imported here: an estimator is recognised by its interface, so that a class of your own can have it as well.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.members.answers import answer_table, asked, point_answer
from diffgbm.members.quantile_points import even_levels

LEVELS = np.round(np.arange(0.01, 0.995, 0.01), 2)
"""Levels of the quantiles that an estimator is asked for if it accepts any: 0.01 to 0.99."""
SAMPLES = 200
"""Samples of each row that an estimator is asked for."""

Quantiles = tuple[Array, Array]
"""Increasing levels (k,), and quantiles (n, k), which may cross. One level is a prediction without a distribution."""


@dataclass(frozen=True)
class Way:
    """One way to ask a fitted estimator for distributions.

    Attributes
    ----------
    gives : str
        What the estimator gives, for the leaderboard.
    matches : callable
        Whether an estimator, fitted or not, can be asked in this way.
    ask : callable
        Takes a fitted estimator and rows (n, p), returns ``Quantiles``.
    frames : bool
        Whether it is fitted to data frames instead of arrays.
    """

    gives: str
    matches: Callable[[Any], bool]
    ask: Callable[[Any, Array], Quantiles]
    frames: bool = False


def _arguments(estimator: Any, method: str) -> list[str]:
    """Return the names of the arguments of a method; none if there is no such method."""
    function = getattr(estimator, method, None)
    try:
        return list(inspect.signature(function).parameters) if callable(function) else []
    except (TypeError, ValueError):
        return []


def _parameter(estimator: Any, name: str) -> Any:
    """Return a parameter that the estimator was made with; ``None`` if it has none of this name."""
    return estimator.get_params().get(name) if hasattr(estimator, "get_params") else None


def frame_of(X: Array) -> Any:
    """Return rows (n, p) as a pandas frame with columns ``x0``, ``x1``, ..."""
    return need("pandas").DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def response_frame(y: Array) -> Any:
    """Return responses (n,) as a pandas frame with the column ``y``."""
    return need("pandas").DataFrame({"y": y})


def _of_distribution(found: Any, n: int) -> Quantiles:
    """Quantiles of an object with ``ppf`` (scipy, NGBoost) or ``quantile`` (of this library)."""
    if hasattr(found, "ppf"):
        return LEVELS, np.column_stack([np.broadcast_to(point_like(found.ppf(p), n), n) for p in LEVELS])
    if hasattr(found, "quantile"):
        return LEVELS, answer_table(found.quantile(LEVELS), n, len(LEVELS))
    raise ValueError(f"it returned a {type(found).__name__}, which has neither ppf nor quantile")


def point_like(answer: Any, n: int) -> Array:
    """Return a number for each of ``n`` rows, or one for all."""
    return np.asarray(answer, dtype=np.float64) if np.ndim(answer) == 0 else point_answer(answer, n)


def _skpro(model: Any, X: Array) -> Quantiles:
    found = asked(lambda rows: model.predict_quantiles(frame_of(rows), alpha=LEVELS.tolist()), X, len(LEVELS))
    return LEVELS, found


def _predict_quantiles(model: Any, X: Array) -> Quantiles:
    return LEVELS, asked(lambda rows: model.predict_quantiles(rows, LEVELS.tolist()), X, len(LEVELS))


def _output_type(model: Any, X: Array) -> Quantiles:
    levels = "alphas" if "alphas" in _arguments(model, "predict") else "quantiles"
    options: dict[str, Any] = {"output_type": "quantiles", levels: LEVELS.tolist()}
    return LEVELS, asked(lambda rows: model.predict(rows, **options), X, len(LEVELS))


def _predict_with_levels(model: Any, X: Array) -> Quantiles:
    return LEVELS, asked(lambda rows: model.predict(rows, quantiles=LEVELS.tolist()), X, len(LEVELS))


def trained_levels(estimator: Any) -> Array | None:
    """Levels (k,) that CatBoost's MultiQuantile or XGBoost's quantile loss is trained for, in their order; or None."""
    loss, listed = _parameter(estimator, "loss_function"), _parameter(estimator, "quantile_alpha")
    if isinstance(loss, str) and loss.startswith("MultiQuantile:alpha="):
        listed = [float(part) for part in loss.partition("alpha=")[2].split(";")[0].split(",")]
    levels = np.atleast_1d(np.asarray([] if listed is None else listed, dtype=np.float64))
    return levels if len(np.unique(levels)) > 1 and np.all((levels > 0.0) & (levels < 1.0)) else None


def _trained_quantiles(model: Any, X: Array) -> Quantiles:
    levels = trained_levels(model)
    assert levels is not None
    found = asked(model.predict, X, len(levels))
    increasing, first = np.unique(levels, return_index=True)
    return increasing, found[:, first]


def _mean_and_variance(model: Any, X: Array) -> Quantiles:
    mean, variance = asked(model.predict, X, 2).T
    return LEVELS, _normal(mean, np.sqrt(np.maximum(variance, 0.0)))


def _mean_and_deviation(model: Any, X: Array) -> Quantiles:
    mean, deviation = model.predict(X, return_std=True)
    return LEVELS, _normal(point_answer(mean, len(X)), point_answer(deviation, len(X)))


def _normal(mean: Array, deviation: Array) -> Array:
    return mean[:, None] + deviation[:, None] * ndtri(LEVELS)


def _sample(model: Any, X: Array) -> Quantiles:
    # the same rows get the same samples, if the estimator can be told so
    options = {name: 0 for name in ("seed", "random_state") if name in _arguments(model, "sample")}
    found = asked(lambda rows: model.sample(rows, n_samples=SAMPLES, **options), X, SAMPLES)
    return even_levels(SAMPLES), np.sort(found, axis=1)


def _predict(model: Any, X: Array) -> Quantiles:
    return np.array([0.5]), point_answer(model.predict(X), len(X))[:, None]


WAYS: Mapping[str, Way] = {
    "skpro": Way(
        "the distribution of predict_proba",
        lambda e: hasattr(e, "predict_proba") and hasattr(e, "predict_quantiles"),
        _skpro,
        frames=True,
    ),
    "predict_quantiles": Way("quantiles", lambda e: hasattr(e, "predict_quantiles"), _predict_quantiles),
    "pred_dist": Way(
        "the distribution of pred_dist",
        lambda e: hasattr(e, "pred_dist"),
        lambda model, X: _of_distribution(model.pred_dist(X), len(X)),
    ),
    "predict_distribution": Way(
        "the distribution of predict_distribution",
        lambda e: hasattr(e, "predict_distribution"),
        lambda model, X: _of_distribution(model.predict_distribution(X), len(X)),
    ),
    "output_type": Way("quantiles", lambda e: "output_type" in _arguments(e, "predict"), _output_type),
    "quantiles": Way("quantiles", lambda e: "quantiles" in _arguments(e, "predict"), _predict_with_levels),
    "trained_quantiles": Way("quantiles", lambda e: trained_levels(e) is not None, _trained_quantiles),
    "mean_and_variance": Way(
        "a mean and a variance", lambda e: _parameter(e, "loss_function") == "RMSEWithUncertainty", _mean_and_variance
    ),
    "return_std": Way(
        "a mean and a standard deviation", lambda e: "return_std" in _arguments(e, "predict"), _mean_and_deviation
    ),
    "sample": Way("samples", lambda e: {"X", "n_samples"} <= set(_arguments(e, "sample")), _sample),
    "regressor": Way("a prediction and its residuals", lambda e: hasattr(e, "predict"), _predict),
}
"""The ways, by name; the first that matches is taken.

skpro regressors; ``predict_quantiles(X, levels)``; NGBoost's ``pred_dist(X)``; ``predict_distribution(X)`` with ``ppf``
or ``quantile``; TabPFN's and TabICL's ``predict(X, output_type="quantiles")``; quantile-forest's ``predict(X,
quantiles=...)``; CatBoost's MultiQuantile and XGBoost's ``quantile_alpha``; CatBoost's RMSEWithUncertainty;
scikit-learn's ``predict(X, return_std=True)``; ``sample(X, n_samples=...)``; ``predict(X)``.
"""


def way_of(estimator: Any) -> str:
    """Return the name of the way in which an estimator is asked; a ``TypeError`` if there is none."""
    for name, way in WAYS.items():
        if way.matches(estimator):
            return name
    raise TypeError(f"{type(estimator).__name__} has no method predict, sample or predict_quantiles")
