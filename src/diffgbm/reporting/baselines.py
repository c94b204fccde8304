"""Two baselines beside the model: climatology, and a point model with constant residuals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffgbm._util.types import Array
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.metrics.evaluation import LEVELS
from diffgbm.metrics.scores import climatology_crps
from diffgbm.reporting.scores import RowScores


@dataclass(frozen=True)
class MethodScores:
    """Scores of the model or of a baseline.

    Attributes
    ----------
    crps, error : float
        Mean CRPS and its standard error.
    skill : float
        CRPS skill against climatology.
    coverage, width : dict of float to float
        Coverage and mean width of the intervals by nominal coverage.
    """

    crps: float
    error: float
    skill: float
    coverage: dict[float, float]
    width: dict[float, float]


@dataclass(frozen=True)
class Climatology:
    """The responses whose distribution is the climatology.

    Attributes
    ----------
    responses : ndarray of shape (m, d)
        Responses.
    source : str
        Where they come from.
    in_sample : bool
        Whether they are the observations that are scored.
    """

    responses: Array
    source: str
    in_sample: bool


def climatology_of(model: DistributionalRegressor, y: Array, y_train: Array | None) -> Climatology:
    """Choose the responses of the climatology: those of training, those of calibration, or the observations."""
    if y_train is not None:
        return Climatology(y_train, f"the {len(y_train):,} training responses", False)
    calibration = model.calibration_responses()
    if calibration is not None:
        source = f"the {len(calibration):,} responses that the model was calibrated on"
        return Climatology(calibration[:, None], source, False)
    return Climatology(y, f"the {len(y):,} responses of this table", True)


def model_scores(scores: RowScores, reference: Array) -> MethodScores:
    """Scores of the model; ``reference`` (n,) is the CRPS of the climatology."""
    covered = {level: float(np.mean(scores.values[f"coverage_{level:g}"])) for level in LEVELS}
    width = {level: float(scores.width(level).mean()) for level in LEVELS}
    return _method_scores(scores.values["crps"], reference, covered, width)


def climatology_scores(train: Array, y: Array, reference: Array) -> MethodScores:
    """Scores of the distribution of the responses ``train`` (m,) as the prediction of all rows."""
    coverage, width = {}, {}
    for level in LEVELS:
        low, high = np.quantile(train, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
        coverage[level], width[level] = float(np.mean((low <= y) & (y <= high))), float(high - low)
    return _method_scores(reference, reference, coverage, width)


def constant_scores(scores: RowScores, reference: Array) -> MethodScores:
    """Scores of a point model: the median of the model plus the residuals of all other rows.

    The CRPS does not change if distribution and observation are shifted together, so it is that of the residuals.
    """
    residuals = scores.residuals
    ends = {level: leave_one_out_interval(residuals, level) for level in LEVELS}
    coverage = {level: float(np.mean((low <= residuals) & (residuals <= high))) for level, (low, high) in ends.items()}
    width = {level: float(np.mean(high - low)) for level, (low, high) in ends.items()}
    return _method_scores(leave_one_out_crps(residuals), reference, coverage, width)


def leave_one_out_crps(values: Array) -> Array:
    r"""CRPS of each of ``n`` values under the empirical distribution of the others, shape (n,).

    With :math:`S_i = \sum_j |v_j - v_i|` and :math:`P = \sum_i S_i` it is
    :math:`S_i / (n - 1) - (P - 2 S_i) / (2 (n - 1)^2)`. Both sums follow from the scores under the distribution of all
    values, :math:`c_i = S_i / n - P / (2 n^2)`, whose mean is :math:`P / (2 n^2)`.
    """
    n = len(values)
    scores = climatology_crps(values, values)
    distances = n * (scores + scores.mean())
    return np.asarray(distances / (n - 1) - (2.0 * n * n * scores.mean() - 2.0 * distances) / (2.0 * (n - 1) ** 2))


def leave_one_out_interval(values: Array, level: float) -> tuple[Array, Array]:
    """Ends (n,) of the central interval of all values but one, for each of ``n`` values."""
    n = len(values)
    ordered, rank = np.sort(values), np.argsort(np.argsort(values, kind="stable"), kind="stable")

    def at(q: float) -> Array:
        first = math.floor(q * (n - 2))
        # a position among the others is one further among all values from the rank of the omitted value on
        before, after = (ordered[np.minimum(k + (k >= rank), n - 1)] for k in (first, min(first + 1, n - 2)))
        return np.asarray(before + (q * (n - 2) - first) * (after - before))

    return at(0.5 - 0.5 * level), at(0.5 + 0.5 * level)


def _method_scores(
    crps: Array, reference: Array, coverage: dict[float, float], width: dict[float, float]
) -> MethodScores:
    mean, base = float(crps.mean()), float(reference.mean())
    skill = 1.0 - mean / base if base > 0.0 else math.nan
    return MethodScores(mean, float(crps.std(ddof=1) / math.sqrt(len(crps))), skill, coverage, width)
