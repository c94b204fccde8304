"""AutoDiffGBM: chooses first-stage models, recipes and sizes by itself, and pools the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from diffgbm._util.docs import fill_docstring, with_paragraphs
from diffgbm._util.errors import check_count, known
from diffgbm._util.parallel import n_threads
from diffgbm._util.types import Array
from diffgbm.auto.fitting import AutomaticFit, fit_automatically
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.auto.presets import PRESETS, Preset
from diffgbm.data.records import REPEATS
from diffgbm.distributions import Distribution, PredictiveDistribution
from diffgbm.estimators.base import SHARED, DistributionalRegressor, sample_key
from diffgbm.fitting.model import FittedModel
from diffgbm.persistence.arguments import read_arguments, write_arguments
from diffgbm.persistence.store import Part, Reader, Writer
from diffgbm.persistence.values import PLAIN, Stored, list_of, mapping, of_type, plain

METRICS = ("crps",)
_POINTS = 377
"""Points of a distribution, divided among the members of the pool and their bags."""


@fill_docstring(presets=PRESETS, metrics=METRICS)
class AutoDiffGBM(DistributionalRegressor):
    """Use this if you want good predictive distributions p(y | x) without tuning: held-out CRPS chooses the settings.

    First-stage models, recipes and sizes are tried on a few rows. The best are trained on all rows in several bags,
    tried with other samplers, and pooled with the weights that predict held-out rows best. No candidate is scored on
    rows it was trained on.

    Parameters
    ----------
    time_limit : float, optional
        Approximate seconds for ``fit``; by default those of the preset: 30, 150 or 600. The first fit on a machine
        compiles kernels for about 10 seconds, which do not count and are announced on a terminal.
    preset : {presets} or Preset, default="balanced"
        How many candidates are tried, and how large they are.
    metric : {metrics}, default="crps"
        Score by which candidates are compared.
    discrete : bool or "auto", default="auto"
        Restrict predictions to the values of a response that takes few, and to the limits at which it is censored:
        always (True), never (False), or if that helps on held-out rows ("auto"): values must not raise the CRPS,
        limits must lower it, and neither may cost coverage, which is randomised at such values. With "auto" a
        response that is never negative has no negative prediction.
    recalibrate : bool, default=True
        Correct the distributions by their held-out PIT values, if that brings coverage closer to nominal without
        raising the CRPS.
    n_jobs : int, default=-1
        Threads; -1 takes all cores.
    seed : int or None
        Seed of everything random in ``fit``. The same seed gives the same model, unless the time limit ends the search.
    verbose : int, default=0
        1 shows on a terminal or in a notebook what is being done and how much of the time limit is used. 2 writes a
        line for each stage where there is neither.
    repeats : {"auto", "together", "independent"}, default="auto"
        How rows that occur several times are treated, as in ``DiffGBM``; ``explain()`` says what was found.

    Attributes
    ----------
    pool_ : PooledModel
        The fitted pool.
    leaderboard_ : DataFrame, or list of dict without pandas
        One row for each candidate: its held-out CRPS (also in standard deviations of the response), its weight in the
        pool, what became of it, rows and seconds. Final models come first, the best one on top; then those that were
        dropped, the latest first. Scores of candidates that were dropped earlier are those of fewer rows.
    weights_ : dict
        Weight of each member of the pool.
    oob_distribution_ : PredictiveDistribution or JointDistribution
        Distributions of the training rows ``oob_rows_``, from bags that held them out.
    first_stage_errors_ : dict
        Out-of-fold root mean squared error of each first-stage model, in standard deviations of the response.
    cut_short_ : bool
        Whether the time limit ended the search early.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import AutoDiffGBM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 2))
    >>> y = X[:, 0] + (0.1 + X[:, 1]) * rng.standard_normal(300)
    >>> model = AutoDiffGBM(preset="fast", time_limit=5, n_jobs=1, seed=0).fit(X, y)
    >>> model.predict_interval(X[:3], coverage=0.9).shape
    (3, 2)
    """

    stored_as: ClassVar[str] = "auto"

    def __init__(
        self,
        time_limit: float | None = None,
        preset: str | Preset = "balanced",
        metric: str = "crps",
        discrete: bool | str = "auto",
        recalibrate: bool = True,
        n_jobs: int | None = -1,
        seed: int | None = None,
        verbose: int = 0,
        repeats: str = "auto",
    ) -> None:
        self.time_limit = time_limit
        self.preset = preset
        self.metric = metric
        self.discrete = discrete
        self.recalibrate = recalibrate
        self.n_jobs = n_jobs
        self.seed = seed
        self.verbose = verbose
        self.repeats = repeats

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # a time limit may end the search anywhere
        tags.non_deterministic = True
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
    ) -> AutoDiffGBM:
        """Search for a model of p(y | x) and fit it.

        Parameters
        ----------
        {table}
        sample_weight : array-like of shape (n,), optional
            Weight of each row.
        groups : array-like of shape (n,) or str, optional
            What each row belongs to: a customer, a device, a patient. No split divides a group, so that held-out
            scores, pool weights and recalibration are those of new groups. The name of a column of ``X`` takes this
            column out of the features.
        time : array-like of shape (n,) or str, optional
            When each row was observed: numbers or dates. No split learns from the future: candidates are compared in
            expanding windows, and the last rows are held out for stopping, pooling and recalibration. A column of ``X``
            that is named stays a feature. Rows need not be sorted.

        Returns
        -------
        AutoDiffGBM
            The fitted estimator.
        """
        known("metric", self.metric, METRICS)
        preset = self.preset if isinstance(self.preset, Preset) else PRESETS[known("preset", self.preset, PRESETS)]
        limit = self.time_limit
        if limit is not None and not (isinstance(limit, (int, float, np.integer, np.floating)) and limit > 0):
            raise ValueError(f"time_limit must be a number of seconds > 0 or None; got {self.time_limit!r}.")
        if not (isinstance(self.discrete, (bool, np.bool_)) or self.discrete == "auto"):
            raise ValueError(f"discrete must be True, False or 'auto'; got {self.discrete!r}.")
        if self.seed is not None:
            check_count("seed", self.seed, 0)
        result = fit_automatically(
            X,
            y,
            cat_idx=cat_idx,
            sample_weight=sample_weight,
            preset=preset,
            time_limit=preset.time_limit if self.time_limit is None else float(self.time_limit),
            discrete=self.discrete,
            recalibrate=self.recalibrate,
            repeats=known("repeats", self.repeats, REPEATS),
            seed=self.seed,
            n_jobs=n_threads(self.n_jobs),
            verbose=self.verbose,
            owner=type(self).__name__,
            groups=groups,
            time=time,
        )
        return self._with_fit(result)

    def _with_fit(self, result: AutomaticFit) -> AutoDiffGBM:
        weights = dict(zip(map(str, result.candidates), result.pool.weights.tolist(), strict=True))
        self.oob_distribution_, self.oob_rows_ = result.out_of_bag, result.rows
        return self._with_pool(
            result.pool, result.leaderboard, weights, result.first_stage_errors, result.cut_short, result.summary
        )

    def _with_pool(
        self,
        pool: PooledModel,
        leaderboard: list[dict[str, Any]],
        weights: dict[str, float],
        first_stage_errors: dict[str, float],
        cut_short: bool,
        summary: str,
    ) -> AutoDiffGBM:
        """Set the fitted attributes from a pool and the record of its search."""
        self.pool_ = pool
        self.leaderboard_ = _frame(leaderboard)
        self.weights_, self.first_stage_errors_ = weights, first_stage_errors
        self.cut_short_ = cut_short
        self._summary = summary
        self._remember_columns()
        return self

    def explain(self) -> str:
        """Say in a few sentences how well the model predicts unseen rows, and what was chosen."""
        check_is_fitted(self)
        return self._summary

    def fitted_models(self) -> tuple[FittedModel, ...]:
        """Return the members of the pool."""
        return self.pool_.members

    def _details(self) -> dict[str, Any]:
        return {"chosen": self.explain()}

    def to_stored(self, writer: Writer) -> dict[str, Any]:
        """Return what a model file holds of this estimator: its arguments, its pool and the record of the search."""
        arguments = write_arguments(self.get_params(deep=False), writer)
        if not hasattr(self, "pool_"):
            return {**arguments, "pool": None}
        board = self.leaderboard_
        return {
            **arguments,
            "pool": writer.put(self.pool_),
            "leaderboard": plain(board if isinstance(board, list) else board.to_dict("records"), "leaderboard_"),
            "weights": plain(self.weights_, "weights_"),
            "first_stage_errors": plain(self.first_stage_errors_, "first_stage_errors_"),
            "cut_short": bool(self.cut_short_),
            "summary": self.explain(),
        }

    @classmethod
    def from_stored(cls, stored: Stored, reader: Reader) -> Part:
        """Read an estimator from a model file; every value is checked."""
        params = read_arguments(stored, reader)
        if not isinstance(params["preset"], Preset):
            known("preset", params["preset"], PRESETS)
        known("metric", params["metric"], METRICS)
        n_threads(params["n_jobs"])
        of_type(params, "verbose", int)
        estimator = cls(**params)
        pool = reader.maybe(stored["pool"], ("pool",))
        if pool is None:
            return Part(estimator)
        board = list_of(stored, "leaderboard", dict)
        if not all(isinstance(value, PLAIN) for line in board for value in line.values()):
            raise TypeError("leaderboard must hold numbers and text")
        weights, errors = (
            {k: float(v) for k, v in mapping(stored, name).items()} for name in ("weights", "first_stage_errors")
        )
        if list(weights.values()) != pool.value.weights.tolist():
            raise ValueError("weights must be those of the pool")
        summary, cut_short = of_type(stored, "summary", str), of_type(stored, "cut_short", bool)
        return Part(estimator._with_pool(pool.value, board, weights, errors, cut_short, summary))

    def _distribution_blocks(self, X: Any, grid: int | str = "auto", verbose: int = 0) -> Iterator[Distribution]:
        matrix = self.encode(X)
        n_points = _POINTS if grid == "auto" else check_count("grid", grid, 2)
        threads, verbose = n_threads(self.n_jobs), max(verbose, self.verbose)
        for rows, labels in self._blocks(X, matrix):
            yield self.pool_.distribution(rows, n_points, labels, threads, verbose)

    @with_paragraphs(**SHARED)
    def sample(self, X: Any, n_samples: int, seed: int | None = None, first_row: int = 0) -> Array:
        """Draw samples of y for each row.

        Parameters
        ----------
        {sampled}

        Returns
        -------
        ndarray of shape (n_samples, n) or (n_samples, n, d)
            Samples; two axes if ``y`` was one-dimensional.
        """
        matrix = self.encode(X)
        key, threads = sample_key(n_samples, seed, first_row), n_threads(self.n_jobs)
        if self.pool_.samples_distribution:
            distribution = self.pool_.distribution(matrix, _POINTS, threads=threads, verbose=self.verbose)
            assert isinstance(distribution, PredictiveDistribution)
            return distribution.sample(n_samples, seed, first_row)
        values = self.pool_.sample(matrix, n_samples, key, first_row, threads, self.verbose)
        return self.pool_.first.response.squeeze(values)


def _frame(leaderboard: list[dict[str, Any]]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return leaderboard
    return pd.DataFrame(leaderboard)
