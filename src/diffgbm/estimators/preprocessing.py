"""A transformer before an automatic model: fitted inside folds, so that no score comes from rows that it has seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from diffgbm._util.types import Array
from diffgbm.auto.acceptance import accepted_correction
from diffgbm.auto.compression import Compression
from diffgbm.auto.pooled_uncertainty import Move
from diffgbm.auto.recalibration import Correction
from diffgbm.auto.summary import CUT_SHORT, quality, reference_crps
from diffgbm.data.frames import row_index
from diffgbm.data.records import find_records
from diffgbm.data.response import read_response
from diffgbm.data.splits import k_folds
from diffgbm.data.structure import Structure
from diffgbm.distributions import PredictiveDistribution
from diffgbm.distributions.support import Support
from diffgbm.distributions.uncertainty import Uncertainty, stacked
from diffgbm.estimators.calibration import mixture
from diffgbm.fitting.submodels import cross_fitted_uncertainty
from diffgbm.persistence.models import read_correction, write_correction
from diffgbm.persistence.store import Reader, Writer
from diffgbm.persistence.values import Stored, count, list_of, of_type, plain

ROWS_AT_ONCE = 1024
"""Rows whose submodels are held at a time."""
FOLDS = 4
"""Parts of the rows. Each model and its transformer learn from all parts but one, and are scored on that one."""


@dataclass(frozen=True, eq=False)
class Fold:
    """A fitted transformer and the model that was fitted to what it returns.

    Attributes
    ----------
    transformer : object
        Fitted transformer of scikit-learn's kind.
    model : AutoDiffGBM
        The model.
    """

    transformer: Any
    model: Any

    def distribution(self, X: Any, grid: int | str = "auto", verbose: int = 0) -> PredictiveDistribution:
        """Predictive distributions of raw rows (n, p)."""
        found = self.model.predict_distribution(self.rows(X), grid=grid, verbose=verbose)
        assert isinstance(found, PredictiveDistribution)
        return found

    def rows(self, X: Any) -> Any:
        """Transform raw rows (n, p)."""
        try:
            return dense(self.transformer.transform(X))
        except Exception as error:
            raise ValueError(f"preprocess cannot transform these rows: {error}") from error


@dataclass(frozen=True, eq=False)
class PreprocessedModel:
    """The equal mixture of the models of all folds.

    Attributes
    ----------
    folds : tuple of Fold
        Transformers and models.
    correction : Correction or None
        Recalibrates the distributions.
    """

    folds: tuple[Fold, ...]
    correction: Correction | None

    def distribution(self, X: Any, grid: int | str = "auto", verbose: int = 0) -> PredictiveDistribution:
        """Predictive distributions of raw rows (n, p)."""
        found = mixture([fold.distribution(X, grid, verbose) for fold in self.folds])
        return replace(self.corrected(found), index=row_index(X))

    def corrected(self, distribution: PredictiveDistribution) -> PredictiveDistribution:
        """Recalibrate distributions and keep them to their limits."""
        if self.correction is None:
            return distribution
        found, support = self.correction(distribution), distribution.support
        return found if support is None else replace(found, values=np.clip(found.values, support.low, support.high))


def fit_folds(
    make: Callable[[int], Any],
    preprocess: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    structure: Structure,
    seed: int,
    recalibrate: bool,
) -> tuple[PreprocessedModel, PredictiveDistribution]:
    """Fit a clone of the transformer and a model in each fold; return their mixture and out-of-fold distributions.

    Parameters
    ----------
    make : callable
        Takes the number of a fold and returns an estimator that is not fitted.
    preprocess : transformer
        Has ``fit`` and ``transform``.
    X, y, sample_weight : array-like of shape (n, p), (n,) and (n,) or None
        The user's table.
    structure : Structure
        Rows that no fold divides.
    seed : int
        Seed of the folds.
    recalibrate : bool
        Whether out-of-fold distributions may recalibrate the mixture.
    """
    n, observed = _num_samples(X), read_response(y)[1].reshape(-1)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).reshape(-1)
    folds, parts, positions = [], [], []
    for k, (train, held_out) in enumerate(k_folds(n, min(FOLDS, n), seed, structure)):
        transformer = clone(preprocess)
        try:
            # not fit and transform: target encoders return values across folds of their own here
            rows = dense(_fit_transform(transformer, _safe_indexing(X, train), observed[train]))
        except Exception as error:
            raise ValueError(f"preprocess cannot be fitted: {error}") from error
        options = {} if weights is None else {"sample_weight": weights[train]}
        labels = None if structure.labels is None else structure.labels[train]
        folds.append(Fold(transformer, make(k).fit(rows, _safe_indexing(y, train), groups=labels, **options)))
        parts.append(folds[-1].distribution(_safe_indexing(X, held_out)))
        positions.append(held_out)
    order = np.argsort(np.concatenate(positions), kind="stable")
    support = Support.union([part.support for part in parts])
    values = np.concatenate([part.values for part in parts])[order]
    out_of_fold = PredictiveDistribution.from_points(values, parts[0].name, None, support)
    correction = None
    if recalibrate and (support is None or len(support.atoms) == 0):
        correction = accepted_correction(out_of_fold, observed, weights, seed, structure)
    return PreprocessedModel(tuple(folds), correction), out_of_fold


def fold_uncertainty(model: PreprocessedModel, X: Any) -> Uncertainty:
    """Decompose the uncertainty of raw rows (n, p) over the models of all folds and their submodels: arrays (n,)."""
    n = _num_samples(X)
    starts = range(0, n, ROWS_AT_ONCE)
    blocks = [_safe_indexing(X, np.arange(start, min(start + ROWS_AT_ONCE, n))) for start in starts]
    return stacked([_block_uncertainty(model, block) for block in blocks], axis=0)


def _block_uncertainty(model: PreprocessedModel, X: Any) -> Uncertainty:
    each = [fold.model.submodels(fold.model.encode(fold.rows(X))) for fold in model.folds]
    if model.correction is not None:
        before = mixture([fold.distribution(X) for fold in model.folds])
        move = Move(before.values, model.corrected(before).values - before.values)
        each = [found.changed(move) for found in each]
    return cross_fitted_uncertainty(each)


def compressed_folds(model: PreprocessedModel, X: Any, tolerance: float) -> tuple[PreprocessedModel, Compression]:
    """Compress the model of each fold on raw rows ``X`` or, if it is ``None``, on those that it keeps."""
    folds = [
        replace(fold, model=fold.model.compress(None if X is None else dense(fold.transformer.transform(X)), tolerance))
        for fold in model.folds
    ]
    return replace(model, folds=tuple(folds)), Compression.joined([fold.model.compression_ for fold in folds])


def check_preprocess(preprocess: Any, y: Any, time: Any, cat_idx: Any) -> None:
    """Raise if an argument ``preprocess`` is no transformer, or does not go together with the other arguments."""
    if isinstance(preprocess, type) or not (hasattr(preprocess, "fit") and hasattr(preprocess, "transform")):
        raise TypeError(f"preprocess must be a transformer with fit and transform, or None; got {preprocess!r}.")
    if read_response(y)[1].shape[1:] not in ((), (1,)):
        raise ValueError("preprocess works with one response; transform X before fit for several.")
    if time is not None:
        raise ValueError("preprocess does not work with time; transform X before fit, with what each row's past knows.")
    if cat_idx is not None:
        raise ValueError("cat_idx does not work with preprocess, which chooses the columns; let it return a frame.")


def structure_of(X: Any, y: Any, labels: Any, repeats: str) -> Structure:
    """Return the user's groups, or else the rows that are records of the same thing, by all values of raw rows."""
    if labels is not None or issparse(X):
        return Structure(labels)
    columns = [X[name] for name in X.columns] if hasattr(X, "columns") else np.asarray(X, dtype=object).T
    codes = [np.unique(np.asarray(column).astype(str), return_inverse=True)[1] for column in columns]
    matrix = np.column_stack(codes).astype(np.float64)
    return Structure(find_records(matrix, read_response(y)[1].reshape(-1, 1), repeats).labels)


def raw_columns(X: Any) -> tuple[int, list[Any] | None]:
    """Return the number of columns of raw rows, and their names if they have any."""
    names = list(X.columns) if hasattr(X, "columns") else None
    return (X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else len(X[0])), names


def raw_rows(X: Any, n_columns: int, names: Sequence[Any] | None) -> Any:
    """Check the columns of raw rows; a frame may have them in another order, and others."""
    found, available = raw_columns(X)
    if names is not None and available is not None:
        if missing := [name for name in names if name not in set(available)]:
            raise ValueError(f"X lacks columns that preprocess was fitted to: {', '.join(map(str, missing))}.")
        return X[list(names)]
    if found != n_columns:
        raise ValueError(f"X has {found} features, but preprocess was fitted to {n_columns}.")
    return X


def summary_of_folds(
    model: PreprocessedModel,
    out_of_fold: PredictiveDistribution,
    response: Any,
    sample_weight: Any,
    structure: Structure,
) -> str:
    """Say how good the mixture is on rows that its parts have not seen, and how it was fitted."""
    y = read_response(response)[1].reshape(-1, 1)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).reshape(-1)
    crps = float(np.average(out_of_fold.crps(y[:, 0]), weights=weights))
    reference = reference_crps(y, np.arange(len(y)), weights, np.ones(1))
    n = len(model.folds)
    sentences = [
        quality(out_of_fold.name, (crps, reference), 1.0),
        f"It mixes {n} models, each fitted with its own copy of preprocess to {n - 1} of {n} parts of the "
        "rows and scored on the other.",
    ]
    if model.correction is not None:
        sentences.append("Intervals are recalibrated on such rows.")
    if any(fold.model.cut_short_ for fold in model.folds):
        sentences.append(CUT_SHORT)
    if structure.labels is not None:
        sentences.append("Rows of one group, or copies of one record, stay together in every split.")
    return " ".join(sentences)


def write_folds(model: PreprocessedModel, n_columns: int, names: Any, writer: Writer) -> dict[str, Any]:
    """Return what a model file holds of the transformers and the models of all folds."""
    return {
        "transformers": writer.regressors([fold.transformer for fold in model.folds], "the fitted preprocess"),
        "models": [writer.put(fold.model) for fold in model.folds],
        "correction": None if model.correction is None else write_correction(model.correction, writer),
        "columns": n_columns,
        "names": None if names is None else plain(list(names), "feature_names_in_"),
    }


def read_folds(stored: Stored, kind: str, reader: Reader) -> tuple[PreprocessedModel, int, list[str] | None]:
    """Read what ``write_folds`` returned: the model, the number of raw columns and their names."""
    models = [reader.part(i, (kind,)).value for i in list_of(stored, "models", int)]
    transformers = reader.regressors(of_type(stored, "transformers", str))
    if not models or not all(hasattr(model, "pool_") and model.pool_.first.response.is_1d for model in models):
        raise ValueError("there are no fitted models of one response")
    if not isinstance(transformers, list) or len(transformers) != len(models):
        raise ValueError("there must be one transformer for each model")
    if not all(callable(getattr(each, "transform", None)) for each in transformers):
        raise TypeError("a transformer has no method transform")
    folds = tuple(Fold(*pair) for pair in zip(transformers, models, strict=True))
    n_columns = count(stored, "columns")
    names = None if stored["names"] is None else list_of(stored, "names", str, n_columns)
    return PreprocessedModel(folds, read_correction(stored, reader)), n_columns, names


def dense(rows: Any) -> Any:
    """Return what a transformer returned, as an array if it is sparse."""
    return rows.toarray() if issparse(rows) else rows


def _fit_transform(transformer: Any, X: Any, y: Array) -> Any:
    if hasattr(transformer, "fit_transform"):
        return transformer.fit_transform(X, y)
    return transformer.fit(X, y).transform(X)
