"""Search spaces of the paper's rows: the choices of a trial, as keyword arguments of ``DiffGBM``.

A space is a function from a trial to arguments. A trial is anything with Optuna's ``suggest_int``, ``suggest_float``
and ``suggest_categorical``; nothing here imports Optuna. The ranges are those of the paper's table "Tunable
hyperparameter ranges". Every axis that defines a row is fixed, so that no default of the estimator decides it. A new
space is an entry in ``SPACES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from diffgbm.diffusion.recipe import NAMED, RESIDUALIZER_A, RESIDUALIZER_C
from diffgbm.fitting.sizes import SIZES

Params = dict[str, Any]
Space = Callable[["Trial"], Params]


class Trial(Protocol):
    """The part of ``optuna.Trial`` that a space uses."""

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        """Choose an integer in [low, high]."""
        ...

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        """Choose a number in [low, high]."""
        ...

    def suggest_categorical(self, name: str, choices: tuple[Any, ...]) -> Any:
        """Choose one of several values."""
        ...


@dataclass(frozen=True)
class Integer:
    """An integer in [low, high], uniform or log-uniform."""

    low: int
    high: int
    log: bool = False

    def suggest(self, trial: Trial, name: str) -> int:
        """Let the trial choose."""
        return trial.suggest_int(name, self.low, self.high, log=self.log)

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high


@dataclass(frozen=True)
class Real:
    """A number in [low, high], uniform or log-uniform."""

    low: float
    high: float
    log: bool = False

    def suggest(self, trial: Trial, name: str) -> float:
        """Let the trial choose."""
        return trial.suggest_float(name, self.low, self.high, log=self.log)

    def __contains__(self, value: object) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and self.low <= value <= self.high


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[Any, ...]

    def suggest(self, trial: Trial, name: str) -> Any:
        """Let the trial choose."""
        return trial.suggest_categorical(name, self.values)

    def __contains__(self, value: object) -> bool:
        return value in self.values


Range = Integer | Real | Choice

SURFACE: dict[str, Range] = {
    "n_estimators": Integer(200, 3000, log=True),
    "learning_rate": Real(0.001, 0.3, log=True),
    "num_leaves": Integer(15, 255),
    "max_depth": Choice((-1, 4, 6, 8, 10)),
    "min_child_samples": Integer(5, 100),
    "subsample": Real(0.5, 1.0),
    "max_bin": Choice((255, 1023, 4095)),
}
"""LightGBM's parameters, which all rows search."""

SCORE_AXES: dict[str, Range] = {
    "score_parameterization": Choice(("noise", "edm")),
    "noise_features": Choice(("raw_time", "raw_time_log_std")),
    "t_sampling": Choice(("uniform", "log_sigma_normal")),
    "log_sigma_p_mean": Real(-3.0, 0.0),
    "log_sigma_p_std": Real(0.6, 2.0),
    "loss_weighting": Choice(("uniform", "min_snr")),
    "min_snr_gamma": Real(1.0, 5.0),
    "residualize": Choice(("off", "mean")),
    "residualizer": Choice(("A", "C")),
}
"""What score-flex searches in addition. Mean and standard deviation of log sigma, gamma and the residualizer's capacity
are chosen only where they have an effect. The paper says "+capacity" and no more: here it is its variants A and C."""

RESIDUALIZERS: dict[str, Params] = {"A": RESIDUALIZER_A, "C": RESIDUALIZER_C}

FIXED: Params = {
    "n_repeats": 30,
    "noise_design": "independent",
    "early_stopping_rounds": 50,
    "eval_percent": 0.1,
    "subsample_freq": 1,
    "edm_sigma_data": 1.0,
    "residualize_k_folds": 5,
}
"""Arguments that no row tunes. ``subsample`` has an effect only if rows are drawn again: here every round."""

_SAMPLER = ("sampler_method", "n_steps", "pf_ode")
SDE: Params = {name: NAMED["published"][name] for name in _SAMPLER}
PF_ODE: Params = {name: NAMED["score_plus"][name] for name in _SAMPLER}
"""Samplers of the two arms of score-flex: the published row's, and the score+ row's."""


def suggest(trial: Trial, ranges: Mapping[str, Range]) -> Params:
    """Let the trial choose a value in every range."""
    return {name: choices.suggest(trial, name) for name, choices in ranges.items()}


def surface(trial: Trial) -> Params:
    """The shared LightGBM parameters, and what is fixed around them."""
    return {**FIXED, **suggest(trial, SURFACE)}


def published(trial: Trial) -> Params:
    """The published row: Treeffuser's recipe on the shared surface."""
    return {**NAMED["published"], "loss_weighting": "uniform", **surface(trial)}


def score_plus(trial: Trial) -> Params:
    """The score+ row: the frozen bundle on the shared surface."""
    frozen = {"loss_weighting": "uniform", "log_sigma_p_mean": -1.2, "log_sigma_p_std": 1.2}
    return {**NAMED["score_plus"], **frozen, **surface(trial)}


def flow(trial: Trial, path: str = "vp") -> Params:
    """The flow-matching row on ``path``: residualizer C and 5 Heun steps on the shared surface."""
    frozen = {"flow_path": path, "loss_weighting": "uniform", "uniform_endpoint_fraction": 0.05}
    return {**NAMED["flow"], **frozen, **surface(trial)}


def score_flex(trial: Trial, sampler: Mapping[str, Any] = SDE) -> Params:
    """The score-flex row: the score recipe's axes, jointly with the shared surface, under a fixed sampler."""

    def ask(*names: str) -> Params:
        return suggest(trial, {name: SCORE_AXES[name] for name in names})

    params = surface(trial)
    params |= ask("score_parameterization", "noise_features", "t_sampling", "loss_weighting", "residualize")
    if params["t_sampling"] == "log_sigma_normal":
        params |= ask("log_sigma_p_mean", "log_sigma_p_std")
    if params["loss_weighting"] == "min_snr":
        params |= ask("min_snr_gamma")
    if params["residualize"] == "mean":
        params["extra_residualizer_params"] = dict(RESIDUALIZERS[ask("residualizer")["residualizer"]])
    return {"training_objective": "score", "sde_name": "vesde", **params, **sampler}


PUBLISHED_CORNER: Params = {
    **SIZES["default"],
    "score_parameterization": "noise",
    "noise_features": "raw_time",
    "t_sampling": "uniform",
    "loss_weighting": "uniform",
    "residualize": "off",
}
SCORE_PLUS_CORNER: Params = {
    **SIZES["default"],
    "score_parameterization": "edm",
    "noise_features": "raw_time_log_std",
    "t_sampling": "log_sigma_normal",
    "log_sigma_p_mean": -1.2,
    "log_sigma_p_std": 1.2,
    "loss_weighting": "uniform",
    "residualize": "mean",
    "residualizer": "C",
}
"""The two choices of score-flex that are tried first, with the estimator's default sizes."""

SPACES: dict[str, Space] = {
    "published": published,
    "score_flex_sde": score_flex,
    "score_flex_ode": lambda trial: score_flex(trial, PF_ODE),
    "score_plus": score_plus,
    "flow_vp": flow,
    "flow_linear": lambda trial: flow(trial, "linear"),
    "flow_trig": lambda trial: flow(trial, "trig"),
}
"""Search spaces of the paper's rows by name."""

ALIASES = {"score_flex": "score_flex_sde", "flow": "flow_vp"}
"""Short names of the paper's headline rows."""


def space_names() -> tuple[str, ...]:
    """Return what ``space`` accepts: short names first, then the names that have none."""
    return (*ALIASES, *(name for name in SPACES if name not in ALIASES.values()))


CORNERS: dict[str, tuple[Params, ...]] = {
    "score_flex_sde": (PUBLISHED_CORNER, SCORE_PLUS_CORNER),
    "score_flex_ode": (PUBLISHED_CORNER, SCORE_PLUS_CORNER),
}
"""Choices of the first trials by name of the space; the other spaces have none."""
