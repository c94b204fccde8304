"""A recipe: path (Eq. 1), target (Eq. 2), sampler (Eq. 3) and noise levels, in one frozen and checked value.

The paper's rows are settings of the same axes. ``NAMED`` lists them as keyword arguments of the estimator; a new named
recipe is an entry there. ``resolve`` turns the estimator's arguments into a ``Recipe``.

References
----------
Beltran-Velez, Grande, Nazaret, Kucukelbir and Blei (2024), "Treeffuser: probabilistic prediction via conditional
diffusions with gradient-boosted trees", NeurIPS: the recipe ``published``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.errors import known
from diffgbm.diffusion.noise_levels import (
    LOSS_WEIGHTINGS,
    NOISE_FEATURES,
    TIME_SAMPLINGS,
    TimeSampling,
    noise_columns,
)
from diffgbm.diffusion.paths import PATHS, GaussianPath, path_from_data
from diffgbm.diffusion.sampler import Sampler, check_sampler, step_table
from diffgbm.diffusion.targets import TARGETS, check_pair
from diffgbm.engine.steps import StepTable

OBJECTIVES = ("score", "flow_matching")

RESIDUALIZER_A: dict[str, Any] = {
    "n_estimators": 100,
    "learning_rate": 0.05,
    "max_depth": 6,
    "num_leaves": 31,
    "min_child_samples": 20,
}
RESIDUALIZER_C: dict[str, Any] = {
    "n_estimators": 300,
    "learning_rate": 0.05,
    "max_depth": -1,
    "num_leaves": 63,
    "min_child_samples": 10,
}
"""The paper's residualizer variants A (the default) and C (its choice for score+ and flow)."""

OF_THE_PAPER: dict[str, Any] = {"noise_design": "independent", "eval_percent": 0.1}
"""How the paper's rows draw noise, and the share of rows that decides when they stop."""

NAMED: dict[str, dict[str, Any]] = {
    "published": {
        "training_objective": "score",
        "sde_name": "vesde",
        "score_parameterization": "noise",
        "noise_features": "raw_time",
        "t_sampling": "uniform",
        "residualize": "off",
        "sampler_method": "euler",
        "n_steps": 50,
        "pf_ode": False,
        **OF_THE_PAPER,
    },
    "score_plus": {
        "training_objective": "score",
        "sde_name": "vesde",
        "score_parameterization": "edm",
        "noise_features": "raw_time_log_std",
        "t_sampling": "log_sigma_normal",
        "residualize": "mean",
        "extra_residualizer_params": RESIDUALIZER_C,
        "sampler_method": "heun",
        "n_steps": 25,
        "pf_ode": True,
        **OF_THE_PAPER,
    },
    "flow": {
        "training_objective": "flow_matching",
        "flow_path": "vp",
        "t_sampling": "uniform",
        "residualize": "mean",
        "extra_residualizer_params": RESIDUALIZER_C,
        "sampler_method": "heun",
        "n_steps": 5,
        **OF_THE_PAPER,
    },
    "edm": {
        "training_objective": "score",
        "sde_name": "vesde",
        "score_parameterization": "edm",
        "noise_features": "raw_time_log_std",
        "t_sampling": "log_sigma_normal",
        "residualize": "mean",
        "sampler_method": "euler",
        "n_steps": 50,
        "pf_ode": False,
        "noise_design": "even",
        "eval_percent": "auto",
    },
}
"""The paper's rows Treeffuser-published, score+ and FM, and the estimator's defaults, as arguments of the estimator."""

FIRST_STAGE_ARGUMENTS = ("residualize", "extra_residualizer_params")
"""Arguments of a named recipe that concern the first-stage model."""


def noise_model_arguments(name: str) -> dict[str, Any]:
    """Return a named recipe without its first-stage model."""
    return {key: value for key, value in NAMED[name].items() if key not in FIRST_STAGE_ARGUMENTS}


@dataclass(frozen=True)
class Recipe:
    """What is learned and how it is sampled.

    Attributes
    ----------
    path : GaussianPath
        Path from data to noise.
    target : str
        What the trees regress on.
    noise_features : str
        Columns by which the trees see the time.
    times : TimeSampling
        Distribution of the training times.
    loss_weighting, min_snr_gamma : str, float
        Weights of the noise levels.
    sigma_data : float
        EDM's data standard deviation.
    sampler : Sampler
        Default of ``sample``.
    """

    path: GaussianPath
    target: str
    noise_features: str
    times: TimeSampling
    loss_weighting: str
    min_snr_gamma: float
    sigma_data: float
    sampler: Sampler

    def __post_init__(self) -> None:
        known("score_parameterization", self.target, TARGETS)
        known("noise_features", self.noise_features, NOISE_FEATURES)
        known("t_sampling", self.times.kind, TIME_SAMPLINGS)
        known("loss_weighting", self.loss_weighting, LOSS_WEIGHTINGS)
        check_pair(self.target, self.path)
        check_sampler(self.sampler, self.path)

    def __str__(self) -> str:
        ends = f"({self.path.low:g}, {self.path.high:g})" if self.path.high else ""
        times = self.times.kind
        if times != "uniform":
            times += f"({self.times.mean:g}, {self.times.std:g})"
        elif self.times.endpoint_fraction:
            times += f"+{self.times.endpoint_fraction:.0%} at 1"
        weights = self.loss_weighting + (f"({self.min_snr_gamma:g})" if self.loss_weighting == "min_snr" else "")
        return (
            f"{self.target} on {self.path.name}{ends} | t {times} | features {self.noise_features} | "
            f"weights {weights} | {self.sampler}"
        )

    @property
    def summary(self) -> str:
        """The recipe in words, without its numbers: target, path and sampler."""
        sampler = self.sampler
        equation = {"ode": "ODE", "sde": "reverse SDE", "interpolant": "stochastic interpolant"}[sampler.equation]
        steps = f"{sampler.n_steps} {sampler.method.capitalize()} step{'s' if sampler.n_steps > 1 else ''}"
        return f"{self.target} target on the {self.path.name} path, sampled in {steps} of the {equation}"

    @property
    def n_noise_columns(self) -> int:
        """Number of columns by which the trees see the time."""
        return noise_columns(self.noise_features, self.path)

    def fitted_to(self, y: NDArray[np.float64]) -> Recipe:
        """Return the recipe with its path's range chosen from standardised responses ``y`` (n, d)."""
        return replace(self, path=path_from_data(self.path.name, y))

    def steps(self, sampler: Sampler) -> StepTable:
        """Reduce ``sampler`` under this recipe to a step table; tables of a few kB, of which the last are kept."""
        return kept_steps(self, sampler)


@lru_cache(maxsize=128)
def kept_steps(recipe: Recipe, sampler: Sampler) -> StepTable:
    """Return the step table of a recipe and a sampler, made once."""
    return step_table(sampler, recipe.path, recipe.target, recipe.noise_features, recipe.sigma_data)


def resolve(params: Mapping[str, Any]) -> Recipe:
    """Build the recipe that the estimator's arguments describe.

    Under ``training_objective="flow_matching"`` the path is ``flow_path``, the target is the velocity and the noise
    feature is the raw time; ``score_parameterization`` and ``noise_features`` belong to the score objective, as in the
    released package. Under ``"score"`` the path is ``sde_name`` and the target ``score_parameterization``.
    """
    flow = known("training_objective", params["training_objective"], OBJECTIVES) == "flow_matching"
    # a misspelt option is refused even if the objective does not use it
    for argument, names in (
        ("sde_name", PATHS),
        ("flow_path", PATHS),
        ("score_parameterization", TARGETS),
        ("noise_features", NOISE_FEATURES),
    ):
        known(argument, params[argument], names)
    path = _path(params, "flow_path" if flow else "sde_name")
    anchored = flow and params["t_sampling"] == "uniform"
    return Recipe(
        path=path,
        target="velocity" if flow else params["score_parameterization"],
        noise_features="raw_time" if flow else params["noise_features"],
        times=TimeSampling(
            params["t_sampling"],
            _number(params, "log_sigma_p_mean", -np.inf),
            _number(params, "log_sigma_p_std", 0.0),
            _number(params, "uniform_endpoint_fraction", 0.0, 1.0) if anchored else 0.0,
        ),
        loss_weighting=params["loss_weighting"],
        min_snr_gamma=_number(params, "min_snr_gamma", 0.0, open_low=True),
        sigma_data=_number(params, "edm_sigma_data", 0.0, open_low=True),
        sampler=resolve_sampler(params, flow, path),
    )


def _path(params: Mapping[str, Any], argument: str) -> GaussianPath:
    name = params[argument]
    low, high = (params[key] for key in ("sde_hyperparam_min", "sde_hyperparam_max"))
    low, high = (None if end in (None, "default") else end for end in (low, high))
    for key, end in (("sde_hyperparam_min", low), ("sde_hyperparam_max", high)):
        if end is not None and (isinstance(end, str) or not np.isreal(end)):
            raise ValueError(f"{key} must be a number, 'default' or None; got {end!r}.")
    if params["sde_initialize_from_data"] and (low is not None or high is not None):
        raise ValueError(
            "sde_initialize_from_data=True contradicts sde_hyperparam_min/sde_hyperparam_max: "
            "the range comes either from the data or from these arguments. Leave one of them out."
        )
    return GaussianPath(name, low, high)


def resolve_sampler(params: Mapping[str, Any], flow: bool, path: GaussianPath) -> Sampler:
    """Build the sampler from its arguments; ``None`` is the default of the objective.

    Score: 50 Euler steps of the reverse SDE. Flow: 5 Heun steps of the ODE. The ODE is also the default on paths where
    the reverse SDE cannot start.
    """
    strength = _number(params, "velocity_stochasticity", 0.0)
    pf_ode = params["pf_ode"]
    if strength > 0.0 and pf_ode:
        raise ValueError(
            f"pf_ode=True asks for a deterministic sampler and velocity_stochasticity={strength!r} for a stochastic "
            "one. Leave one of them out."
        )
    if pf_ode is None:
        pf_ode = flow or path.reaches_noise
    method, n_steps = params["sampler_method"], params["n_steps"]
    return Sampler(
        method=("heun" if flow else "euler") if method is None else method,
        n_steps=(5 if flow else 50) if n_steps is None else n_steps,
        equation="interpolant" if strength > 0.0 else "ode" if pf_ode or flow else "sde",
        strength=strength,
        schedule=params["velocity_stochasticity_schedule"],
    )


def _number(params: Mapping[str, Any], name: str, low: float, high: float = np.inf, open_low: bool = False) -> float:
    """Read a finite number in ``[low, high]`` (or ``(low, high]``)."""
    value = params[name]
    ok = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not ok or not np.isfinite(value) or value > high or (value <= low if open_low else value < low):
        bounds = f"{'>' if open_low else '>='} {low:g}" + (f" and <= {high:g}" if np.isfinite(high) else "")
        bounds = f" {bounds}" if np.isfinite(low) else ""
        raise ValueError(f"{name} must be a finite number{bounds}; got {value!r}.")
    return float(value)
