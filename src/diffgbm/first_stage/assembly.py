r"""Guides: first-stage models fitted by cross-fitting, taken out of the response or given to the noise model.

.. math:: r = \frac{(y - \hat\mu(x)) / \hat\sigma(x) - \text{centre}}{\text{spread}}

The noise model is trained on what the guides say of rows they have not seen, so that it learns the errors they make
on new ones. At prediction the models of all folds are averaged. That is better than any one of them, and so the
residuals it leaves are smaller than those the noise model learned: with repeated cross-fitting the difference is
estimated and taken out of the spread (``shrink``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffgbm._util.errors import warn
from diffgbm._util.types import Array
from diffgbm.first_stage.cross_fitting import CrossFitted, FirstStage, Predictor, Task
from diffgbm.first_stage.plan import Plan

Memo = dict[int, Array]

MIN_ROWS = 80
"""Below this number of rows a cross-fitted mean is noisier than what it removes."""
LEAST_SHRINK = 0.5
"""The spread is never shrunk below this share: the estimate of what averaging gains is itself uncertain."""


@dataclass(frozen=True)
class FirstStageValues:
    """What the guides say of some rows: ``y = location + scale r``.

    Attributes
    ----------
    features : ndarray of shape (n, k)
        Columns for the noise model.
    location, scale : ndarray of shape (n, d)
        What undoes the residuals.
    """

    features: Array
    location: Array
    scale: Array

    def __getitem__(self, rows: Any) -> FirstStageValues:
        return FirstStageValues(self.features[rows], self.location[rows], self.scale[rows])


@dataclass(frozen=True)
class FittedFirstStage:
    """Fitted guides.

    Attributes
    ----------
    location, log_scale : Predictor or None
        What is taken out of the response.
    given : tuple of Predictor
        Whose columns the noise model sees; ``location`` may be among them.
    centre, spread : ndarray of shape (d,)
        Of the out-of-fold residuals.
    scale_floor : ndarray of shape (d,)
        Smallest conditional scale that is believed.
    shrink : ndarray of shape (d,)
        How much smaller the residuals of new rows are than those of training.
    """

    location: Predictor | None
    log_scale: Predictor | None
    given: tuple[Predictor, ...]
    centre: Array
    spread: Array
    scale_floor: Array
    shrink: Array

    def values(self, X: Array, memo: Memo | None = None) -> FirstStageValues:
        """Return what the guides say of encoded rows ``X`` (n, p), C-contiguous float64.

        ``memo`` keeps predictions for other guides that share a predictor.
        """
        memo = {} if memo is None else memo

        def say(predictor: Predictor) -> Array:
            if id(predictor) not in memo:
                memo[id(predictor)] = predictor(X)
            return memo[id(predictor)]

        columns = [say(predictor) for predictor in self.given]
        features = np.hstack(columns) if columns else np.empty((len(X), 0))
        mean = np.zeros((len(X), len(self.centre))) if self.location is None else say(self.location)
        sigma = np.ones_like(mean)
        if self.log_scale is not None:
            sigma = np.maximum(np.exp(say(self.log_scale)), self.scale_floor)
        return FirstStageValues(features, mean + sigma * self.centre, sigma * (self.spread * self.shrink))


def fit_first_stage(task: Task, plan: Plan) -> tuple[FittedFirstStage | None, FirstStageValues]:
    """Fit the guides and return them with what they say of the training rows, out of fold.

    With fewer than ``MIN_ROWS`` rows nothing is fitted, with a warning.
    """
    if plan == Plan(None, None, ()):
        return None, no_first_stage_values(task.y)
    if len(task.y) < MIN_ROWS:
        warn(
            f"residualize and first_stage_features need at least {MIN_ROWS} rows and got {len(task.y)}: fitting "
            "without them. Set residualize='off' to silence this.",
            stacklevel=4,
        )
        return None, no_first_stage_values(task.y)
    fitted: dict[int, CrossFitted] = {}

    def fit(stage: FirstStage) -> CrossFitted:
        if id(stage) not in fitted:
            fitted[id(stage)] = stage.cross_fit(task)
        return fitted[id(stage)]

    subtracted = None if plan.subtracted is None else fit(plan.subtracted)
    given = [fit(stage) for stage in plan.given]
    return assemble(task, subtracted, given, plan.scaled)


def n_fits(plan: Plan, task: Task) -> int:
    """How often ``task.tick`` will be called."""
    stages = {id(stage): stage for stage in (plan.subtracted, *plan.given) if stage is not None}
    if len(task.y) < MIN_ROWS:
        return 0
    return sum(stage.n_fits(task) for stage in stages.values()) + (plan.scaled.n_fits(task) if plan.scaled else 0)


def no_first_stage_values(y: Array) -> FirstStageValues:
    """Return the values of no guide at all, for responses (n, d)."""
    return FirstStageValues(np.empty((len(y), 0)), np.zeros_like(y), np.ones_like(y))


def assemble(
    task: Task, subtracted: CrossFitted | None, given: Sequence[CrossFitted], scaled: FirstStage | None = None
) -> tuple[FittedFirstStage, FirstStageValues]:
    """Put fitted first-stage models together; return the guide and its values of the training rows, out of fold."""
    d = task.y.shape[1]
    features = np.hstack([g.out_of_fold for g in given]) if given else np.empty((len(task.y), 0))
    predictors = tuple(g.predictor for g in given)
    first_stage = FittedFirstStage(None, None, predictors, np.zeros(d), np.ones(d), np.zeros(d), np.ones(d))
    if subtracted is None:
        return first_stage, FirstStageValues(features, np.zeros_like(task.y), np.ones_like(task.y))
    mean, sigma, floor, log_scale = subtracted.out_of_fold, np.ones_like(task.y), np.zeros(d), None
    residuals = task.y - mean
    if scaled is not None:
        magnitude = np.log(np.abs(residuals) + 1e-3 * winsorised_std(residuals))
        scale = scaled.cross_fit(replace(task, y=magnitude))
        floor = 0.05 * np.median(np.exp(scale.out_of_fold), axis=0)
        sigma, log_scale = np.maximum(np.exp(scale.out_of_fold), floor), scale.predictor
        residuals = residuals / sigma
    centre, spread = residuals.mean(axis=0), winsorised_std(residuals)
    shrink = np.ones(d)
    if scaled is None:
        left = 1.0 - subtracted.gained / np.maximum(residuals.var(axis=0), np.finfo(float).tiny)
        shrink = np.sqrt(np.maximum(left, LEAST_SHRINK**2))
    first_stage = FittedFirstStage(subtracted.predictor, log_scale, predictors, centre, spread, floor, shrink)
    return first_stage, FirstStageValues(features, mean + sigma * centre, sigma * spread)


def winsorised_std(residuals: Array) -> Array:
    """Return the standard deviation after clipping at the 1% and 99% quantiles, for each column.

    Where more than 98% of a column are equal it falls back to the plain standard deviation, then to one.
    """
    low, high = np.quantile(residuals, [0.01, 0.99], axis=0)
    std = np.clip(residuals, low, high).std(axis=0)
    std = np.where(std > 0.0, std, residuals.std(axis=0))
    return np.where(std > 0.0, std, 1.0)
