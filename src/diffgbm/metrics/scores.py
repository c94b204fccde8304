"""Proper scores of predictive distributions, in the definitions of the paper.

Every function takes a ``prediction`` and the observations ``y``. A prediction is an array of samples, of shape
(n_samples, n) or (n_samples, n, d) as ``DiffGBM.sample`` returns them, or a predictive distribution. A distribution may
also come second, after ``y``. Scores of rows have the shape of ``y``. Lower is better, except for skill.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.types import Array
from diffgbm.distributions import Ensemble, joint_scores
from diffgbm.metrics.predictions import as_distribution, central_interval, either_order, joint_points

SMALLEST_VARIANCE = 1e-12
"""Floor of the variance in the Dawid-Sebastiani score."""
WEIGHTED_LEVELS = 256
"""Levels at which the outcome-weighted CRPS evaluates a predictive distribution."""


@either_order
def crps(prediction: Any, y: ArrayLike, *, fair: bool = False) -> Array:
    r"""Continuous ranked probability score :math:`E|X - y| - \tfrac12 E|X - X'|` of each row.

    Samples are scored as an ensemble; ``fair=True`` removes the bias of their finite number. The score of a
    predictive distribution is exact.

    References
    ----------
    Matheson & Winkler (1976), Scoring rules for continuous probability distributions, Management Science 22.
    Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102.

    Examples
    --------
    Two samples, 0 and 2, and the observation 1: the mean distance is 1, half the mean distance of pairs 1/2.

    >>> from diffgbm import metrics
    >>> metrics.crps([[0.0], [2.0]], [1.0])
    array([0.5])
    """
    distribution = as_distribution(prediction, y)
    return distribution.crps(y, fair=fair) if isinstance(distribution, Ensemble) else distribution.crps(y)


def climatology_crps(y_train: ArrayLike, y: ArrayLike) -> Array:
    """CRPS of the training responses as one ensemble for all rows, without an array of rows times training rows.

    Shapes (m,) and (n,), or (m, d) and (n, d) for the marginals of several responses.
    """
    train, observed = np.asarray(y_train, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if train.ndim == 2:
        return np.column_stack([climatology_crps(a, b) for a, b in zip(train.T, observed.T, strict=True)])
    x = np.sort(train)
    m = len(x)
    below = np.searchsorted(x, observed)
    total = np.concatenate([[0.0], np.cumsum(x)])
    distance = (observed * below - total[below]) + (total[m] - total[below] - observed * (m - below))
    # sum over pairs |x_i - x_j| = 2 sum_i (2i - m + 1) x_(i), counted from zero
    pairs = 2.0 * np.dot(2.0 * np.arange(m) - m + 1.0, x)
    return np.asarray(distance / m - pairs / (2.0 * m * m))


@either_order
def crpss(prediction: Any, y: ArrayLike, y_train: ArrayLike) -> float:
    """Skill :math:`1 - CRPS / CRPS_{climatology}`: 1 is perfect, 0 is the skill of the training responses.

    References
    ----------
    Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102.

    Examples
    --------
    One sample for each row, equal to the observation:

    >>> from diffgbm import metrics
    >>> metrics.crpss([[1.0, 3.0]], [1.0, 3.0], y_train=[1.0, 3.0])
    1.0
    """
    return 1.0 - float(np.mean(crps(prediction, y)) / np.mean(climatology_crps(y_train, y)))


@either_order
def dss(prediction: Any, y: ArrayLike) -> Array:
    r"""Dawid-Sebastiani score :math:`\log s^2 + (y - m)^2 / s^2`, with the variance floored at 1e-12.

    References
    ----------
    Dawid & Sebastiani (1999), Coherent dispersion criteria for optimal experimental design, Annals of Statistics 27.
    """
    distribution = as_distribution(prediction, y)
    variance = np.maximum(distribution.var(), SMALLEST_VARIANCE)
    return np.asarray(np.log(variance) + (np.asarray(y) - distribution.mean()) ** 2 / variance)


@either_order
def log_score(prediction: Any, y: ArrayLike) -> Array:
    """Negative log density of each row, shape (n,); the joint density for several responses.

    Samples become the points of a predictive distribution, which smooths them.

    References
    ----------
    Good (1952), Rational decisions, Journal of the Royal Statistical Society B 14.
    """
    return np.asarray(-as_distribution(prediction, y).logpdf(y))


@either_order
def interval_score(prediction: Any, y: ArrayLike, level: float = 0.9) -> Array:
    r"""Interval score of the central interval: its width, plus :math:`2/(1 - level)` times the distance of ``y`` to it.

    References
    ----------
    Winkler (1972), A decision-theoretic approach to interval estimation, JASA 67.
    Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102.
    """
    low, high = central_interval(as_distribution(prediction, y), level)
    rules = joint_scores.scoring_rules()
    return np.asarray(rules.interval_score(np.asarray(y), low, high, 1.0 - level, backend="numpy"))


@either_order
def threshold_weighted_crps(prediction: Any, y: ArrayLike, low: float = -np.inf, high: float = np.inf) -> Array:
    r"""CRPS restricted to values between ``low`` and ``high``: :math:`\int_{low}^{high} (F(u) - 1\{u \ge y\})^2 du`.

    References
    ----------
    Gneiting & Ranjan (2011), Comparing density forecasts using threshold- and quantile-weighted scoring rules, Journal
    of Business & Economic Statistics 29.
    """
    return np.asarray(as_distribution(prediction, y).crps(y, low, high))


@either_order
def weighted_crps(prediction: Any, y: ArrayLike, weight: Callable[[Array], Array]) -> Array:
    """Outcome-weighted CRPS: that of the distribution reweighted by ``weight(value) >= 0``, times ``weight(y)``.

    A predictive distribution is evaluated at 256 equidistant levels.

    References
    ----------
    Holzmann & Klar (2017), Focusing on regions of interest in forecast evaluation, Annals of Applied Statistics 11.
    """
    distribution = as_distribution(prediction, y)
    if not isinstance(distribution, Ensemble):
        members = distribution.quantile((np.arange(WEIGHTED_LEVELS) + 0.5) / WEIGHTED_LEVELS)
        distribution = Ensemble(np.moveaxis(members, -1, 0))
    return distribution.outcome_weighted_crps(y, weight)


@either_order
def energy_score(prediction: Any, y: ArrayLike) -> Array:
    r"""Energy score :math:`E\|X - y\| - \tfrac12 E\|X - X'\|` of each row's joint distribution, shape (n,).

    ``prediction`` holds joint samples (n_samples, n, d) or is a joint distribution.

    References
    ----------
    Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102.

    Examples
    --------
    Two samples of one row, 5 apart, and an observation halfway between them.

    >>> from diffgbm import metrics
    >>> metrics.energy_score([[[0.0, 0.0]], [[3.0, 4.0]]], [[1.5, 2.0]])
    array([1.25])
    """
    points, observed = joint_points(prediction, y)
    return joint_scores.energy_score(points, observed)


@either_order
def variogram_score(prediction: Any, y: ArrayLike, p: float = 0.5) -> Array:
    r"""Variogram score :math:`\sum_{jk} (|y_j - y_k|^p - E|X_j - X_k|^p)^2` of each row, shape (n,).

    It is more sensitive to the dependence of the responses than the energy score. ``prediction`` holds joint samples
    (n_samples, n, d) or is a joint distribution.

    References
    ----------
    Scheuerer & Hamill (2015), Variogram-based proper scoring rules for probabilistic forecasts of multivariate
    quantities, Monthly Weather Review 143.
    """
    points, observed = joint_points(prediction, y)
    return joint_scores.variogram_score(points, observed, p)
