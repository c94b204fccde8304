"""The numbers of a report: pure functions of a model, rows and observations."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from diffgbm._util.errors import kept_warnings
from diffgbm._util.types import Array
from diffgbm._util.types import Rows as Positions
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.metrics.diagnostics import LEVELS as NOMINAL
from diffgbm.metrics.diagnostics import (
    PitHistogram,
    Reliability,
    WidthAgainstError,
    pit_counts,
    reliability_of,
    width_against_error,
)
from diffgbm.metrics.evaluation import mean_scores
from diffgbm.metrics.scores import climatology_crps
from diffgbm.reporting.baselines import (
    Climatology,
    MethodScores,
    climatology_scores,
    constant_scores,
    leave_one_out_interval,
    model_scores,
)
from diffgbm.reporting.groups import Grouping, Intervals, by_feature, by_iqr
from diffgbm.reporting.importance import Importance, permutation_importance
from diffgbm.reporting.rows import Rows
from diffgbm.reporting.scores import MAIN, RowScores, score_rows
from diffgbm.reporting.shown import ShownRow, named_rows, rows_to_show, shown_rows

FEATURES = 4
"""Features with a picture of coverage in groups."""
POINTS = 500
"""Points of a scatter plot."""
MOST_BARS = 20
FEWEST_SHOWN = 10


@dataclass(frozen=True)
class Limits:
    """Limits of computation and of embedded data: see ``diffgbm.report``."""

    importance_rows: int = 2000
    n_repeats: int = 5
    rows_shown: int = 200
    seed: int = 0


@dataclass(frozen=True, eq=False)
class ResponseFacts:
    """The numbers of one response.

    Attributes
    ----------
    name : str
        Name of the response.
    scores : dict
        Mean scores, as ``diffgbm evaluate`` shows them.
    model, constant, climatology : MethodScores
        Scores of the model, of the point model with constant residuals, and of climatology.
    pit, reliability, sharpness : PitHistogram, Reliability, WidthAgainstError
        Calibration, and widths against errors; the scatter plot has at most ``POINTS`` points.
    conformal : bool
        Whether the intervals of the model are conformal.
    by_iqr : Grouping
        Coverage by predicted interquartile range.
    by_features : tuple of Grouping
        Coverage by the most important features.
    named : dict of str to int
        Positions of the typical, best, worst, narrowest and widest row.
    shown : tuple of ShownRow
        Rows with a density.
    background : tuple of two ndarrays
        Edges and heights of the histogram of the climatology.
    order : ndarray of shape (p,)
        Positions of the features, the most important first.
    summary : dict of str to float
        Statistics of the observations.
    """

    name: str
    scores: dict[str, float | None]
    model: MethodScores
    constant: MethodScores
    climatology: MethodScores
    pit: PitHistogram
    reliability: Reliability
    conformal: bool
    sharpness: WidthAgainstError
    by_iqr: Grouping
    by_features: tuple[Grouping, ...]
    named: dict[str, int]
    shown: tuple[ShownRow, ...]
    background: tuple[Array, Array]
    order: Positions
    summary: dict[str, float]

    @property
    def has_atoms(self) -> bool:
        """Whether a shown distribution has point masses."""
        return any(len(row.picture.atoms) for row in self.shown)


@dataclass(frozen=True, eq=False)
class ReportFacts:
    """The numbers of a report."""

    rows: Rows
    model: dict[str, Any]
    climatology: Climatology
    responses: tuple[ResponseFacts, ...]
    importance: Importance
    predict_seconds: float
    fit_seconds: float | None
    file_bytes: int | None
    limits: Limits


def gather(
    model: DistributionalRegressor,
    rows: Rows,
    y: Array,
    climatology: Climatology,
    limits: Limits,
    fit_seconds: float | None = None,
    file_bytes: int | None = None,
    verbose: int = 0,
) -> ReportFacts:
    """Compute all numbers of a report on ``rows`` and their observations ``y`` (n, d)."""
    scored = score_rows(model, rows, y, limits.seed, verbose)
    importance = permutation_importance(model, rows, limits.importance_rows, limits.n_repeats, limits.seed, verbose)
    several = len(scored.responses) > 1
    most = max(FEWEST_SHOWN, limits.rows_shown // len(scored.responses)) if several else limits.rows_shown
    responses = tuple(
        _response(model, rows, scores, j, climatology.responses[:, j], importance, most, limits.seed)
        for j, scores in enumerate(scored.responses)
    )
    return ReportFacts(
        rows=rows,
        model=model.describe(),
        climatology=climatology,
        responses=responses,
        importance=importance,
        predict_seconds=scored.seconds,
        fit_seconds=fit_seconds,
        file_bytes=model_bytes(model) if file_bytes is None else file_bytes,
        limits=limits,
    )


def model_bytes(model: DistributionalRegressor) -> int | None:
    """Size of the model file; ``None`` if the model cannot be saved, like custom regressors without skops."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dgbm"
        try:
            model.save(path)
        except (TypeError, ValueError, ImportError):
            return None
        return path.stat().st_size


def _response(
    model: DistributionalRegressor,
    rows: Rows,
    scores: RowScores,
    j: int,
    train: Array,
    importance: Importance,
    most: int,
    seed: int,
) -> ResponseFacts:
    reference = climatology_crps(train, scores.y)
    low, high = leave_one_out_interval(scores.residuals, MAIN)
    inside_constant = (low <= scores.residuals) & (scores.residuals <= high)
    intervals = Intervals(scores.covered(), inside_constant, scores.width())
    order = importance.order(j)
    used = [int(f) for f in order if importance.median[f, j] > 0.0 or importance.iqr[f, j] > 0.0]
    named = named_rows(scores)
    edges = np.histogram_bin_edges(train, bins=min(40, max(5, math.isqrt(len(train)))))
    return ResponseFacts(
        name=model.response_names()[j],
        scores=mean_scores(scores.values),
        model=model_scores(scores, reference),
        constant=constant_scores(scores, reference),
        climatology=climatology_scores(train, scores.y, reference),
        pit=pit_counts(scores.values["pit"], bars(len(scores))),
        reliability=reliability_of(scores.inside, np.array(NOMINAL)),
        conformal=model.calibration_responses() is not None,
        sharpness=sharpness(scores, seed),
        by_iqr=by_iqr(intervals, scores.iqr),
        by_features=tuple(by_feature(intervals, rows, f) for f in used[:FEATURES]),
        named=named,
        shown=_shown(model, rows, scores, j, rows_to_show(named, len(rows), most, seed)),
        background=(edges, np.histogram(train, edges, density=True)[0]),
        order=order,
        summary=_summary(scores.y),
    )


def _summary(y: Array) -> dict[str, float]:
    return {
        "mean": float(y.mean()),
        "standard deviation": float(y.std()),
        "lowest": float(y.min()),
        "median": float(np.median(y)),
        "highest": float(y.max()),
    }


def _shown(
    model: DistributionalRegressor, rows: Rows, scores: RowScores, j: int, positions: Positions
) -> tuple[ShownRow, ...]:
    # the scores of all rows decide which are shown, and their distributions were not kept: predict these few again
    with kept_warnings():
        X = rows.take(positions)
        distribution = model.predict_distribution(X)
        ends = model.interval_of(distribution, X, MAIN).reshape(len(positions), -1, 2)[:, j]
    return shown_rows(distribution.marginals()[j], ends, scores, positions)


def bars(n: int) -> int:
    """Number of bars for a histogram of ``n`` values: ten values in each on average, between 5 and 20 bars."""
    return int(np.clip(n // 10, 5, MOST_BARS))


def sharpness(scores: RowScores, seed: int) -> WidthAgainstError:
    """Widths against errors: ``POINTS`` random rows, and the means of ten equal groups of all rows."""
    width, error = scores.width(), scores.values["absolute"]
    result = width_against_error(width, error, min(10, max(2, len(width) // 5)))
    some = np.sort(np.random.default_rng([seed, 4]).permutation(len(width))[:POINTS])
    return replace(result, width=width[some], error=error[some])
