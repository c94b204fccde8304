"""Out-of-fold predictive distributions of every row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, has_fit_parameter

from diffgbm._util.errors import check_count, kept_warnings
from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Rows
from diffgbm.data.features import FeatureTable
from diffgbm.data.frames import row_index
from diffgbm.data.records import find_records
from diffgbm.data.response import read_response
from diffgbm.data.splits import Split, check_splits, cross_validation_splits, k_folds
from diffgbm.data.structure import INDEPENDENT, Structure, check_groups, read_structure
from diffgbm.distributions import JointDistribution, PredictiveDistribution
from diffgbm.distributions.support import Support
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.estimators.partial_fits import fitted_part
from diffgbm.metrics.scorers import last_step


def cross_val_distribution(
    model: Any,
    X: Any,
    y: Any,
    cv: Any = 5,
    *,
    groups: Any = None,
    seed: int = 0,
    verbose: int = 0,
    **fit_params: Any,
) -> Any:
    r"""Predict the distribution :math:`p_{-k(i)}(y \mid x_i)` of every row by the model that did not see its fold.

    Use it to score a model on a table without a test table: ``metrics.crps(dist, y)``, ``metrics.coverage(dist, y)``,
    or ``compare(dist_a, dist_b, None, y)``. ``cross_val_predict`` of scikit-learn cannot return distributions.

    Parameters
    ----------
    model : estimator of this library, or a pipeline that ends in one
        Cloned and fitted once for each fold; it need not be fitted, and stays as it is.
    X : array-like or frame of shape (n, p)
        Features.
    y : array-like, Series or frame of shape (n,) or (n, d)
        Responses.
    cv : int, splitter or iterable of (train, test), default=5
        Number of shuffled folds, in which rows that repeat stay together as in ``fit``, or any splitter of scikit-learn
        that holds out every row once.
    groups : array-like of shape (n,) or str, optional
        Labels of rows that belong together, or a column of ``X`` that holds them and is no feature then. An integer
        ``cv`` keeps groups whole, a splitter gets them, and so does ``fit``.
    seed : int
        Seed of the folds of an integer ``cv`` without groups.
    verbose : int
        1 shows a progress bar.
    **fit_params
        Arguments of ``fit``; those with one value for each row, like ``sample_weight``, are split.

    Returns
    -------
    PredictiveDistribution or JointDistribution
        Distributions of all rows in the order of ``X``. Folds may have chosen different atoms or numbers of points: the
        distributions then have all atoms, and as many points as the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import DiffGBM, cross_val_distribution, metrics
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> y = X[:, 0] + 0.1 * rng.standard_normal(200)
    >>> dist = cross_val_distribution(DiffGBM.flow(n_estimators=20, n_jobs=1, seed=0), X, y, cv=4)
    >>> len(dist), bool(metrics.crps(dist, y).mean() < 0.08)
    (200, True)
    """
    n = _num_samples(X)
    if _num_samples(y) != n:
        raise ValueError(f"y must have one entry for each of the {n} rows of X; it has {_num_samples(y)}.")
    if fit_params.get("time") is not None:
        raise ValueError(
            "time does not go together with cross_val_distribution, which holds out every row once: the first rows "
            "would be predicted by models of their future. Fit DiffGBM(n_bags=5) with time and use oob_distribution_, "
            "the distributions of the last rows."
        )
    X, given = read_structure(X, groups, None)
    splits = _splits(model, X, y, cv, given.labels, seed, fit_params.get("cat_idx"))
    _check_partition([test for _, test in splits], n)
    if given.labels is not None and has_fit_parameter(model, "groups"):
        fit_params["groups"] = given.labels
    parts = []
    with progress_bar(len(splits), "folds", verbose, "fold") as bar:
        for train, test in splits:
            fitted = fitted_part(model, X, y, train, fit_params, Structure(given.labels))
            last, rows = last_step(fitted, _safe_indexing(X, test))
            parts.append(last.predict_distribution(rows))
            bar.update()
    order = np.argsort(np.concatenate([test for _, test in splits]), kind="stable")
    joined = _joined(parts)[order]
    return replace(joined, index=row_index(X))


def _splits(model: Any, X: Any, y: Any, cv: Any, groups: Any, seed: int, cat_idx: Any) -> list[Split]:
    """Return the folds: those of a splitter, groups in whole folds, or shuffled folds in which copies stay together."""
    n = _num_samples(X)
    if cv is None or isinstance(cv, (int, np.integer)):
        k = check_count("cv", 5 if cv is None else cv, 2)
        if groups is None:
            return k_folds(n, k, seed, _structure(model, X, y, cat_idx))
        check_groups(groups, k, "cv")
        cv = GroupKFold(k)
    positions = np.arange(n)[:, None]
    splits = cross_validation_splits(cv, positions, read_response(y)[1], seed, Structure(groups))
    check_splits(splits, Structure(groups), "cv")
    return list(splits)


def _structure(model: Any, X: Any, y: Any, cat_idx: Any) -> Structure:
    """Label rows that stay together; none for models that may read tables that we cannot."""
    if not isinstance(model, DistributionalRegressor):
        return INDEPENDENT
    with kept_warnings():  # the fits issue them
        _, matrix = FeatureTable.learn(X, cat_idx, type(model).__name__)
    observed = read_response(y)[1]
    found = find_records(matrix, observed.reshape(len(observed), -1), getattr(model, "repeats", "auto"))
    return Structure(found.labels)


def _check_partition(tests: Sequence[Rows], n: int) -> None:
    """Refuse folds that hold out some row never, or more than once."""
    counts = np.bincount(np.concatenate(tests), minlength=n)
    if (counts == 1).all():
        return
    never, often = int((counts == 0).sum()), int((counts > 1).sum())
    found = [f"{never:,} rows never"] * (never > 0) + [f"{often:,} rows more than once"] * (often > 0)
    raise ValueError(
        f"cv must hold out every row exactly once; it holds out {' and '.join(found)}. Use a splitter "
        "like KFold or GroupKFold; TimeSeriesSplit, ShuffleSplit and RepeatedKFold do not divide the rows."
    )


def _joined(parts: Sequence[Any]) -> Any:
    """Put the distributions of folds one after another, with the same points and support."""
    if isinstance(parts[0], JointDistribution):
        m = min(part.points.shape[1] for part in parts)
        # equally likely points: any subset will do that does not look at their values
        points = [part.points[:, np.linspace(0, part.points.shape[1] - 1, m).astype(np.intp)] for part in parts]
        supports = _supports([part.supports for part in parts])
        return JointDistribution(np.concatenate(points), parts[0].names, None, supports)
    levels = parts[0].levels
    if any(not np.array_equal(part.levels, levels) for part in parts):
        m = max(len(part.levels) for part in parts)
        levels = (np.arange(m) + 0.5) / m
    values = [part.values if np.array_equal(part.levels, levels) else part.quantile(levels) for part in parts]
    support = Support.union([part.support for part in parts])
    return PredictiveDistribution(np.concatenate(values), levels, parts[0].name, None, support)


def _supports(each: Sequence[tuple[Support | None, ...] | None]) -> tuple[Support | None, ...] | None:
    known = [supports for supports in each if supports is not None]
    return tuple(Support.union(list(of)) for of in zip(*known, strict=True)) if len(known) == len(each) else None
