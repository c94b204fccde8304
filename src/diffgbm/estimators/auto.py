"""AutoDiffGBM: the best predictive distribution without a decision of the user's. It arranges; it computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from diffgbm._util.errors import check_count, known
from diffgbm._util.parallel import n_threads
from diffgbm._util.types import Array
from diffgbm.auto.fitting import AutomaticFit, fit_automatically
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.auto.presets import PRESETS, Preset
from diffgbm.data.features import FeatureTable
from diffgbm.data.frames import row_index
from diffgbm.data.records import REPEATS
from diffgbm.distributions import Distribution, PredictiveDistribution
from diffgbm.estimators.base import DistributionMethods
from diffgbm.estimators.remembering import RemembersColumns

METRICS = ("crps",)
_POINTS = 377
"""Points of a law, shared by the members of the pool and their bags."""
_DISTRIBUTION_ROWS = 8192


class AutoDiffGBM(RemembersColumns, DistributionMethods, RegressorMixin, BaseEstimator):
    """Use this if you want good predictive distributions p(y | x) without tuning: the data choose everything.

    First-stage models, recipes and sizes are tried on a few rows; the best are trained on all rows in several bags,
    tried with other samplers, and pooled with the weights that predict unseen rows best. Nothing is judged on rows that
    it was trained on.

    Parameters
    ----------
    time_limit : float, optional
        Seconds that ``fit`` may take, about. Left out it is the preset's: 30, 150 or 600.
    preset : {"fast", "balanced", "best"} or Preset, default="balanced"
        How much is tried.
    metric : {"crps"}, default="crps"
        What decides.
    discrete : bool or "auto", default="auto"
        Keep predictions to the values of a response that has few, and within limits at which it piles up: always
        (True), never (False), or where that lowers the CRPS of unseen rows and leaves the coverage of their intervals
        as it was. Intervals that end on a value hold all of it and cover more than they say: where they would, "auto"
        gives each value a thousandth of the distance to the next as room, so that an interval holds it or not as
        often as it should.
    recalibrate : bool, default=True
        Correct the laws by their own track record on unseen rows where that brings coverage closer to nominal at no
        cost in CRPS.
    n_jobs : int, default=-1
        Threads; -1 takes all cores.
    seed : int or None
        Seed of everything random in ``fit``. The same seed gives the same model unless the time limit cut in.
    verbose : int, default=0
        1 shows what is going on.
    repeats : {"auto", "together", "independent"}, default="auto"
        What rows that occur several times are, as in ``DiffGBM``; ``explain()`` says what was found.

    Attributes
    ----------
    pool_ : PooledModel
        Everything that was learned.
    leaderboard_ : DataFrame, or list of dict without pandas
        What was tried, on how many rows, and how it scored on rows it had not seen.
    weights_ : dict
        Weights of the pool's members by what they are.
    oob_distribution_ : PredictiveDistribution or JointDistribution
        Laws of the training rows ``oob_rows_``, from bags that have not seen them.
    first_stage_errors_ : dict
        Out-of-fold root mean squared error of each first-stage model, in units of the response's standard deviation.
    cut_short_ : bool
        Whether the time limit left anything out.

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
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        # a time limit may end the search anywhere
        tags.non_deterministic = True
        return tags

    def fit(self, X: Any, y: Any, cat_idx: Sequence[int] | None = None, sample_weight: Any = None) -> AutoDiffGBM:
        """Choose and learn a model of p(y | x).

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Numbers and categories; values may be missing.
        y : array-like, Series or frame of shape (n,) or (n, d)
            Responses, all finite.
        cat_idx : sequence of int, optional
            Categorical columns of an array.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

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
        """Take a pool, and what is told of it, as one's own."""
        self.pool_ = pool
        self.leaderboard_ = _frame(leaderboard)
        self.weights_, self.first_stage_errors_ = weights, first_stage_errors
        self.cut_short_ = cut_short
        self._summary = summary
        self._remember_columns()
        return self

    def explain(self) -> str:
        """Say in two sentences what was chosen and how good it is on unseen rows."""
        check_is_fitted(self)
        return self._summary

    def _columns(self) -> FeatureTable:
        return self.pool_.first.features

    def _distribution_blocks(self, X: Any, grid: int | str = "auto", verbose: int = 0) -> Iterator[Distribution]:
        matrix, index = self._encode(X), row_index(X)
        n_points = _POINTS if grid == "auto" else check_count("grid", grid, 2)
        for first in range(0, len(matrix), _DISTRIBUTION_ROWS):
            rows = slice(first, first + _DISTRIBUTION_ROWS)
            labels = None if index is None else index[rows]
            yield self.pool_.distribution(
                matrix[rows], n_points, labels, n_threads(self.n_jobs), max(verbose, self.verbose)
            )

    def _response_names(self) -> tuple[str, ...]:
        return self.pool_.first.response_names

    def predict(self, X: Any) -> Array:
        """Predict the mean of p(y | x): shape (n,) or (n, d)."""
        return np.concatenate([distribution.mean() for distribution in self._distribution_blocks(X)])

    def sample(self, X: Any, n_samples: int, seed: int | None = None, first_row: int = 0) -> Array:
        """Draw samples of y for each row.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        n_samples : int
            Samples for each row.
        seed : int, optional
            Seed of the samples; ``None`` draws fresh ones.
        first_row : int
            Position of the first row in a longer table that is sampled in pieces.

        Returns
        -------
        ndarray of shape (n_samples, n) or (n_samples, n, d)
            Samples; two axes if ``y`` was one-dimensional.
        """
        matrix = self._encode(X)
        check_count("n_samples", n_samples, 1)
        check_count("first_row", first_row, 0)
        if seed is not None:
            check_count("seed", seed, 0)
        key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        if self.pool_.samples_distribution:
            distribution = self.pool_.distribution(
                matrix, _POINTS, threads=n_threads(self.n_jobs), verbose=self.verbose
            )
            assert isinstance(distribution, PredictiveDistribution)
            # interpolation between two points also draws values between atoms
            samples = distribution.sample(n_samples, seed, first_row)
            return self.pool_.confined_values(samples.T, self.pool_.jitter(matrix)).T
        values = self.pool_.sample(matrix, n_samples, key, first_row, n_threads(self.n_jobs), self.verbose)
        return self.pool_.first.response.squeeze(values)


def _frame(leaderboard: list[dict[str, Any]]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return leaderboard
    return pd.DataFrame(leaderboard)
