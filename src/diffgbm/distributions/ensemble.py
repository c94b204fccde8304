"""Samples as a predictive distribution: empirical moments, quantiles and probabilities, and scores of ensembles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.types import Array
from diffgbm.distributions.joint import JointDistribution
from diffgbm.distributions.joint_scores import by_rows, scoring_rules
from diffgbm.distributions.scalar import PredictiveDistribution


@dataclass(frozen=True)
class Ensemble:
    """Samples (n_samples, n) or (n_samples, n, d) as a predictive distribution.

    Attributes
    ----------
    samples : ndarray of shape (n_samples, n) or (n_samples, n, d)
        Equally likely members of each row's ensemble.
    """

    samples: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the observations: (n,) or (n, d)."""
        return self.samples.shape[1:]

    @property
    def members(self) -> Array:
        """The samples with their number last: shape (n, n_samples) or (n, d, n_samples)."""
        return np.moveaxis(self.samples, 0, -1)

    def mean(self) -> Array:
        """Sample means."""
        return self.samples.mean(axis=0)

    def var(self) -> Array:
        """Unbiased sample variances."""
        if len(self.samples) < 2:
            raise ValueError("A variance needs at least 2 samples for each row; got 1.")
        return self.samples.var(axis=0, ddof=1)

    def quantile(self, q: ArrayLike) -> Array:
        """Empirical quantiles."""
        result = np.quantile(self.samples, np.asarray(q), axis=0)
        return np.moveaxis(result, 0, -1) if np.ndim(q) else np.asarray(result)

    def crps(self, y: ArrayLike, low: float = -np.inf, high: float = np.inf, fair: bool = False) -> Array:
        r"""CRPS :math:`\frac1m \sum_i |x_i - y| - \frac{1}{2m^2} \sum_{ij} |x_i - x_j|` of each row.

        ``fair`` divides the second sum by :math:`2m(m-1)`. The score between ``low`` and ``high`` is that of samples
        and observation clipped to this range.

        References
        ----------
        Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102.
        """
        observed, samples = np.asarray(y), self.samples
        if np.isfinite(low) or np.isfinite(high):
            observed, samples = np.clip(observed, low, high), np.clip(samples, low, high)
        members, estimator = np.moveaxis(samples, 0, -1), "pwm" if fair else "qd"
        return np.asarray(scoring_rules().crps_ensemble(observed, members, estimator=estimator, backend="numpy"))

    def outcome_weighted_crps(self, y: ArrayLike, weight: Callable[[Array], Array]) -> Array:
        """CRPS of the ensemble weighted by ``weight(sample) >= 0``, times ``weight(y)``."""
        score: Callable[..., Any] = scoring_rules().owcrps_ensemble
        return by_rows(score, np.asarray(y, dtype=np.float64), self.members, w_func=weight, backend="numpy")

    def logpdf(self, y: ArrayLike) -> Array:
        """Log density (n,) of the predictive distribution whose points are the samples; it smooths them."""
        points = self.samples.swapaxes(0, 1)
        if points.ndim == 2:
            return PredictiveDistribution.from_points(points).logpdf(y)
        return JointDistribution(points, tuple(f"y{j}" for j in range(points.shape[-1]))).logpdf(y)

    def pit(self, y: ArrayLike) -> Array:
        """Fraction of samples at or below ``y``."""
        return np.asarray((self.samples <= np.asarray(y)).mean(axis=0))

    def sf(self, y: ArrayLike) -> Array:
        """Fraction of samples above ``y``."""
        return np.asarray((self.samples > np.asarray(y)).mean(axis=0))

    def prob_at_least(self, y: ArrayLike) -> Array:
        """Fraction of samples at or above ``y``."""
        return np.asarray((self.samples >= np.asarray(y)).mean(axis=0))

    def prob_below(self, y: ArrayLike) -> Array:
        """Fraction of samples below ``y``, and of the one that equals ``y``: two or more that do are a point mass."""
        equal = (self.samples == np.asarray(y)).sum(axis=0)
        return np.asarray(
            ((self.samples <= np.asarray(y)).sum(axis=0) - np.where(equal > 1, equal, 0)) / len(self.samples)
        )
