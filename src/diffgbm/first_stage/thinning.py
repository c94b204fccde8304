"""Thinner first-stage models: averages over fewer trees, nearly the same predictions in less time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from diffgbm.first_stage.assembly import FittedFirstStage
from diffgbm.first_stage.leaf_forest import LeafForest
from diffgbm.first_stage.lightgbm_mean import BoosterAverage
from diffgbm.first_stage.stack import Weighted

Item = TypeVar("Item")

LEAST_TREES = 20
"""Trees of a leaf forest that are left at least."""


def thinned(stage: FittedFirstStage, share: float, memo: dict[int, Any]) -> FittedFirstStage:
    """Return a first stage that averages about a share of the fold models and trees, evenly chosen.

    A Gaussian process and any other regressor stays. ``memo`` keeps the predictors that several first stages share.
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
    return predictor


def _some(items: tuple[Item, ...], share: float, least: int) -> tuple[Item, ...]:
    """Return a share of the items, evenly spaced."""
    count = min(len(items), max(least, round(share * len(items))))
    chosen = ((np.arange(count) + 0.5) / count * len(items)).astype(int)
    return tuple(items[i] for i in chosen)
