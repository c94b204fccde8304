"""Laws whose every conditional expectation is known, and an integrator that follows the step table's docstring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from diffgbm.diffusion.paths import GaussianPath, PathPoint
from diffgbm.diffusion.targets import target_at
from diffgbm.engine.steps import StepTable


@dataclass(frozen=True)
class Mixture:
    """A mixture of normal laws of a scalar."""

    weights: np.ndarray
    means: np.ndarray
    stds: np.ndarray

    @classmethod
    def standardised(cls, weights, means, stds) -> Mixture:
        """Shift and scale to mean 0 and variance 1, as the estimator does with its responses."""
        w, m, s = (np.asarray(v, dtype=float) for v in (weights, means, stds))
        centre = w @ m
        scale = np.sqrt(w @ (s**2 + (m - centre) ** 2))
        return cls(w, (m - centre) / scale, s / scale)

    def cdf(self, y: np.ndarray) -> np.ndarray:
        return norm.cdf(np.asarray(y)[..., None], self.means, self.stds) @ self.weights

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        k = rng.choice(len(self.weights), size=n, p=self.weights)
        return rng.normal(self.means[k], self.stds[k])

    def _noisy(self, point: PathPoint, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Responsibilities, centred states and variances of the components of the law of y_t (last axis)."""
        alpha, beta = (np.asarray(v)[..., None] for v in (point.alpha, point.beta))
        var = (alpha * self.stds) ** 2 + beta**2
        centred = np.asarray(y)[..., None] - alpha * self.means
        log_density = np.log(self.weights) - 0.5 * np.log(2.0 * np.pi * var) - 0.5 * centred**2 / var
        share = np.exp(log_density - log_density.max(axis=-1, keepdims=True))
        return share / share.sum(axis=-1, keepdims=True), centred, var

    def posterior(self, point: PathPoint, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[y0 | y_t = y] and E[z | y_t = y]."""
        r, centred, var = self._noisy(point, y)
        alpha, beta = (np.asarray(v)[..., None] for v in (point.alpha, point.beta))
        pull = r * centred / var
        return (r * self.means + alpha * self.stds**2 * pull).sum(-1), (beta * pull).sum(-1)

    def score(self, point: PathPoint, y: np.ndarray) -> np.ndarray:
        """Derivative of the log density of y_t."""
        r, centred, var = self._noisy(point, y)
        return -(r * centred / var).sum(-1)

    def velocity(self, point: PathPoint, y: np.ndarray) -> np.ndarray:
        """E[alpha' y0 + beta' z | y_t = y]."""
        clean, noise = self.posterior(point, y)
        return point.d_alpha * clean + point.d_beta * noise


NORMAL = Mixture(np.array([1.0]), np.array([0.3]), np.array([0.7]))
BIMODAL = Mixture.standardised([0.3, 0.7], [-2.0, 1.0], [0.5, 0.4])
UNIMODAL = Mixture.standardised([0.6, 0.4], [-0.5, 0.8], [1.0, 0.7])

Field = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""What a forest is: scaled states and the time columns of the knot in, predictions out."""


def exact_forest(distribution: Mixture, target: str, path: GaussianPath, sd: float = 1.0) -> Field:
    """The forest that has learned E[target | y_t] without error."""

    def forest(scaled: np.ndarray, columns: np.ndarray) -> np.ndarray:
        point = target_at(target, path, columns[0], sd)
        return point.of(*distribution.posterior(point.path, scaled / point.feature_scale))

    return forest


def integrate(steps: StepTable, forest: Field, start: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Take standard normal ``start`` from the first knot to the last, as ``StepTable`` says."""

    def drift(k: int, y: np.ndarray) -> np.ndarray:
        return steps.linear[k] * y + steps.gain[k] * forest(steps.scale[k] * y, steps.columns[k])

    y = steps.start * start
    for k in range(steps.n_steps):
        h, w = steps.size[k], steps.corrector[k]
        shake = steps.noise[k] * rng.standard_normal(y.shape) if steps.noise[k] else 0.0
        slope = drift(k, y)
        ahead = y + h * slope + shake
        y = ahead if w == 0.0 else y + h * ((1.0 - w) * slope + w * drift(k + 1, ahead)) + shake
    return y


def ks_distance(values: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> float:
    """Kolmogorov-Smirnov distance between the empirical law of ``values`` and ``cdf``."""
    u = cdf(np.sort(values))
    n = len(u)
    return float(max((np.arange(1, n + 1) / n - u).max(), (u - np.arange(n) / n).max()))


def ks_limit(n: int, level: float = 0.01) -> float:
    """Distance that n draws of the law itself exceed with probability ``level`` (1.63 / sqrt(n) at 1%)."""
    return float(np.sqrt(-0.5 * np.log(0.5 * level) / n))
