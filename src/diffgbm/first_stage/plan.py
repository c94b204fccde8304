"""Which first-stage models the estimator's arguments ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diffgbm._util.errors import known
from diffgbm.first_stage.catalogue import (
    OFF,
    SCALE,
    SHRUNK_SCALE,
    Size,
    build,
    feature_names,
    stacked_names,
    subtracted_names,
)
from diffgbm.first_stage.cross_fitting import FirstStage
from diffgbm.first_stage.regressors import AnyRegressor
from diffgbm.first_stage.shrunk_scale import ShrunkScaleModel
from diffgbm.first_stage.stack import Stack


@dataclass(frozen=True)
class Plan:
    """First-stage models by what is done with them.

    Attributes
    ----------
    subtracted : FirstStage or None
        Its prediction is taken out of the response.
    scaled : FirstStage, ShrunkScaleModel or None
        Its prediction of log |residual| divides what is left.
    features : tuple of FirstStage
        Their predictions are columns for the noise model; the subtracted one may be among them.
    """

    subtracted: FirstStage | None
    scaled: FirstStage | ShrunkScaleModel | None
    features: tuple[FirstStage, ...]


def plan_first_stage(residualize: Any, first_stage_features: Any, params: Mapping[str, Any] | None) -> Plan:
    """Read ``residualize`` and ``first_stage_features``; ``params`` are those of the LightGBM mean."""
    size = Size(lightgbm=params or {})
    named: dict[str, FirstStage] = {}

    def by_name(name: str) -> FirstStage:
        # a name stands for one model: it is fitted once
        return named[name] if name in named else named.setdefault(name, build(name, size))

    subtracted: FirstStage | None = None
    scaled: FirstStage | ShrunkScaleModel | None = None
    if not isinstance(residualize, str):
        subtracted = _model(residualize, "residualize", subtracted_names(), by_name)
    elif known("residualize", residualize, subtracted_names()) != OFF:
        shrunk = residualize.endswith(SHRUNK_SCALE)
        subtracted = by_name(residualize.removesuffix(SHRUNK_SCALE if shrunk else SCALE))
        scaled = ShrunkScaleModel() if shrunk else subtracted if residualize.endswith(SCALE) else None
    # "mean" is the subtracted model, of any kind
    features = (
        subtracted
        if subtracted is not None and isinstance(item, str) and item == "mean"
        else _model(item, "first_stage_features", feature_names(), by_name)
        for item in _items(first_stage_features)
    )
    return Plan(subtracted, scaled, tuple(features))


def _items(first_stage_features: Any) -> Sequence[Any]:
    if first_stage_features is None:
        return ()
    return first_stage_features if isinstance(first_stage_features, (list, tuple)) else (first_stage_features,)


def _model(value: Any, argument: str, names: Sequence[str], by_name: Callable[[str], FirstStage]) -> FirstStage:
    """Return the model that a value of ``argument`` asks for: a name, a regressor or a list of these."""
    if isinstance(value, (list, tuple)):
        if not value:
            raise ValueError(f"{argument} must name at least one regressor; got an empty list.")
        return Stack(tuple(_model(item, argument, stacked_names(), by_name) for item in value))
    if isinstance(value, str):
        return by_name(known(argument, value, names))
    if not hasattr(value, "cross_fit") and not (hasattr(value, "fit") and hasattr(value, "predict")):
        listed = ", ".join(map(repr, names))
        raise TypeError(
            f"{argument} must be one of {listed}, a regressor with fit and predict or a list of these; got {value!r}."
        )
    return value if hasattr(value, "cross_fit") else AnyRegressor(value)
