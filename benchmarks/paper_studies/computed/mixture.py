r"""A mixture of normals carried along a Gaussian path: every conditional expectation in closed form.

With :math:`y_0 \sim \sum_k w_k N(m_k, s_k^2)` and :math:`y_t = \alpha y_0 + \beta z`,

.. math:: y_t \sim \sum_k w_k N(\alpha m_k, \alpha^2 s_k^2 + \beta^2), \qquad
          E[y_0 \mid y_t, k] = m_k + \frac{\alpha s_k^2}{\alpha^2 s_k^2 + \beta^2} (y_t - \alpha m_k).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from diffgbm._util.types import Array
from diffgbm.diffusion.paths import PathPoint


@dataclass(frozen=True)
class Mixture:
    """Mixtures of K normals; arrays of shape (..., K), the leading axes broadcast against the responses."""

    weight: Array
    mean: Array
    sd: Array

    def moments(self) -> tuple[float, float]:
        """Return mean and standard deviation, the leading axes pooled evenly."""
        first = np.mean(np.sum(self.weight * self.mean, axis=-1))
        second = np.mean(np.sum(self.weight * (self.mean**2 + self.sd**2), axis=-1))
        return float(first), float(np.sqrt(second - first**2))

    def scaled(self, mean: float, sd: float) -> Mixture:
        """Return the distribution of ``(y - mean) / sd``."""
        return Mixture(self.weight, (self.mean - mean) / sd, self.sd / sd)

    def times(self, n: int) -> Mixture:
        """Repeat the distribution for ``n`` rows."""
        return Mixture(*(np.broadcast_to(part, (n, part.shape[-1])) for part in (self.weight, self.mean, self.sd)))

    def draw(self, rng: np.random.Generator) -> Array:
        """Draw one response for each index of the leading axes."""
        total = np.cumsum(self.weight, axis=-1)
        which = (rng.uniform(size=(*self.weight.shape[:-1], 1)) > total).sum(axis=-1, keepdims=True)
        which = np.minimum(which, self.weight.shape[-1] - 1)
        mean, sd = (np.take_along_axis(part, which, -1)[..., 0] for part in (self.mean, self.sd))
        return mean + sd * rng.standard_normal(mean.shape)

    def density(self, y: ArrayLike, point: PathPoint) -> Array:
        """Return the density of ``y_t``."""
        return np.sum(self._parts(y, point), axis=-1)

    def cdf(self, y: ArrayLike, point: PathPoint) -> Array:
        """Return the distribution function of ``y_t``."""
        mean, sd = self._moved(point)
        return np.sum(self.weight * ndtr((np.asarray(y)[..., None] - mean) / sd), axis=-1)

    def clean(self, y: ArrayLike, point: PathPoint) -> Array:
        """Return ``E[y0 | y_t = y]``."""
        y = np.asarray(y, dtype=np.float64)
        mean, sd = self._moved(point)
        # in logarithms, because all densities underflow in the tails
        log = np.log(self.weight) - np.log(sd) - 0.5 * ((y[..., None] - mean) / sd) ** 2
        share = np.exp(log - log.max(axis=-1, keepdims=True))
        share /= share.sum(axis=-1, keepdims=True)
        alpha = np.asarray(point.alpha)[..., None]
        return np.sum(share * (self.mean + alpha * self.sd**2 / sd**2 * (y[..., None] - mean)), axis=-1)

    def noise(self, y: ArrayLike, point: PathPoint) -> Array:
        """Return ``E[z | y_t = y]``."""
        return (np.asarray(y) - point.alpha * self.clean(y, point)) / point.beta

    def score(self, y: ArrayLike, point: PathPoint) -> Array:
        r"""Return :math:`\nabla \log p_t(y)`, from the density itself: no identity of the paper is used."""
        y = np.asarray(y, dtype=np.float64)
        mean, sd = self._moved(point)
        parts = self._parts(y, point)
        return np.sum(parts * (mean - y[..., None]) / sd**2, axis=-1) / np.sum(parts, axis=-1)

    def _parts(self, y: ArrayLike, point: PathPoint) -> Array:
        mean, sd = self._moved(point)
        z = (np.asarray(y, dtype=np.float64)[..., None] - mean) / sd
        return self.weight * np.exp(-0.5 * z**2) / (sd * np.sqrt(2.0 * np.pi))

    def _moved(self, point: PathPoint) -> tuple[Array, Array]:
        alpha, beta = np.asarray(point.alpha)[..., None], np.asarray(point.beta)[..., None]
        return alpha * self.mean, np.sqrt((alpha * self.sd) ** 2 + beta**2)


def _raw(x: Array) -> Mixture:
    share, branch = 0.3 + 0.4 * x, 0.4 + x
    return Mixture(
        np.stack([share, 1.0 - share], axis=-1),
        np.stack([branch, -branch], axis=-1),
        np.stack([0.08 + 0.25 * x, 0.08 + 0.05 * x], axis=-1),
    )


_MOMENTS = _raw(np.linspace(0.0, 1.0, 2001)).moments()


def toy_distribution(x: ArrayLike) -> Mixture:
    """Return the toy distribution given x in [0, 1]: two branches that separate and widen; standardised over x."""
    return _raw(np.asarray(x, dtype=np.float64)).scaled(*_MOMENTS)


def toy_distribution_alone(x: float = 0.5) -> Mixture:
    """Return the toy distribution at one x, standardised on its own."""
    distribution = _raw(np.asarray(x, dtype=np.float64))
    return distribution.scaled(*distribution.moments())
