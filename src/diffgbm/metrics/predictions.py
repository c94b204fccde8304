"""Reading a prediction: a predictive distribution, or an array of samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.types import Array
from diffgbm.distributions import Ensemble, Prediction

Metric = TypeVar("Metric", bound=Callable[..., Any])


def either_order(metric: Metric) -> Metric:
    """Let a metric take ``(y, prediction)`` as well, the order of scikit-learn, if the prediction is a distribution.

    An array of samples cannot be told from observations, so that it must come first.
    """

    @wraps(metric)
    def ordered(prediction: Any, y: Any, *more: Any, **options: Any) -> Any:
        if hasattr(y, "crps") and not hasattr(prediction, "crps"):
            prediction, y = y, prediction
        return metric(prediction, y, *more, **options)

    return cast(Metric, ordered)


def as_distribution(prediction: Any, y: ArrayLike | None = None) -> Prediction:
    """Return a predictive distribution as it is, and anything else as an ensemble of samples.

    Parameters
    ----------
    prediction : predictive distribution or array-like of shape (n_samples, n) or (n_samples, n, d)
        Anything with a method ``crps`` counts as a distribution.
    y : array-like, optional
        Observations that the samples must match: shape (n,) or (n, d).
    """
    _refuse_estimators(prediction, y)
    if hasattr(prediction, "crps"):
        return cast(Prediction, prediction)
    samples = np.asarray(prediction, dtype=np.float64)
    if samples.ndim < 2 or (y is not None and samples.shape[1:] != np.shape(y)):
        shapes = str(samples.shape) + ("" if y is None else f" for y of shape {np.shape(y)}")
        swapped = y is not None and np.shape(y)[1:] == samples.shape
        raise ValueError(
            "prediction must hold samples of shape (n_samples, *y.shape) or be a predictive distribution; got shape "
            f"{shapes}." + (" Are they swapped? The prediction comes first, then y." if swapped else "")
        )
    return Ensemble(samples)


def _refuse_estimators(prediction: Any, y: Any) -> None:
    """Explain what to pass instead of an estimator, whose method ``crps`` has other arguments."""
    for name, value in (("prediction", prediction), ("y", y)):
        if hasattr(value, "predict_distribution"):
            raise TypeError(f"{name} is an estimator: pass its prediction, model.predict_distribution(X).")


def one_level(level: Any) -> float:
    """Return the level of an interval, one number between 0 and 1."""
    if np.ndim(level) > 0:
        raise ValueError(f"level must be one number between 0 and 1; got {level!r}. Call the function for each level.")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
    return float(level)


def joint_points(prediction: Any, y: ArrayLike) -> tuple[Array, Array]:
    """Return the joint points (n, m, d) of a prediction and the observations (n, d)."""
    _refuse_estimators(prediction, y)
    prediction = prediction.samples if isinstance(prediction, Ensemble) else prediction
    if hasattr(prediction, "crps") and not hasattr(prediction, "points"):
        raise ValueError("joint scores need the distribution of several responses; this prediction has one. Use crps.")
    members = prediction.points.swapaxes(0, 1) if hasattr(prediction, "points") else np.asarray(prediction, np.float64)
    observed = np.asarray(y, dtype=np.float64)
    if members.ndim != 3 or members.shape[1:] != observed.shape:
        raise ValueError(
            f"joint scores need samples of shape (n_samples, n, d) and y of shape (n, d); got shapes {members.shape} "
            f"and {observed.shape}."
        )
    return members.swapaxes(0, 1), observed


def central_interval(prediction: Any, level: float) -> tuple[Array, Array]:
    """Ends of the central interval of probability ``level``: two arrays of the shape of ``y``."""
    level = one_level(level)
    ends = as_distribution(prediction).quantile([0.5 * (1.0 - level), 0.5 * (1.0 + level)])
    return ends[..., 0], ends[..., 1]
