r"""Samplers: one equation, integrated from t = 1 to t = 1e-5 on an even grid (the paper's Eq. 3).

.. math:: dy = \bigl(-v + \tfrac12 \varepsilon^2 s\bigr)\, d\tau + \varepsilon\, dW_\tau, \quad \tau = 1 - t \tag{3}

:math:`\varepsilon = 0` is the probability-flow ODE, :math:`\varepsilon = g(t)` the reverse SDE, and
:math:`\varepsilon = c\, t` (or another schedule) a stochastic interpolant. Velocity ``v`` and score ``s`` are affine in
the state and in the forest's prediction, so that ``step_table`` reduces a sampler to a short table of numbers.

A new schedule is a function of ``t`` and an entry in ``SCHEDULES``.

References
----------
Song, Sohl-Dickstein, Kingma, Kumar, Ermon and Poole (2021), "Score-based generative modeling through stochastic
differential equations", ICLR: the reverse SDE and the probability-flow ODE.

Karras, Aittala, Aila and Laine (2022), "Elucidating the design space of diffusion-based generative models", NeurIPS:
Heun's method.

Albergo, Boffi and Vanden-Eijnden (2023), "Stochastic interpolants: a unifying framework for flows and diffusions",
arXiv:2303.08797: the family in :math:`\varepsilon`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from diffgbm._util.docs import fill_docstring
from diffgbm._util.errors import check_count, choose, known
from diffgbm._util.types import Array
from diffgbm.diffusion.noise_levels import NOISE_FEATURES
from diffgbm.diffusion.paths import T_MIN, GaussianPath
from diffgbm.diffusion.targets import target_at
from diffgbm.engine.steps import StepTable

SCHEDULES: dict[str, Callable[[Array], Array]] = {
    "linear": lambda t: t,
    "sqrt": np.sqrt,
    "quadratic": np.square,
    "tent": lambda t: t * (1.0 - t),
}
"""Shapes of the stochasticity ``eps(t)/c``; all vanish at the data endpoint (paper, Proposition 2)."""

METHODS: dict[str, float] = {"euler": 0.0, "heun": 0.5}
"""Weight of the field at the end of a step, by integrator."""
Equation = Literal["ode", "sde", "interpolant"]

_LARGEST_CORRECTION = 1.0


@fill_docstring(methods=METHODS, equations=get_args(Equation), schedules=SCHEDULES)
@dataclass(frozen=True)
class Sampler:
    """How to integrate from noise to data.

    Attributes
    ----------
    method : {methods}
        One evaluation of the field for each step (order 1), or two (order 2 on ODEs).
    n_steps : int
        Number of steps.
    equation : {equations}
        No noise, the reverse SDE of the path, or ``eps(t) = strength * schedule(t)``.
    strength, schedule : float and {schedules}
        Stochasticity of the interpolant.
    """

    method: str = "euler"
    n_steps: int = 50
    equation: Equation = "sde"
    strength: float = 0.0
    schedule: str = "linear"

    def __post_init__(self) -> None:
        known("sampler_method", self.method, METHODS)
        known("velocity_stochasticity_schedule", self.schedule, SCHEDULES)
        check_count("n_steps", self.n_steps, 1)
        if not (np.isfinite(self.strength) and self.strength >= 0.0):
            raise ValueError(f"velocity_stochasticity must be finite and >= 0; got {self.strength!r}.")

    def __str__(self) -> str:
        equation = self.equation.upper()
        if self.equation == "interpolant":
            equation = f"interpolant eps={self.strength:g} {self.schedule}"
        return f"{self.method} {equation} x{self.n_steps}"


def check_sampler(sampler: Sampler, path: GaussianPath) -> None:
    """Refuse the reverse SDE on paths where its diffusion is infinite at the start."""
    if sampler.equation == "sde" and path.reaches_noise:
        raise ValueError(
            f"The reverse SDE cannot start on the {path.name!r} path: g(t)^2 = 2 beta W / alpha is infinite at "
            "t = 1, where alpha = 0. Use pf_ode=True, or velocity_stochasticity > 0 for a stochastic sampler."
        )


def step_table(
    sampler: Sampler, path: GaussianPath, target: str, noise_features: str, sigma_data: float = 1.0
) -> StepTable:
    r"""Reduce a sampler to its step table.

    With ``v = m_v y + n_v p`` and ``s = m_s y + n_s p``, the drift in reverse time is ``m y + n p`` with

    .. math:: m = -m_v + \tfrac12 \varepsilon^2 m_s, \qquad n = -n_v + \tfrac12 \varepsilon^2 n_s.

    Parameters
    ----------
    sampler : Sampler
        What to integrate and how.
    path : GaussianPath
        The path the forest was trained on.
    target, noise_features : str
        What the forest predicts, and the columns by which it sees the time.
    sigma_data : float
        EDM's data standard deviation.

    Returns
    -------
    StepTable
        ``n_steps + 1`` knots at even times from 1 to ``T_MIN``.
    """
    check_sampler(sampler, path)
    t = np.linspace(1.0, T_MIN, sampler.n_steps + 1)
    point = target_at(target, path, t, sigma_data)
    eps = _noise_strength(sampler, path, t)
    m_v, n_v = point.velocity_coefficients
    m_s, n_s = point.score_coefficients
    size = -np.diff(t)
    gain = -n_v + 0.5 * eps**2 * n_s
    return StepTable(
        scale=point.feature_scale,
        linear=-m_v + 0.5 * eps**2 * m_s,
        gain=gain,
        columns=NOISE_FEATURES[noise_features](t, point.path),
        size=size,
        # with a corrector the mean of both ends keeps the noise second-order accurate, as the drift is
        noise=np.sqrt(size) * (0.5 * (eps[:-1] + eps[1:]) if METHODS[sampler.method] else eps[:-1]),
        corrector=_corrector(sampler, gain, size),
        start=path.start_scale,
    )


def _noise_strength(sampler: Sampler, path: GaussianPath, t: Array) -> Array:
    """Evaluate ``eps(t)`` of the sampler's equation."""
    if sampler.equation == "ode":
        return np.zeros_like(t)
    if sampler.equation == "sde":
        return path.at(t).diffusion
    return sampler.strength * choose("velocity_stochasticity_schedule", sampler.schedule, SCHEDULES)(t)


def _corrector(sampler: Sampler, gain: Array, size: Array) -> Array:
    """Return the weight of the field at the end of each step: 0 for Euler, 1/2 for Heun.

    The step is Euler's where the field at its end would multiply the forest's error by more than one: for ``x0`` near
    ``t = 0``, where its gain grows like ``1/t``.
    """
    weight = METHODS[sampler.method]
    if not weight:
        return np.zeros_like(size)
    return np.where(weight * size * np.abs(gain[1:]) <= _LARGEST_CORRECTION, weight, 0.0)
