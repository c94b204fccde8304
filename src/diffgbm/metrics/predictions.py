"""Reading a prediction: a predictive distribution, or an array of samples."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.types import Array
from diffgbm.distributions import Ensemble, Prediction


def as_distribution(prediction: Any, y: ArrayLike | None = None) -> Prediction:
    """Return a predictive distribution as it is, and anything else as an ensemble of samples.

    Parameters
    ----------
    prediction : predictive distribution or array-like of shape (n_samples, n) or (n_samples, n, d)
        Anything with a method ``crps`` counts as a distribution.
    y : array-like, optional
        Observations that the samples must match: shape (n,) or (n, d).
    """
    if hasattr(prediction, "crps"):
        return cast(Prediction, prediction)
    samples = np.asarray(prediction, dtype=np.float64)
    if samples.ndim < 2 or (y is not None and samples.shape[1:] != np.shape(y)):
        raise ValueError(
            f"prediction must hold samples of shape (n_samples, *y.shape) or be a predictive distribution; got shape "
            f"{samples.shape}" + ("." if y is None else f" for y of shape {np.shape(y)}.")
        )
    return Ensemble(samples)


def joint_points(prediction: Any, y: ArrayLike) -> tuple[Array, Array]:
    """Return the joint points (n, m, d) of a prediction and the observations (n, d)."""
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
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
    ends = as_distribution(prediction).quantile([0.5 * (1.0 - level), 0.5 * (1.0 + level)])
    return ends[..., 0], ends[..., 1]
