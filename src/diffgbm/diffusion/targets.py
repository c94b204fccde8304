r"""Targets: what the trees regress on, and the score from a prediction (the paper's Eq. 2).

For the velocity target, :math:`v = \alpha' y_0 + \beta' z`, the score is

.. math:: \nabla \log p_t(y) = \frac{\alpha' y - \alpha v}{W \beta}. \tag{2}

In general a target is a pair of functions of time, :math:`a(t)\, y_0 + b(t)\, z`, regressed on the feature
:math:`c(t)\, y_t`. Together with :math:`y_t = \alpha y_0 + \beta z` this is a 2 x 2 linear system with determinant
:math:`-D`, :math:`D = a \beta - b \alpha`. Its solution turns a prediction into clean response, noise, velocity and
score.

A new target is a function that returns ``(a, b, c)`` and an entry in ``TARGETS``.

References
----------
Karras, Aittala, Aila and Laine (2022), "Elucidating the design space of diffusion-based generative models", NeurIPS:
the ``edm`` target.

Lipman, Chen, Ben-Hamu, Nickel and Le (2023), "Flow matching for generative modeling", ICLR: the ``velocity`` target.

Beltran-Velez, Grande, Nazaret, Kucukelbir and Blei (2024), "Treeffuser: probabilistic prediction via conditional
diffusions with gradient-boosted trees", NeurIPS: the ``noise`` target with trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.errors import choose
from diffgbm._util.types import Array
from diffgbm.diffusion.paths import PATHS, GaussianPath, PathPoint

Coefficients = tuple[Array, Array, Array]
"""``(a, b, c)``."""


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
    # (1 - c_skip alpha) / c_out and -c_skip beta / c_out with the fractions cancelled: beta vanishes at t = 0
    return p.beta / (sd * root), -p.alpha * sd / root, 1.0 / root


def _edm_raw_in(p: PathPoint, sd: float) -> Coefficients:
    """EDM's target with the unscaled ``y_t`` as feature."""
    a, b, _ = _edm(p, sd)
    return a, b, np.ones_like(a)


@dataclass(frozen=True)
class Target:
    """What the trees regress on: an entry of ``TARGETS``.

    Attributes
    ----------
    coefficients : callable
        From a path point and EDM's data standard deviation to ``(a, b, c)``.
    weighs_itself : bool
        Whether min-SNR weights count errors of the target itself instead of errors of the clean response.
    """

    coefficients: Callable[[PathPoint, float], Coefficients]
    weighs_itself: bool = False


TARGETS: dict[str, Target] = {
    "noise": Target(_noise),
    "x0": Target(_x0),
    "velocity": Target(_velocity, weighs_itself=True),
    "edm": Target(_edm),
    "edm_raw_in": Target(_edm_raw_in),
}
"""Targets by name."""


@dataclass(frozen=True)
class TargetPoint:
    """A target on a path at times ``t``; arrays of the shape of ``t``.

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

        For the velocity target ``D = -W``, which gives the paper's Eq. 2.
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
    return TargetPoint(name, point, *choose("score_parameterization", name, TARGETS).coefficients(point, sd))


def can_start(name: str, path: GaussianPath) -> bool:
    """Whether a sampler can start: ``D(1) = a beta - b alpha`` is not zero.

    It is zero for ``noise`` (``D = alpha``) on paths with ``alpha(1) = 0``.
    """
    return float(target_at(name, path, 1.0).determinant) != 0.0


def check_pair(name: str, path: GaussianPath) -> None:
    """Refuse the pairs of target and path from which no sampler can start."""
    if can_start(name, path):
        return
    targets = " or ".join(repr(other) for other in TARGETS if can_start(other, path))
    paths = " or ".join(repr(other) for other in PATHS if can_start(name, GaussianPath(other)))
    raise ValueError(
        f"score_parameterization={name!r} cannot be used with the {path.name!r} path: "
        f"alpha(1) = {float(path.at(1.0).alpha):g} there, and the target at t = 1 says nothing about the data. "
        f"Use {targets} with this path, or {name!r} with the path {paths}."
    )
