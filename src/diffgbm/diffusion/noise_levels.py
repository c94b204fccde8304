r"""Noise levels in training: which times are drawn, which features encode them, and how much each counts.

A noisy copy of a row is drawn at a time ``t``. The trees see ``t`` through columns (``NOISE_FEATURES``), and its
squared error is weighted (``LOSS_WEIGHTINGS``). Min-SNR weights are

.. math:: w(t) = \min(\text{SNR}(t), \gamma)\, (\beta / D)^2, \qquad \text{SNR} = \alpha^2 / \beta^2,

with :math:`D` of the target (see ``targets``), and :math:`\min(1, \gamma / \text{SNR})` for the velocity.

References
----------
Karras, Aittala, Aila and Laine (2022), "Elucidating the design space of diffusion-based generative models", NeurIPS:
times with normal log sigma.

Hang, Gu, Li, Bao, Chen, Hu, Geng and Guo (2023), "Efficient diffusion training via min-SNR weighting strategy", ICCV.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from diffgbm._util.docs import fill_docstring
from diffgbm._util.errors import choose
from diffgbm._util.types import Array
from diffgbm.diffusion.paths import T_MIN, GaussianPath, PathPoint
from diffgbm.diffusion.targets import TARGETS, TargetPoint

# fine where the noise level changes fast (near t = 0, even in log t) and elsewhere (even in t)
_TIMES = np.unique(np.concatenate([np.geomspace(T_MIN, 1.0, 2048), np.linspace(T_MIN, 1.0, 2048)]))


def _uniform_times(spec: TimeSampling, n: int, path: GaussianPath, rng: np.random.Generator) -> Array:
    t = rng.uniform(T_MIN, 1.0, n)
    if spec.endpoint_fraction > 0.0:
        anchors = max(1, round(n * spec.endpoint_fraction))
        t[rng.choice(n, size=min(anchors, n), replace=False)] = 1.0
    return t


def _uniform_quantile(spec: TimeSampling, u: Array, path: GaussianPath) -> Array:
    inside = 1.0 - spec.endpoint_fraction
    if inside == 0.0:
        return np.ones_like(u)
    return np.where(u < inside, T_MIN + u / inside * (1.0 - T_MIN), 1.0)


def _at_log_sigma(level: Array, path: GaussianPath) -> Array:
    return np.interp(level, np.log(path.at(_TIMES).beta), _TIMES)


def _at_log_snr(level: Array, path: GaussianPath) -> Array:
    with np.errstate(divide="ignore"):
        log_nsr = -0.5 * np.log(path.at(_TIMES).snr)
    usable = np.isfinite(log_nsr)
    return np.interp(-level, log_nsr[usable], _TIMES[usable])


class TimeDistribution(NamedTuple):
    """A distribution of times.

    Attributes
    ----------
    draw : callable
        Function of ``(spec, n, path, rng)`` that draws ``n`` independent times.
    quantile : callable
        Function of ``(spec, u, path)`` that carries uniform numbers in (0, 1) to times of the same distribution. A
        monotone one keeps numbers that are evenly spaced evenly spaced.
    """

    draw: Callable[[TimeSampling, int, GaussianPath, np.random.Generator], Array]
    quantile: Callable[[TimeSampling, Array, GaussianPath], Array]


def _normal(at: Callable[[Array, GaussianPath], Array]) -> TimeDistribution:
    """Return the distribution of the times ``at`` normal levels."""
    return TimeDistribution(
        lambda spec, n, path, rng: at(rng.normal(spec.mean, spec.std, n), path),
        lambda spec, u, path: at(spec.mean + spec.std * ndtri(u), path),
    )


TIME_SAMPLINGS: dict[str, TimeDistribution] = {
    "uniform": TimeDistribution(_uniform_times, _uniform_quantile),
    "log_sigma_normal": _normal(_at_log_sigma),
    "log_snr_normal": _normal(_at_log_snr),
}
"""Distributions of the training times by name."""


@fill_docstring(kinds=TIME_SAMPLINGS)
@dataclass(frozen=True)
class TimeSampling:
    """The distribution of the training times.

    Attributes
    ----------
    kind : {kinds}
        ``t`` uniform on ``[T_MIN, 1]``, or ``log beta(t)`` or ``log alpha(t)/beta(t)`` normal.
    mean, std : float
        Mean and standard deviation of the normal; times outside the path's range are clipped to it.
    endpoint_fraction : float
        Share of uniform times moved to exactly ``t = 1``, where a sampler starts.
    """

    kind: str = "uniform"
    mean: float = -1.2
    std: float = 1.2
    endpoint_fraction: float = 0.0

    def draw(self, n: int, path: GaussianPath, rng: np.random.Generator) -> Array:
        """Draw ``n`` times."""
        return choose("t_sampling", self.kind, TIME_SAMPLINGS).draw(self, n, path, rng)

    def quantile(self, u: Array, path: GaussianPath) -> Array:
        """Return the times of uniform numbers ``u`` (n,) in (0, 1): shape (n,)."""
        return choose("t_sampling", self.kind, TIME_SAMPLINGS).quantile(self, u, path)


NOISE_FEATURES: dict[str, Callable[[Array, PathPoint], Array]] = {
    "raw_time": lambda t, point: t[:, None],
    "raw_time_log_std": lambda t, point: np.column_stack([t, np.log(point.beta)]),
}
"""Columns by which the trees see the noise level: functions of ``(t, path point)`` giving (n, q), monotone in ``t``."""


def noise_columns(name: str, path: GaussianPath) -> int:
    """Return the number of columns ``q`` of a noise feature."""
    t = np.ones(1)
    return choose("noise_features", name, NOISE_FEATURES)(t, path.at(t)).shape[1]


def _no_weights(point: TargetPoint, gamma: float) -> Array | None:
    return None


def _min_snr(point: TargetPoint, gamma: float) -> Array | None:
    r"""Weight squared errors of the clean response by :math:`\min(SNR, \gamma)`.

    An error of the target is an error of ``y0`` times ``D / beta``, hence the factor ``(beta / D)^2``. The velocity is
    weighted by ``min(1, gamma / SNR)`` instead, as in the released package.
    """
    snr = point.path.snr
    if TARGETS[point.name].weighs_itself:
        return gamma / np.maximum(snr, gamma)
    return np.minimum(snr, gamma) * (point.path.beta / point.determinant) ** 2


LOSS_WEIGHTINGS: dict[str, Callable[[TargetPoint, float], Array | None]] = {
    "uniform": _no_weights,
    "min_snr": _min_snr,
}
"""Weights of noisy rows from ``(target point, gamma)``; ``None`` means all equal."""
