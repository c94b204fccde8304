"""What each row contributes to a report, gathered in blocks: a few numbers of each law, not the law."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.progress import progress_bar
from diffgbm._util.types import Array
from diffgbm.distributions import Distribution, PredictiveDistribution
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.metrics.diagnostics import LEVELS as NOMINAL
from diffgbm.metrics.diagnostics import inside_central
from diffgbm.metrics.evaluation import LEVELS, row_scores
from diffgbm.reporting.rows import Rows

BLOCK = 4096
"""Rows whose laws are held at a time."""
MAIN = 0.9
"""The interval that a report speaks of."""


@dataclass(frozen=True, eq=False)
class RowScores:
    """Numbers of ``n`` rows for one response.

    Attributes
    ----------
    values : dict of ndarray (n,)
        As ``evaluation.row_scores``: y, crps, squared, absolute, pit, and coverage and width by level. The ``pit`` of
        an observation on a point mass is drawn evenly from what the mass holds, so that it can be uniform.
    median, iqr : ndarray of shape (n,)
        Median and interquartile range of the law.
    inside : ndarray of shape (n, k)
        Whether the observation lies in the law's central intervals at the levels of a reliability diagram.
    """

    values: dict[str, Array]
    median: Array
    iqr: Array
    inside: NDArray[np.bool_]

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

    def covered(self, level: float = MAIN) -> NDArray[np.bool_]:
        """Whether each observation lies in the interval that the model promises."""
        return np.asarray(self.values[f"coverage_{level:g}"], dtype=bool)

    def width(self, level: float = MAIN) -> Array:
        """Width of the interval that the model promises."""
        return self.values[f"width_{level:g}"]


@dataclass(frozen=True, eq=False)
class Scored:
    """Row scores of each response, and the seconds that predicting the laws took."""

    responses: tuple[RowScores, ...]
    seconds: float


def score_rows(model: DistributionalRegressor, rows: Rows, y: Array, seed: int, verbose: int = 0) -> Scored:
    """Predict and score all rows against the observations ``y`` (n, d)."""
    parts: list[list[dict[str, Any]]] = [[] for _ in range(y.shape[1])]
    uniform = np.random.default_rng([seed, 1]).uniform(size=y.shape)
    seconds = 0.0
    with progress_bar(len(rows), "score", verbose, "row") as bar:
        for first in range(0, len(rows), BLOCK):
            block = np.arange(first, min(first + BLOCK, len(rows)))
            X = rows.take(block)
            started = time.perf_counter()
            distributions = model.predict_distribution(X)
            seconds += time.perf_counter() - started
            ends = {level: _promised(model, distributions, X, level) for level in LEVELS}
            for j, distribution in enumerate(distributions.marginals()):
                own = {level: e[:, j] for level, e in ends.items()}
                parts[j].append(_block(distribution, y[block, j], own, uniform[block, j]))
            bar.update(len(block))
    return Scored(tuple(_joined(each) for each in parts), seconds)


def _promised(model: DistributionalRegressor, distributions: Distribution, X: Any, level: float) -> Array:
    """Intervals (n, d, 2) at one level; unknown if a model calibrated on few rows cannot promise so much."""
    try:
        ends = model.interval_of(distributions, X, level)
    except ValueError:
        if model.calibration_responses() is None or level <= MAIN:
            raise
        ends = np.full((len(distributions), 2), np.nan)
    return ends.reshape(len(distributions), -1, 2)


def _block(distribution: PredictiveDistribution, y: Array, ends: dict[float, Array], uniform: Array) -> dict[str, Any]:
    scores = row_scores(distribution, y, ends)
    before = distribution.cdf(np.nextafter(y, -np.inf))
    scores["pit"] = before + uniform * (scores["pit"] - before)
    for level, own in ends.items():  # what is not promised is neither kept nor broken
        scores[f"coverage_{level:g}"] = np.where(np.isnan(own[:, 0]), np.nan, scores[f"coverage_{level:g}"])
    low, median, high = distribution.quantile([0.25, 0.5, 0.75]).T
    inside = inside_central(distribution, y, np.array(NOMINAL))
    return {"values": scores, "median": median, "iqr": high - low, "inside": inside}


def _joined(parts: list[dict[str, Any]]) -> RowScores:
    values = {name: np.concatenate([part["values"][name] for part in parts]) for name in parts[0]["values"]}
    return RowScores(values, *(np.concatenate([part[name] for part in parts]) for name in ("median", "iqr", "inside")))
