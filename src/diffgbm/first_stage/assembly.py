r"""First-stage models put to use: subtracted from the response, or handed to the noise model as features.

.. math:: r = \frac{(y - \hat\mu(x)) / \hat\sigma(x) - \text{centre}}{\text{residual scale}}

The noise model is trained on out-of-fold predictions, so that it learns the errors that first-stage models make on new
rows. At prediction the models of all folds are averaged. The average is better than any one of them, so its residuals
are smaller than those the noise model was trained on. Repeated cross-fitting estimates the difference, and ``shrink``
takes it out of the residual scale.

All of this is written for ``TrainingRows``: a table in memory is one partition, a Dask table has several.

References
----------
.. [1] V. Chernozhukov et al. (2018). Double/debiased machine learning for treatment and structural parameters. The
   Econometrics Journal 21(1), C1-C68.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffgbm._util.errors import warn
from diffgbm._util.types import Array, Rows
from diffgbm.data.moments import Moments, merged
from diffgbm.first_stage.cross_fitting import (
    Columns,
    CrossFitted,
    FirstStage,
    Predictor,
    Task,
    TrainingRows,
    known_rows,
    with_values,
)
from diffgbm.first_stage.plan import Plan
from diffgbm.first_stage.shrunk_scale import ShrunkScale, ShrunkScaleModel

Memo = dict[int, Array]

MIN_ROWS = 80
"""Below this number of rows a cross-fitted mean adds more noise than it removes."""
LEAST_SHRINK = 0.5
"""Lower bound of ``shrink``: the estimate of what averaging gains is itself uncertain."""
LEAST_MAGNITUDE = 1e-3
"""Added to |residual| before its logarithm is taken, as a share of the residual scale."""
LEAST_SCALE = 0.05
"""Smallest conditional scale that is used, as a share of the median."""


@dataclass(frozen=True)
class FirstStageValues:
    """What the first-stage models predict of some rows: ``y = location + scale r``.

    Attributes
    ----------
    features : ndarray of shape (n, k)
        Columns for the noise model.
    location, scale : ndarray of shape (n, d)
        Location and scale that turn residuals ``r`` back into responses.
    """

    features: Array
    location: Array
    scale: Array

    def __getitem__(self, rows: Any) -> FirstStageValues:
        return FirstStageValues(self.features[rows], self.location[rows], self.scale[rows])

    def residuals(self, y: Array) -> Array:
        """Return ``(y - location) / scale`` of standardised responses (n, d)."""
        return (y - self.location) / self.scale

    def known(self, rows: Rows) -> Rows:
        """Return those of ``rows`` that all first-stage models predict; by time, the first rows have no predictions."""
        known = known_rows(np.hstack([self.features[rows], self.location[rows], self.scale[rows]]))
        return rows if known is None else rows[known]

    @property
    def feature_columns(self) -> Array | None:
        """The columns for the noise model (n, k), or ``None`` if there are none."""
        return self.features if self.features.shape[1] else None


@dataclass(frozen=True)
class ResidualScaling:
    """How residuals are centred and scaled.

    Attributes
    ----------
    centre, residual_scale : ndarray of shape (d,)
        Mean and winsorised standard deviation of the out-of-fold residuals.
    scale_floor : ndarray of shape (d,)
        Smallest conditional scale that is used.
    """

    centre: Array
    residual_scale: Array
    scale_floor: Array

    @classmethod
    def neutral(cls, d: int) -> ResidualScaling:
        """Return the scaling that changes nothing."""
        return cls(np.zeros(d), np.ones(d), np.zeros(d))

    def values(self, features: Sequence[Array], mean: Array, log_scale: Array | None) -> FirstStageValues:
        """Put predictions of the same rows together: features (n, k), mean (n, d), log scale (n, d) or none."""
        columns = np.hstack(features) if features else np.empty((len(mean), 0))
        sigma = np.ones_like(mean) if log_scale is None else self.conditional_scale(log_scale)
        return FirstStageValues(columns, mean + sigma * self.centre, sigma * self.residual_scale)

    def conditional_scale(self, log_scale: Array) -> Array:
        """Return the conditional scale (n, d), at least ``scale_floor``."""
        return np.asarray(np.maximum(np.exp(log_scale), self.scale_floor))


@dataclass(frozen=True)
class FittedFirstStage:
    """Fitted first-stage models.

    Attributes
    ----------
    location, log_scale : Predictor or None
        What is taken out of the response.
    features : tuple of Predictor
        Whose predictions are columns for the noise model; ``location`` may be among them.
    centre, residual_scale : ndarray of shape (d,)
        Mean and winsorised standard deviation of the out-of-fold residuals.
    scale_floor : ndarray of shape (d,)
        Smallest conditional scale that is used.
    shrink : ndarray of shape (d,)
        Residual scale of new rows as a share of that of training rows.
    """

    location: Predictor | None
    log_scale: Predictor | None
    features: tuple[Predictor, ...]
    centre: Array
    residual_scale: Array
    scale_floor: Array
    shrink: Array

    def values(self, X: Array, memo: Memo | None = None) -> FirstStageValues:
        """Return the values of encoded rows ``X`` (n, p), C-contiguous float64.

        ``memo`` keeps predictions for other first stages that share a predictor.
        """
        memo = {} if memo is None else memo

        def predict(predictor: Predictor) -> Array:
            if id(predictor) not in memo:
                memo[id(predictor)] = predictor(X)
            return memo[id(predictor)]

        features = [predict(predictor) for predictor in self.features]
        mean = np.zeros((len(X), len(self.centre))) if self.location is None else predict(self.location)
        log_scale = None
        if isinstance(self.log_scale, ShrunkScale) and self.log_scale.location is self.location:
            log_scale = self.log_scale.given(X, mean)
        elif self.log_scale is not None:
            log_scale = predict(self.log_scale)
        scaling = ResidualScaling(self.centre, self.residual_scale * self.shrink, self.scale_floor)
        return scaling.values(features, mean, log_scale)


def fit_first_stage(rows: TrainingRows, plan: Plan) -> tuple[FittedFirstStage | None, Columns]:
    """Fit first-stage models; return them with their out-of-fold ``FirstStageValues`` of the training rows.

    With fewer than ``MIN_ROWS`` rows nothing is fitted, with a warning.
    """
    if plan == Plan(None, None, ()):
        return None, rows.apply(no_first_stage_values, rows.responses)
    if rows.n_rows < MIN_ROWS:
        warn(
            f"residualize and first_stage_features need at least {MIN_ROWS} rows and got {rows.n_rows}: fitting "
            "without them. Set residualize='off' to silence this.",
        )
        return None, rows.apply(no_first_stage_values, rows.responses)
    fitted: dict[int, CrossFitted] = {}

    def fit(stage: FirstStage) -> CrossFitted:
        if id(stage) not in fitted:
            fitted[id(stage)] = rows.cross_fit(stage, rows.responses)
        return fitted[id(stage)]

    subtracted = None if plan.subtracted is None else fit(plan.subtracted)
    features = [fit(stage) for stage in plan.features]
    return assemble(rows, subtracted, features, plan.scaled)


def n_fits(plan: Plan, task: Task) -> int:
    """How often ``task.tick`` will be called."""
    stages = {id(stage): stage for stage in (plan.subtracted, *plan.features) if stage is not None}
    if len(task.y) < MIN_ROWS:
        return 0
    return sum(stage.n_fits(task) for stage in stages.values()) + (plan.scaled.n_fits(task) if plan.scaled else 0)


def no_first_stage_values(y: Array) -> FirstStageValues:
    """Return the values of no first-stage model at all, for responses (n, d)."""
    return FirstStageValues(np.empty((len(y), 0)), np.zeros_like(y), np.ones_like(y))


def assemble(
    rows: TrainingRows,
    subtracted: CrossFitted | None,
    features: Sequence[CrossFitted],
    scaled: FirstStage | ShrunkScaleModel | None = None,
) -> tuple[FittedFirstStage, Columns]:
    """Put cross-fitted models together; return them with their out-of-fold values of the training rows.

    Parameters
    ----------
    rows : TrainingRows
        The training rows.
    subtracted : CrossFitted or None
        Its predictions are taken out of the response.
    features : sequence of CrossFitted
        Their predictions are columns for the noise model.
    scaled : FirstStage or ShrunkScaleModel, optional
        Fitted here to log |residual|; residuals are divided by the exponential of its predictions.
    """
    scaling, shrink = ResidualScaling.neutral(rows.n_responses), np.ones(rows.n_responses)
    scale = None
    if subtracted is not None:
        residuals = rows.apply(np.subtract, rows.responses, subtracted.out_of_fold)
        if scaled is not None:
            least = LEAST_MAGNITUDE * residual_moments(rows, residuals).residual_scale
            targets = rows.apply(_log_magnitude, residuals, least=least)
            if isinstance(scaled, ShrunkScaleModel):
                assert isinstance(rows, Task)
                scale = scaled.cross_fit(rows, subtracted, residuals, targets)
            else:
                scale = rows.cross_fit(scaled, targets)
            floor = LEAST_SCALE * np.median(np.exp(rows.sample(scale.out_of_fold)), axis=0)
            scaling = ResidualScaling(scaling.centre, scaling.residual_scale, floor)
            residuals = rows.apply(_divided, residuals, scale.out_of_fold, scaling=scaling)
        found = residual_moments(rows, residuals)
        scaling = ResidualScaling(found.centre, found.residual_scale, scaling.scale_floor)
        if scaled is None:
            left = 1.0 - subtracted.gained / np.maximum(found.variance, np.finfo(float).tiny)
            shrink = np.sqrt(np.maximum(left, LEAST_SHRINK**2))
    fitted = FittedFirstStage(
        None if subtracted is None else subtracted.predictor,
        None if scale is None else scale.predictor,
        tuple(model.predictor for model in features),
        scaling.centre,
        scaling.residual_scale,
        scaling.scale_floor,
        shrink,
    )
    taken_out = [model.out_of_fold for model in (subtracted, scale) if model is not None]
    values = rows.apply(
        _out_of_fold_values,
        rows.responses,
        *taken_out,
        *(model.columns for model in features),
        scaling=scaling,
        has_mean=subtracted is not None,
        has_scale=scale is not None,
    )
    return fitted, values


@dataclass(frozen=True)
class ResidualMoments:
    """Mean, winsorised standard deviation and variance of residuals, each (d,)."""

    centre: Array
    residual_scale: Array
    variance: Array


def residual_moments(rows: TrainingRows, residuals: Columns) -> ResidualMoments:
    """Return the moments of residuals (n, d), the standard deviation after clipping at the 1% and 99% quantiles.

    Where more than 98% of a column are equal it falls back to the plain standard deviation, then to one.
    """
    low, high = np.quantile(rows.sample(residuals), [0.01, 0.99], axis=0)
    inner = merged(rows.gather(rows.apply(_clipped_moments, residuals, low=low, high=high)))
    plain = merged(rows.gather(rows.apply(_moments, residuals)))
    std = np.where(inner.std > 0.0, inner.std, plain.std)
    return ResidualMoments(plain.mean, np.where(std > 0.0, std, 1.0), plain.variance)


def _moments(values: Array) -> Moments:
    return Moments.of(with_values(values))


def _clipped_moments(values: Array, low: Array, high: Array) -> Moments:
    return Moments.of(np.clip(with_values(values), low, high))


def _log_magnitude(residuals: Array, least: Array) -> Array:
    return np.asarray(np.log(np.abs(residuals) + least))


def _divided(residuals: Array, log_scale: Array, scaling: ResidualScaling) -> Array:
    return np.asarray(residuals / scaling.conditional_scale(log_scale))


def _out_of_fold_values(
    y: Array, *predictions: Array, scaling: ResidualScaling, has_mean: bool, has_scale: bool
) -> FirstStageValues:
    """Put out-of-fold predictions of some rows together: mean and log scale if there are any, then features."""
    rest = list(predictions)
    mean = rest.pop(0) if has_mean else np.zeros_like(y)
    log_scale = rest.pop(0) if has_scale else None
    return scaling.values(rest, mean, log_scale)
