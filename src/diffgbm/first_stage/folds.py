"""The models of single folds inside fitted first-stage models.

New rows are predicted by the average of all folds' models. One fold's model alone has not seen a part of the rows; how
much such models differ says how much a prediction depends on the rows that happened to be in the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from diffgbm.first_stage.assembly import FittedFirstStage
from diffgbm.first_stage.cross_fitting import Predictor
from diffgbm.first_stage.leaf_forest import LeafForest
from diffgbm.first_stage.lightgbm_mean import BoosterAverage, SingleFold
from diffgbm.first_stage.regressors import RegressorAverage
from diffgbm.first_stage.shrunk_scale import ShrunkScale
from diffgbm.first_stage.stack import Weighted


def n_folds(predictor: Predictor | None) -> int:
    """Return the number of models that a predictor averages; 1 if it is, or may be, a single one."""
    if isinstance(predictor, (BoosterAverage, RegressorAverage)):
        return len(predictor.models[0])
    if isinstance(predictor, Weighted):
        return max(map(n_folds, predictor.members))
    if isinstance(predictor, ShrunkScale):
        return max(n_folds(predictor.model), n_folds(predictor.location))
    return 1


def fold(predictor: Predictor, k: int, count: int) -> Predictor:
    """Return the part of a predictor that fold ``k`` of ``count`` has fitted; the predictor itself if it has no parts.

    The trees of a forest are those of the folds in turn. A Gaussian process is one model of all rows.
    """
    if isinstance(predictor, BoosterAverage):
        return SingleFold(predictor, k)
    if isinstance(predictor, RegressorAverage):
        return replace(predictor, models=tuple((folds[k % len(folds)],) for folds in predictor.models))
    if isinstance(predictor, Weighted):
        return replace(predictor, members=tuple(fold(member, k, count) for member in predictor.members))
    if isinstance(predictor, ShrunkScale):
        model, location = (fold(part, k, count) for part in (predictor.model, predictor.location))
        return replace(predictor, model=model, location=location)
    if isinstance(predictor, LeafForest) and len(predictor.roots) >= count:
        return replace(predictor, roots=np.array_split(predictor.roots, count)[k])
    return predictor


def first_stage_folds(first_stage: FittedFirstStage) -> Iterator[FittedFirstStage]:
    """Yield the first stage of each fold: as many as the predictor with the most folds has."""
    parts = (first_stage.location, first_stage.log_scale, *first_stage.features)
    count = max(map(n_folds, parts))
    for k in range(count):
        # a predictor that is used twice remains one object, so that it predicts once
        found = {id(part): fold(part, k, count) for part in parts if part is not None}
        yield replace(
            first_stage,
            location=None if first_stage.location is None else found[id(first_stage.location)],
            log_scale=None if first_stage.log_scale is None else found[id(first_stage.log_scale)],
            features=tuple(found[id(part)] for part in first_stage.features),
        )
