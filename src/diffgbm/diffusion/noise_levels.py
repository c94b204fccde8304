"""Noise levels in training: which times are drawn, how the trees see them, how much each counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from diffgbm._util.errors import choose
from diffgbm._util.types import Array
from diffgbm.diffusion.paths import T_MIN, GaussianPath, PathPoint
from diffgbm.diffusion.targets import TargetPoint

# Fine where the noise level moves fast (near t = 0, in log t) and where it does not (evenly in t).
_TIMES = np.unique(np.concatenate([np.geomspace(T_MIN, 1.0, 2048), np.linspace(T_MIN, 1.0, 2048)]))


@dataclass(frozen=True)
class TimeSampling:
    """The law of the training times.

    Attributes
    ----------
    kind : {"uniform", "log_sigma_normal", "log_snr_normal"}
        ``t`` uniform on ``[T_MIN, 1]``, or ``log beta(t)`` or ``log alpha(t)/beta(t)`` normal.
    mean, std : float
        Of the normal; what falls outside the path's range is clipped to it.
    endpoint_fraction : float
        Share of uniform times moved to exactly ``t = 1``, so that the trees know the place a sampler starts
        from.
    """

    kind: str = "uniform"
    mean: float = -1.2
    std: float = 1.2
    endpoint_fraction: float = 0.0

    def draw(self, n: int, path: GaussianPath, rng: np.random.Generator) -> Array:
        """Draw ``n`` times."""
        return choose("t_sampling", self.kind, TIME_SAMPLINGS)(self, n, path, rng)


def _uniform(spec: TimeSampling, n: int, path: GaussianPath, rng: np.random.Generator) -> Array:
    t = rng.uniform(T_MIN, 1.0, n)
    if spec.endpoint_fraction > 0.0:
        anchors = max(1, round(n * spec.endpoint_fraction))
        t[rng.choice(n, size=min(anchors, n), replace=False)] = 1.0
    return t


def _log_sigma_normal(spec: TimeSampling, n: int, path: GaussianPath, rng: np.random.Generator) -> Array:
    return np.interp(rng.normal(spec.mean, spec.std, n), np.log(path.at(_TIMES).beta), _TIMES)


def _log_snr_normal(spec: TimeSampling, n: int, path: GaussianPath, rng: np.random.Generator) -> Array:
    with np.errstate(divide="ignore"):
        log_nsr = -0.5 * np.log(path.at(_TIMES).snr)
    usable = np.isfinite(log_nsr)
    return np.interp(-rng.normal(spec.mean, spec.std, n), log_nsr[usable], _TIMES[usable])


TIME_SAMPLINGS: dict[str, Callable[[TimeSampling, int, GaussianPath, np.random.Generator], Array]] = {
    "uniform": _uniform,
    "log_sigma_normal": _log_sigma_normal,
    "log_snr_normal": _log_snr_normal,
}

NOISE_FEATURES: dict[str, Callable[[Array, PathPoint], Array]] = {
    "raw_time": lambda t, point: t[:, None],
    "raw_time_log_std": lambda t, point: np.column_stack([t, np.log(point.beta)]),
}
"""Columns that tell the trees the noise level: functions of ``(t, path point)`` giving (n, q)."""


def _no_weights(point: TargetPoint, gamma: float) -> Array | None:
    return None


def _min_snr(point: TargetPoint, gamma: float) -> Array | None:
    r""":math:`\min(SNR, \gamma)` in units of the clean response, carried over to the regressed target.

    An error of the target is an error of ``y0`` times ``D / beta``, hence the factor ``(beta / D)^2`` for
    noise, x0 and edm. For the velocity the cap itself is the weight, ``min(1, gamma / SNR)``.
    """
    snr = point.path.snr
    if point.name == "velocity":
        return gamma / np.maximum(snr, gamma)
    return np.minimum(snr, gamma) * (point.path.beta / point.determinant) ** 2


LOSS_WEIGHTINGS: dict[str, Callable[[TargetPoint, float], Array | None]] = {
    "uniform": _no_weights,
    "min_snr": _min_snr,
}
"""Weights of noisy rows from ``(target point, gamma)``; ``None`` means all equal."""
