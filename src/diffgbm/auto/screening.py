"""Screening: a wide table under a short time limit keeps the columns that predict the response better than chance.

Columns that are chosen by the response of all rows make every later out-of-bag score too good: the best of 500 columns
of noise correlate with it on the held-out rows, too. A column therefore stays only if it beats the best of all columns
in tests on noise: those of a permuted response for the trees, Bonferroni's bound for correlations. Of 35 tables of 500
rows and 500 columns of noise four kept any, one or two. A table of which none stays keeps them all.

References
----------
Altmann, A. et al. (2010). Permutation importance: a corrected feature importance measure. Bioinformatics 26, 1340-1347.
"""

from __future__ import annotations

from dataclasses import replace

import lightgbm as lgb
import numpy as np
from scipy.stats import norm, rankdata

from diffgbm._util.types import Array, Booleans, Rows
from diffgbm.data.features import EncodedTable, FeatureTable
from diffgbm.data.kinds import Category, Dropped, Number
from diffgbm.data.novelty import learn_reference
from diffgbm.data.splits import subsample
from diffgbm.data.structure import Structure
from diffgbm.first_stage.lightgbm_mean import regression_params
from diffgbm.first_stage.useful_threads import with_useful_threads
from diffgbm.fitting.training_table import TrainingTable

MIN_COLUMNS = 100
"""Tables of fewer columns are not screened."""
CELLS_PER_SECOND = 10_000
"""Cells of a table for each second of the time limit from which it is screened."""
MOST_ROWS, LEAST_ROWS = 2000, 100
"""Rows that screening looks at, and fewest rows that it needs."""
ROUNDS, PERMUTATIONS = 40, 3
"""Boosting rounds of its trees, and responses that are permuted."""
MARGIN = 1.3
"""Factor by which a column's gain must exceed the best of the permuted responses."""
LEVEL = 0.01
"""Probability that the correlation of any column of noise is significant."""
SCREENED = "was screened out"
"""How the reason begins for which a column is not used."""


def screened(table: TrainingTable, limit: float, seed: int, n_jobs: int) -> TrainingTable:
    """Return the table without the columns that predict no better than chance, if the time limit demands it."""
    n, width = table.X.shape
    if width < MIN_COLUMNS or n * width <= CELLS_PER_SECOND * limit:
        return table
    rows = screening_rows(n, table.structure, seed)
    if len(rows) < LEAST_ROWS:
        return table
    weights = None if table.weights is None else table.weights[rows]
    useful = useful_columns(table.X[rows], table.y[rows], weights, table.features.categorical, seed, n_jobs)
    if not useful.any():
        return table
    features, kept = without_columns(table.features, useful, len(rows))
    reference = table.reference
    if reference is not None:  # new rows are compared in the columns that are left
        encoded = EncodedTable(table.features, table.X)
        reference = learn_reference(encoded, features, np.arange(n), "X", table.structure)
    return replace(table, features=features, X=np.ascontiguousarray(table.X[:, kept]), reference=reference)


def screening_rows(n: int, structure: Structure, seed: int) -> Rows:
    """Return rows that do not depend on each other: one of each label, by time those before the last fifth."""
    rows = np.arange(n)
    if structure.order is not None:
        rows = rows[structure.order <= np.quantile(structure.order, 0.8)]
    if structure.labels is not None:
        rows = rows[np.unique(structure.labels[rows], return_index=True)[1]]
    return rows if len(rows) <= MOST_ROWS else rows[subsample(len(rows), MOST_ROWS, (seed, MOST_ROWS))[0]]


def useful_columns(
    X: Array, y: Array, weights: Array | None, categorical: list[int], seed: int, n_jobs: int
) -> Booleans:
    """Whether each column of ``X`` (n, p) predicts a response ``y`` (n, d), or its size, better than chance."""
    useful = np.zeros(X.shape[1], dtype=bool)
    rng = np.random.default_rng((seed, ROUNDS))
    for column in y.T:
        permuted = [
            _gains(_booster(X, rng.permutation(column), weights, categorical, seed, n_jobs))
            for _ in range(PERMUTATIONS)
        ]
        booster = _booster(X, column, weights, categorical, seed, n_jobs)
        useful |= _gains(booster) > MARGIN * np.max(permuted)
        # errors whose size depends on a column
        useful |= correlates(X, column) | correlates(X, np.abs(column - np.asarray(booster.predict(X))))
    return useful


def _booster(X: Array, y: Array, weights: Array | None, categorical: list[int], seed: int, n_jobs: int) -> lgb.Booster:
    """Fit a small LightGBM regression of ``y`` (n,)."""
    params = {**regression_params(seed, n_jobs), "num_leaves": 8, "learning_rate": 0.1, "min_data_in_leaf": 20}
    data = lgb.Dataset(X, y, weight=weights, categorical_feature=categorical, params=params)
    return lgb.train(with_useful_threads(params), data, ROUNDS)


def _gains(booster: lgb.Booster) -> Array:
    return np.asarray(booster.feature_importance("gain"), dtype=np.float64)


def correlates(X: Array, y: Array) -> Booleans:
    """Whether each column's rank correlation with ``y`` (n,) is significant at ``LEVEL`` over all columns together."""
    n, p = X.shape
    ranks = rankdata(X, axis=0, nan_policy="omit")
    ranks = np.nan_to_num(ranks - np.nanmean(ranks, axis=0))
    target = rankdata(y) - 0.5 * (n + 1.0)
    size = np.sqrt(np.sum(ranks**2, axis=0) * np.sum(target**2))
    correlation = np.divide(target @ ranks, size, out=np.zeros(p), where=size > 0.0)
    return np.abs(correlation) * np.sqrt(n - 1.0) > norm.isf(0.5 * LEVEL / p)


def without_columns(features: FeatureTable, useful: Booleans, n_rows: int) -> tuple[FeatureTable, Rows]:
    """Drop plain columns that are not ``useful`` (p,) in the matrix; return the table and the columns that stay.

    Dates and columns that become several numbers stay.
    """
    columns = list(features.columns)
    kept: list[int] = []
    for j, (column, start) in enumerate(zip(features.columns, features.starts, strict=True)):
        if isinstance(column, (Number, Category)) and not useful[start]:
            columns[j] = Dropped(f"{SCREENED}: it predicts the response no better than chance on {n_rows:,} rows")
        else:
            kept += range(start, start + column.width)
    return replace(features, columns=tuple(columns)), np.array(kept, dtype=np.intp)
