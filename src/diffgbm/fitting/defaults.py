"""The arguments of a model that nobody set: the defaults of ``DiffGBM``, for code below the estimators.

``DiffGBM`` spells its defaults out in its signature, where users and their editors look for them; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "n_repeats": 30,
        "n_estimators": 3000,
        "early_stopping_rounds": 50,
        "eval_percent": "auto",
        "num_leaves": 31,
        "max_depth": -1,
        "learning_rate": 0.1,
        "max_bin": 255,
        "subsample_for_bin": 200_000,
        "min_child_samples": 20,
        "subsample": 1.0,
        "subsample_freq": 0,
        "n_jobs": -1,
        "sde_name": "vesde",
        "sde_initialize_from_data": False,
        "sde_hyperparam_min": None,
        "sde_hyperparam_max": None,
        "training_objective": "score",
        "flow_path": "linear",
        "score_parameterization": "edm",
        "noise_features": "raw_time_log_std",
        "edm_sigma_data": 1.0,
        "loss_weighting": "uniform",
        "min_snr_gamma": 5.0,
        "t_sampling": "log_sigma_normal",
        "uniform_endpoint_fraction": 0.05,
        "log_sigma_p_mean": -1.2,
        "log_sigma_p_std": 1.2,
        "residualize": "mean",
        "residualize_k_folds": 5,
        "seed": None,
        "verbose": 0,
        "extra_lightgbm_params": None,
        "extra_residualizer_params": None,
        "sampler_method": None,
        "n_steps": None,
        "pf_ode": None,
        "velocity_stochasticity": 0.0,
        "velocity_stochasticity_schedule": "linear",
        "engine": "auto",
        "residualize_repeats": 1,
        "first_stage_features": None,
        "n_bags": 1,
        "bag_mix": "mean",
        "repeats": "auto",
        "atoms": None,
        "support": None,
        "discrete": False,
        "monotone": None,
        "noise_design": "even",
    }
)
"""Arguments by name, in the order of the signature."""

BEFORE: Mapping[str, Any] = MappingProxyType({"noise_design": "independent"})
"""What models had before an argument existed, where its default is something else."""
