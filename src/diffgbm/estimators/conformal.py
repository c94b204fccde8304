r"""Calibration: intervals with a finite-sample guarantee, and laws corrected by their own track record.

Conformalised quantile regression: with the scores

.. math:: E_i = \max\{q_{lo}(x_i) - y_i,\ y_i - q_{hi}(x_i)\}

of ``n`` rows that the model has not seen, the interval :math:`[q_{lo}(x) - E,\ q_{hi}(x) + E]`, ``E`` the
:math:`\lceil (n + 1)\,c \rceil`-th smallest score, covers a new row with probability at least ``c``, whatever the
model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples, check_is_fitted

from diffgbm._util.errors import check_count, known
from diffgbm._util.types import Array
from diffgbm.data.response import read_response
from diffgbm.data.splits import holdout, k_folds
from diffgbm.distributions import IntervalKind, PredictiveDistribution
from diffgbm.estimators.base import DistributionMethods
from diffgbm.estimators.diffgbm import DiffGBM

METHODS = ("split", "cv")
ONE_RESPONSE = "ConformalDiffGBM calibrates one response; fit one of them for each column of y."


@dataclass(frozen=True)
class Groups:
    """How rows are put into groups: by edges of a number, or by the values of a category."""

    column: int | str | None
    edges: Array | None
    values: tuple[Any, ...]

    def of(self, X: Any, distribution: PredictiveDistribution) -> NDArray[np.intp]:
        """Group of each row; a category that calibration never saw is -1, a missing number a group of its own."""
        if self.column is None:
            return np.zeros(len(distribution), dtype=np.intp)
        values = grouped_by(self.column, X, distribution)
        if self.edges is not None:
            number = np.asarray(values, dtype=np.float64)
            return np.where(np.isnan(number), len(self.edges) + 1, np.searchsorted(self.edges, number))
        lookup = {value: i for i, value in enumerate(self.values)}
        return np.array([lookup.get(_label(value), -1) for value in values], dtype=np.intp)

    @classmethod
    def learn(
        cls, column: int | str | None, Xs: list[Any], distributions: list[PredictiveDistribution], n_groups: int
    ) -> Groups:
        """Learn the groups from all calibration rows: quantiles of a number, or the values of a category."""
        if column is None:
            return cls(None, None, ())
        values = np.concatenate(
            [grouped_by(column, X, distribution) for X, distribution in zip(Xs, distributions, strict=True)]
        )
        if values.dtype.kind in "fiu":
            number = values[~np.isnan(values)].astype(np.float64)
            if column == "spread" or len(np.unique(number)) > n_groups:
                return cls(column, np.quantile(number, np.arange(1, n_groups) / n_groups), ())
        return cls(column, None, tuple(sorted({_label(value) for value in values}, key=str)))


def conformal_offset(scores: Array, coverage: float, group: str = "") -> float:
    r"""The :math:`\lceil (n + 1)\,c \rceil`-th smallest score, or an error if there are too few for the level."""
    n = len(scores)
    rank = int(np.ceil((n + 1) * coverage - 1e-12))
    if rank > n:
        enough = int(np.ceil(coverage / (1.0 - coverage) - 1e-9))
        raise ValueError(
            f"coverage={coverage:g} needs at least {enough} calibration rows{group}; there are {n}. "
            "Calibrate on more rows, use fewer groups, or ask for less coverage."
        )
    return float(np.partition(scores, rank - 1)[rank - 1])


class ConformalDiffGBM(DistributionMethods, RegressorMixin, BaseEstimator):
    """Use this if intervals must have a coverage guarantee: conformal calibration of a distributional regressor.

    Parameters
    ----------
    estimator : estimator with ``predict_distribution``, optional
        ``DiffGBM()`` if left out. Scalar responses only.
    method : {"split", "cv"}, default="split"
        Hold out ``calibration_size`` of the rows, or cross-fit: ``cv`` models, each row's score from the model that has
        not seen it (CV+). Split guarantees ``coverage``; CV+ uses all rows and guarantees ``2 coverage - 1``, in
        practice ``coverage``.
    calibration_size : float, default=0.25
        Share of the rows held out by ``"split"``.
    cv : int, default=5
        Folds of ``"cv"``.
    groups : None, "spread", or a column of X (name or position)
        Calibrate within groups, so that each of them is covered: by predicted interquartile range, or by a column.
    n_groups : int, default=5
        Number of groups a number is cut into.
    recalibrate : bool, default=False
        Also correct the whole law: ``F`` becomes ``G(F)``, ``G`` the distribution of the held-out PIT values.
    seed : int or None
        Seed of the split.

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
    """

    def __init__(
        self,
        estimator: Any = None,
        method: str = "split",
        calibration_size: float = 0.25,
        cv: int = 5,
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

    def fit(self, X: Any, y: Any, **fit_params: Any) -> ConformalDiffGBM:
        """Fit the estimator on part of the rows (or on folds) and calibrate it on the others."""
        if read_response(y)[1].shape[1:] not in ((), (1,)):
            raise ValueError(ONE_RESPONSE)
        base = DiffGBM() if self.estimator is None else self.estimator
        seed = int(np.random.SeedSequence(self.seed).generate_state(1)[0] >> 1)
        n_rows = _num_samples(X)
        if known("method", self.method, METHODS) == "split":
            splits = [holdout(n_rows, self.calibration_size, seed)]
        else:
            check_count("cv", self.cv, 2)
            splits = k_folds(n_rows, self.cv, seed)
        models, parts = [], []
        for train, held_out in splits:
            own = _check_method_params(X, fit_params, indices=train)
            model = clone(base).fit(_safe_indexing(X, train), _safe_indexing(y, train), **own)
            models.append(model)
            parts.append((_safe_indexing(X, held_out), _safe_indexing(y, held_out)))
        return self._calibrate(models, parts)

    def calibrate(self, X: Any, y: Any) -> ConformalDiffGBM:
        """Calibrate an estimator that is already fitted, on rows that it has not seen."""
        check_is_fitted(self.estimator)
        return self._calibrate([self.estimator], [(X, y)])

    def _calibrate(self, models: list[Any], parts: list[tuple[Any, Any]]) -> ConformalDiffGBM:
        check_count("n_groups", self.n_groups, 1)
        self.models_ = models
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
        self.n_features_in_ = getattr(models[0], "n_features_in_", None)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write models and calibration to one compressed file, whole or not at all; ``diffgbm.load`` reads it.

        The models must be ``DiffGBM`` or ``AutoDiffGBM``.
        """
        from diffgbm.persistence.files import save

        check_is_fitted(self)
        save(self, path)

    def predict(self, X: Any) -> Array:
        """Mean of the predictive law."""
        return self._map_distributions(X, lambda distribution: distribution.mean())

    def predict_interval(self, X: Any, coverage: float = 0.9, kind: IntervalKind = "central") -> Any:
        """Interval that covers a new row with probability at least ``coverage`` (see the class for CV+).

        Returns
        -------
        ndarray of shape (n, 2), or a frame with columns ``lower`` and ``upper``
        """
        check_is_fitted(self)
        distributions = [_scalar(model.predict_distribution(X)) for model in self.models_]
        ends = [distribution.interval(coverage, kind) for distribution in distributions]
        scores = [self._scores(k, coverage, kind) for k in range(len(distributions))]
        out = np.empty((len(distributions[0]), 2))
        group = np.column_stack([self.groups_.of(X, distribution) for distribution in distributions])
        if (group < 0).any():
            raise ValueError(f"X column {self.groups!r} has values that calibration never saw: no interval for them.")
        # with several folds a row's group may differ between them; the first fold's decides
        for g in np.unique(group[:, 0]):
            rows = group[:, 0] == g
            members = [s[own == g] for s, own in zip(scores, self.group_, strict=True)]
            label = "" if self.groups is None else f" in group {g} of {self.groups!r}"
            out[rows] = _conformal(members, [e[rows] for e in ends], coverage, label)
        # a law far too wide may be narrowed to less than nothing: what is left then is its middle
        turned = out[:, 0] > out[:, 1]
        out[turned] = out[turned].mean(axis=1, keepdims=True)
        return self._table(X, out, ["lower", "upper"])

    def _scores(self, k: int, coverage: float, kind: IntervalKind) -> Array:
        low, high = self.distributions_[k].interval(coverage, kind).T
        return np.maximum(low - self.observed_[k], self.observed_[k] - high)

    def _distribution_blocks(
        self, X: Any, grid: int | str = "auto", verbose: int = 0
    ) -> Iterator[PredictiveDistribution]:
        check_is_fitted(self)
        distributions = [_scalar(model.predict_distribution(X, grid=grid, verbose=verbose)) for model in self.models_]
        distribution = distributions[0] if len(distributions) == 1 else _mixture(distributions)
        yield recalibrated(distribution, self.pit_) if self.recalibrate else distribution

    def _response_names(self) -> tuple[str, ...]:
        return (self.distributions_[0].name,)


def recalibrated(distribution: PredictiveDistribution, pit: Array, points: int = 50) -> PredictiveDistribution:
    r"""Correct a law by the distribution ``G`` of held-out PIT values: :math:`F \to G(F)`.

    ``G`` is read at no more than ``points`` levels and never more than a fifth of the PIT values, so that it follows
    the shape and not the noise; it is mixed with a little of the identity to stay strictly increasing.
    """
    n = len(pit)
    knots = np.linspace(0.0, 1.0, min(points, max(2, n // 5)) + 1)
    # the (0, 1) ends are exact; in between each value counts half at its own position
    reached = (np.searchsorted(np.sort(pit), knots, "left") + np.searchsorted(np.sort(pit), knots, "right")) / (2.0 * n)
    reached[0], reached[-1] = 0.0, 1.0
    share = 1.0 / (n + 1.0)
    levels = np.interp(distribution.levels, knots, (1.0 - share) * reached + share * knots)
    return PredictiveDistribution(distribution.values, levels, distribution.name, distribution.index)


def _conformal(scores: list[Array], ends: list[Array], coverage: float, label: str) -> Array:
    """Widen intervals by the scores of one model, or combine the folds' by CV+."""
    everyone = np.concatenate(scores)
    offset = conformal_offset(everyone, coverage, label)
    if len(ends) == 1:
        return ends[0] + np.array([-offset, offset])
    rank = int(np.ceil((len(everyone) + 1) * coverage - 1e-12)) - 1
    out = np.empty_like(ends[0])
    block = max(1, 4_000_000 // len(everyone))
    for i in range(0, len(out), block):
        part = slice(i, i + block)
        low = np.hstack([e[part, :1] - s for e, s in zip(ends, scores, strict=True)])
        high = np.hstack([e[part, 1:] + s for e, s in zip(ends, scores, strict=True)])
        out[part, 0] = -np.partition(-low, rank, axis=1)[:, rank]
        out[part, 1] = np.partition(high, rank, axis=1)[:, rank]
    return out


def _mixture(distributions: list[PredictiveDistribution]) -> PredictiveDistribution:
    """Equal mixture of laws with the same levels: all their points together."""
    return PredictiveDistribution.from_points(
        np.hstack([distribution.values for distribution in distributions]),
        distributions[0].name,
        distributions[0].index,
    )


def _scalar(distribution: Any) -> PredictiveDistribution:
    if not isinstance(distribution, PredictiveDistribution):
        raise ValueError(ONE_RESPONSE)
    return distribution


def grouped_by(column: int | str, X: Any, distribution: PredictiveDistribution) -> NDArray[Any]:
    """What rows are grouped by: their predicted spread, or a column of X."""
    return np.ptp(distribution.interval(0.5), axis=1) if column == "spread" else _column(X, column)


def _label(value: Any) -> Any:
    """Return a category as a plain value; what any library takes as missing is ``None``."""
    return None if value is None or str(value) in ("nan", "NaT", "<NA>") else value


def _column(X: Any, column: int | str) -> NDArray[Any]:
    try:
        return np.asarray(_safe_indexing(X, column, axis=1))
    except (ValueError, KeyError, IndexError) as error:
        raise ValueError(f"groups={column!r} is not a column of X: {error}") from None
