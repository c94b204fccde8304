"""AutoDiffGBM: chooses first-stage models, recipes and sizes by itself, and pools the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from diffgbm._util.docs import fill_docstring, with_paragraphs
from diffgbm._util.errors import check_count, known
from diffgbm._util.parallel import n_threads
from diffgbm._util.types import Array
from diffgbm.auto.compression import Compression, compressed, reference_rows
from diffgbm.auto.fitting import fit_automatically
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.auto.pooled_uncertainty import pooled_submodels
from diffgbm.auto.presets import PRESETS, Preset
from diffgbm.data.frames import series_like
from diffgbm.data.records import REPEATS
from diffgbm.data.response import read_response
from diffgbm.data.structure import read_structure
from diffgbm.distributions import Distribution, PredictiveDistribution
from diffgbm.distributions.uncertainty import Uncertainty
from diffgbm.estimators.base import ROWS_AT_ONCE, SHARED, DistributionalRegressor, sample_key
from diffgbm.estimators.preprocessing import (
    FOLDS,
    check_preprocess,
    compressed_folds,
    fit_folds,
    fold_uncertainty,
    raw_columns,
    raw_rows,
    read_folds,
    structure_of,
    summary_of_folds,
    write_folds,
)
from diffgbm.estimators.search_record import SearchRecord, as_frame, rows_of
from diffgbm.fitting.limits import check_supports
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.submodels import Submodels
from diffgbm.members.argument import read_members
from diffgbm.persistence.arguments import read_arguments, write_arguments
from diffgbm.persistence.store import Part, Reader, Writer
from diffgbm.persistence.values import Stored, mapping, of_type

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
        limits must lower it, and neither may cost coverage, which is randomised at such values. With True, a response
        of whole numbers that takes many values is predicted as whole numbers.
    recalibrate : bool, default=True
        Correct the distributions by their held-out PIT values, if that brings coverage closer to nominal without
        raising the CRPS.
    n_jobs : int, default=-1
        Threads, at most; -1 takes all cores. Beside other work LightGBM gets as many as help.
    seed : int or None
        Seed of everything random in ``fit``. The same seed gives the same model, unless the time limit ends the search.
    verbose : int, default=0
        1 shows on a terminal or in a notebook what is being done and how much of the time limit is used. 2 writes a
        line for each stage where there is neither.
    repeats : {"auto", "together", "independent"}, default="auto"
        How rows that occur several times are treated, as in ``DiffGBM``; ``explain()`` says what was found. Unless
        "independent", up to ten rows of equal ``X`` also stay in one fold of the first-stage models.
    support : "auto", (low, high) or None, default="auto"
        Where the response can be; an end may be None, which is open: ``(0, None)`` for prices. No sample, quantile,
        mean or interval lies outside. "auto" keeps predictions of a response that is never negative at zero or above
        (with ``discrete="auto"``); None leaves that to you. Limits have a probability of their own only where
        responses pile up. Several responses have the same, or a list of one for each.
    preprocess : transformer, optional
        Any transformer of scikit-learn's kind for raw rows: ``ColumnTransformer``, ``Pipeline``, ``TargetEncoder``. It
        is fitted inside folds: four models, each with its transformer, learn from three quarters of the rows, share the
        time limit and are mixed. Held-out scores and recalibration use the quarter that neither a model nor its
        transformer has seen. For one response, without ``time``.
    members : list of estimators or of pairs (name, estimator), optional
        Estimators of other packages that join the pool, not fitted: CatBoost, NGBoost, quantile-forest, skpro, TabPFN,
        TabICL, any regressor. They are cloned, fitted to the rows of each bag, and get the weight that predicts
        held-out rows best. They see encoded numbers (``docs/members.md``) and have about a third of the time. A member
        that fails is left out with a warning. For one response.

    Attributes
    ----------
    pool_ : PooledModel
        The fitted pool; with ``preprocess`` there is ``preprocessed_`` instead, with a transformer and a model for each
        fold.
    leaderboard_ : DataFrame, or list of dict without pandas
        One row for each candidate: its held-out CRPS (also in standard deviations of the response), its weight in the
        pool, what became of it, rows and seconds. Final models come first, the best one on top; then those that were
        dropped, the latest first. Scores of candidates that were dropped earlier are those of fewer rows.
    weights_ : dict
        Weight of each member of the pool.
    oob_distribution_ : PredictiveDistribution or JointDistribution
        Distributions of the training rows ``oob_rows_``, from bags that held them out. Of several responses only the
        marginals count: candidates are compared by the CRPS of each, and how responses depend is not kept.
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
    compression_: Compression

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
        preprocess: Any = None,
        support: Any = "auto",
        members: Any = None,
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
        self.preprocess = preprocess
        self.support = support
        self.members = members

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
        {structure}

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
        check_supports(self.support)
        members = read_members(self.members)
        if members and read_response(y)[1].shape[1:] not in ((), (1,)):
            raise ValueError("members work with one response; leave them out, or fit one model for each response.")
        if self.seed is not None:
            check_count("seed", self.seed, 0)
        if self.preprocess is not None:
            limit = preset.time_limit if limit is None else float(limit)
            check_preprocess(self.preprocess, y, time, cat_idx)
            return self._fit_preprocessed(X, y, sample_weight, groups, limit)
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
            support=self.support,
            members=members,
        )
        self.oob_distribution_, self.oob_rows_ = result.out_of_bag, result.rows
        return self._with_pool(result.pool, SearchRecord.of_fit(result))

    def _fit_preprocessed(self, X: Any, y: Any, sample_weight: Any, groups: Any, limit: float) -> AutoDiffGBM:
        """Fit a transformer and a model in each fold."""
        table, given = read_structure(X, groups, None)
        structure = structure_of(table, y, given.labels, known("repeats", self.repeats, REPEATS))
        seeds = np.random.SeedSequence(self.seed).generate_state(FOLDS + 1) >> 1
        params = self.get_params(deep=False) | {"preprocess": None, "recalibrate": False, "time_limit": limit / FOLDS}

        def make(k: int) -> AutoDiffGBM:
            return type(self)(**(params | {"seed": int(seeds[k])}))

        self._forget()
        self.preprocessed_, out_of_fold = fit_folds(
            make, self.preprocess, table, y, sample_weight, structure, int(seeds[FOLDS]), self.recalibrate
        )
        self.oob_distribution_, self.oob_rows_ = out_of_fold, np.arange(len(out_of_fold))
        summary = summary_of_folds(self.preprocessed_, out_of_fold, y, sample_weight, structure)
        self._record = SearchRecord.of_folds((fold.model._record for fold in self.preprocessed_.folds), summary)
        self._remember_raw(*raw_columns(table))
        return self

    def _remember_raw(self, n_columns: int, names: Sequence[Any] | None) -> None:
        """Set ``n_features_in_`` and ``feature_names_in_`` to those of rows before ``preprocess``."""
        self.n_features_in_ = n_columns
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _forget(self) -> None:
        """Remove the model of an earlier fit with or without ``preprocess``."""
        for name in ("pool_", "preprocessed_"):
            if hasattr(self, name):
                delattr(self, name)

    def _with_pool(self, pool: PooledModel, record: SearchRecord) -> AutoDiffGBM:
        """Set the fitted attributes from a pool and the record of its search."""
        self._forget()
        self.pool_, self._record = pool, record
        self._remember_columns()
        return self

    @property
    def _record(self) -> SearchRecord:
        """What is remembered of the search, which users read and may change as attributes."""
        rows = rows_of(self.leaderboard_)
        return SearchRecord(rows, self.weights_, self.first_stage_errors_, self.cut_short_, self._summary)

    @_record.setter
    def _record(self, record: SearchRecord) -> None:
        self.leaderboard_ = as_frame(record.leaderboard)
        self.weights_, self.first_stage_errors_ = record.weights, record.first_stage_errors
        self.cut_short_, self._summary = record.cut_short, record.summary

    def explain(self) -> str:
        """Say in a few sentences how well the model predicts unseen rows, and what was chosen."""
        check_is_fitted(self)
        return self._summary

    def compress(self, X: Any = None, tolerance: float = 0.01) -> AutoDiffGBM:
        """Return a smaller model, which predicts nearly the same distributions in a fraction of the time.

        Bags and members are left out, and samplers and first-stage models made smaller, while the CRPS rises by less
        than ``tolerance``, and central intervals keep their probability to 0.01. Both are measured against the
        distributions of this model: no responses are needed. If fewer bags cover less, they are recalibrated.
        ``explain()`` of the result says what was saved, and ``compression_`` has the numbers; it is not in files.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), optional
            Rows to compare on, such as the training rows; 512 of them at most. By default the training rows that the
            model keeps as a reference, where all columns are numbers or categories.
        tolerance : float, default=0.01
            Largest rise of the CRPS, as a share.

        Returns
        -------
        AutoDiffGBM
            A fitted model; this one stays as it is. It has no ``oob_distribution_``.
        """
        check_is_fitted(self)
        if not isinstance(tolerance, (int, float, np.floating)) or not 0.0 < tolerance < 1.0:
            raise ValueError(f"tolerance must be a number between 0 and 1, such as 0.01; got {tolerance!r}.")
        smaller = copy(self)
        for name in ("oob_distribution_", "oob_rows_"):
            smaller.__dict__.pop(name, None)
        if hasattr(self, "preprocessed_"):
            smaller.preprocessed_, smaller.compression_ = compressed_folds(self.preprocessed_, X, float(tolerance))
            smaller._summary = f"{self._summary} {smaller.compression_}"
            return smaller
        rows = reference_rows(self.pool_) if X is None else self.encode(X)
        smaller.pool_, found = compressed(self.pool_, rows, float(tolerance), n_threads(self.n_jobs))
        names, members = list(self.weights_), len(found.kept)
        left = [name for name, bags in zip(names[:members], found.kept, strict=True) if bags]
        # climatology, if it has a weight, is the last name and stays
        smaller.weights_ = dict(zip(left + names[members:], smaller.pool_.shares.tolist(), strict=True))
        smaller.compression_, smaller._summary = found, f"{self._summary} {found}"
        return smaller

    def fitted_models(self) -> tuple[FittedModel, ...]:
        """Return the members of the pool; with ``preprocess``, those of all folds."""
        if hasattr(self, "preprocessed_"):
            return tuple(model for fold in self.preprocessed_.folds for model in fold.model.fitted_models())
        return self.pool_.members

    def _details(self) -> dict[str, Any]:
        return {"chosen": self.explain()}

    def to_stored(self, writer: Writer) -> dict[str, Any]:
        """Return what a model file holds of this estimator: its arguments, its pool and the record of the search."""
        arguments = write_arguments(self.get_params(deep=False), writer)
        if hasattr(self, "preprocessed_"):
            names = getattr(self, "feature_names_in_", None)
            folds = write_folds(self.preprocessed_, self.n_features_in_, names, writer)
            fitted: dict[str, Any] = {"pool": None, "preprocessed": folds}
        elif hasattr(self, "pool_"):
            fitted = {"pool": writer.put(self.pool_)}
        else:
            return {**arguments, "pool": None}
        return {
            **arguments,
            **fitted,
            **self._record.to_stored(),
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
        folds = stored.get("preprocessed")
        if pool is None and folds is None:
            return Part(estimator)
        record = SearchRecord.from_stored(stored)
        if pool is None:
            found = read_folds(mapping(stored, "preprocessed"), cls.stored_as, reader)
            estimator.preprocessed_, estimator._record = found[0], record
            estimator._remember_raw(*found[1:])
            return Part(estimator)
        if list(record.weights.values()) != pool.value.shares.tolist():
            raise ValueError("weights must be those of the pool")
        return Part(estimator._with_pool(pool.value, record))

    def encode(self, X: Any) -> Array:
        """Encode rows as the fitted models read them; impossible with ``preprocess``, where each fold has its own."""
        if hasattr(self, "preprocessed_"):
            raise TypeError(
                "encode and explain_rows have no answer with preprocess: the models of the folds read different "
                "columns. Transform X before fit, or explain predict by a method that takes any function of raw rows."
            )
        return super().encode(X)

    def _distribution_blocks(self, X: Any, grid: int | str = "auto", verbose: int = 0) -> Iterator[Distribution]:
        if hasattr(self, "preprocessed_"):
            X = self._raw(X)
            for fold in self.preprocessed_.folds:
                fold.model.set_threads(self.n_jobs)
            for first in range(0, _num_samples(X), ROWS_AT_ONCE):
                rows = np.arange(first, min(first + ROWS_AT_ONCE, _num_samples(X)))
                yield self.preprocessed_.distribution(_safe_indexing(X, rows), grid, verbose)
            return
        matrix = self.encode(X)
        n_points = _POINTS if grid == "auto" else check_count("grid", grid, 2)
        threads, verbose = n_threads(self.n_jobs), max(verbose, self.verbose)
        for rows, labels in self._blocks(X, matrix):
            yield self.pool_.distribution(rows, n_points, labels, threads, verbose)

    def _warm_up(self) -> None:
        if hasattr(self, "preprocessed_"):
            super()._warm_up()
        else:
            self.pool_.distribution(self._missing_values(), _POINTS).interval(0.9)

    def _models_inside(self) -> Sequence[DistributionalRegressor]:
        return [fold.model for fold in self.preprocessed_.folds] if hasattr(self, "preprocessed_") else [self]

    def submodels(self, X: Array) -> Submodels:
        """Predict encoded rows (n, p) by the submodels of all members of the pool."""
        return pooled_submodels(self.pool_, X, n_threads(self.n_jobs))

    def uncertainty_parts(self, X: Any) -> Uncertainty:
        """Return what ``predict_uncertainty`` returns, as a value also if ``X`` is a frame."""
        if not hasattr(self, "preprocessed_"):
            return super().uncertainty_parts(X)
        return fold_uncertainty(self.preprocessed_, self._raw(X))

    def predict_novelty(self, X: Any) -> Any:
        """Say how unlike the training rows a row is, as ``DiffGBM.predict_novelty``.

        With ``preprocess`` rows are compared with those of the first fold, after its transformer.
        """
        if not hasattr(self, "preprocessed_"):
            return super().predict_novelty(X)
        fold = self.preprocessed_.folds[0]
        return series_like(X, "novelty", np.asarray(fold.model.predict_novelty(fold.rows(self._raw(X)))))

    def _raw(self, X: Any) -> Any:
        """Return the raw rows that ``preprocess`` reads."""
        check_is_fitted(self)
        return raw_rows(X, self.n_features_in_, getattr(self, "feature_names_in_", None))

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
        if hasattr(self, "preprocessed_"):
            sample_key(n_samples, seed, first_row)
            found = self.predict_distribution(X)
            assert isinstance(found, PredictiveDistribution)
            return found.sample(n_samples, seed, first_row)
        matrix = self.encode(X)
        key, threads = sample_key(n_samples, seed, first_row), n_threads(self.n_jobs)
        if self.pool_.samples_distribution:
            distribution = self.pool_.distribution(matrix, _POINTS, threads=threads, verbose=self.verbose)
            return distribution.sample(n_samples, seed, first_row)
        values = self.pool_.sample(matrix, n_samples, key, first_row, threads, self.verbose)
        return self.pool_.first.response.squeeze(values)
