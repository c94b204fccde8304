r"""Gaussian paths: the two functions of time that carry data to noise.

Every path is

.. math:: y_t = \alpha(t)\, y_0 + \beta(t)\, z, \qquad z \sim N(0, I),\ t \in [0, 1] \tag{paper, Eq. 1}

and nothing more. A new path is one function that returns ``(alpha, beta, alpha', beta')`` and one line in
``PATHS``; the forward SDE, the velocity and the score follow from these four numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.spatial.distance import cdist

from diffgbm._util.errors import choose
from diffgbm._util.types import Array

T_MIN = 1e-5
"""Training and sampling stay away from the singular data endpoint: ``t`` runs over ``[T_MIN, 1]``."""


@dataclass(frozen=True)
class PathPoint:
    """A path at given times: ``alpha``, ``beta`` and their derivatives, arrays of the shape of ``t``."""

    alpha: Array
    beta: Array
    d_alpha: Array
    d_beta: Array

    @property
    def wronskian(self) -> Array:
        r""":math:`W = \alpha \beta' - \alpha' \beta`."""
        return self.alpha * self.d_beta - self.d_alpha * self.beta

    @property
    def diffusion(self) -> Array:
        r""":math:`g = \sqrt{2 \beta W / \alpha}` of the forward SDE; infinite where alpha is zero."""
        with np.errstate(divide="ignore"):
            return np.sqrt(2.0 * self.beta * self.wronskian / self.alpha)

    @property
    def snr(self) -> Array:
        r"""Signal-to-noise ratio :math:`\alpha^2 / \beta^2`."""
        return (self.alpha / self.beta) ** 2


def _exploding(t: Array, low: float, high: float) -> tuple[Array, ...]:
    r""":math:`\alpha = 1,\ \beta^2 = \sigma^2 - \sigma_{min}^2,\ \sigma = \sigma_{min} (high/low)^t`."""
    rate = np.log(high / low)
    beta = low * np.sqrt(np.expm1(2.0 * rate * t))
    with np.errstate(divide="ignore"):
        d_beta = rate * (low * np.exp(rate * t)) ** 2 / beta
    return np.ones_like(t), beta, np.zeros_like(t), d_beta


def _preserving(t: Array, low: float, high: float, factor: float) -> tuple[Array, ...]:
    r""":math:`\alpha = e^{-cB/2},\ \beta^2 = 1 - \alpha^2`, B the integral of ``low + (high - low) t``."""
    exponent = factor * (low * t + 0.5 * (high - low) * t * t)
    rate = factor * (low + (high - low) * t)
    alpha = np.exp(-0.5 * exponent)
    beta = np.sqrt(-np.expm1(-exponent))
    with np.errstate(divide="ignore"):
        d_beta = 0.5 * rate * alpha**2 / beta
    return alpha, beta, -0.5 * rate * alpha, d_beta


def _vp_sde(t: Array, low: float, high: float) -> tuple[Array, ...]:
    r"""Score literature: :math:`\alpha = \exp(-\tfrac12 \int b)`."""
    return _preserving(t, low, high, 1.0)


def _vp_flow(t: Array, low: float, high: float) -> tuple[Array, ...]:
    r"""The paper's flow: :math:`\alpha^2 = e^{-T},\ T = \tfrac12 b_0 t + \tfrac14 (b_1 - b_0) t^2`."""
    return _preserving(t, low, high, 0.5)


def _sub_vp(t: Array, low: float, high: float) -> tuple[Array, ...]:
    r""":math:`\alpha = e^{-B/2},\ \beta = 1 - e^{-B}`."""
    exponent = low * t + 0.5 * (high - low) * t * t
    rate = low + (high - low) * t
    alpha = np.exp(-0.5 * exponent)
    return alpha, -np.expm1(-exponent), -0.5 * rate * alpha, rate * alpha**2


def _linear(t: Array, low: float, high: float) -> tuple[Array, ...]:
    r""":math:`\alpha = 1 - t,\ \beta = t`."""
    return 1.0 - t, t, -np.ones_like(t), np.ones_like(t)


def _trigonometric(t: Array, low: float, high: float) -> tuple[Array, ...]:
    r""":math:`\alpha = \cos(\pi t/2),\ \beta = \sin(\pi t/2)`."""
    w = 0.5 * np.pi
    # cos(pi/2) is not zero in floating point, but the end of this path is
    alpha = np.where(t == 1.0, 0.0, np.cos(w * t))
    return alpha, np.sin(w * t), -w * np.sin(w * t), w * alpha


@dataclass(frozen=True)
class _Family:
    coefficients: Callable[[Array, float, float], tuple[Array, ...]]
    low: float = 0.0
    high: float = 0.0


PATHS: dict[str, _Family] = {
    "vesde": _Family(_exploding, 0.01, 20.0),
    "vpsde": _Family(_vp_sde, 0.01, 20.0),
    "sub-vpsde": _Family(_sub_vp, 0.01, 20.0),
    "vp": _Family(_vp_flow, 0.1, 20.0),
    "linear": _Family(_linear),
    "trig": _Family(_trigonometric),
}


@dataclass(frozen=True)
class GaussianPath:
    """One member of a family of paths: its name and the ends of its schedule.

    Parameters
    ----------
    name : {"vesde", "vpsde", "sub-vpsde", "vp", "linear", "trig"}
        The family.
    low, high : float, optional
        Noise at ``t = 0`` and ``t = 1`` (VE: standard deviations; VP: rates); the family's own when left out.
        Linear and trigonometric paths have none.
    """

    name: str
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        family = choose("path", self.name, PATHS)
        low = family.low if self.low is None else float(self.low)
        high = family.high if self.high is None else float(self.high)
        if not (np.isfinite(low) and np.isfinite(high)) or (family.high and not 0.0 < low < high):
            raise ValueError(
                f"sde_hyperparam_min and sde_hyperparam_max must satisfy 0 < min < max < inf "
                f"for path {self.name!r}; got min={low!r}, max={high!r}."
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def at(self, t: ArrayLike) -> PathPoint:
        """Evaluate the path at times ``t`` of any shape."""
        time = np.asarray(t, dtype=np.float64)
        assert self.low is not None
        assert self.high is not None
        return PathPoint(*PATHS[self.name].coefficients(time, self.low, self.high))

    @property
    def reaches_noise(self) -> bool:
        """Whether ``alpha(1) = 0``, so that nothing of the data is left at ``t = 1``."""
        return float(self.at(1.0).alpha) == 0.0

    @property
    def start_scale(self) -> float:
        r""":math:`\sqrt{\alpha(1)^2 + \beta(1)^2}`: what unit-variance data looks like at ``t = 1``."""
        end = self.at(1.0)
        return float(np.hypot(end.alpha, end.beta))


def diameter(y: Array) -> float:
    """Largest Euclidean distance between two rows of ``y`` (n, d), without an n x n matrix.

    A pair farther apart than a known distance ``D`` must lie, both of it, at least ``D - r_max`` from the
    centre; two sweeps give a ``D`` close to the answer, so that few rows are left to compare.
    """
    if y.shape[1] == 1:
        return float(np.ptp(y))
    centred = y - y.mean(axis=0)
    radius = np.linalg.norm(centred, axis=1)
    first = centred[np.argmax(radius)]
    known = float(np.linalg.norm(centred - first, axis=1).max())
    # the slack keeps the pair itself, whose radii may add up to a rounding error less than their distance
    rest = centred[radius >= known * (1.0 - 1e-9) - radius.max()]
    block = max(1, 4_000_000 // len(rest))
    return max(float(cdist(rest[i : i + block], rest).max()) for i in range(0, len(rest), block))


def path_from_data(name: str, y: Array, tolerance: float = 1e-5) -> GaussianPath:
    """Choose the schedule's ends from standardised responses ``y`` of shape (n, d).

    VE: the noise ends as wide as the data (its diameter). VP and sub-VP: the final rate is the smallest for
    which ``KL(N(alpha y_max, beta^2) || N(0, 1)) <= tolerance`` at ``t = 1``. Other paths have nothing to fit.
    """
    low = 0.01
    if name == "vesde":
        return GaussianPath(name, low, max(diameter(y), 2.0 * low))
    if not PATHS[name].high:
        return GaussianPath(name)
    farthest = float(np.abs(y).max())

    def excess(high: float) -> float:
        end = GaussianPath(name, low, high).at(1.0)
        mean, var = end.alpha * farthest, end.beta**2
        return float(0.5 * (var + mean**2 - 1.0 - np.log(var))) - tolerance

    widest = 1000.0
    high = brentq(excess, 2.0 * low, widest) if excess(widest) < 0.0 < excess(2.0 * low) else widest
    return GaussianPath(name, low, float(high))
