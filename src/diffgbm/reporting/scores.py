"""Scores of each row, computed in blocks. A few numbers of each row are kept, not its predictive distribution."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array, Booleans
from diffgbm._util.types import Rows as Positions
from diffgbm.distributions import Distribution, PredictiveDistribution
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.metrics.diagnostics import LEVELS as NOMINAL
from diffgbm.metrics.diagnostics import inside_central
from diffgbm.metrics.evaluation import LEVELS, row_scores
from diffgbm.reporting.rows import Rows
from diffgbm.reporting.smooth import Picture, pictures

BLOCK = 4096
"""Rows of a block."""
MAIN = 0.9
"""Nominal coverage of the intervals that the report describes."""


@dataclass(frozen=True, eq=False)
class RowScores:
    """Scores of ``n`` rows for one response.

    Attributes
    ----------
    values : dict of ndarray of shape (n,)
        Scores of ``metrics.evaluation.row_scores``: y, crps, squared, absolute, pit, and coverage and width by level.
        ``pit`` is randomised at point masses.
    mean, median, iqr : ndarray of shape (n,)
        Mean, median and interquartile range of the distribution.
    ends : ndarray of shape (n, 2)
        Interval of the model at the level ``MAIN``.
    inside : ndarray of shape (n, k)
        Whether the observation lies in the central interval of each level of a reliability diagram.
    above : ndarray of shape (n, t)
        Probability of values above each threshold.
    """

    values: dict[str, Array]
    mean: Array
    median: Array
    iqr: Array
    ends: Array
    inside: Booleans
    above: Array

    def __len__(self) -> int:
        return len(self.median)

    @property
    def y(self) -> Array:
        """Observations (n,)."""
        return self.values["y"]

    @property
    def residuals(self) -> Array:
        """Observations minus medians (n,)."""
        return self.y - self.median

    def covered(self, level: float = MAIN) -> Booleans:
        """Whether each observation lies in the interval of the model."""
        return np.asarray(self.values[f"coverage_{level:g}"], dtype=bool)

    def width(self, level: float = MAIN) -> Array:
        """Width of the interval of the model (n,)."""
        return self.values[f"width_{level:g}"]


@dataclass(frozen=True, eq=False)
class Scored:
    """Row scores of each response, pictures of some rows by their positions, and the seconds of the predictions."""

    responses: tuple[RowScores, ...]
    pictures: tuple[dict[int, Picture], ...]
    seconds: float


def score_rows(
    model: DistributionalRegressor,
    rows: Rows,
    y: Array,
    seed: int,
    verbose: int = 0,
    thresholds: Sequence[Array] | None = None,
    drawn: Positions | None = None,
) -> Scored:
    """Predict and score all rows against the observations ``y`` (n, d).

    ``thresholds`` are those of each response, and ``drawn`` the positions of the rows to keep a picture of.
    """
    d = y.shape[1]
    parts: list[list[RowScores]] = [[] for _ in range(d)]
    kept: tuple[dict[int, Picture], ...] = tuple({} for _ in range(d))
    limits = [np.empty(0)] * d if thresholds is None else thresholds
    uniform = np.random.default_rng([seed, 1]).uniform(size=y.shape)
    seconds = 0.0
    with progress_bar(len(rows), "score", verbose, "row") as bar:
        for first in range(0, len(rows), BLOCK):
            block = np.arange(first, min(first + BLOCK, len(rows)))
            some = np.empty(0, np.intp) if drawn is None else np.intersect1d(drawn, block)
            X = rows.take(block)
            started = time.perf_counter()
            distribution = model.predict_distribution(X)
            seconds += time.perf_counter() - started
            ends = {level: _intervals(model, distribution, X, level) for level in LEVELS}
            for j, marginal in enumerate(distribution.marginals()):
                marginal_ends = {level: e[:, j] for level, e in ends.items()}
                parts[j].append(_block_scores(marginal, y[block, j], marginal_ends, uniform[block, j], limits[j]))
                kept[j].update(zip(some.tolist(), pictures(marginal[some - first]), strict=True))
            bar.update(len(block))
    return Scored(tuple(_concatenate(blocks) for blocks in parts), kept, seconds)


def _intervals(model: DistributionalRegressor, distribution: Distribution, X: Any, level: float) -> Array:
    """Intervals (n, d, 2) of the model at one level; NaN if it was calibrated on too few rows for this level."""
    try:
        ends = model.interval_of(distribution, X, level)
    except ValueError:
        if model.calibration_responses() is None or level <= MAIN:
            raise
        ends = np.full((len(distribution), 2), np.nan)
    return ends.reshape(len(distribution), -1, 2)


def _block_scores(
    distribution: PredictiveDistribution, y: Array, ends: dict[float, Array], uniform: Array, thresholds: Array
) -> RowScores:
    scores = row_scores(distribution, y, ends, uniform)
    for level, interval in ends.items():  # without an interval there is no coverage
        scores[f"coverage_{level:g}"] = np.where(np.isnan(interval[:, 0]), np.nan, scores[f"coverage_{level:g}"])
    low, median, high = distribution.quantile([0.25, 0.5, 0.75]).T
    inside = inside_central(distribution, y, np.array(NOMINAL), uniform)
    above = distribution.sf(thresholds[None]) if len(thresholds) else np.empty((len(y), 0))
    return RowScores(scores, distribution.mean(), median, high - low, ends[MAIN], inside, above)


def _concatenate(blocks: list[RowScores]) -> RowScores:
    names = [f.name for f in fields(RowScores) if f.name != "values"]
    joined = {name: np.concatenate([getattr(block, name) for block in blocks]) for name in names}
    values = {name: np.concatenate([block.values[name] for block in blocks]) for name in blocks[0].values}
    return RowScores(values=values, **joined)
