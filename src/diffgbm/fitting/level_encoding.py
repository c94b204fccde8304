"""Columns of many categories, or of free text, become cross-fitted statistics of the response; noise is not used."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from diffgbm._util.types import Array
from diffgbm.data.blocks import is_large_map
from diffgbm.data.features import FeatureTable
from diffgbm.data.free_text import is_free_text, learn_text
from diffgbm.data.kinds import Category, Column
from diffgbm.data.level_statistics import FOLDS, few_levels, learn_statistics, levels_differ, most_levels, unused
from diffgbm.data.splits import k_folds
from diffgbm.data.structure import Structure
from diffgbm.first_stage import Task
from diffgbm.first_stage.lightgbm_mean import LightGBMMean

FEWEST_ROWS = 80
"""Rows below which the statistics are those of the response itself."""
QUICK = {"n_estimators": 100, "learning_rate": 0.1, "num_leaves": 15, "min_data_in_leaf": 10}
"""LightGBM's parameters for what the other columns say of the response."""
SKEW = 0.2
"""Skewness (q95 + q5 - 2 q50) / (q95 - q5) above which a response is skew: that of a log-normal one with scale 0.25."""
FARTHEST = 10.0
"""Distance from the median, in units of q95 - q5, beyond which a response is wild."""
SEED = 0
"""Seed of the folds: a row's statistics do not depend on the seed of the model."""


def encode_levels(
    features: FeatureTable, X: Array, y: Array, weights: Array | None, structure: Structure, threads: int = 1
) -> tuple[FeatureTable, Array]:
    """Replace the columns of too many categories of a table by statistics, and drop those of several that are noise.

    The statistics are those of what a quick model of the other columns leaves of the response, cross-fitted: a category
    is told apart from what goes with it.

    Parameters
    ----------
    features : FeatureTable
        How the table was read.
    X : ndarray of shape (n, p)
        Encoded rows.
    y : ndarray of shape (n, d)
        Standardised responses.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    structure : Structure
        Rows that no fold divides, and their order in time: rows in order get statistics of earlier rows only.
    threads : int
        Threads of the quick model.

    Returns
    -------
    features : FeatureTable
        How new rows are read.
    X : ndarray of shape (n, p')
        The training rows, each with the statistics of the folds that do not hold it.
    """
    limit = most_levels(len(X))
    levels = {j: c.levels for j, c in enumerate(features.columns) if isinstance(c, Category)}
    many = [j for j, found in levels.items() if len(found) > limit]
    several = [j for j, found in levels.items() if few_levels() < len(found) <= limit]
    if not many and not several:
        return features, X
    work = _Table(features, X, levelled(y), weights, structure, threads)
    left = work.unexplained({*many, *several})
    noise = [j for j in several if not levels_differ(X[:, features.starts[j]], len(levels[j]), left, work.numbers())]
    if not many and not noise:
        return features, X
    if many and len(noise) < len(several):
        left = work.unexplained({*many, *noise})
    folds = k_folds(len(X), min(FOLDS, len(X)), SEED, structure)
    columns: list[Column] = list(features.columns)
    parts: dict[int, Array] = {}
    for j in noise:
        columns[j], parts[j] = unused(levels[j]), np.empty((len(X), 0))
    for j in many:
        category = features.columns[j]
        assert isinstance(category, Category)
        codes = X[:, features.starts[j]].astype(np.float64)
        if is_free_text(category.levels, len(X)):
            texts = ["" if np.isnan(code) else str(category.levels[int(code)]) for code in codes]
            columns[j], parts[j] = learn_text(texts, left, weights, folds)
        else:
            columns[j], parts[j] = learn_statistics(category, codes, left, weights, folds)
    table = replace(features, columns=tuple(columns))
    return table, _assembled(features, table, X, parts)


def levelled(y: Array) -> Array:
    r"""Return responses (n, d), those that are skew or hold a wild value as :math:`\Phi^{-1}((r - 1/2) / n)`.

    These are normal scores of the ranks ``r``, averaged over ties. The statistics need not be in units of the response.
    Effects on prices, costs and counts are factors, which are larger where the response is: in the response itself a
    few large rows decide the statistics, and a single wild one makes noise look like an effect.
    """
    columns = [column if _is_even(column) else ndtri((rankdata(column) - 0.5) / len(column)) for column in y.T]
    return np.column_stack(columns)


def _is_even(values: Array) -> bool:
    """Whether the quantiles of values (n,) are about as far above the median as below it, and no value is very far."""
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
    skewness = abs(high + low - 2.0 * median)
    return bool(skewness <= SKEW * (high - low) and np.max(np.abs(values - median)) <= FARTHEST * (high - low))


@dataclass(frozen=True)
class _Table:
    """What ``encode_levels`` is given."""

    features: FeatureTable
    X: Array
    y: Array
    weights: Array | None
    structure: Structure
    threads: int

    def unexplained(self, without: set[int]) -> Array:
        """Return the out-of-fold residuals (n, d) of a quick model of the other columns."""
        gone = {self.features.starts[j] for j in without}
        rest = [k for k in range(self.X.shape[1]) if k not in gone and not is_large_map(self.X)]
        if len(self.X) < FEWEST_ROWS or not rest or self.structure.order is not None:
            return self.y
        categorical = [rest.index(k) for k in self.features.categorical if k in rest]
        rows = (self.X[:, rest], self.y, categorical, self.weights)
        task = Task(*rows, 5, 1, SEED, self.threads, structure=self.structure)
        return self.y - LightGBMMean(QUICK).cross_fit(task).out_of_fold

    def numbers(self) -> Array:
        """Return the columns of numbers (n, p'); none of a table on disk."""
        codes = set(self.features.categorical)
        rest = [k for k in range(self.X.shape[1]) if k not in codes and not is_large_map(self.X)]
        return self.X[:, rest].astype(np.float64)


def _assembled(before: FeatureTable, after: FeatureTable, X: Array, parts: dict[int, Array]) -> Array:
    """Put the columns of the matrix together; a table on disk stays on disk."""
    shape = (len(X), after.width)
    out: Any
    if is_large_map(X):
        with tempfile.TemporaryFile() as file:
            out = np.memmap(file, dtype=np.float64, mode="w+", shape=shape)
    else:
        out = np.zeros(shape)
    for j, (old, new) in enumerate(zip(before.starts, after.starts, strict=True)):
        width = after.columns[j].width
        out[:, new : new + width] = parts[j] if j in parts else X[:, old : old + width]
    return out
