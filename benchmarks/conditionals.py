"""Conditional distributions in closed form. One object holds the distributions of all rows of ``X``.

Arguments broadcast against the rows: ``cdf(y)`` takes ``y`` of shape (n,) or (k, n), ``quantile(p)`` takes a number,
(n,), (k, 1) or (k, n). ``score(y)`` is the score at an observation, ``expected_score()`` its expectation:

    E_{Y ~ F} CRPS(F, Y) = E|Y - Y'| / 2          (energy score: E||Y - Y'|| / 2)

References
----------
Gneiting, T. and Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and estimation. Journal of the
American Statistical Association 102, 359-378.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scoringrules
from numpy.typing import ArrayLike
from scipy import special

from diffgbm._util.types import Array

N_ANGLES = 256
"""Directions in which the energy score is averaged; the rule converges geometrically."""


class Conditional(Protocol):
    """The distributions of n rows."""

    def cdf(self, y: ArrayLike) -> Array:
        """Return P(Y <= y), or the Rosenblatt transform of several responses."""

    def quantile(self, p: ArrayLike) -> Array:
        """Return the inverse of ``cdf``."""

    def mean(self) -> Array:
        """Return the expectation."""

    def std(self) -> Array:
        """Return the standard deviation."""

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw (n, rows), or (n, rows, d)."""

    def score(self, y: ArrayLike) -> Array:
        """Return the CRPS (energy score of several responses) of the distribution at an observation."""

    def expected_score(self) -> Array:
        """Return the expectation of ``score`` under the distribution: no forecast has a lower expected score."""


def folded(mean: Any, std: Any) -> Array:
    """Return E|N(mean, std^2)| = m (2 Phi(m/s) - 1) + 2 s phi(m/s)."""
    z = mean / std
    return mean * (2.0 * special.ndtr(z) - 1.0) + std * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z**2)


@dataclass(frozen=True)
class Normal:
    """N(location, scale^2), parameters of shape (n,)."""

    location: Array
    scale: Array

    def cdf(self, y: ArrayLike) -> Array:
        """Phi((y - location) / scale)."""
        return special.ndtr((np.asarray(y) - self.location) / self.scale)

    def quantile(self, p: ArrayLike) -> Array:
        """Inverse of ``cdf``."""
        return self.location + self.scale * special.ndtri(p)

    def mean(self) -> Array:
        """Location."""
        return self.location

    def std(self) -> Array:
        """Scale."""
        return self.scale

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw (n, rows)."""
        return self.location + self.scale * rng.standard_normal((n, len(self.location)))

    def score(self, y: ArrayLike) -> Array:
        """CRPS at ``y``."""
        return scoringrules.crps_normal(y, self.location, self.scale, backend="numpy")

    def expected_score(self) -> Array:
        """Scale / sqrt(pi)."""
        return self.scale / np.sqrt(np.pi)


@dataclass(frozen=True)
class Student:
    """Student's t with ``df`` > 2 degrees of freedom, shifted and scaled; parameters of shape (n,)."""

    location: Array
    scale: Array
    df: float

    def cdf(self, y: ArrayLike) -> Array:
        """F_df((y - location) / scale)."""
        return special.stdtr(self.df, (np.asarray(y) - self.location) / self.scale)

    def quantile(self, p: ArrayLike) -> Array:
        """Inverse of ``cdf``."""
        return self.location + self.scale * special.stdtrit(self.df, p)

    def mean(self) -> Array:
        """Location."""
        return self.location

    def std(self) -> Array:
        """Scale sqrt(df / (df - 2))."""
        return self.scale * np.sqrt(self.df / (self.df - 2.0))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw (n, rows)."""
        return self.location + self.scale * rng.standard_t(self.df, (n, len(self.location)))

    def score(self, y: ArrayLike) -> Array:
        """CRPS at ``y``."""
        return scoringrules.crps_t(y, self.df, self.location, self.scale, backend="numpy")

    def expected_score(self) -> Array:
        """Scale 2 sqrt(df) / (df - 1) B(1/2, df - 1/2) / B(1/2, df/2)^2."""
        beta = special.beta(0.5, self.df - 0.5) / special.beta(0.5, 0.5 * self.df) ** 2
        return self.scale * 2.0 * np.sqrt(self.df) / (self.df - 1.0) * beta


@dataclass(frozen=True)
class Gamma:
    """Gamma, skewed to the right: skewness 2 / sqrt(shape); parameters of shape (n,)."""

    shape: Array
    scale: Array

    def cdf(self, y: ArrayLike) -> Array:
        """Regularised incomplete gamma function of y / scale."""
        return special.gammainc(self.shape, np.maximum(np.asarray(y) / self.scale, 0.0))

    def quantile(self, p: ArrayLike) -> Array:
        """Inverse of ``cdf``."""
        return self.scale * special.gammaincinv(self.shape, p)

    def mean(self) -> Array:
        """Shape scale."""
        return self.shape * self.scale

    def std(self) -> Array:
        """Scale sqrt(shape)."""
        return np.sqrt(self.shape) * self.scale

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw (n, rows)."""
        return rng.gamma(self.shape, self.scale, (n, len(self.shape)))

    def score(self, y: ArrayLike) -> Array:
        """CRPS at ``y``."""
        return scoringrules.crps_gamma(y, self.shape, scale=self.scale, backend="numpy")

    def expected_score(self) -> Array:
        """Scale / B(1/2, shape)."""
        return self.scale / special.beta(0.5, self.shape)


@dataclass(frozen=True)
class TwoNormals:
    """N(high, scale^2) with probability ``weight`` and N(low, scale^2) otherwise; parameters of shape (n,)."""

    weight: Array
    low: Array
    high: Array
    scale: Array

    def cdf(self, y: ArrayLike) -> Array:
        """Mixture of two normal distribution functions."""
        low, high = (special.ndtr((np.asarray(y) - centre) / self.scale) for centre in (self.low, self.high))
        return (1.0 - self.weight) * low + self.weight * high

    def quantile(self, p: ArrayLike) -> Array:
        """Inverse of ``cdf``, by bisection between the quantiles of the two parts."""
        ends = [centre + self.scale * special.ndtri(p) for centre in (self.low, self.high)]
        left, right = np.minimum(*ends), np.maximum(*ends)
        for _ in range(80):  # more halvings than a double has digits
            middle = 0.5 * (left + right)
            below = self.cdf(middle) < np.asarray(p)
            left, right = np.where(below, middle, left), np.where(below, right, middle)
        return 0.5 * (left + right)

    def mean(self) -> Array:
        """Weighted mean of the two centres."""
        return self.low + self.weight * (self.high - self.low)

    def std(self) -> Array:
        """Variance within and between the parts: s^2 + w (1 - w) (high - low)^2."""
        return np.sqrt(self.scale**2 + self.weight * (1.0 - self.weight) * (self.high - self.low) ** 2)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw (n, rows): first the parts, then the noise."""
        centre = np.where(rng.uniform(size=(n, len(self.weight))) < self.weight, self.high, self.low)
        return centre + self.scale * rng.standard_normal((n, len(self.weight)))

    def score(self, y: ArrayLike) -> Array:
        """CRPS at ``y``: E|Y - y| - E|Y - Y'| / 2."""
        low, high = (folded(np.asarray(y) - centre, self.scale) for centre in (self.low, self.high))
        return (1.0 - self.weight) * low + self.weight * high - self.expected_score()

    def expected_score(self) -> Array:
        """Sum over pairs of parts of w_i w_j E|N(m_i - m_j, 2 s^2)| / 2."""
        scale, w = np.sqrt(2.0) * self.scale, self.weight
        same = (w**2 + (1.0 - w) ** 2) * folded(0.0, scale)
        return 0.5 * (same + 2.0 * w * (1.0 - w) * folded(self.high - self.low, scale))


@dataclass(frozen=True)
class TwoResponses:
    """Two normal responses with a correlation.

    Attributes
    ----------
    location, scale : ndarray of shape (n, 2)
        Means and standard deviations.
    correlation : ndarray of shape (n,)
        Between -1 and 1, both excluded.
    """

    location: Array
    scale: Array
    correlation: Array

    def cdf(self, y: ArrayLike) -> Array:
        """Rosenblatt transform F(y_1), F(y_2 | y_1), which is uniform on the unit square; y is (..., n, 2)."""
        z = (np.asarray(y) - self.location) / self.scale
        rest = (z[..., 1] - self.correlation * z[..., 0]) / np.sqrt(1.0 - self.correlation**2)
        return special.ndtr(np.stack([z[..., 0], rest], axis=-1))

    def quantile(self, p: ArrayLike) -> Array:
        """Inverse of ``cdf``; p is (..., n, 2)."""
        return self._from_normal(special.ndtri(p))

    def mean(self) -> Array:
        """Location, (n, 2)."""
        return self.location

    def std(self) -> Array:
        """Scale, (n, 2)."""
        return self.scale

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw (n, rows, 2)."""
        return self._from_normal(rng.standard_normal((n, *self.location.shape)))

    def score(self, y: ArrayLike) -> Array:
        """Energy score at ``y`` of shape (..., n, 2).

        The norm is an average over directions u, ||v|| = (pi/2) mean_u |u . v|, and every projection of Y - y is
        normal. E||Y - y|| is therefore the mean of a smooth periodic function of the angle.
        """
        angles = np.pi * np.arange(N_ANGLES) / N_ANGLES
        shift = self.location - np.asarray(y)
        distance = np.zeros(shift.shape[:-1])
        for cosine, sine in zip(np.cos(angles), np.sin(angles), strict=True):
            a, b = cosine * self.scale[:, 0], sine * self.scale[:, 1]
            deviation = np.sqrt(a**2 + b**2 + 2.0 * self.correlation * a * b)
            distance += folded(cosine * shift[..., 0] + sine * shift[..., 1], deviation)
        return 0.5 * np.pi * distance / N_ANGLES - self.expected_score()

    def expected_score(self) -> Array:
        """E||N(0, 2 C)|| / 2 = sqrt(lambda_1 / pi) E(1 - lambda_2 / lambda_1), E the complete elliptic integral.

        lambda_1 >= lambda_2 are the eigenvalues of the covariance C.
        """
        variances = self.scale**2
        half_trace = 0.5 * variances.sum(axis=1)
        determinant = variances.prod(axis=1) * (1.0 - self.correlation**2)
        largest = half_trace + np.sqrt(np.maximum(half_trace**2 - determinant, 0.0))
        return np.sqrt(largest / np.pi) * special.ellipe(1.0 - determinant / largest**2)

    def _from_normal(self, z: Array) -> Array:
        second = self.correlation * z[..., 0] + np.sqrt(1.0 - self.correlation**2) * z[..., 1]
        return self.location + self.scale * np.stack([z[..., 0], second], axis=-1)
