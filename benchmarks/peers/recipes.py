"""Packages, recipes and settings of the comparison.

All arguments are explicit and equal for all packages, so that no row depends on a default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from diffgbm.diffusion.recipe import RESIDUALIZER_C

OURS = "ours"
RELEASED = "diffgbm"
TREEFFUSER = "treeffuser"


@dataclass(frozen=True)
class Package:
    """A package to run.

    Attributes
    ----------
    name : str
        As in results.
    module, estimator : str
        What is imported.
    requirement : str or None
        What pip installs; ``None`` is the source tree of this repository.
    """

    name: str
    module: str
    estimator: str
    requirement: str | None


PACKAGES: dict[str, Package] = {
    OURS: Package(OURS, "diffgbm", "DiffGBM", None),
    RELEASED: Package(RELEASED, "diffgbm", "DiffGBM", "diffgbm==0.1.2"),
    TREEFFUSER: Package(TREEFFUSER, "treeffuser", "Treeffuser", "treeffuser==0.2.0"),
}

BOOSTING: dict[str, Any] = {
    "n_repeats": 30,
    "n_estimators": 3000,
    "early_stopping_rounds": 50,
    "eval_percent": 0.1,
    "num_leaves": 31,
    "max_depth": -1,
    "learning_rate": 0.1,
    "max_bin": 255,
    "subsample_for_bin": 200_000,
    "min_child_samples": 20,
    "subsample": 1.0,
    "subsample_freq": 0,
    "n_jobs": 1,
    "sde_name": "vesde",
}
"""Arguments of all three packages."""

_SCORE: dict[str, Any] = {
    "training_objective": "score",
    "edm_sigma_data": 1.0,
    "loss_weighting": "uniform",
}
_MEAN_C: dict[str, Any] = {
    "residualize": "mean",
    "residualize_k_folds": 5,
    "extra_residualizer_params": RESIDUALIZER_C,
}


@dataclass(frozen=True)
class Recipe:
    """A row of the paper.

    Attributes
    ----------
    name : str
        As in results.
    axes : dict
        Constructor arguments besides ``BOOSTING``, for the packages that have the axes.
    sampler : dict
        Arguments of ``sample``, likewise.
    packages : tuple of str
        Packages that can run it.
    """

    name: str
    axes: dict[str, Any]
    sampler: dict[str, Any]
    packages: tuple[str, ...] = field(default=(OURS, RELEASED))


RECIPES: dict[str, Recipe] = {
    "published": Recipe(
        "published",
        {
            **_SCORE,
            "score_parameterization": "noise",
            "noise_features": "raw_time",
            "t_sampling": "uniform",
            "residualize": "off",
        },
        {"n_steps": 50, "sampler_method": "euler", "pf_ode": False},
        (OURS, RELEASED, TREEFFUSER),
    ),
    "score+": Recipe(
        "score+",
        {
            **_SCORE,
            **_MEAN_C,
            "score_parameterization": "edm",
            "noise_features": "raw_time_log_std",
            "t_sampling": "log_sigma_normal",
            "log_sigma_p_mean": -1.2,
            "log_sigma_p_std": 1.2,
        },
        {"n_steps": 25, "sampler_method": "heun", "pf_ode": True},
    ),
    "flow": Recipe(
        "flow",
        {
            **_MEAN_C,
            "training_objective": "flow_matching",
            "flow_path": "vp",
            "loss_weighting": "uniform",
            "t_sampling": "uniform",
            "uniform_endpoint_fraction": 0.05,
        },
        {"n_steps": 5, "sampler_method": "heun"},
    ),
}


def constructor_arguments(recipe: Recipe, package: str, seed: int) -> dict[str, Any]:
    """Return the estimator's arguments; treeffuser is the published recipe and has no axes."""
    axes = {} if package == TREEFFUSER else recipe.axes
    return {**BOOSTING, **axes, "seed": seed}


def sample_arguments(recipe: Recipe, package: str, n_samples: int, seed: int) -> dict[str, Any]:
    """Return the arguments of ``sample``; treeffuser's only sampler is the published one."""
    sampler = {"n_steps": recipe.sampler["n_steps"]} if package == TREEFFUSER else recipe.sampler
    return {**sampler, "n_samples": n_samples, "n_parallel": 50, "seed": seed}
