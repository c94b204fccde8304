"""The numbers of a report: pure functions of a model, rows and observations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffgbm._util.errors import kept_warnings
from diffgbm._util.types import Array
from diffgbm._util.types import Rows as Positions
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.metrics.diagnostics import LEVELS as NOMINAL
from diffgbm.metrics.diagnostics import (
    EventReliability,
    ObservedAgainstPredicted,
    PitHistogram,
    Reliability,
    WidthAgainstError,
    event_reliability,
    observed_against_predicted,
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
from diffgbm.reporting.importance import Effect, Importance, effect_of, permutation_importance
from diffgbm.reporting.row_insights import RowInsights, row_insights
from diffgbm.reporting.row_reasons import RowReasons, row_reasons
from diffgbm.reporting.rows import Rows
from diffgbm.reporting.scores import MAIN, RowScores, score_rows
from diffgbm.reporting.shown import ShownRow, named_rows, random_rows, rows_to_show, shown_rows
from diffgbm.reporting.smooth import Picture, pictures

FEATURES = 4
"""Features with a picture of coverage in groups, and of their effects."""
POINTS = 500
"""Points of a scatter plot."""
MOST_BARS = 20
FEWEST_SHOWN = 10
THRESHOLDS = (0.5, 0.75, 0.9)
"""Levels of the quantiles of the climatology that are the default thresholds."""


@dataclass(frozen=True)
class Limits:
    """Limits of computation and of embedded data: see ``diffgbm.report``."""

    importance_rows: int | None = None
    n_repeats: int = 1
    rows_shown: int = 2000
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
    rows : RowScores
        Scores of each row.
    model, constant, climatology : MethodScores
        Scores of the model, of the point model with constant residuals, and of climatology.
    pit, reliability, sharpness : PitHistogram, Reliability, WidthAgainstError
        Calibration, and widths against errors; the scatter plot has at most ``POINTS`` points.
    centre : ObservedAgainstPredicted
        Observations against medians; at most ``POINTS`` points.
    events : tuple of EventReliability
        Reliability of the probability of values above each threshold.
    conformal : bool
        Whether the intervals of the model are conformal.
    by_iqr : Grouping
        Coverage by predicted interquartile range.
    by_features : tuple of Grouping
        Coverage by the most important features.
    effects : tuple of Effect
        Effects of the most important features.
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
    rows: RowScores
    model: MethodScores
    constant: MethodScores
    climatology: MethodScores
    pit: PitHistogram
    reliability: Reliability
    centre: ObservedAgainstPredicted
    events: tuple[EventReliability, ...]
    conformal: bool
    sharpness: WidthAgainstError
    by_iqr: Grouping
    by_features: tuple[Grouping, ...]
    effects: tuple[Effect, ...]
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
    recipes: tuple[str, ...]
    climatology: Climatology
    responses: tuple[ResponseFacts, ...]
    importance: Importance
    predict_seconds: float
    fit_seconds: float | None
    file_bytes: int | None
    limits: Limits
    insights: RowInsights
    reasons: RowReasons | None


def gather(
    model: DistributionalRegressor,
    rows: Rows,
    y: Array,
    climatology: Climatology,
    limits: Limits,
    fit_seconds: float | None = None,
    file_bytes: int | None = None,
    verbose: int = 0,
    thresholds: Sequence[Array] | None = None,
    explained: Sequence[int] = (),
) -> ReportFacts:
    """Compute all numbers of a report on ``rows`` and their observations ``y`` (n, d).

    ``explained`` are positions of rows that are explained beside the named ones.
    """
    d = y.shape[1]
    most = max(FEWEST_SHOWN, limits.rows_shown // d) if d > 1 else limits.rows_shown
    candidates = random_rows(len(rows), limits.seed)[:most]
    if thresholds is None:
        thresholds = [usual_thresholds(climatology.responses[:, j]) for j in range(d)]
    scored = score_rows(model, rows, y, limits.seed, verbose, thresholds, candidates)
    importance = permutation_importance(model, rows, limits.importance_rows, limits.n_repeats, limits.seed, verbose)
    responses = []
    for j, scores in enumerate(scored.responses):
        named = named_rows(scores)
        positions = rows_to_show(named, candidates, most)
        kept = scored.pictures[j]
        kept |= _further_pictures(model, rows, j, [int(i) for i in positions if i not in kept])
        shown = shown_rows(kept, scores, positions)
        train = climatology.responses[:, j]
        responses.append(_response(model, rows, scores, j, train, importance, thresholds[j], named, shown, limits.seed))
    explicable = [position for response in responses for position in response.named.values()]
    return ReportFacts(
        rows=rows,
        model=model.describe(),
        recipes=recipes_of(model),
        climatology=climatology,
        responses=tuple(responses),
        importance=importance,
        predict_seconds=scored.seconds,
        fit_seconds=fit_seconds,
        file_bytes=file_bytes,
        limits=limits,
        insights=row_insights(model, rows, limits.seed),
        reasons=row_reasons(model, rows, explicable, explained, limits.seed),
    )


def recipes_of(model: DistributionalRegressor) -> tuple[str, ...]:
    """Describe the recipes of the fitted models, each once, with the number of models if there are several."""
    counts = Counter(fitted.recipe.summary for fitted in model.fitted_models())
    total = sum(counts.values())
    return tuple(text if total == 1 else f"{count} of {total} models: {text}" for text, count in counts.items())


def usual_thresholds(train: Array) -> Array:
    """Quantiles of the climatology; those that no response, or every one, exceeds are left out."""
    values = np.unique(np.quantile(train, THRESHOLDS))
    return np.array([c for c in values if 0.0 < np.mean(train > c) < 1.0])


def _further_pictures(model: DistributionalRegressor, rows: Rows, j: int, positions: list[int]) -> dict[int, Picture]:
    """Pictures of the named rows that were not drawn: their distributions were not kept, predict these few again."""
    if not positions:
        return {}
    with kept_warnings():
        distribution = model.predict_distribution(rows.take(np.array(positions)))
    return dict(zip(positions, pictures(distribution.marginals()[j]), strict=True))


def _response(
    model: DistributionalRegressor,
    rows: Rows,
    scores: RowScores,
    j: int,
    train: Array,
    importance: Importance,
    thresholds: Array,
    named: dict[str, int],
    shown: tuple[ShownRow, ...],
    seed: int,
) -> ResponseFacts:
    reference = climatology_crps(train, scores.y)
    low, high = leave_one_out_interval(scores.residuals, MAIN)
    inside_constant = (low <= scores.residuals) & (scores.residuals <= high)
    intervals = Intervals(scores.covered(), inside_constant, scores.width())
    order = importance.order(j)
    used = [int(f) for f in order if importance.median[f, j] > 0.0 or importance.iqr[f, j] > 0.0]
    edges = np.histogram_bin_edges(train, bins=min(40, max(5, math.isqrt(len(train)))))
    bins = int(np.clip(len(scores) // 20, 2, 10))
    return ResponseFacts(
        name=model.response_names()[j],
        scores=mean_scores(scores.values),
        rows=scores,
        model=model_scores(scores, reference),
        constant=constant_scores(scores, reference),
        climatology=climatology_scores(train, scores.y, reference),
        pit=pit_counts(scores.values["pit"], bars(len(scores))),
        reliability=reliability_of(scores.inside, np.array(NOMINAL)),
        centre=centre(scores, seed),
        events=tuple(event_reliability(float(c), scores.above[:, k], scores.y, bins) for k, c in enumerate(thresholds)),
        conformal=model.calibration_responses() is not None,
        sharpness=sharpness(scores, seed),
        by_iqr=by_iqr(intervals, scores.iqr),
        by_features=tuple(by_feature(intervals, rows, f) for f in used[:FEATURES]),
        effects=tuple(effect_of(importance, rows, f, j) for f in used[:FEATURES]),
        named=named,
        shown=shown,
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


def bars(n: int) -> int:
    """Number of bars for a histogram of ``n`` values: ten values in each on average, between 5 and 20 bars."""
    return int(np.clip(n // 10, 5, MOST_BARS))


def sharpness(scores: RowScores, seed: int) -> WidthAgainstError:
    """Widths against errors: ``POINTS`` random rows, and the means of ten equal groups of all rows."""
    width, error = scores.width(), scores.values["absolute"]
    result = width_against_error(width, error, _groups(len(width)))
    some = _some(len(width), seed)
    return replace(result, width=width[some], error=error[some])


def centre(scores: RowScores, seed: int) -> ObservedAgainstPredicted:
    """Observations against medians: ``POINTS`` random rows, and the medians of ten equal groups of all rows."""
    result = observed_against_predicted(scores.median, scores.y, _groups(len(scores)))
    some = _some(len(scores), seed)
    return replace(result, predicted=scores.median[some], observed=scores.y[some])


def _groups(n: int) -> int:
    return min(10, max(2, n // 5))


def _some(n: int, seed: int) -> Positions:
    return np.sort(np.random.default_rng([seed, 4]).permutation(n)[:POINTS])
