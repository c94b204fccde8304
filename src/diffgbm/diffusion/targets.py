r"""Targets: what the trees regress on, and how a prediction becomes a velocity or a score.

A target is a pair of functions of time as well: ``target = a(t) y0 + b(t) z``, seen from the feature
``c(t) y_t``. Together with the path's ``y_t = alpha y0 + beta z`` this is a 2 x 2 linear system with
determinant ``-D``, ``D = a beta - b alpha``; its solution gives everything a sampler can ask for.

A new target is one function returning ``(a, b, c)`` and one line in ``TARGETS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.errors import choose
from diffgbm._util.types import Array
from diffgbm.diffusion.paths import GaussianPath, PathPoint

Coefficients = tuple[Array, Array, Array]


def _noise(p: PathPoint, sd: float) -> Coefficients:
    """Regress on ``-z``: Treeffuser's target."""
    return np.zeros_like(p.alpha), -np.ones_like(p.alpha), np.ones_like(p.alpha)


def _x0(p: PathPoint, sd: float) -> Coefficients:
    """Regress on the clean response."""
    return np.ones_like(p.alpha), np.zeros_like(p.alpha), np.ones_like(p.alpha)


def _velocity(p: PathPoint, sd: float) -> Coefficients:
    """Regress on ``u = alpha' y0 + beta' z``: flow matching."""
    return p.d_alpha, p.d_beta, np.ones_like(p.alpha)


def _edm(p: PathPoint, sd: float) -> Coefficients:
    """Regress on ``(y0 - c_skip y_t) / c_out`` from ``c_in y_t``: unit variance on every path (EDM)."""
    root = np.sqrt(p.beta**2 + (p.alpha * sd) ** 2)
    # (1 - c_skip alpha) / c_out and -c_skip beta / c_out with the fractions cancelled, so that nothing
    # is divided by a vanishing beta
    return p.beta / (sd * root), -p.alpha * sd / root, 1.0 / root


def _edm_raw_in(p: PathPoint, sd: float) -> Coefficients:
    """EDM's target with the unscaled ``y_t`` as feature."""
    a, b, _ = _edm(p, sd)
    return a, b, np.ones_like(a)


TARGETS: dict[str, Callable[[PathPoint, float], Coefficients]] = {
    "noise": _noise,
    "x0": _x0,
    "velocity": _velocity,
    "edm": _edm,
    "edm_raw_in": _edm_raw_in,
}


@dataclass(frozen=True)
class TargetPoint:
    """A target on a path at given times; arrays of the shape of ``t``.

    ``p`` below is a prediction of the target at the state ``y``, all broadcast against the times.
    """

    name: str
    path: PathPoint
    a: Array
    b: Array
    feature_scale: Array

    @property
    def determinant(self) -> Array:
        r""":math:`D = a \beta - b \alpha`."""
        return self.a * self.path.beta - self.b * self.path.alpha

    def of(self, y0: Array, z: Array) -> Array:
        """Training target ``a y0 + b z``."""
        return self.a * y0 + self.b * z

    def denoised(self, y: Array, p: Array) -> Array:
        r"""Clean response :math:`\hat y_0 = (\beta p - b y) / D`."""
        return (self.path.beta * p - self.b * y) / self.determinant

    def noise(self, y: Array, p: Array) -> Array:
        r"""Noise :math:`\hat z = (a y - \alpha p) / D`."""
        return (self.a * y - self.path.alpha * p) / self.determinant

    @property
    def velocity_coefficients(self) -> tuple[Array, Array]:
        r"""``(m, n)`` with :math:`v = m y + n p`, :math:`m = (a \beta' - b \alpha')/D`, :math:`n = -W/D`."""
        d = self.determinant
        return (self.a * self.path.d_beta - self.b * self.path.d_alpha) / d, -self.path.wronskian / d

    @property
    def score_coefficients(self) -> tuple[Array, Array]:
        r"""``(m, n)`` with :math:`s = m y + n p`, :math:`m = -a/(\beta D)`, :math:`n = \alpha/(\beta D)`.

        For the velocity target ``D = -W`` and this is the paper's Eq. 2,
        :math:`s = (\alpha' y - \alpha v) / (W \beta)`.
        """
        d = self.path.beta * self.determinant
        return -self.a / d, self.path.alpha / d

    def velocity(self, y: Array, p: Array) -> Array:
        """Probability-flow velocity ``v``."""
        m, n = self.velocity_coefficients
        return m * y + n * p

    def score(self, y: Array, p: Array) -> Array:
        r"""Score :math:`\nabla \log p_t(y)`."""
        m, n = self.score_coefficients
        return m * y + n * p


def target_at(name: str, path: GaussianPath, t: ArrayLike, sd: float = 1.0) -> TargetPoint:
    """Evaluate target ``name`` on ``path`` at times ``t``; ``sd`` is EDM's data standard deviation."""
    point = path.at(t)
    return TargetPoint(name, point, *choose("score_parameterization", name, TARGETS)(point, sd))


def check_pair(name: str, path: GaussianPath) -> None:
    """Refuse the target/path pairs from which no sampler can start.

    ``D(1) = a beta - b alpha`` must not vanish; it does for ``noise`` (``D = alpha``) where ``alpha(1) = 0``.
    """
    if float(target_at(name, path, 1.0).determinant) == 0.0:
        raise ValueError(
            f"score_parameterization={name!r} cannot be used with the {path.name!r} path: alpha(1) = 0 there, so "
            "at t = 1 the state is pure noise and predicting it says nothing about the data. Use 'velocity', "
            "'edm' or 'x0' with this path, or 'noise' with 'vesde', 'vpsde', 'sub-vpsde' or 'vp'."
        )
