r"""ConformalDiffGBM: intervals with a finite-sample guarantee, and recalibrated distributions.

Conformalised quantile regression (CQR): with the scores

.. math:: E_i = \max\{q_{lo}(x_i) - y_i,\ y_i - q_{hi}(x_i)\}

of ``n`` rows that the model has not seen, the interval :math:`[q_{lo}(x) - E,\ q_{hi}(x) + E]`, where ``E`` is the
:math:`\lceil (n + 1)\,c \rceil`-th smallest score, covers a new exchangeable row with probability at least ``c``
for any model.

References
----------
Romano, Y., Patterson, E. and Candes, E. (2019). Conformalized quantile regression. Advances in Neural Information
Processing Systems, 32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from diffgbm._util.docs import with_paragraphs
from diffgbm._util.errors import check_count, kept_warnings, known
from diffgbm._util.types import Array
from diffgbm.data.features import FeatureTable
from diffgbm.data.records import find_records
from diffgbm.data.response import read_response
from diffgbm.data.splits import Split, check_splits, cross_validation_splits, holdout, k_folds
from diffgbm.data.structure import GivenStructure, Structure, check_groups, read_structure
from diffgbm.distributions import Distribution, IntervalKind, PredictiveDistribution
from diffgbm.distributions.base import coverages
from diffgbm.distributions.support import Support
from diffgbm.distributions.uncertainty import Uncertainty, stacked
from diffgbm.estimators.auto import AutoDiffGBM
from diffgbm.estimators.base import SHARED, DistributionalRegressor
from diffgbm.estimators.calibration import (
    Groups,
    conformal_intervals,
    mixture,
    read_distribution,
    recalibrated,
    write_distribution,
)
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.estimators.partial_fits import fit_options, fitted_part
from diffgbm.fitting.model import FittedModel
from diffgbm.fitting.submodels import cross_fitted_uncertainty
from diffgbm.persistence.arguments import read_arguments, write_arguments
from diffgbm.persistence.models import read_pit
from diffgbm.persistence.store import Part, Reader, Writer
from diffgbm.persistence.values import Stored, list_of

METHODS = ("split", "cv")
STORABLE = (DiffGBM.stored_as, AutoDiffGBM.stored_as)
"""Kinds of calibrated models that a model file can hold."""
UNCERTAIN_ROWS = 4096
"""Rows whose submodels are held at a time, divided by the number of models."""
ONE_RESPONSE = "ConformalDiffGBM calibrates one response; fit one of them for each column of y."


class ConformalDiffGBM(DistributionalRegressor):
    """Use this if intervals must have a coverage guarantee: conformal calibration of a distributional regressor.

    If you have a fitted model and rows that it has not seen, call ``ConformalDiffGBM(model).calibrate(X, y)``;
    otherwise ``fit`` does both. See "Conformal intervals" in the documentation.

    Parameters
    ----------
    estimator : estimator with ``predict_distribution``, optional
        The model to calibrate; ``DiffGBM()`` by default. One response only.
    method : {"split", "cv"}, default="split"
        ``"split"`` holds out ``calibration_size`` of the rows. ``"cv"`` cross-fits ``cv`` models and scores each row by
        the model that has not seen it (CV+). Split guarantees ``coverage``. CV+ uses all rows and guarantees
        ``2 coverage - 1``; in practice it attains about ``coverage``.
    calibration_size : float, default=0.25
        Share of the rows that ``"split"`` holds out.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of ``"cv"``; a model file holds their number.
    groups : None, "interquartile_range", or a column of X (name or position)
        Calibrate within groups, so that each of them is covered: by predicted interquartile range, or by a column.
    n_groups : int, default=5
        Number of groups of a numeric column.
    recalibrate : bool, default=False
        Also correct the whole distribution: ``F`` becomes ``G(F)``, where ``G`` is the distribution of the held-out PIT
        values.
    seed : int or None
        Seed of the split.

    Attributes
    ----------
    models_ : list of estimator
        The fitted models that predict new rows: one, or one per fold.
    distributions_, observed_ : list of PredictiveDistribution, list of ndarray
        Predictive distributions and responses of the calibration rows of each split.
    pit_ : ndarray of shape (m,)
        Sorted PIT values of all calibration rows.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import ConformalDiffGBM, DiffGBM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 1))
    >>> y = X[:, 0] * rng.standard_normal(400)
    >>> model = ConformalDiffGBM(DiffGBM.flow(n_estimators=30, seed=0), seed=0).fit(X, y)
    >>> model.predict_interval(X[:3], coverage=0.9).shape
    (3, 2)

    References
    ----------
    Romano, Y., Patterson, E. and Candes, E. (2019). Conformalized quantile regression. Advances in Neural Information
    Processing Systems, 32.

    Barber, R. F., Candes, E. J., Ramdas, A. and Tibshirani, R. J. (2021). Predictive inference with the jackknife+.
    The Annals of Statistics, 49(1), 486-507.
    """

    stored_as: ClassVar[str] = "conformal"

    def __init__(
        self,
        estimator: Any = None,
        method: str = "split",
        calibration_size: float = 0.25,
        cv: Any = 5,
        groups: int | str | None = None,
        n_groups: int = 5,
        recalibrate: bool = False,
        seed: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.calibration_size = calibration_size
        self.cv = cv
        self.groups = groups
        self.n_groups = n_groups
        self.recalibrate = recalibrate
        self.seed = seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def fit(self, X: Any, y: Any, *, groups: Any = None, time: Any = None, **fit_params: Any) -> ConformalDiffGBM:
        """Fit the estimator on part of the rows (or on folds) and calibrate it on the others.

        Parameters
        ----------
        X, y : array-like or frame of shape (n, p) and (n,)
            Rows and responses.
        groups, time : array-like of shape (n,) or str, optional
            What each row belongs to, and when it was observed, as in ``DiffGBM.fit``; the estimator gets them as well.
            No group is on both sides of a split. By time the last rows calibrate; with ``"cv"`` each window but the
            first is predicted by a model of its past, and new rows by a model of all rows. Not to be confused with
            the argument ``groups`` of the class, within which intervals are calibrated.
        **fit_params
            Other arguments of the estimator's ``fit``.
        """
        if read_response(y)[1].shape[1:] not in ((), (1,)):
            raise ValueError(ONE_RESPONSE)
        base = DiffGBM() if self.estimator is None else self.estimator
        table, given = read_structure(X, groups, time)
        structure = self._structure(base, table, y, fit_params.get("cat_idx"), given)
        models, parts = [], []
        options = fit_options(base, given, fit_params)
        X = X if options.get("groups") is given else table
        for train, held_out in self._splits(X, y, structure, given):
            models.append(fitted_part(base, X, y, train, options, structure))
            parts.append((_safe_indexing(X, held_out), _safe_indexing(y, held_out)))
        if given.order is None or len(models) == 1:
            return self._calibrate(models, parts)
        # models of early windows are out of date: a model of all rows predicts new ones
        return self._calibrate(
            models, parts, [fitted_part(base, X, y, np.arange(len(given.order)), options, structure)]
        )

    def _splits(self, X: Any, y: Any, structure: Structure, given: GivenStructure) -> Sequence[Split]:
        """Return the rows to learn from and those to calibrate on: one split, or several."""
        seed = int(np.random.SeedSequence(self.seed).generate_state(1)[0] >> 1)
        n_rows = _num_samples(X)
        if known("method", self.method, METHODS) == "split":
            return [holdout(n_rows, self.calibration_size, seed, structure)]
        if isinstance(self.cv, (int, np.integer)) or not (hasattr(self.cv, "split") or hasattr(self.cv, "__iter__")):
            check_groups(given.labels, check_count("cv", self.cv, 2), "cv")
            return k_folds(n_rows, self.cv, seed, structure)
        positions = np.arange(n_rows)[:, None]
        splits = cross_validation_splits(self.cv, positions, read_response(y)[1].ravel(), seed, structure)
        check_splits(splits, Structure(given.labels, given.order), "cv")
        return splits

    def _structure(self, base: Any, X: Any, y: Any, cat_idx: Any, given: GivenStructure) -> Structure:
        """Label rows that stay together: copies must not calibrate the model that was fitted to the other copies."""
        # other estimators may read tables that we cannot
        if given.labels is not None or given.order is not None or not isinstance(base, DistributionalRegressor):
            return Structure(given.labels, given.order)
        with kept_warnings():  # the fits issue them
            _, matrix = FeatureTable.learn(X, cat_idx, type(self).__name__)
        observed = read_response(y)[1].reshape(-1, 1)
        return Structure(find_records(matrix, observed, getattr(base, "repeats", "auto")).labels)

    def calibrate(self, X: Any, y: Any) -> ConformalDiffGBM:
        """Calibrate an estimator that is already fitted, on rows that it has not seen."""
        check_is_fitted(self.estimator)
        return self._calibrate([self.estimator], [(X, y)])

    def _calibrate(
        self, models: list[Any], parts: list[tuple[Any, Any]], predicting: list[Any] | None = None
    ) -> ConformalDiffGBM:
        """Calibrate by the rows that each model has not seen; ``predicting`` predict new rows, by default the same."""
        check_count("n_groups", self.n_groups, 1)
        self.models_ = models if predicting is None else predicting
        self.distributions_ = [
            _scalar(model.predict_distribution(X)) for model, (X, _) in zip(models, parts, strict=True)
        ]
        self.observed_ = [
            read_response(y)[1].reshape(len(distribution))
            for distribution, (_, y) in zip(self.distributions_, parts, strict=True)
        ]
        self.groups_ = Groups.learn(self.groups, [X for X, _ in parts], self.distributions_, self.n_groups)
        self.group_ = [
            self.groups_.of(X, distribution) for (X, _), distribution in zip(parts, self.distributions_, strict=True)
        ]
        pits = np.concatenate(
            [distribution.pit(y) for distribution, y in zip(self.distributions_, self.observed_, strict=True)]
        )
        self.pit_ = np.sort(pits)
        self._remember_columns()
        return self

    def _remember_columns(self) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.models_[0], name):
                setattr(self, name, getattr(self.models_[0], name))
            elif hasattr(self, name):
                delattr(self, name)

    def fitted_models(self) -> tuple[FittedModel, ...]:
        """Return the fitted models of all calibrated models."""
        return tuple(fitted for model in self.models_ for fitted in model.fitted_models())

    def response_names(self) -> tuple[str, ...]:
        """Return the name of the response."""
        return (self.distributions_[0].name,)

    def calibration_responses(self) -> Array:
        """Return the responses (m,) of the calibration rows."""
        return np.concatenate(self.observed_)

    def _details(self) -> dict[str, Any]:
        calibrated = f"{self.method}, on {len(self.calibration_responses()):,} rows"
        return {"calibrated": calibrated, **self.models_[0]._details()}

    def set_threads(self, n_jobs: int | None) -> ConformalDiffGBM:
        """Set the number of threads of each calibrated model; -1 takes all cores."""
        for model in self.models_:
            model.set_threads(n_jobs)
        return self

    @with_paragraphs(**SHARED)
    def sample(self, X: Any, n_samples: int, seed: int | None = None, first_row: int = 0) -> Array:
        """Draw samples of y for each row from ``predict_distribution``: shape (n_samples, n).

        Parameters
        ----------
        {sampled}

        Returns
        -------
        ndarray of shape (n_samples, n)
            Samples.
        """
        return _scalar(self.predict_distribution(X)).sample(n_samples, seed, first_row)

    def predict_interval(self, X: Any, coverage: float | Sequence[float] = 0.9, kind: IntervalKind = "central") -> Any:
        """Predict an interval that covers a new row with probability at least ``coverage`` (see the class for CV+).

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to predict.
        coverage : float or sequence of k floats
            Probability that the response is inside.
        kind : {"central", "highest_density"}
            Interval of the predictive distribution that is widened or narrowed.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper ends. If ``X`` is a frame: a frame with columns ``lower`` and ``upper``. Several coverages
            have shape (n, k, 2), and columns ``lower_0.5``, ``upper_0.5``, ...; each of them is guaranteed, but not
            all for the same row.
        """
        return self._interval_table(X, self._conformal_ends(X, coverage, kind), coverage)

    def interval_of(self, distribution: Distribution, X: Any, coverage: float | Sequence[float]) -> Array:
        """Return the conformal intervals (n, 2), which are not those of ``distribution``."""
        return self._conformal_ends(X, coverage, "central")

    def _conformal_ends(self, X: Any, coverage: float | Sequence[float], kind: IntervalKind) -> Array:
        check_is_fitted(self)
        share = coverages(coverage)
        distributions = [_scalar(model.predict_distribution(X)) for model in self.models_]
        ends = [self._widened(X, distributions, each, kind) for each in np.atleast_1d(share).tolist()]
        return np.stack(ends, axis=1) if share.ndim else ends[0]

    def _widened(
        self, X: Any, distributions: list[PredictiveDistribution], coverage: float, kind: IntervalKind
    ) -> Array:
        """Widen or narrow the intervals of the models' distributions by the scores of the calibration rows."""
        ends = [distribution.interval(coverage, kind) for distribution in distributions]
        scores = [self._scores(k, coverage, kind) for k in range(len(self.distributions_))]
        out = np.empty((len(distributions[0]), 2))
        group = np.column_stack([self.groups_.of(X, distribution) for distribution in distributions])
        if (group < 0).any():
            raise ValueError(
                f"X column {self.groups!r} has values that no calibration row has: there is no interval for them."
            )
        # with several folds a row's group may differ between them; the first fold decides
        for g in np.unique(group[:, 0]):
            rows = group[:, 0] == g
            group_scores = [s[of_rows == g] for s, of_rows in zip(scores, self.group_, strict=True)]
            label = "" if self.groups is None else f" in group {g} of {self.groups!r}"
            out[rows] = conformal_intervals(group_scores, [e[rows] for e in ends], coverage, label)
        # narrowing an interval that is far too wide may swap its ends: it becomes its midpoint
        swapped = out[:, 0] > out[:, 1]
        out[swapped] = out[swapped].mean(axis=1, keepdims=True)
        support = Support.union([distribution.support for distribution in distributions])
        return out if support is None or support.estimated else np.clip(out, support.low, support.high)

    def _scores(self, k: int, coverage: float, kind: IntervalKind) -> Array:
        low, high = self.distributions_[k].interval(coverage, kind).T
        return np.maximum(low - self.observed_[k], self.observed_[k] - high)

    def _models_inside(self) -> Sequence[DistributionalRegressor]:
        return [model for model in self.models_ if isinstance(model, DistributionalRegressor)]

    def uncertainty_parts(self, X: Any) -> Uncertainty:
        """Return what ``predict_uncertainty`` returns, as a value also if ``X`` is a frame.

        It is that of the calibrated model, before recalibration. Cross-fitted models are compared with each other as
        well as their submodels, each of them on the rows as it encodes them.
        """
        models = self._library_models("predict_uncertainty")
        if len(models) == 1:
            return models[0].uncertainty_parts(X)
        tables = [model.encode(X) for model in models]
        blocks = []
        for start in range(0, len(tables[0]), size := max(1, UNCERTAIN_ROWS // len(models))):
            rows = slice(start, start + size)
            blocks.append(
                cross_fitted_uncertainty(
                    [model.submodels(table[rows]) for model, table in zip(models, tables, strict=True)]
                )
            )
        return stacked(blocks, axis=0)

    def predict_novelty(self, X: Any) -> Any:
        """Say how unlike the training rows a row is: ``predict_novelty`` of the first calibrated model."""
        return self._library_models("predict_novelty")[0].predict_novelty(X)

    def _library_models(self, method: str) -> list[Any]:
        """Return the calibrated models; raise if they are none of this library."""
        check_is_fitted(self)
        if not all(isinstance(model, DistributionalRegressor) for model in self.models_):
            raise TypeError(
                f"{method} is a question to models of this library; estimator is a {type(self.models_[0]).__name__}. "
                "Calibrate a DiffGBM or an AutoDiffGBM."
            )
        return self.models_

    def _distribution_blocks(
        self, X: Any, grid: int | str = "auto", verbose: int = 0
    ) -> Iterator[PredictiveDistribution]:
        check_is_fitted(self)
        distributions = [_scalar(model.predict_distribution(X, grid=grid, verbose=verbose)) for model in self.models_]
        distribution = distributions[0] if len(distributions) == 1 else mixture(distributions)
        yield recalibrated(distribution, self.pit_) if self.recalibrate else distribution

    def to_stored(self, writer: Writer) -> dict[str, Any]:
        """Return what a model file holds: arguments, models and calibration rows without their labels.

        The models must be ``DiffGBM`` or ``AutoDiffGBM``.
        """
        params = self.get_params(deep=False)
        if not isinstance(self.cv, (int, np.integer)):
            params["cv"] = len(self.distributions_)
        return {
            "estimator": writer.put(params.pop("estimator")),
            **write_arguments(params, writer),
            "models": [writer.put(model) for model in self.models_],
            "distributions": [write_distribution(each, writer) for each in self.distributions_],
            "observed": [writer.array(np.asarray(y, dtype=np.float64)) for y in self.observed_],
            "group": [writer.array(np.asarray(group, dtype=np.int64)) for group in self.group_],
            **self.groups_.to_stored(),
            "pit": writer.array(self.pit_),
        }

    @classmethod
    def from_stored(cls, stored: Stored, reader: Reader) -> Part:
        """Read an estimator from a model file; every value is checked."""
        params = read_arguments(stored, reader)
        known("method", params["method"], METHODS)
        check_count("n_groups", params["n_groups"], 1)
        base = reader.maybe(stored["estimator"], STORABLE)
        estimator = cls(None if base is None else base.value, **params)
        models = [reader.part(i, STORABLE).value for i in list_of(stored, "models", int)]
        if not models or not all(hasattr(model, "n_features_in_") for model in models):
            raise ValueError("there are no fitted models")
        estimator.models_ = models
        estimator.distributions_ = [read_distribution(each, reader) for each in list_of(stored, "distributions", dict)]
        n = len(estimator.distributions_)
        # by time one model predicts new rows, and one for each window predicted the calibration rows
        if n == 0 or len(models) not in (1, n):
            raise ValueError("there must be calibration rows for each model")
        estimator.observed_ = reader.arrays(stored, "observed", "<f8", n)
        estimator.group_ = reader.arrays(stored, "group", "<i8", n)
        calibration = zip(estimator.distributions_, estimator.observed_, estimator.group_, strict=True)
        if any({len(distribution)} != {len(y), len(group)} for distribution, y, group in calibration):
            raise ValueError("there must be one observation and one group for each calibration row")
        estimator.groups_ = Groups.from_stored(stored, params["groups"])
        estimator.pit_ = read_pit(stored, reader)
        estimator._remember_columns()
        return Part(estimator)


def _scalar(distribution: Any) -> PredictiveDistribution:
    if not isinstance(distribution, PredictiveDistribution):
        raise ValueError(ONE_RESPONSE)
    return distribution
