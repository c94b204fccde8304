"""Thinner first-stage models: fewer trees and points of processes, nearly the same predictions in less time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from diffgbm.first_stage.assembly import FittedFirstStage
from diffgbm.first_stage.gaussian_process import GaussianProcess
from diffgbm.first_stage.leaf_forest import LeafForest
from diffgbm.first_stage.lightgbm_mean import BoosterAverage
from diffgbm.first_stage.stack import Weighted

Item = TypeVar("Item")

LEAST_TREES, LEAST_POINTS = 20, 200
"""Trees of a leaf forest, and points of a Gaussian process, that are left at least."""
OF_POINTS = 0.5
"""Share of a process's points for each share of trees: its means need few points (on 4,000 rows of 8 columns an eighth
of the points moves them by 1 to 2% of their standard deviation)."""


def thinned(stage: FittedFirstStage, share: float, memo: dict[int, Any]) -> FittedFirstStage:
    """Return a first stage of about a share of the fold models and trees, and half that share of points, evenly chosen.

    Any other regressor stays. ``memo`` keeps the predictors that several first stages share.
    """

    def thin(predictor: Any) -> Any:
        if id(predictor) not in memo:
            memo[id(predictor)] = _thinned(predictor, share, thin)
        return memo[id(predictor)]

    def maybe(predictor: Any) -> Any:
        return None if predictor is None else thin(predictor)

    return replace(
        stage,
        location=maybe(stage.location),
        log_scale=maybe(stage.log_scale),
        features=tuple(map(thin, stage.features)),
    )


def _thinned(predictor: Any, share: float, thin: Any) -> Any:
    if isinstance(predictor, Weighted):
        return replace(predictor, members=tuple(map(thin, predictor.members)))
    if isinstance(predictor, BoosterAverage):
        return BoosterAverage(tuple(_some(folds, share, 1) for folds in predictor.models))
    if isinstance(predictor, LeafForest):
        return predictor.part(_some(tuple(range(len(predictor.roots))), share, LEAST_TREES))
    if isinstance(predictor, GaussianProcess):
        return predictor.part(max(LEAST_POINTS, round(left_of(predictor, share) * len(predictor.points))))
    return predictor


def left_of(predictor: Any, share: float) -> float:
    """Return about how much of a predictor's work is left of a thinned first stage."""
    if share == 1.0 or not isinstance(predictor, (BoosterAverage, LeafForest, GaussianProcess)):
        return 1.0
    return share * (OF_POINTS if isinstance(predictor, GaussianProcess) else 1.0)


def _some(items: tuple[Item, ...], share: float, least: int) -> tuple[Item, ...]:
    """Return a share of the items, evenly spaced."""
    count = min(len(items), max(least, round(share * len(items))))
    chosen = ((np.arange(count) + 0.5) / count * len(items)).astype(int)
    return tuple(items[i] for i in chosen)
