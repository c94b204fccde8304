r"""Permutation importance of the features for the median and for the interquartile range, and the direction of effects.

With the values of feature ``j`` permuted between the rows, the importance for the median is the mean of
:math:`|\Delta_i|` with :math:`\Delta_i = m_i' - m_i`, where ``m`` are the predicted medians. The importance for the
interquartile range is defined in the same way. No observations are needed: importance measures what the model uses, not
whether it predicts well.

A permuted value :math:`x_i'` does not depend on the other features of its row, so the mean of :math:`\Delta_i` over
rows with :math:`x_i'` near :math:`v` is the partial dependence at :math:`v`, less the mean prediction. The direction of
an effect is :math:`\sum_i \mathrm{sign}(x_i' - x_i)\,\Delta_i / \sum_i |\Delta_i|`: 1 where larger values of the
feature always increase the prediction, -1 where they always decrease it.

References
----------
Breiman (2001), Random forests, Machine Learning 45.
Friedman (2001), Greedy function approximation: a gradient boosting machine, Annals of Statistics 29.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffgbm._util.errors import kept_warnings
from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array
from diffgbm._util.types import Rows as Positions
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.reporting.groups import labelled_groups
from diffgbm.reporting.rows import Rows

USUAL = 2000
"""Rows that are predicted over all features by default: as long as to predict a table of as many rows."""
BUDGET = 1_000_000
"""Most rows that are predicted, over all features and repetitions."""
FEWEST, MOST = 20, 1000
"""Fewest and most rows that are permuted by default, if the table has as many."""
BATCH = 4096
"""Rows that are predicted at once: one call for several features costs less than one for each."""
_POINTS = {True: 89, False: 128}
"""Points of the distributions of one response and of several: quartiles need fewer than usual."""


@dataclass(frozen=True, eq=False)
class Importance:
    """Changes of medians and interquartile ranges when a feature is permuted.

    Attributes
    ----------
    median, iqr : ndarray of shape (p, d)
        Mean absolute changes, features in the order of the training table.
    median_error, iqr_error : ndarray of shape (p, d)
        Their standard errors.
    median_direction, iqr_direction : ndarray of shape (p, d)
        Direction of the effect, between -1 and 1; NaN for categories, and where nothing changes.
    positions, sources : ndarray of shape (p, m)
        Rows that were predicted, and the rows that their values of the feature come from.
    median_change, iqr_change : ndarray of shape (p, m, d)
        Their changes.
    rows, repeats : int
        Rows, and permutations of each feature; ``m`` is their product.
    """

    median: Array
    median_error: Array
    median_direction: Array
    iqr: Array
    iqr_error: Array
    iqr_direction: Array
    positions: Positions
    sources: Positions
    median_change: Array
    iqr_change: Array
    rows: int
    repeats: int

    def order(self, response: int) -> Positions:
        """Positions of the features, the most important first, by the sum of both importances."""
        return np.argsort(-(self.median + self.iqr)[:, response], kind="stable")


@dataclass(frozen=True)
class EffectGroup:
    """Mean changes of the predictions of rows that are given a value of a group; errors are standard errors."""

    label: str
    count: int
    median: float
    median_error: float
    iqr: float
    iqr_error: float


@dataclass(frozen=True)
class Effect:
    """Partial dependence of median and interquartile range on one feature, less their means."""

    by: str
    groups: tuple[EffectGroup, ...]


def permutation_importance(
    model: DistributionalRegressor,
    rows: Rows,
    max_rows: int | None = None,
    repeats: int = 1,
    seed: int = 0,
    verbose: int = 0,
) -> Importance:
    """Permute each feature ``repeats`` times and measure how far medians and interquartile ranges move.

    At most ``max_rows`` rows are drawn at random, by default so many that ``USUAL`` rows are predicted.
    """
    n, p = rows.matrix.shape
    wanted = int(np.clip(USUAL // (p * repeats), FEWEST, MOST)) if max_rows is None else max_rows
    rng = np.random.default_rng([seed, 2])
    chosen = np.sort(rng.permutation(n)[: min(wanted, max(FEWEST, BUDGET // (p * repeats)))])
    sources = np.array([chosen[rng.permutation(len(chosen))] for _ in range(p * repeats)]).reshape(p, -1)
    positions = np.tile(chosen, (p, repeats))
    # scoring the rows has issued all warnings
    with progress_bar(p, "importance", verbose, "feature") as bar, kept_warnings():
        before = _median_and_iqr(model, rows.take(chosen))
        changes = np.zeros((2, p, positions.shape[1], before.shape[-1]))
        at_once = max(1, BATCH // positions.shape[1])
        for first in range(0, p, at_once):
            features = range(first, min(first + at_once, p))
            after = _median_and_iqr(model, rows.permuted(positions, sources, features))
            changes[:, first : features.stop] = after.reshape(2, len(features), *changes.shape[2:])
            bar.update(len(features))
    changes[:, :] -= np.tile(before, (1, repeats, 1))[:, None]
    moved = np.abs(changes) > 1e-12 * np.abs(before).max()  # more than rounding errors
    return _summary(np.where(moved, changes, 0.0), rows, positions, sources, len(chosen), repeats)


def effect_of(importance: Importance, rows: Rows, feature: int, response: int) -> Effect:
    """Mean changes of the predictions in groups of the values that a feature is given."""
    sources = importance.sources[feature]
    medians, iqrs = (change[feature, :, response] for change in (importance.median_change, importance.iqr_change))
    groups = tuple(
        EffectGroup(label, len(group), *_mean_and_error(medians[group]), *_mean_and_error(iqrs[group]))
        for label, group in labelled_groups(rows, feature, sources)
    )
    return Effect(rows.names[feature], groups)


def _mean_and_error(values: Array) -> tuple[float, float]:
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(values.mean()), error


def _summary(
    changes: Array, rows: Rows, positions: Positions, sources: Positions, n_rows: int, repeats: int
) -> Importance:
    """Summarise the changes (2, p, m, d)."""
    sizes = np.abs(changes)
    mean, error = sizes.mean(axis=2), sizes.std(axis=2) / math.sqrt(sizes.shape[2])
    features = np.arange(len(positions))[:, None]
    step = np.sign(rows.matrix[sources, features] - rows.matrix[positions, features])
    step[[levels is not None for levels in rows.features.levels]] = np.nan  # categories have no order
    known = ~np.isnan(step)[None, :, :, None]
    towards = np.where(known, np.nan_to_num(step)[None, :, :, None] * changes, 0.0).sum(axis=2)
    total = np.where(known, sizes, 0.0).sum(axis=2)
    direction = np.divide(towards, total, out=np.full(total.shape, np.nan), where=total > 0.0)
    (median, iqr), (median_error, iqr_error), (median_direction, iqr_direction) = mean, error, direction
    return Importance(
        median,
        median_error,
        median_direction,
        iqr,
        iqr_error,
        iqr_direction,
        positions,
        sources,
        changes[0],
        changes[1],
        n_rows,
        repeats,
    )


def _median_and_iqr(model: DistributionalRegressor, X: Any) -> Array:
    """Medians and interquartile ranges (2, n, d)."""
    is_1d = model.fitted_models()[0].response.is_1d
    distribution = model.predict_distribution(X, grid=_POINTS[is_1d])
    quartiles = distribution.quantile([0.25, 0.5, 0.75]).reshape(len(distribution), -1, 3)
    return np.stack([quartiles[..., 1], quartiles[..., 2] - quartiles[..., 0]])
