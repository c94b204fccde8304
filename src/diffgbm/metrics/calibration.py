"""Calibration and sharpness: probability integral transforms, coverage and width of intervals.

Predictions are samples or predictive distributions, as in ``diffgbm.metrics.scores``. Where an observation is a point
mass of its distribution, its transform is drawn at random within the mass (Czado, Gneiting & Held 2009), and an
interval covers it if the transform lies between the interval's levels. The draw depends on ``seed`` and the row's
position alone. Distributions without point masses involve no random number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kstest

from diffgbm._util.types import Array, Booleans
from diffgbm.metrics.diagnostics import equal_groups
from diffgbm.metrics.predictions import as_distribution, central_interval, either_order, one_level
from diffgbm.metrics.randomisation import inside_levels, probabilities_around, randomised_pit, row_numbers


@either_order
def pit(prediction: Any, y: ArrayLike, *, seed: int = 0) -> Array:
    r"""Probability integral transform :math:`P(Y \le y)` of each row: uniform under calibration.

    At a point mass it is randomised, :math:`P(Y < y) + u\,P(Y = y)`.

    References
    ----------
    Dawid (1984), Statistical theory: the prequential approach, Journal of the Royal Statistical Society A 147.
    Czado, Gneiting & Held (2009), Predictive model assessment for count data, Biometrics 65.

    Examples
    --------
    >>> from diffgbm import metrics
    >>> metrics.pit([[0.0], [1.0], [2.0], [3.0]], [1.5])
    array([0.5])
    """
    observed = np.asarray(y, dtype=np.float64)
    return randomised_pit(as_distribution(prediction, y), observed, row_numbers(observed.shape, seed))


@dataclass(frozen=True)
class KSTest:
    """Kolmogorov-Smirnov test of uniform PIT values."""

    statistic: float
    pvalue: float


@either_order
def pit_ks(prediction: Any, y: ArrayLike, *, seed: int = 0) -> KSTest:
    """Test the PIT values against the uniform distribution; the paper counts ``pvalue > 0.05`` as passed."""
    result = kstest(pit(prediction, y, seed=seed).ravel(), "uniform")
    return KSTest(float(result.statistic), float(result.pvalue))


@either_order
def coverage(prediction: Any, y: ArrayLike, level: float = 0.9, *, seed: int = 0) -> float:
    """Fraction of observations inside their central interval of probability ``level``; point masses at random.

    Examples
    --------
    Ten equidistant samples for each of three rows; the central 50% interval goes from 2.25 to 6.75.

    >>> import numpy as np
    >>> from diffgbm import metrics
    >>> samples = np.tile(np.arange(10.0)[:, None], 3)
    >>> round(metrics.coverage(samples, [0.0, 3.0, 6.0], level=0.5), 3)
    0.667
    """
    return float(np.mean(_inside(prediction, y, level, seed)))


@either_order
def coverage_error(prediction: Any, y: ArrayLike, level: float = 0.9, *, seed: int = 0) -> float:
    """Absolute difference between coverage and ``level``."""
    return abs(coverage(prediction, y, level, seed=seed) - level)


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


@either_order
def q_mace(prediction: Any, y: ArrayLike, *, seed: int = 0) -> float:
    """Mean absolute difference between the sorted ``P(Y >= y)``, randomised at point masses, and a grid on [0, 1]."""
    distribution, observed = as_distribution(prediction, y), np.asarray(y, dtype=np.float64)
    below, upto = probabilities_around(distribution, observed)
    above = 1.0 - (below + row_numbers(observed.shape, seed) * (upto - below))
    ranks = np.sort(np.where(upto > below, above, distribution.prob_at_least(y)).ravel())
    return float(np.mean(np.abs(ranks - np.linspace(0.0, 1.0, len(ranks)))))


@either_order
def iqr_binned_coverage(prediction: Any, y: ArrayLike, level: float = 0.9, bins: int = 5, *, seed: int = 0) -> Array:
    """Coverage in each of ``bins`` equal groups of rows, sorted by their predicted interquartile range."""
    low, high = central_interval(as_distribution(prediction, y), 0.5)
    inside = _inside(prediction, y, level, seed).ravel()
    return np.array([inside[group].mean() for group in equal_groups((high - low).ravel(), bins)])


@either_order
def iqr_mace(prediction: Any, y: ArrayLike, level: float = 0.9, bins: int = 5, *, seed: int = 0) -> float:
    """Mean absolute coverage error over the groups of ``iqr_binned_coverage``."""
    return float(np.mean(np.abs(iqr_binned_coverage(prediction, y, level, bins, seed=seed) - level)))


def _inside(prediction: Any, y: ArrayLike, level: float, seed: int) -> Booleans:
    level = one_level(level)
    observed = np.asarray(y, dtype=np.float64)
    uniform = row_numbers(observed.shape, seed)
    return inside_levels(as_distribution(prediction, y), observed, np.array([level]), uniform)[..., 0]
