"""The arguments of ``DiffGBM``, the paper's rows as settings of them, and the recipe that they describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import lightgbm as lgb
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from diffgbm._util.docs import fill_docstring
from diffgbm._util.errors import choose
from diffgbm.diffusion.recipe import NAMED, Recipe, resolve
from diffgbm.engine.stored import lightgbm_of
from diffgbm.fitting.model import FittedModel

Arguments = TypeVar("Arguments", bound="DiffGBMArguments")


class DiffGBMArguments(BaseEstimator):
    """Arguments of ``DiffGBM`` and of estimators that fit the same model elsewhere; ``DiffGBM`` documents them.

    The defaults are those of the released package, with even noise. ``model_`` is the fitted model.
    """

    model_: FittedModel

    def __init__(
        self,
        n_repeats: int | str = 30,
        n_estimators: int = 3000,
        early_stopping_rounds: int | None = 50,
        eval_percent: float | str = "auto",
        num_leaves: int = 31,
        max_depth: int = -1,
        learning_rate: float = 0.1,
        max_bin: int = 255,
        subsample_for_bin: int = 200_000,
        min_child_samples: int = 20,
        subsample: float = 1.0,
        subsample_freq: int = 0,
        n_jobs: int | None = -1,
        sde_name: str = "vesde",
        sde_initialize_from_data: bool = False,
        sde_hyperparam_min: float | str | None = None,
        sde_hyperparam_max: float | str | None = None,
        training_objective: str = "score",
        flow_path: str = "linear",
        score_parameterization: str = "edm",
        noise_features: str = "raw_time_log_std",
        edm_sigma_data: float = 1.0,
        loss_weighting: str = "uniform",
        min_snr_gamma: float = 5.0,
        t_sampling: str = "log_sigma_normal",
        uniform_endpoint_fraction: float = 0.05,
        log_sigma_p_mean: float = -1.2,
        log_sigma_p_std: float = 1.2,
        residualize: Any = "mean",
        residualize_k_folds: int = 5,
        seed: int | None = None,
        verbose: int = 0,
        extra_lightgbm_params: Mapping[str, Any] | None = None,
        extra_residualizer_params: Mapping[str, Any] | None = None,
        sampler_method: str | None = None,
        n_steps: int | None = None,
        pf_ode: bool | None = None,
        velocity_stochasticity: float = 0.0,
        velocity_stochasticity_schedule: str = "linear",
        engine: str = "auto",
        residualize_repeats: int = 1,
        first_stage_features: Any = None,
        n_bags: int = 1,
        bag_mix: str = "mean",
        repeats: str = "auto",
        atoms: Any = None,
        support: Any = None,
        discrete: bool = False,
        monotone: Mapping[Any, int] | None = None,
        noise_design: str = "even",
    ) -> None:
        self.n_repeats = n_repeats
        self.n_estimators = n_estimators
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_percent = eval_percent
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.max_bin = max_bin
        self.subsample_for_bin = subsample_for_bin
        self.min_child_samples = min_child_samples
        self.subsample = subsample
        self.subsample_freq = subsample_freq
        self.n_jobs = n_jobs
        self.sde_name = sde_name
        self.sde_initialize_from_data = sde_initialize_from_data
        self.sde_hyperparam_min = sde_hyperparam_min
        self.sde_hyperparam_max = sde_hyperparam_max
        self.training_objective = training_objective
        self.flow_path = flow_path
        self.score_parameterization = score_parameterization
        self.noise_features = noise_features
        self.edm_sigma_data = edm_sigma_data
        self.loss_weighting = loss_weighting
        self.min_snr_gamma = min_snr_gamma
        self.t_sampling = t_sampling
        self.uniform_endpoint_fraction = uniform_endpoint_fraction
        self.log_sigma_p_mean = log_sigma_p_mean
        self.log_sigma_p_std = log_sigma_p_std
        self.residualize = residualize
        self.residualize_k_folds = residualize_k_folds
        self.seed = seed
        self.verbose = verbose
        self.extra_lightgbm_params = extra_lightgbm_params
        self.extra_residualizer_params = extra_residualizer_params
        self.sampler_method = sampler_method
        self.n_steps = n_steps
        self.pf_ode = pf_ode
        self.velocity_stochasticity = velocity_stochasticity
        self.velocity_stochasticity_schedule = velocity_stochasticity_schedule
        self.engine = engine
        self.residualize_repeats = residualize_repeats
        self.first_stage_features = first_stage_features
        self.n_bags = n_bags
        self.bag_mix = bag_mix
        self.repeats = repeats
        self.atoms = atoms
        self.support = support
        self.discrete = discrete
        self.monotone = monotone
        self.noise_design = noise_design

    @classmethod
    @fill_docstring(recipes=NAMED)
    def from_recipe(cls: type[Arguments], recipe: str, **params: Any) -> Arguments:
        """Build a named recipe.

        Parameters
        ----------
        recipe : {recipes}
            Its name.
        **params
            Arguments that replace or complete those of the recipe.
        """
        return cls(**{**choose("recipe", recipe, NAMED), **params})

    @classmethod
    def published(cls: type[Arguments], **params: Any) -> Arguments:
        """Build Treeffuser's recipe: noise target on the VE path, uniform times, no mean; 50 Euler steps."""
        return cls.from_recipe("published", **params)

    @classmethod
    def score_plus(cls: type[Arguments], **params: Any) -> Arguments:
        """Build the paper's score+ row: EDM target, log-sigma times and feature, mean C; 25 Heun ODE steps."""
        return cls.from_recipe("score_plus", **params)

    @classmethod
    def flow(cls: type[Arguments], path: str = "vp", **params: Any) -> Arguments:
        """Build the paper's flow-matching row on ``path``, any that ``flow_path`` accepts; mean C, 5 Heun steps."""
        return cls.from_recipe("flow", **{"flow_path": path, **params})

    @property
    def recipe(self) -> Recipe:
        """The fitted recipe, or the one that the arguments describe; it prints as one line."""
        return self.model_.recipe if hasattr(self, "model_") else resolve(self.get_params(deep=False))

    @property
    def recipe_(self) -> Recipe:
        """The fitted recipe."""
        return self.model_.recipe

    @property
    def boosters_(self) -> list[lgb.Booster]:
        """The boosters of the noise model, one for each response, bag by bag."""
        return [lightgbm_of(booster) for booster in self.model_.boosters]

    @property
    def n_iterations_(self) -> list[int]:
        """Boosting rounds kept for each response."""
        return self.model_.n_iterations

    @property
    def n_estimators_true(self) -> list[int]:
        """Boosting rounds kept for each response (the released package's name for ``n_iterations_``)."""
        check_is_fitted(self)
        return self.n_iterations_
