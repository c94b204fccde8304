"""What each variant of the paper's conditioning table shows to LightGBM: target ``a y0 + b z``, feature ``c y_t``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.types import Array
from diffgbm.diffusion.paths import GaussianPath, PathPoint
from diffgbm.diffusion.targets import target_at


@dataclass(frozen=True)
class View:
    """A variant at given times.

    Attributes
    ----------
    path : PathPoint
        alpha and beta.
    a, b, c : ndarray
        Target coefficients and feature scale.
    """

    path: PathPoint
    a: Array
    b: Array
    c: Array

    @property
    def target_sd(self) -> Array:
        r""":math:`\sqrt{a^2 + b^2}`, for unit-variance data."""
        return np.hypot(self.a, self.b)

    @property
    def feature_sd(self) -> Array:
        r""":math:`c \sqrt{\alpha^2 + \beta^2}`, for unit-variance data."""
        return self.c * np.hypot(self.path.alpha, self.path.beta)

    @property
    def score_gain(self) -> Array:
        r""":math:`|\alpha / (\beta D)|, D = a\beta - b\alpha`: the score's error for an error of one of the target."""
        return np.abs(self.path.alpha / (self.path.beta * (self.a * self.path.beta - self.b * self.path.alpha)))


def _of(target: str, path: str) -> Callable[[Array], View]:
    def view(t: Array) -> View:
        point = target_at(target, GaussianPath(path), t)
        return View(point.path, point.a, point.b, point.feature_scale)

    return view


def _noise_times(scale: Callable[[PathPoint], Array]) -> Callable[[Array], View]:
    def view(t: Array) -> View:
        point = GaussianPath("vesde").at(t)
        return View(point, np.zeros_like(t), scale(point), np.ones_like(t))

    return view


VIEWS: dict[str, Callable[[Array], View]] = {
    "ve_score": _noise_times(lambda point: -1.0 / point.beta),
    "ve_noise": _of("noise", "vesde"),
    "ve_edm": _of("edm", "vesde"),
    "ve_velocity": _of("velocity", "vesde"),
    "ve_velocity_normalised": _noise_times(lambda point: np.ones_like(point.beta)),
    "linear_velocity": _of("velocity", "linear"),
    "trig_velocity": _of("velocity", "trig"),
    "vp_velocity": _of("velocity", "vp"),
}
"""The variants by name; those that the library can be trained with come from its own ``target_at``."""


def view_at(name: str, t: ArrayLike) -> View:
    """Return a variant at times ``t``."""
    return VIEWS[name](np.asarray(t, dtype=np.float64))
