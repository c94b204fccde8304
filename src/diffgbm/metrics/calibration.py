"""Calibration and sharpness: probability integral transforms, coverage and width of intervals.

Predictions are samples or predictive distributions, as in ``diffgbm.metrics.scores``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kstest

from diffgbm._util.types import Array, Booleans
from diffgbm.metrics.diagnostics import equal_groups
from diffgbm.metrics.predictions import as_distribution, central_interval


def pit(prediction: Any, y: ArrayLike) -> Array:
    r"""Probability integral transform :math:`P(Y \le y)` of each row: uniform under calibration.

    References
    ----------
    Dawid (1984), Statistical theory: the prequential approach, Journal of the Royal Statistical Society A 147.

    Examples
    --------
    >>> from diffgbm import metrics
    >>> metrics.pit([[0.0], [1.0], [2.0], [3.0]], [1.5])
    array([0.5])
    """
    return as_distribution(prediction, y).pit(y)


@dataclass(frozen=True)
class KSTest:
    """Kolmogorov-Smirnov test of uniform PIT values."""

    statistic: float
    pvalue: float


def pit_ks(prediction: Any, y: ArrayLike) -> KSTest:
    """Test the PIT values against the uniform distribution; the paper counts ``pvalue > 0.05`` as passed."""
    result = kstest(pit(prediction, y).ravel(), "uniform")
    return KSTest(float(result.statistic), float(result.pvalue))


def coverage(prediction: Any, y: ArrayLike, level: float = 0.9) -> float:
    """Fraction of observations inside their central interval of probability ``level``.

    Examples
    --------
    Ten equidistant samples for each of three rows; the central 50% interval goes from 2.25 to 6.75.

    >>> import numpy as np
    >>> from diffgbm import metrics
    >>> samples = np.tile(np.arange(10.0)[:, None], 3)
    >>> round(metrics.coverage(samples, [0.0, 3.0, 6.0], level=0.5), 3)
    0.667
    """
    return float(np.mean(_inside(prediction, y, level)))


def coverage_error(prediction: Any, y: ArrayLike, level: float = 0.9) -> float:
    """Absolute difference between coverage and ``level``."""
    return abs(coverage(prediction, y, level) - level)


def width(prediction: Any, level: float = 0.9) -> float:
    """Mean width of the central intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import metrics
    >>> metrics.width(np.arange(11.0)[:, None], level=0.8)
    8.0
    """
    low, high = central_interval(prediction, level)
    return float(np.mean(high - low))


def q_mace(prediction: Any, y: ArrayLike) -> float:
    """Mean absolute difference between the sorted ``P(Y >= y)`` and an equidistant grid on [0, 1]."""
    ranks = np.sort(as_distribution(prediction, y).prob_at_least(y).ravel())
    return float(np.mean(np.abs(ranks - np.linspace(0.0, 1.0, len(ranks)))))


def iqr_binned_coverage(prediction: Any, y: ArrayLike, level: float = 0.9, bins: int = 5) -> Array:
    """Coverage in each of ``bins`` equal groups of rows, sorted by their predicted interquartile range."""
    low, high = central_interval(as_distribution(prediction, y), 0.5)
    inside = _inside(prediction, y, level).ravel()
    return np.array([inside[group].mean() for group in equal_groups((high - low).ravel(), bins)])


def iqr_mace(prediction: Any, y: ArrayLike, level: float = 0.9, bins: int = 5) -> float:
    """Mean absolute coverage error over the groups of ``iqr_binned_coverage``."""
    return float(np.mean(np.abs(iqr_binned_coverage(prediction, y, level, bins) - level)))


def _inside(prediction: Any, y: ArrayLike, level: float) -> Booleans:
    low, high = central_interval(as_distribution(prediction, y), level)
    observed = np.asarray(y)
    return np.asarray((low <= observed) & (observed <= high))
