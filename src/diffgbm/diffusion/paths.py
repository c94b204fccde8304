r"""Gaussian paths: the two functions of time that carry data to noise (the paper's Eq. 1).

.. math:: y_t = \alpha(t)\, y_0 + \beta(t)\, z, \qquad z \sim N(0, I),\ t \in [0, 1] \tag{1}

With the Wronskian :math:`W = \alpha \beta' - \alpha' \beta` the forward SDE is

.. math:: dy = \frac{\alpha'}{\alpha}\, y\, dt + g\, dW_t, \qquad g^2 = \frac{2 \beta W}{\alpha}.

A new path is a function that returns ``(alpha, beta, alpha', beta')`` and an entry in ``PATHS``. Everything else
follows from these four numbers.

References
----------
Song, Sohl-Dickstein, Kingma, Kumar, Ermon and Poole (2021), "Score-based generative modeling through stochastic
differential equations", ICLR: the VE, VP and sub-VP paths.

Lipman, Chen, Ben-Hamu, Nickel and Le (2023), "Flow matching for generative modeling", ICLR: the linear path.

Albergo, Boffi and Vanden-Eijnden (2023), "Stochastic interpolants: a unifying framework for flows and diffusions",
arXiv:2303.08797: the trigonometric path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.spatial.distance import cdist

from diffgbm._util.docs import fill_docstring
from diffgbm._util.errors import choose
from diffgbm._util.types import Array

T_MIN = 1e-5
"""Training and sampling avoid the singular data endpoint: ``t`` is in ``[T_MIN, 1]``."""


@dataclass(frozen=True)
class PathPoint:
    """A path at times ``t``: ``alpha``, ``beta`` and their derivatives, arrays of the shape of ``t``."""

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


Coefficients = tuple[Array, Array, Array, Array]
"""``(alpha, beta, alpha', beta')``."""


def _exploding(t: Array, low: float, high: float) -> Coefficients:
    r""":math:`\alpha = 1,\ \beta^2 = \sigma^2 - \sigma_{min}^2,\ \sigma = \sigma_{min} (high/low)^t`."""
    rate = np.log(high / low)
    beta = low * np.sqrt(np.expm1(2.0 * rate * t))
    with np.errstate(divide="ignore"):
        d_beta = rate * (low * np.exp(rate * t)) ** 2 / beta
    return np.ones_like(t), beta, np.zeros_like(t), d_beta


def _preserving(t: Array, low: float, high: float, factor: float) -> Coefficients:
    r""":math:`\alpha = e^{-cB/2},\ \beta^2 = 1 - \alpha^2`, B the integral of ``low + (high - low) t``."""
    exponent = factor * (low * t + 0.5 * (high - low) * t * t)
    rate = factor * (low + (high - low) * t)
    alpha = np.exp(-0.5 * exponent)
    beta = np.sqrt(-np.expm1(-exponent))
    with np.errstate(divide="ignore"):
        d_beta = 0.5 * rate * alpha**2 / beta
    return alpha, beta, -0.5 * rate * alpha, d_beta


def _vp_sde(t: Array, low: float, high: float) -> Coefficients:
    r"""Score literature: :math:`\alpha = \exp(-\tfrac12 \int b)`."""
    return _preserving(t, low, high, 1.0)


def _vp_flow(t: Array, low: float, high: float) -> Coefficients:
    r"""The paper's flow: :math:`\alpha^2 = e^{-T},\ T = \tfrac12 b_0 t + \tfrac14 (b_1 - b_0) t^2`."""
    return _preserving(t, low, high, 0.5)


def _sub_vp(t: Array, low: float, high: float) -> Coefficients:
    r""":math:`\alpha = e^{-B/2},\ \beta = 1 - e^{-B}`."""
    exponent = low * t + 0.5 * (high - low) * t * t
    rate = low + (high - low) * t
    alpha = np.exp(-0.5 * exponent)
    return alpha, -np.expm1(-exponent), -0.5 * rate * alpha, rate * alpha**2


def _linear(t: Array, low: float, high: float) -> Coefficients:
    r""":math:`\alpha = 1 - t,\ \beta = t`."""
    return 1.0 - t, t, -np.ones_like(t), np.ones_like(t)


def _trigonometric(t: Array, low: float, high: float) -> Coefficients:
    r""":math:`\alpha = \cos(\pi t/2),\ \beta = \sin(\pi t/2)`."""
    w = 0.5 * np.pi
    # cos(pi/2) is not zero in floating point, alpha(1) must be
    alpha = np.where(t == 1.0, 0.0, np.cos(w * t))
    return alpha, np.sin(w * t), -w * np.sin(w * t), w * alpha


Function = Callable[[Array, float, float], Coefficients]


def diameter(y: Array) -> float:
    """Return the largest Euclidean distance between two rows of ``y`` (n, d), without an n x n matrix.

    Let ``D`` be a known distance and ``r_max`` the largest distance from the centre. Both rows of a pair farther apart
    than ``D`` lie at least ``D - r_max`` from the centre. Two sweeps give a ``D`` close to the answer, so that few rows
    are left to compare.
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


_LOW = 0.01
"""Smallest noise level or rate of a range chosen from data."""
_WIDEST = 1000.0
_TOLERANCE = 1e-5


def _range_of_diameter(coefficients: Function, y: Array) -> tuple[float, float]:
    """Let the noise end as wide as the data."""
    return _LOW, max(diameter(y), 2.0 * _LOW)


def _range_of_divergence(coefficients: Function, y: Array) -> tuple[float, float]:
    r"""Choose the smallest final rate with :math:`KL(N(\alpha y_{max}, \beta^2) \| N(0, 1)) \le 10^{-5}` at the end."""
    farthest = float(np.abs(y).max())

    def excess(high: float) -> float:
        alpha, beta, _, _ = coefficients(np.asarray(1.0), _LOW, high)
        mean, var = alpha * farthest, beta**2
        return float(0.5 * (var + mean**2 - 1.0 - np.log(var))) - _TOLERANCE

    inside = excess(_WIDEST) < 0.0 < excess(2.0 * _LOW)
    return _LOW, float(brentq(excess, 2.0 * _LOW, _WIDEST)) if inside else _WIDEST


@dataclass(frozen=True)
class PathFamily:
    """A family of paths: an entry of ``PATHS``.

    Attributes
    ----------
    coefficients : callable
        From ``(t, low, high)`` to ``(alpha, beta, alpha', beta')``.
    low, high : float
        Default range of the noise schedule; zeros if the family has none.
    range_of : callable or None
        From ``coefficients`` and standardised responses (n, d) to a range, for ``sde_initialize_from_data``; ``None``
        if the family has no range.
    """

    coefficients: Function
    low: float = 0.0
    high: float = 0.0
    range_of: Callable[[Function, Array], tuple[float, float]] | None = None


PATHS: dict[str, PathFamily] = {
    "vesde": PathFamily(_exploding, 0.01, 20.0, _range_of_diameter),
    "vpsde": PathFamily(_vp_sde, 0.01, 20.0, _range_of_divergence),
    "sub-vpsde": PathFamily(_sub_vp, 0.01, 20.0, _range_of_divergence),
    "vp": PathFamily(_vp_flow, 0.1, 20.0, _range_of_divergence),
    "linear": PathFamily(_linear),
    "trig": PathFamily(_trigonometric),
}
"""Families of paths by name."""


@fill_docstring(paths=PATHS)
@dataclass(frozen=True)
class GaussianPath:
    """A path of a family, with the range of its noise schedule.

    Parameters
    ----------
    name : {paths}
        The family.
    low, high : float, optional
        Noise at ``t = 0`` and ``t = 1`` (VE: standard deviations; VP: rates). The default is the family's. Linear and
        trigonometric paths have none.
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
        """Whether ``alpha(1) = 0``: the state at ``t = 1`` is pure noise."""
        return float(self.at(1.0).alpha) == 0.0

    @property
    def start_scale(self) -> float:
        r""":math:`\sqrt{\alpha(1)^2 + \beta(1)^2}`: standard deviation at ``t = 1`` of data with unit variance."""
        end = self.at(1.0)
        return float(np.hypot(end.alpha, end.beta))


def path_from_data(name: str, y: Array) -> GaussianPath:
    """Choose the range of a path from standardised responses ``y`` of shape (n, d)."""
    family = choose("path", name, PATHS)
    if family.range_of is None:
        return GaussianPath(name)
    return GaussianPath(name, *family.range_of(family.coefficients, y))
