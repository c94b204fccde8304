"""DiffGBM: one noise model with a named recipe or one of your own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, get_args

import numpy as np

from diffgbm._util.docs import fill_docstring, with_paragraphs
from diffgbm._util.errors import check_count
from diffgbm._util.parallel import n_threads
from diffgbm._util.types import Array
from diffgbm.diffusion.noise_levels import LOSS_WEIGHTINGS, NOISE_FEATURES, TIME_SAMPLINGS
from diffgbm.diffusion.paths import PATHS
from diffgbm.diffusion.recipe import OBJECTIVES, resolve, resolve_sampler
from diffgbm.diffusion.sampler import METHODS, SCHEDULES, Sampler
from diffgbm.diffusion.targets import TARGETS
from diffgbm.distributions import Distribution, PredictiveDistribution
from diffgbm.engine import Draws, StepTable
from diffgbm.engine.factory import Kind, Mix
from diffgbm.estimators.arguments import DiffGBMArguments
from diffgbm.estimators.base import SHARED, DistributionalRegressor, sample_key
from diffgbm.first_stage.catalogue import feature_names, subtracted_names
from diffgbm.fitting.defaults import BEFORE, DEFAULTS
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.noise_design import NOISE_DESIGNS
from diffgbm.fitting.out_of_bag import out_of_bag_distributions
from diffgbm.fitting.submodels import Submodels, submodel_points
from diffgbm.fitting.training import check_arguments, fit_model
from diffgbm.persistence.arguments import read_arguments, write_arguments
from diffgbm.persistence.store import Part, Reader, Writer
from diffgbm.persistence.tables import check_steps
from diffgbm.persistence.values import Stored, of_type

_SAMPLER_ARGUMENTS = (
    "sampler_method",
    "n_steps",
    "pf_ode",
    "velocity_stochasticity",
    "velocity_stochasticity_schedule",
)
_POINTS = {"ode": 256, "sde": 144, "interpolant": 144}
"""Points of the distribution of one response by the sampler's equation: its distribution function is then within about
0.015 of its limit for many points, at less than the cost of 400 random samples. Fibonacci numbers suit the
low-discrepancy noise of stochastic samplers."""
_JOINT_POINTS = 512
"""Points of a joint distribution; a power of two, as Sobol sequences need."""


@fill_docstring(
    paths=PATHS,
    objectives=OBJECTIVES,
    targets=TARGETS,
    noise_features=NOISE_FEATURES,
    loss_weightings=LOSS_WEIGHTINGS,
    time_samplings=TIME_SAMPLINGS,
    subtracted=subtracted_names(),
    features=feature_names(),
    mixes=get_args(Mix),
    engines=get_args(Kind),
    designs=NOISE_DESIGNS,
)
class DiffGBM(DiffGBMArguments, DistributionalRegressor):
    """Use this if you want one model of p(y | x), by a recipe of your choice, fitted in seconds.

    Trees learn, from noisy copies of the rows, the field that carries Gaussian noise to p(y | x); integrating it
    gives samples. The defaults are those of the released package, with even noise: the score recipe with EDM
    preconditioning, a log-noise feature, log-sigma times and a cross-fitted mean. ``DiffGBM.published()``,
    ``DiffGBM.score_plus()`` and ``DiffGBM.flow()`` are the paper's rows, independent noise and samplers included.

    Parameters
    ----------
    n_repeats : int or "auto", default=30
        Noisy copies of each row. ``"auto"`` makes about 150,000 noisy rows: hundreds of copies of each row of a small
        table, where they help most, 8 of each row of a large one, and 2 from 1,500,000 rows on.
    n_estimators, early_stopping_rounds : int, default=3000 and 50
        Boosting rounds at most, and how many without improvement on the held-out rows end them
        (``None``: train on all rows, all rounds).
    eval_percent : float or "auto", default="auto"
        Share of the rows held out for early stopping. ``"auto"`` holds out a tenth; a table of at most 2,000 rows, of
        which a tenth is few, is cross-validated in five folds instead, and the model learns from all rows.
    num_leaves, max_depth, learning_rate, max_bin, subsample_for_bin, min_child_samples, subsample, subsample_freq
        LightGBM's, under their scikit-learn names.
    n_jobs : int, default=-1
        Threads for training and sampling, at most; -1 takes all cores. Beside other work LightGBM gets as many as help.
    sde_name : {paths}, default="vesde"
        Gaussian path of the score objective.
    sde_initialize_from_data : bool, default=False
        Choose the path's range from the responses.
    sde_hyperparam_min, sde_hyperparam_max : float, "default" or None
        The path's range (VE: noise levels; VP: rates).
    training_objective : {objectives}, default="score"
        Flow matching regresses the velocity on ``flow_path`` with the raw time as feature.
    flow_path : {paths}, default="linear"
        Gaussian path of the flow objective.
    score_parameterization : {targets}, default="edm"
        What the trees regress on under the score objective.
    noise_features : {noise_features}, default="raw_time_log_std"
        How the trees see the noise level under the score objective.
    edm_sigma_data : float, default=1.0
        Standard deviation that EDM assumes of the standardised data.
    loss_weighting : {loss_weightings}, default="uniform"
        Weight of the noise levels; ``min_snr_gamma`` caps the signal-to-noise ratio.
    min_snr_gamma : float, default=5.0
        Cap of the min-SNR weights.
    t_sampling : {time_samplings}, default="log_sigma_normal"
        Distribution of the training times.
    uniform_endpoint_fraction : float, default=0.05
        Share of uniform times put at exactly t = 1 under flow matching.
    log_sigma_p_mean, log_sigma_p_std : float, default=-1.2 and 1.2
        Mean and standard deviation of log noise or log SNR under the normal time distributions.
    residualize : {subtracted}, regressor or list of regressors, default="mean"
        Subtract a cross-fitted mean from the response first (and divide by a cross-fitted scale). ``"mean_scale"`` is
        the paper's scale; ``"mean_shrunk_scale"`` is that of small trees, which also see the mean's prediction, to a
        power between 0 and 1 that held-out residuals choose.
    residualize_k_folds, residualize_repeats : int, default=5 and 1
        Folds of the cross-fitting, and how often it is repeated. The average of all models predicts better than the
        models a row was held out from. Two or more repetitions estimate by how much, and the residual scale is
        corrected for it. A scikit-learn splitter may give the folds; rows that it never holds out are left out of the
        noise model, and a model file holds the default instead of it.
    first_stage_features : {features}, regressor, or a list of these, default=None
        Cross-fitted predictions that the noise model gets as additional columns. ``"mean"`` is the prediction that
        ``residualize`` subtracts, if it subtracts one; ``"cdf"`` (trees) and ``"kernel_cdf"`` (smooth) estimate the
        conditional distribution function.
    n_bags : int, default=1
        Noise models, each with its own held-out rows and noise. With several, every row is held out by one of them,
        and ``oob_distribution_`` holds the distributions of the training rows from models that have not seen them.
    bag_mix : {mixes}, default="mean"
        Average the fields of the bags, or divide the samples of a row among them.
    repeats : {"auto", "together", "independent"}, default="auto"
        How rows that occur several times are treated. ``"auto"`` decides by evidence: copies of a row count as one row
        with their weight, rows of the same entity stay together in every split, and rows that agree by chance are
        independent. ``"together"`` keeps all rows with the same ``X`` together. ``"independent"`` treats every row as a
        separate draw, as the paper's random folds do.
    atoms : None, "auto" or list of float, default=None
        Values with a probability of their own, beside a continuous part: zeros of a zero-inflated response, the limits
        of a capped sensor. A cross-fitted classifier predicts their probabilities, the noise model learns the other
        rows. ``"auto"`` takes the values of at least 5% of the rows, 2% at the ends. An atom beyond which no response
        lies is a limit of all predictions. A first-stage model that predicts the other rows worse than their mean is
        left out. Of several responses each has its classifiers; the noise model then learns all rows, and joint points
        keep their ranks.
    support : None, (low, high) or "auto", default=None
        Where the response can be; an end may be None, which is open: ``(0, None)`` for prices. No sample, quantile,
        mean or interval lies outside, and densities integrate to one inside. Limits have a probability of their own
        only where responses pile up: values of at least 2% of the rows at a limit become ``atoms``, if these are not
        given. ``"auto"`` finds the limit zero of responses that are never negative, ``atoms="auto"``, and counts
        (``discrete``). Samples are drawn from the predictive distribution. Several responses have the same, or a list
        of one for each: ``[(0, None), None]``; their joint points keep their ranks, also where they are atoms.
    discrete : bool, default=False
        The response is a whole number: so are quantiles and samples, and ``pmf`` gives probabilities. With ``support``
        zero the limit of counts is kept.
    monotone : dict or None, default=None
        Columns (names, or positions of an array) in which the response increases (1) or decreases (-1) if all others
        stay the same. The guarantee: mean, median, every quantile and both ends of every interval do so, up to
        rounding, for known values. The mean that is subtracted is constrained, and the noise model does not see the
        column, so that the shape of the distribution, its width too, does not depend on it. Needs
        ``residualize="mean"``; not with ``first_stage_features``, ``atoms``, ``support`` or ``discrete``.
    noise_design : {designs}, default="even"
        How the times and the noise of the copies are placed, in training and in the rows that decide when to stop.
        ``"even"`` gives the copies of a row the points of a lattice in time and noise, moved by a random shift. Each
        has exactly the distribution of an independent copy, and together they cover it without gaps.
        ``"independent"`` draws each copy by itself, as the paper does.
    seed : int or None
        Seed of everything random in ``fit``.
    verbose : int, default=0
        1 says on a terminal or in a notebook what is being done: rounds in ``fit``, rows in predictions.
    extra_lightgbm_params, extra_residualizer_params : dict or None
        Passed through to LightGBM; the residualizer also takes ``n_estimators`` and ``early_stopping_rounds``.
        ``monotone_constraints`` have one value for each column of ``X``.
    sampler_method, n_steps, pf_ode, velocity_stochasticity, velocity_stochasticity_schedule
        The recipe's sampler, which ``sample`` and ``predict`` use by default. ``None`` is the default of the
        objective: 50 Euler steps of the reverse SDE for the score, 5 Heun steps of the ODE for flow matching.
    engine : {engines}, default="auto"
        How samples are computed. The collapsed tables and LightGBM's own ``predict`` give the same numbers.

    Attributes
    ----------
    model_ : FittedModel
        The fitted model.
    recipe_ : Recipe
        What was fitted, printable in one line.
    boosters_ : list of lightgbm.Booster
        One for each response.
    n_iterations_ : list of int
        Boosting rounds kept for each response.
    oob_distribution_ : PredictiveDistribution or JointDistribution
        With several bags: distributions of the training rows (of positive weight), each from the bag that held it out;
        with ``time`` those of the last rows, from all bags.
    oob_rows_ : ndarray of int
        These rows.
    records_ : Records
        How the training rows repeat, as counts and a sentence; not stored in files.
    division_ : str
        How the rows were divided, in sentences, with a hint if rows seem to depend on each other; empty if there is
        nothing to say.
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

    References
    ----------
    Beltran-Velez, N. et al. (2024). Treeffuser: probabilistic prediction via conditional diffusions with
    gradient-boosted trees. Advances in Neural Information Processing Systems, 37.

    Karras, T. et al. (2022). Elucidating the design space of diffusion-based generative models. Advances in Neural
    Information Processing Systems, 35.

    Lipman, Y. et al. (2023). Flow matching for generative modeling. International Conference on Learning
    Representations.
    """

    stored_as: ClassVar[str] = "diffgbm"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.seed is None
        return tags

    @with_paragraphs(**SHARED)
    def fit(
        self,
        X: Any,
        y: Any,
        cat_idx: Sequence[int] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
        time: Any = None,
    ) -> DiffGBM:
        """Fit p(y | x).

        Parameters
        ----------
        {table}
        {structure}

        Returns
        -------
        DiffGBM
            The fitted estimator.
        """
        params = self.get_params(deep=False)
        model, training = fit_model(params, X, y, cat_idx, sample_weight, type(self).__name__, groups, time)
        self._with_model(model)
        self.records_, self.division_ = training.repetition, str(training.division)
        if self.n_bags > 1:
            self.oob_rows_ = training.rows
            self.oob_distribution_ = out_of_bag_distributions(
                model, training, self.sampler_with({}), n_threads(self.n_jobs)
            )
        elif hasattr(self, "oob_distribution_"):
            del self.oob_distribution_, self.oob_rows_
        return self

    @classmethod
    def from_model(cls, model: FittedModel, params: Mapping[str, Any]) -> DiffGBM:
        """Return a fitted estimator with the arguments ``params`` from a model that was fitted elsewhere."""
        return cls(**params)._with_model(model)

    def _with_model(self, model: FittedModel) -> DiffGBM:
        """Set the fitted attributes from a fitted model."""
        self.model_ = model
        self._remember_columns()
        return self

    def _details(self) -> dict[str, Any]:
        division, support = getattr(self, "division_", ""), self.model_.whole_support
        kept = {} if self.model_.support is None else {"support": str(support)}
        if self.model_.supports:
            each = zip(self.model_.response_names, self.model_.supports, strict=True)
            kept = {"support": "; ".join(f"{name}: {one or 'any number'}" for name, one in each)}
        return {**({"division": division} if division else {}), **kept}

    def fitted_models(self) -> tuple[FittedModel, ...]:
        """Return the fitted model, alone in a tuple."""
        return (self.model_,)

    def to_stored(self, writer: Writer) -> dict[str, Any]:
        """Return what a model file holds of this estimator: its arguments and its fitted model."""
        params = self.get_params(deep=False)
        if hasattr(self.residualize_k_folds, "split"):  # a file holds no splitter
            params["residualize_k_folds"] = DEFAULTS["residualize_k_folds"]
        if self.monotone is not None:  # positions of columns become text
            params["monotone"] = {str(column): int(sign) for column, sign in self.monotone.items()}
        division = getattr(self, "division_", "")
        return {
            **write_arguments(params, writer),
            "model": writer.put(getattr(self, "model_", None)),
            **({"division": division} if division else {}),
        }

    @classmethod
    def from_stored(cls, stored: Stored, reader: Reader) -> Part:
        """Read an estimator from a model file; every argument is checked."""
        # a file may be older than an argument
        params = {**DEFAULTS, **BEFORE, **read_arguments(stored, reader)}
        check_arguments(params)
        check_steps(resolve(params).sampler.n_steps)
        n_threads(params["n_jobs"])
        of_type(params, "verbose", int)
        model = reader.maybe(stored["model"], ("model",))
        if model is None:
            return Part(cls(**params))
        estimator = cls.from_model(model.value, params)
        estimator.division_ = of_type(stored, "division", str) if "division" in stored else ""
        return Part(estimator)

    def sampler_with(self, overrides: Mapping[str, Any]) -> Sampler:
        """Return the recipe's sampler with some of its arguments replaced.

        ``overrides`` are sampler arguments of ``sample`` by name; those that are ``None`` are left as they are.
        """
        params = {name: getattr(self, name) for name in _SAMPLER_ARGUMENTS}
        named = {name: value for name, value in overrides.items() if value is not None}
        # a caller who names one kind of sampler does not contradict the recipe's other kind
        if named.get("velocity_stochasticity", 0.0) and "pf_ode" not in named:
            params["pf_ode"] = None
        if named.get("pf_ode") and "velocity_stochasticity" not in named:
            params["velocity_stochasticity"] = 0.0
        flow = self.training_objective == "flow_matching"
        return resolve_sampler({**params, **named}, flow, self.recipe_.path)

    def _steps(self, overrides: Mapping[str, Any]) -> StepTable:
        """Build the step table of the recipe's sampler with the caller's overrides."""
        return self.recipe_.steps(self.sampler_with(overrides))

    def _distribution_blocks(self, X: Any, grid: int | str = "auto", verbose: int = 0) -> Iterator[Distribution]:
        matrix, sampler = self.encode(X), self.sampler_with({})
        default = _POINTS[sampler.equation] if self.model_.n_responses == 1 else _JOINT_POINTS
        n_points = default if grid == "auto" else check_count("grid", grid, 2)
        threads, verbose = n_threads(self.n_jobs), max(verbose, self.verbose)
        for rows, labels in self._blocks(X, matrix):
            yield self.model_.distribution(rows, sampler, n_points, labels, threads, verbose)

    def _warm_up(self) -> None:
        sampler = self.sampler_with({})
        default = _POINTS[sampler.equation] if self.model_.n_responses == 1 else _JOINT_POINTS
        self.model_.distribution(self._missing_values(), sampler, default).interval(0.9)

    def submodels(self, X: Array) -> Submodels:
        """Predict encoded rows (n, p) by single bags with the first-stage models of single folds."""
        folds = self.residualize_k_folds if isinstance(self.residualize_k_folds, (int, np.integer)) else None
        points = submodel_points(self.model_, X, self.sampler_with({}), n_threads(self.n_jobs), folds)
        return Submodels((points,), np.ones(1))

    @fill_docstring(methods=METHODS, schedules=SCHEDULES)
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

        Sampler arguments default to the recipe's sampler. The same seed gives the same numbers for any batch, number
        of threads and process.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        n_samples : int
            Samples for each row.
        n_parallel : int
            Ignored; scripts written for the released package may pass it.
        n_steps : int, optional
            Integration steps.
        seed : int, optional
            Seed of the samples; ``None`` draws new ones in each call.
        verbose : bool
            Show a progress bar.
        sampler_method : {methods}, optional
            Integrator.
        pf_ode : bool, optional
            Integrate the probability-flow ODE instead of the reverse SDE.
        velocity_stochasticity : float, optional
            Strength ``c`` of a stochastic interpolant.
        velocity_stochasticity_schedule : {schedules}, optional
            Shape of its ``eps(t)``.
        first_row : int
            Position of the first row in a longer table that is sampled block by block: the blocks then get the samples
            of the whole table.

        Returns
        -------
        ndarray of shape (n_samples, n) or (n_samples, n, d)
            Samples; two axes if ``y`` was one-dimensional.
        """
        matrix = self.encode(X)
        check_count("n_parallel", n_parallel, 1)
        key = sample_key(n_samples, seed, first_row)
        arguments = locals()
        overrides = {name: arguments[name] for name in _SAMPLER_ARGUMENTS}
        if self.model_.support is not None:
            return self._sampled(X, matrix, n_samples, seed, first_row, overrides)
        steps = self._steps(overrides)
        out = np.empty((n_samples, len(matrix), self.model_.n_responses))

        def receive(rows: slice, values: Array) -> None:
            out[:, rows] = values.swapaxes(0, 1)

        draws = Draws(n_samples, key, first_row)
        self.model_.integrate(matrix, steps, draws, n_threads(self.n_jobs), max(int(verbose), self.verbose), receive)
        if self.model_.atoms is not None:
            out = self.model_.atoms.sampled(out, matrix, key, first_row)
        if self.model_.supports:
            points = self.model_.points(matrix, self.sampler_with(overrides), _JOINT_POINTS, n_threads(self.n_jobs))
            out = self.model_.carried(out, points, matrix)
        return self.model_.response.squeeze(out)

    def _sampled(
        self, X: Any, matrix: Array, n_samples: int, seed: int | None, first_row: int, overrides: Mapping[str, Any]
    ) -> Array:
        """Draw samples (n_samples, n) from predictive distributions, which have limits; trajectories have none."""
        sampler, parts = self.sampler_with(overrides), []
        seed = int(np.random.SeedSequence().entropy % 2**63) if seed is None else seed  # type: ignore[operator]
        for rows, _ in self._blocks(X, matrix):
            dist = self.model_.distribution(rows, sampler, _POINTS[sampler.equation], None, n_threads(self.n_jobs))
            assert isinstance(dist, PredictiveDistribution)
            parts.append(dist.sample(n_samples, seed, first_row))
            first_row += len(rows)
        return np.concatenate(parts, axis=1)

    def predict(
        self,
        X: Any,
        tol: float | None = None,
        max_samples: int | None = None,
        verbose: bool | int = False,
    ) -> Array:
        """Predict the mean of p(y | x), deterministic and independent of the other rows.

        It is the mean of ``predict_distribution``, which uses no random numbers.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        tol : float, optional
            Ignored; scripts written for the released package may pass it. There is no sampling error to bound.
        max_samples : int, optional
            Number of points of each distribution.
        verbose : bool
            Show a progress bar.

        Returns
        -------
        ndarray of shape (n,) or (n, d)
            Means.
        """
        grid = "auto" if max_samples is None else check_count("max_samples", max_samples, 2)
        return np.concatenate([block.mean() for block in self._distribution_blocks(X, grid, int(verbose))])
