"""DiffGBM: what a user touches. It arranges; it computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import lightgbm as lgb
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from diffgbm._util.errors import check_count
from diffgbm._util.parallel import n_threads
from diffgbm._util.types import Array
from diffgbm.data.features import FeatureTable
from diffgbm.data.frames import row_index
from diffgbm.diffusion.recipe import NAMED, Recipe, resolve, resolve_sampler
from diffgbm.diffusion.sampler import Sampler
from diffgbm.distributions import Distribution
from diffgbm.engine import Draws, StepTable
from diffgbm.engine.stored import lightgbm_of
from diffgbm.estimators.base import DistributionMethods
from diffgbm.estimators.remembering import RemembersColumns
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.training import fit_model, out_of_bag_distributions

_SAMPLER_ARGUMENTS = (
    "sampler_method",
    "n_steps",
    "pf_ode",
    "velocity_stochasticity",
    "velocity_stochasticity_schedule",
)
_POINTS = {"ode": 256, "sde": 233, "interpolant": 233}
"""Points of a scalar law by the sampler's equation: its distribution function is then within about 0.015 of the limit
of many points, at less than the cost of 400 random samples. Noise is arranged best for Fibonacci numbers."""
_JOINT_POINTS = 512
"""Points of a joint law; Sobol sequences like powers of two."""
_DISTRIBUTION_ROWS = 8192
"""Rows whose laws are held at a time (about 20 MB) by the methods that only need a number of each."""


class DiffGBM(RemembersColumns, DistributionMethods, RegressorMixin, BaseEstimator):
    """Use this if you want one model of p(y | x), by a recipe of your choice, fitted in seconds.

    Trees learn, from noisy copies of the rows, the field that carries Gaussian noise to p(y | x); integrating it
    gives samples. The defaults are the released package's: the score recipe with EDM preconditioning, a log-noise
    feature, log-sigma times and a cross-fitted mean. ``DiffGBM.published()``, ``DiffGBM.score_plus()`` and
    ``DiffGBM.flow()`` are the paper's rows, samplers included.

    Parameters
    ----------
    n_repeats : int, default=30
        Noisy copies of each row.
    n_estimators, early_stopping_rounds : int, default=3000 and 50
        Boosting rounds at most, and how many without improvement on the held-out rows end them
        (``None``: train on all rows, all rounds).
    eval_percent : float, default=0.1
        Share of the rows held out for early stopping.
    num_leaves, max_depth, learning_rate, max_bin, subsample_for_bin, min_child_samples, subsample, subsample_freq
        LightGBM's, under their scikit-learn names.
    n_jobs : int, default=-1
        Threads for training and sampling; -1 takes all cores.
    sde_name : {"vesde", "vpsde", "sub-vpsde", "vp", "linear", "trig"}, default="vesde"
        Gaussian path of the score objective.
    sde_initialize_from_data : bool, default=False
        Choose the path's range from the responses.
    sde_hyperparam_min, sde_hyperparam_max : float, "default" or None
        The path's range (VE: noise levels; VP: rates).
    training_objective : {"score", "flow_matching"}, default="score"
        Flow matching regresses the velocity on ``flow_path`` with the raw time as feature.
    flow_path : {"linear", "trig", "vp", "vesde", "vpsde", "sub-vpsde"}, default="linear"
        Gaussian path of the flow objective.
    score_parameterization : {"noise", "x0", "velocity", "edm", "edm_raw_in"}, default="edm"
        What the trees regress on under the score objective.
    noise_features : {"raw_time", "raw_time_log_std"}, default="raw_time_log_std"
        How the trees see the noise level under the score objective.
    edm_sigma_data : float, default=1.0
        Standard deviation that EDM assumes of the standardised data.
    loss_weighting : {"uniform", "min_snr"}, default="uniform"
        Weight of the noise levels; ``min_snr_gamma`` caps the signal-to-noise ratio.
    min_snr_gamma : float, default=5.0
        Cap of the min-SNR weights.
    t_sampling : {"uniform", "log_sigma_normal", "log_snr_normal"}, default="log_sigma_normal"
        Law of the training times.
    uniform_endpoint_fraction : float, default=0.05
        Share of uniform times put at exactly t = 1 under flow matching.
    log_sigma_p_mean, log_sigma_p_std : float, default=-1.2 and 1.2
        Of the normal law of log noise or log SNR.
    residualize : {"off", "mean", "mean_scale", "stack", "gp"}, regressor or list of regressors, default="mean"
        Take a cross-fitted mean (and scale) out of the response first.
    residualize_k_folds, residualize_repeats : int, default=5 and 1
        Folds of the cross-fitting, and how often it is repeated. With two or more repetitions it is known how much
        better the average of all models is than the ones a row was left out of, and the spread is corrected for it.
    first_stage_features : {"mean", "stack", "gp", "cdf"}, regressor, or a list of these, default=None
        Cross-fitted predictions that the noise model sees as columns. ``"mean"`` is what ``residualize`` subtracts, if
        it subtracts anything; ``"cdf"`` are estimates of the conditional distribution function.
    n_bags : int, default=1
        Noise models with their own held-out rows and noise. With several, every row is held out by one of them, and
        ``oob_distribution_`` holds the laws of the training rows from models that have not seen them.
    bag_mix : {"mean", "mixture"}, default="mean"
        Average the bags' fields, or let them share the samples of a row.
    repeats : {"auto", "together", "independent"}, default="auto"
        What rows that occur several times are. ``"auto"`` decides by evidence: copies of a row count as one row with
        their weight, rows of the same entity stay together in every split, and rows that agree by chance are
        independent. ``"together"`` keeps all rows with the same ``X`` together, ``"independent"`` treats every row as a
        draw of its own, as the paper's random folds do.
    seed : int or None
        Seed of everything random in ``fit``.
    verbose : int, default=0
        1 shows progress bars on a terminal.
    extra_lightgbm_params, extra_residualizer_params : dict or None
        Passed through to LightGBM; the residualizer also takes ``n_estimators`` and ``early_stopping_rounds``.
    sampler_method, n_steps, pf_ode, velocity_stochasticity, velocity_stochasticity_schedule
        The recipe's own sampler, used by ``sample`` and ``predict`` unless told otherwise. ``None`` is the
        objective's: 50 Euler steps of the reverse SDE for the score, 5 Heun steps of the ODE for flow matching.
    engine : {"auto", "collapse", "lightgbm"}, default="auto"
        How samples are computed. The collapsed tables and LightGBM's own ``predict`` give the same numbers.

    Attributes
    ----------
    model_ : FittedModel
        Everything that was learned.
    recipe_ : Recipe
        What was fitted, printable in one line.
    boosters_ : list of lightgbm.Booster
        One for each response.
    n_iterations_ : list of int
        Boosting rounds kept for each response.
    oob_distribution_ : PredictiveDistribution or JointDistribution
        With several bags: laws of the training rows (of positive weight), each from the bag that has not seen it.
    records_ : Records
        How the training rows repeat, as counts and a sentence; not stored in files.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import DiffGBM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 1))
    >>> y = X[:, 0] + (0.1 + X[:, 0]) * rng.standard_normal(300)
    >>> model = DiffGBM.flow(n_estimators=50, seed=0).fit(X, y)
    >>> model.sample(X[:2], n_samples=100, seed=1).shape
    (100, 2)
    """

    def __init__(
        self,
        n_repeats: int = 30,
        n_estimators: int = 3000,
        early_stopping_rounds: int | None = 50,
        eval_percent: float = 0.1,
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

    @classmethod
    def published(cls, **params: Any) -> DiffGBM:
        """Treeffuser's recipe: noise target on the VE path, uniform times, no mean; 50 Euler steps."""
        return cls(**{**NAMED["published"], **params})

    @classmethod
    def score_plus(cls, **params: Any) -> DiffGBM:
        """Build the paper's score+ row: EDM target, log-sigma times and feature, mean C; 25 Heun ODE steps."""
        return cls(**{**NAMED["score_plus"], **params})

    @classmethod
    def flow(cls, path: str = "vp", **params: Any) -> DiffGBM:
        """Build the paper's flow-matching row on ``path`` ("vp", "linear" or "trig"), mean C; 5 Heun steps."""
        return cls(**{**NAMED["flow"], "flow_path": path, **params})

    @property
    def recipe(self) -> Recipe:
        """What the arguments describe, or what was fitted: one printable line."""
        return self.model_.recipe if hasattr(self, "model_") else resolve(self.get_params(deep=False))

    @property
    def recipe_(self) -> Recipe:
        """What was fitted."""
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
        """Boosting rounds kept for each response (the released package's name of ``n_iterations_``)."""
        check_is_fitted(self)
        return self.n_iterations_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        tags.non_deterministic = self.seed is None
        return tags

    def fit(self, X: Any, y: Any, cat_idx: Sequence[int] | None = None, sample_weight: Any = None) -> DiffGBM:
        """Learn p(y | x).

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Numbers and categories; values may be missing. One-dimensional arrays are one column.
        y : array-like, Series or frame of shape (n,) or (n, d)
            Responses, all finite.
        cat_idx : sequence of int, optional
            Categorical columns of an array.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        DiffGBM
            The fitted estimator.
        """
        params = self.get_params(deep=False)
        model, training = fit_model(params, X, y, cat_idx, sample_weight, type(self).__name__)
        self._with_model(model)
        self.records_ = training.repetition
        if self.n_bags > 1:
            self.oob_distribution_ = out_of_bag_distributions(
                model, training, self._sampler({}), n_threads(self.n_jobs)
            )
        elif hasattr(self, "oob_distribution_"):
            del self.oob_distribution_
        return self

    def _with_model(self, model: FittedModel) -> DiffGBM:
        """Take a fitted model as one's own."""
        self.model_ = model
        self._remember_columns()
        return self

    def _columns(self) -> FeatureTable:
        return self.model_.features

    def _sampler(self, overrides: Mapping[str, Any]) -> Sampler:
        """Build the recipe's sampler, with what the caller overrides."""
        params = self.get_params(deep=False)
        given = {name: value for name, value in overrides.items() if value is not None}
        # a caller who names one kind of sampler does not contradict the recipe's other kind
        if given.get("velocity_stochasticity", 0.0) and "pf_ode" not in given:
            params["pf_ode"] = None
        if given.get("pf_ode") and "velocity_stochasticity" not in given:
            params["velocity_stochasticity"] = 0.0
        flow = self.training_objective == "flow_matching"
        return resolve_sampler({**params, **given}, flow, self.recipe_.path)

    def _steps(self, overrides: Mapping[str, Any]) -> StepTable:
        """Build the step table of the recipe's sampler, with what the caller overrides."""
        return self.recipe_.steps(self._sampler(overrides))

    def _distribution_blocks(self, X: Any, grid: int | str = "auto", verbose: int = 0) -> Iterator[Distribution]:
        matrix, index = self._encode(X), row_index(X)
        sampler, threads = self._sampler({}), n_threads(self.n_jobs)
        usual = _POINTS[sampler.equation] if self.model_.n_responses == 1 else _JOINT_POINTS
        n_points = usual if grid == "auto" else check_count("grid", grid, 2)
        for first in range(0, len(matrix), _DISTRIBUTION_ROWS):
            rows = slice(first, first + _DISTRIBUTION_ROWS)
            labels = None if index is None else index[rows]
            yield self.model_.distribution(matrix[rows], sampler, n_points, labels, threads, max(verbose, self.verbose))

    def _response_names(self) -> tuple[str, ...]:
        return self.model_.response_names

    def sample(
        self,
        X: Any,
        n_samples: int,
        n_parallel: int = 50,
        n_steps: int | None = None,
        seed: int | None = None,
        verbose: bool | int = False,
        sampler_method: str | None = None,
        pf_ode: bool | None = None,
        velocity_stochasticity: float | None = None,
        velocity_stochasticity_schedule: str | None = None,
        first_row: int = 0,
    ) -> Array:
        """Draw samples of y for each row.

        A sampler argument left out takes the recipe's own. The same seed gives the same numbers whatever the batch,
        the number of threads or the process.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        n_samples : int
            Samples for each row.
        n_parallel : int
            Accepted for scripts written for the released package; it changes nothing but memory there.
        n_steps : int, optional
            Integration steps.
        seed : int, optional
            Seed of the samples; ``None`` draws fresh ones.
        verbose : bool
            Show a progress bar.
        sampler_method : {"euler", "heun"}, optional
            Integrator.
        pf_ode : bool, optional
            Integrate the probability-flow ODE instead of the reverse SDE.
        velocity_stochasticity : float, optional
            Strength ``c`` of a stochastic interpolant.
        velocity_stochasticity_schedule : {"linear", "sqrt", "quadratic", "tent"}, optional
            Shape of its ``eps(t)``.
        first_row : int
            Position of the first row in a longer table that is sampled in pieces: the pieces then get the samples that
            the whole table would.

        Returns
        -------
        ndarray of shape (n_samples, n) or (n_samples, n, d)
            Samples; two axes if ``y`` was one-dimensional.
        """
        matrix = self._encode(X)
        check_count("n_samples", n_samples, 1)
        check_count("n_parallel", n_parallel, 1)
        check_count("first_row", first_row, 0)
        if seed is not None:
            check_count("seed", seed, 0)
        arguments = locals()
        steps = self._steps({name: arguments[name] for name in _SAMPLER_ARGUMENTS})
        key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        out = np.empty((n_samples, len(matrix), self.model_.n_responses))

        def receive(rows: slice, values: Array) -> None:
            out[:, rows] = values.swapaxes(0, 1)

        draws = Draws(n_samples, key, first_row)
        self.model_.integrate(matrix, steps, draws, n_threads(self.n_jobs), max(int(verbose), self.verbose), receive)
        return self.model_.response.squeeze(out)

    def predict(
        self,
        X: Any,
        tol: float | None = None,
        max_samples: int | None = None,
        verbose: bool | int = False,
    ) -> Array:
        """Predict the mean of p(y | x): the same model and row give the same answer, whatever else is asked.

        The mean is that of ``predict_distribution``: evenly spread points carried to the data, no random numbers.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        tol : float, optional
            Accepted for the released package's sake; there is no sampling error to bound.
        max_samples : int, optional
            Number of points of each law.
        verbose : bool
            Show a progress bar.

        Returns
        -------
        ndarray of shape (n,) or (n, d)
            Means.
        """
        grid = "auto" if max_samples is None else check_count("max_samples", max_samples, 2)
        return np.concatenate(
            [distribution.mean() for distribution in self._distribution_blocks(X, grid, int(verbose))]
        )
