"""DistributionalRegressor: what all estimators of the library have in common."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from diffgbm._util.docs import with_paragraphs
from diffgbm._util.errors import check_count, warn
from diffgbm._util.parallel import n_threads
from diffgbm._util.types import Array
from diffgbm.data.file_format import TableReading
from diffgbm.data.frames import frame_like, row_index, series_like
from diffgbm.data.response import read_response
from diffgbm.data.schema import Schema
from diffgbm.distributions import Distribution, IntervalKind, concatenate
from diffgbm.distributions.base import interval_labels, quantile_labels
from diffgbm.estimators.insights import Insights
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.warm import warm_up
from diffgbm.persistence.files import write_file

Same = TypeVar("Same", bound="DistributionalRegressor")

ROWS_AT_ONCE = 8192
"""Rows whose distributions are held at a time (about 20 MB) by the methods that need a few numbers of each."""

SHARED = {
    "table": """
        X : array-like or frame of shape (n, p)
            Numbers, categories, text and dates; values may be missing. One-dimensional arrays are one column.
        y : array-like, Series or frame of shape (n,) or (n, d)
            Responses, all finite.
        cat_idx : sequence of int, optional
            Categorical columns of an array.
    """,
    "structure": """
        sample_weight : array-like of shape (n,), optional
            Weight of each row.
        groups : array-like of shape (n,) or str, optional
            What each row belongs to: a customer, a device, a patient. No split divides a group, so that held-out
            scores, weights of a pool and recalibration are those of new groups. The name of a column of ``X`` takes
            this column out of the features.
        time : array-like of shape (n,) or str, optional
            When each row was observed: numbers or dates. No split learns from the future: first-stage models are
            cross-fitted and candidates compared in expanding windows, and the last rows are held out for early
            stopping, pooling and recalibration. A column of ``X`` that is named stays a feature. Rows need not be
            sorted.
    """,
    "sampled": """
        X : array-like or frame of shape (n, p)
            Rows to predict.
        n_samples : int
            Samples for each row.
        seed : int, optional
            Seed of the samples; ``None`` draws new ones in each call.
        first_row : int
            Position of the first row in a longer table that is sampled block by block.
    """,
}
"""Paragraphs that docstrings of several estimators share."""


class DistributionalRegressor(Insights, RegressorMixin, BaseEstimator, ABC):
    """A regressor that predicts the whole distribution p(y | x).

    A subclass implements ``fitted_models``, ``sample`` and ``_distribution_blocks``. All other predictions follow from
    the predictive distributions. They are deterministic and do not depend on the other rows of the batch.

    Attributes
    ----------
    file_reading_ : TableReading or None
        How the training file was read, if the command line read it: later files are read the same way.
    """

    file_reading_: TableReading | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags

    # what a subclass implements

    @abstractmethod
    def fitted_models(self) -> tuple[FittedModel, ...]:
        """Return the fitted models inside; all of them were fitted to tables with the same columns."""

    @abstractmethod
    @with_paragraphs(**SHARED)
    def sample(self, X: Any, n_samples: int, *, seed: int | None = None, first_row: int = 0) -> Array:
        """Draw samples of y for each row: shape (n_samples, n) or (n_samples, n, d).

        Parameters
        ----------
        {sampled}
        """

    @abstractmethod
    def _distribution_blocks(self, X: Any, grid: int | str = "auto", verbose: int = 0) -> Iterator[Distribution]:
        """Yield the predictive distributions of consecutive blocks of rows."""

    # predictions

    def predict(self, X: Any) -> Array:
        """Predict the mean of p(y | x): shape (n,) or (n, d)."""
        return self._map_distributions(X, lambda distribution: distribution.mean())

    def predict_median(self, X: Any) -> Any:
        """Predict the median of p(y | x): shape (n,) or (n, d); a Series or a frame if ``X`` is a frame."""
        return self._labelled(X, "median", self._map_distributions(X, lambda distribution: distribution.median()))

    def predict_std(self, X: Any) -> Any:
        """Predict the standard deviation of p(y | x): shape (n,) or (n, d); a Series or a frame if ``X`` is a frame."""
        return self._labelled(X, "std", self._map_distributions(X, lambda distribution: distribution.std()))

    def predict_quantiles(self, X: Any, alpha: float | Sequence[float] = (0.05, 0.5, 0.95)) -> Any:
        """Predict quantiles of p(y | x); they never cross.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        alpha : float or sequence of k floats
            Levels.

        Returns
        -------
        ndarray of shape (n, k) or (n, d, k)
            Quantiles. If ``X`` is a frame: a frame with its row labels and columns ``q0.05``, ...
            (``name_q0.05`` for several responses).
        """
        levels = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
        values = self._map_distributions(X, lambda distribution: distribution.quantile(levels))
        return self._table(X, values, quantile_labels(levels))

    def predict_interval(self, X: Any, coverage: float | Sequence[float] = 0.9, kind: IntervalKind = "central") -> Any:
        """Predict the interval that holds ``coverage`` of p(y | x).

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        coverage : float or sequence of k floats
            Probability inside.
        kind : {"central", "highest_density"}
            Equal tail probabilities, or the shortest interval.

        Returns
        -------
        ndarray of shape (n, 2) or (n, d, 2)
            Lower and upper ends. If ``X`` is a frame: a frame with columns ``lower`` and ``upper``. Several coverages
            have shape (n, k, 2) or (n, d, k, 2), and columns ``lower_0.5``, ``upper_0.5``, ``lower_0.9``, ...
        """
        ends = self._map_distributions(X, lambda distribution: distribution.interval(coverage, kind))
        return self._interval_table(X, ends, coverage)

    def predict_cdf(self, X: Any, y: ArrayLike) -> Any:
        r"""Predict :math:`P(Y \le y \mid x)` at one value, at one value per row, or at a grid for each row (n, k)."""
        at = np.asarray(y, dtype=np.float64)
        if at.ndim == 0 or len(at) == 1 or (at.ndim == 1 and len(self.response_names()) > 1):
            values = self._map_distributions(X, lambda distribution: distribution.cdf(at))
        else:
            values = self._map_pairs(X, at, lambda distribution, at_rows: distribution.cdf(at_rows))
        return self._labelled(X, "cdf", values)

    def predict_dist(self, X: Any, **options: Any) -> Distribution:
        """Return the predictive distributions: another name for ``predict_distribution``."""
        return self.predict_distribution(X, **options)

    def predict_distribution(
        self,
        X: Any,
        n_samples: int | None = None,
        bandwidth: Any = None,
        verbose: bool | int = False,
        grid: int | str = "auto",
    ) -> Distribution:
        """Return the predictive distributions, deterministic and free of sampling error.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        n_samples : int, optional
            The released package's name for ``grid``.
        bandwidth : optional
            Ignored; scripts written for the released package may pass it. The density chooses its own bandwidth.
        verbose : bool
            Show a progress bar.
        grid : int or "auto"
            Points of each distribution. ``"auto"`` is 256 for deterministic samplers, 144 for stochastic ones and 512
            for joint distributions. The distribution function of one response is then within about 0.015 of its limit
            for many points.

        Returns
        -------
        PredictiveDistribution
            Distributions of all rows; a ``JointDistribution`` if ``y`` had two dimensions.
        """
        blocks = list(self._distribution_blocks(X, grid if n_samples is None else n_samples, int(verbose)))
        return concatenate(blocks)

    def interval_of(self, distribution: Distribution, X: Any, coverage: float | Sequence[float]) -> Array:
        """Return the intervals of ``predict_interval``, given the distributions of the same rows.

        Parameters
        ----------
        distribution : PredictiveDistribution or JointDistribution
            ``predict_distribution(X)``.
        X : array-like or frame of shape (n, p)
            The rows.
        coverage : float or sequence of k floats
            Probability inside.

        Returns
        -------
        ndarray of shape (n, 2) or (n, d, 2), with several coverages (n, k, 2) or (n, d, k, 2)
            Lower and upper ends of the central interval.
        """
        return distribution.interval(coverage)

    def warm_up(self: Same) -> Same:
        """Do the work of the first prediction now: load or compile kernels, and prepare the forests for the sampler.

        Later predictions, also those of other threads and of forked processes, find the prepared forests. A process
        keeps 512 MB of them at most, or as many megabytes as the environment variable ``DIFFGBM_PREPARED_MB`` says; the
        least recently used go first. Files and pickles do not hold them. Predictions are the same to the last bit.

        Returns
        -------
        DistributionalRegressor
            The estimator.
        """
        check_is_fitted(self)
        warm_up([model for each in self._models_inside() for model in each.fitted_models()], self._warm_up)
        return self

    def _warm_up(self) -> None:
        """Predict a row whose values are all missing."""
        for model in self._models_inside():
            model._warm_up()

    def _models_inside(self) -> Sequence[DistributionalRegressor]:
        """Return the estimators that predict for this one; itself if it needs no other."""
        return (self,)

    # scores

    def crps(self, X: Any, y: Any) -> Any:
        r"""Compute the CRPS of each row exactly: shape (n,) or (n, d).

        .. math:: \mathrm{CRPS}(F, y) = \int (F(z) - 1\{y \le z\})^2 \, dz

        References
        ----------
        Gneiting, T. and Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and estimation. Journal of
        the American Statistical Association, 102(477), 359-378.
        """
        observed = read_response(y)[1]
        values = self._map_pairs(X, observed, lambda distribution, y_rows: distribution.crps(y_rows))
        return self._labelled(X, "crps", values)

    def compute_nll(
        self, X: Any, y: Any, n_samples: int | None = None, bandwidth: Any = None, verbose: bool | int = False
    ) -> float:
        """Compute the negative log-likelihood of ``y``, summed over the rows.

        ``n_samples``, ``bandwidth`` and ``verbose`` are ignored; scripts for the released package may pass them.
        """

        def log_density(distribution: Any, y_rows: Array) -> Array:
            values: Array = distribution.logpdf(distribution.observations(y_rows))
            return values

        return -float(self._map_pairs(X, read_response(y)[1], log_density).sum())

    # facts about the fitted model

    @property
    def schema_(self) -> Schema:
        """How each column of the training table was read."""
        check_is_fitted(self)
        return Schema.of(self.fitted_models()[0].features)

    def response_names(self) -> tuple[str, ...]:
        """Return the names of the responses: those of the training table, or y, y0, y1, ..."""
        return self.fitted_models()[0].response_names

    def calibration_responses(self) -> Array | None:
        """Return the responses (m,) that the intervals were calibrated on; ``None`` if they were not calibrated."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return what ``diffgbm inspect`` shows: class, targets, columns, recipe, number of trees, ..."""
        models = self.fitted_models()
        features = models[0].features
        names = features.names or tuple(str(j) for j in range(features.n_features))
        return {
            "model": type(self).__name__,
            "targets": list(models[0].response_names),
            "columns": list(names),
            "categories": [name for name, levels in zip(names, features.levels, strict=True) if levels is not None],
            "schema": self.schema_.records(),
            "recipe": " & ".join(dict.fromkeys(str(model.recipe) for model in models)),
            **self._details(),
            "trees": [rounds for model in models for rounds in model.n_iterations],
        }

    def _details(self) -> dict[str, Any]:
        """Facts for ``describe`` that only this class has."""
        return {}

    def set_threads(self, n_jobs: int | None) -> DistributionalRegressor:
        """Set the number of threads that predictions use; -1 takes all cores."""
        n_threads(n_jobs)
        self.set_params(n_jobs=n_jobs)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one compressed file, whole or not at all; ``diffgbm.load`` reads it.

        The file holds data only and runs nothing when it is read. A loaded model draws the same samples to the last
        bit. The file holds everything but the out-of-bag distributions, which belong to the training rows.
        """
        check_is_fitted(self)
        write_file(self, path)

    # columns

    def _remember_columns(self) -> None:
        """Set ``n_features_in_`` and ``feature_names_in_``, by which scikit-learn knows the columns."""
        features = self.fitted_models()[0].features
        self.file_reading_ = None
        self.n_features_in_ = features.n_features
        if features.names is not None:
            self.feature_names_in_ = np.array(features.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def encode(self, X: Any) -> Array:
        """Encode rows as the fitted models read them, shape (n, p): categories as codes, missing values as NaN."""
        if not hasattr(self, "n_features_in_"):  # quicker than to look for all that is fitted
            check_is_fitted(self)
        features, owner = self.fitted_models()[0].features, type(self).__name__
        if features.names is not None and isinstance(X, np.ndarray):
            message = f"X does not have valid feature names, but {owner} was fitted with feature names"
            warn(message)
        return features.encode(X, owner, warns=True)

    def _missing_values(self) -> Array:
        """Return an encoded row (1, p) of which no value is known."""
        return np.full((1, self.fitted_models()[0].features.width), np.nan)

    @staticmethod
    def _blocks(X: Any, matrix: Array) -> Iterator[tuple[Array, Any]]:
        """Yield blocks of the encoded rows of ``X``, and their row labels if ``X`` is a frame."""
        index = row_index(X)
        for first in range(0, len(matrix), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            yield matrix[rows], None if index is None else index[rows]

    # arrays in, arrays or frames out

    def _map_distributions(self, X: Any, function: Callable[[Distribution], Array]) -> Array:
        """Apply ``function`` to the distributions of each block and join the results along the rows."""
        return np.concatenate([function(distribution) for distribution in self._distribution_blocks(X)])

    def _map_pairs(self, X: Any, values: Array, function: Callable[[Any, Array], Array]) -> Array:
        """Apply ``function`` to the distributions of each block and the same rows of ``values``; join the results."""
        parts, position = [], 0
        for distribution in self._distribution_blocks(X):
            rows = slice(position, position + len(distribution))
            position += len(distribution)
            if position <= len(values):
                parts.append(function(distribution, values[rows]))
        if position != len(values):
            raise ValueError(f"y must have one entry for each of the {position} rows of X; it has {len(values)}.")
        return np.concatenate(parts)

    def _labelled(self, X: Any, name: str, values: Array) -> Any:
        """Return one number per row as a Series, or several responses as a frame, if ``X`` is a frame."""
        if values.ndim == 1:
            return series_like(X, name, values)
        responses = self.response_names()
        if len(responses) == 1:  # a grid for each row
            return values
        frame = frame_like(X, {f"{r}_{name}": values[:, j] for j, r in enumerate(responses)})
        return values if frame is None else frame

    def _table(self, X: Any, values: Array, labels: Sequence[str]) -> Any:
        """Return a frame with one column for each label (and response) if ``X`` is a frame."""
        if values.ndim == 2:
            columns = dict(zip(labels, values.T, strict=True))
        else:
            names = self.response_names()
            columns = {f"{n}_{label}": values[:, j, k] for j, n in enumerate(names) for k, label in enumerate(labels)}
        frame = frame_like(X, columns)
        return values if frame is None else frame

    def _interval_table(self, X: Any, ends: Array, coverage: float | Sequence[float]) -> Any:
        """Return a frame with the ends of intervals (n, [d,] [k,] 2) if ``X`` is a frame."""
        flat = ends if np.ndim(coverage) == 0 else ends.reshape(*ends.shape[:-2], -1)
        table = self._table(X, flat, interval_labels(coverage))
        return ends if table is flat else table


def sample_key(n_samples: int, seed: int | None, first_row: int) -> int:
    """Check the arguments of ``sample`` and return the key of its random numbers."""
    check_count("n_samples", n_samples, 1)
    check_count("first_row", first_row, 0)
    if seed is not None:
        check_count("seed", seed, 0)
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
