"""Everything that a report says, as numbers: pure functions of a model, its rows and their observations."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.errors import kept_warnings
from diffgbm._util.types import Array
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.metrics.diagnostics import LEVELS as NOMINAL
from diffgbm.metrics.diagnostics import PitHistogram, Reliability, equal_groups, pit_counts, reliability_of
from diffgbm.metrics.evaluation import LEVELS, mean_scores
from diffgbm.metrics.scores import climatology_crps
from diffgbm.reporting.groups import Grouping, Intervals, by_feature, by_spread
from diffgbm.reporting.importance import Importance, permutation_importance
from diffgbm.reporting.rows import Rows
from diffgbm.reporting.scores import MAIN, RowScores, score_rows
from diffgbm.reporting.shown import ShownRow, picks, rows_to_show, shown_rows

FEATURES = 4
"""Features whose groups are shown."""
POINTS = 500
"""Points of a scatter plot."""
MOST_BARS = 20
FEWEST_SHOWN = 10


@dataclass(frozen=True)
class Limits:
    """How much is computed and embedded: see ``diffgbm.report``."""

    importance_rows: int = 2000
    n_repeats: int = 5
    rows_shown: int = 200
    seed: int = 0


@dataclass(frozen=True)
class Contender:
    """One way to predict: its mean CRPS with standard error, skill, and coverage and mean width by level."""

    crps: float
    error: float
    skill: float
    coverage: dict[float, float]
    width: dict[float, float]


@dataclass(frozen=True, eq=False)
class Sharpness:
    """Width of the interval against the error of the median: some rows, and the means of equal groups of all."""

    width: Array
    error: Array
    mean_width: Array
    mean_error: Array


@dataclass(frozen=True)
class Climatology:
    """Responses (m, d) that serve as one law for all rows, and where they come from."""

    responses: Array
    source: str
    own: bool


@dataclass(frozen=True, eq=False)
class ResponseFacts:
    """What a report says of one response."""

    name: str
    scores: dict[str, float | None]
    model: Contender
    constant: Contender
    climatology: Contender
    pit: PitHistogram
    reliability: Reliability
    promised: bool
    sharpness: Sharpness
    spread: Grouping
    groupings: tuple[Grouping, ...]
    picks: dict[str, int]
    shown: tuple[ShownRow, ...]
    background: tuple[Array, Array]
    order: NDArray[np.intp]
    summary: dict[str, float]

    @property
    def has_atoms(self) -> bool:
        """Whether laws hold point masses."""
        return any(len(row.picture.atoms) for row in self.shown)


@dataclass(frozen=True, eq=False)
class ReportFacts:
    """What a report says."""

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
    """Compute everything of a report on ``rows`` and their observations ``y`` (n, d)."""
    scored = score_rows(model, rows, y, limits.seed, verbose)
    importance = permutation_importance(model, rows, limits.importance_rows, limits.n_repeats, limits.seed, verbose)
    named = [picks(scores) for scores in scored.responses]
    most = max(FEWEST_SHOWN, limits.rows_shown // len(named)) if len(named) > 1 else limits.rows_shown
    responses = tuple(
        _response(model, rows, scores, j, climatology.responses[:, j], importance, named[j], most, limits.seed)
        for j, scores in enumerate(scored.responses)
    )
    told = model.describe()
    file_bytes = model_bytes(model) if file_bytes is None else file_bytes
    return ReportFacts(rows, told, climatology, responses, importance, scored.seconds, fit_seconds, file_bytes, limits)


def climatology_of(model: DistributionalRegressor, y: Array, y_train: Array | None) -> Climatology:
    """Responses for the climatology: those of training if they are known, otherwise the table's own."""
    if y_train is not None:
        return Climatology(y_train, f"the {len(y_train):,} training responses", False)
    calibrated_on = model.calibration_responses()
    if calibrated_on is not None:
        seen = calibrated_on[:, None]
        return Climatology(seen, f"the {len(seen):,} responses that the model was calibrated on", False)
    return Climatology(y, f"the {len(y):,} responses of this table itself", True)


def model_bytes(model: DistributionalRegressor) -> int | None:
    """Size of the model's file; ``None`` if there can be none, as with a user's own regressors without skops."""
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
    named: dict[str, int],
    most: int,
    seed: int,
) -> ResponseFacts:
    reference = climatology_crps(train, scores.y)
    spread = constant_spread(scores, reference)
    low, high = others_interval(scores.residuals, MAIN)
    inside_constant = (low <= scores.residuals) & (scores.residuals <= high)
    intervals = Intervals(scores.covered(), inside_constant, scores.width())
    order = importance.order(j)
    moving = [int(f) for f in order if importance.centre[f, j] > 0.0 or importance.spread[f, j] > 0.0]
    positions = rows_to_show(named, len(rows), most, seed)
    edges = np.histogram_bin_edges(train, bins=min(40, max(5, math.isqrt(len(train)))))
    y = scores.y
    return ResponseFacts(
        name=model.response_names()[j],
        scores=mean_scores(scores.values),
        model=of_model(scores, reference),
        constant=spread,
        climatology=of_climatology(train, scores.y, reference),
        pit=pit_counts(scores.values["pit"], bars(len(scores))),
        reliability=reliability_of(scores.inside, np.array(NOMINAL)),
        promised=model.calibration_responses() is not None,
        sharpness=sharpness(scores, seed),
        spread=by_spread(intervals, scores.iqr),
        groupings=tuple(by_feature(intervals, rows, f) for f in moving[:FEATURES]),
        picks=named,
        shown=_shown(model, rows, scores, j, positions),
        background=(edges, np.histogram(train, edges, density=True)[0]),
        order=order,
        summary={
            "mean": float(y.mean()),
            "standard deviation": float(y.std()),
            "lowest": float(y.min()),
            "median": float(np.median(y)),
            "highest": float(y.max()),
        },
    )


def _shown(
    model: DistributionalRegressor, rows: Rows, scores: RowScores, j: int, positions: NDArray[np.intp]
) -> tuple[ShownRow, ...]:
    # which rows are shown depends on the scores of all, whose laws were not kept: these few are predicted again
    with kept_warnings():
        X = rows.take(positions)
        distributions = model.predict_distribution(X)
        ends = model.interval_of(distributions, X, MAIN).reshape(len(positions), -1, 2)[:, j]
    return shown_rows(distributions.marginals()[j], ends, scores, positions)


def bars(n: int) -> int:
    """Bars of a histogram of ``n`` values: ten values in each on average, between 5 and 20."""
    return int(np.clip(n // 10, 5, MOST_BARS))


def of_model(scores: RowScores, reference: Array) -> Contender:
    """How the model does, beside the CRPS ``reference`` (n,) of the climatology."""
    covered = {level: float(np.mean(scores.values[f"coverage_{level:g}"])) for level in LEVELS}
    return _contender(
        scores.values["crps"], reference, covered, {level: float(scores.width(level).mean()) for level in LEVELS}
    )


def of_climatology(train: Array, y: Array, reference: Array) -> Contender:
    """How the law of the training responses does for all rows."""
    return _contender(reference, reference, *_central(train, y))


def constant_spread(scores: RowScores, reference: Array) -> Contender:
    """How the model's median does with the same law of errors around it everywhere: the residuals of all other rows.

    The CRPS does not change if law and observation are shifted together, so it is that of the residuals.
    """
    residuals = scores.residuals
    ends = {level: others_interval(residuals, level) for level in LEVELS}
    coverage = {level: float(np.mean((low <= residuals) & (residuals <= high))) for level, (low, high) in ends.items()}
    width = {level: float(np.mean(high - low)) for level, (low, high) in ends.items()}
    return _contender(others_crps(residuals), reference, coverage, width)


def others_crps(values: Array) -> Array:
    r"""CRPS of each of ``n`` values under the law of the others, shape (n,).

    With :math:`S_i = \sum_j |v_j - v_i|` and :math:`P = \sum_i S_i` it is
    :math:`S_i / (n - 1) - (P - 2 S_i) / (2 (n - 1)^2)`; both sums follow from the scores under the law of all,
    :math:`c_i = S_i / n - P / (2 n^2)`, whose mean is :math:`P / (2 n^2)`.
    """
    n = len(values)
    scores = climatology_crps(values, values)
    own = n * (scores + scores.mean())
    return np.asarray(own / (n - 1) - (2.0 * n * n * scores.mean() - 2.0 * own) / (2.0 * (n - 1) ** 2))


def others_interval(values: Array, level: float) -> tuple[Array, Array]:
    """Ends (n,) of the central interval of all values but one, for each of ``n`` values."""
    n = len(values)
    ordered, rank = np.sort(values), np.argsort(np.argsort(values, kind="stable"), kind="stable")

    def at(q: float) -> Array:
        first = math.floor(q * (n - 2))
        # positions among the others, from the first value that was left out on, are one further among all
        before, after = (ordered[np.minimum(k + (k >= rank), n - 1)] for k in (first, min(first + 1, n - 2)))
        return np.asarray(before + (q * (n - 2) - first) * (after - before))

    return at(0.5 - 0.5 * level), at(0.5 + 0.5 * level)


def _central(train: Array, y: Array) -> tuple[dict[float, float], dict[float, float]]:
    """Coverage and width of central intervals of one law for all rows."""
    coverage, width = {}, {}
    for level in LEVELS:
        low, high = np.quantile(train, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
        coverage[level], width[level] = float(np.mean((low <= y) & (y <= high))), float(high - low)
    return coverage, width


def _contender(crps: Array, reference: Array, coverage: dict[float, float], width: dict[float, float]) -> Contender:
    mean, base = float(crps.mean()), float(reference.mean())
    skill = 1.0 - mean / base if base > 0.0 else math.nan
    return Contender(mean, float(crps.std(ddof=1) / math.sqrt(len(crps))), skill, coverage, width)


def sharpness(scores: RowScores, seed: int) -> Sharpness:
    """Widths against errors, ``POINTS`` rows of them at random, and means of ten equal groups of all."""
    width, error = scores.width(), scores.values["absolute"]
    groups = equal_groups(width, min(10, max(2, len(width) // 5)))
    some = np.sort(np.random.default_rng([seed, 4]).permutation(len(width))[:POINTS])
    means = (np.array([v[group].mean() for group in groups]) for v in (width, error))
    return Sharpness(width[some], error[some], *means)
