"""Which first-stage models the estimator's arguments ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diffgbm._util.errors import known
from diffgbm.diffusion.recipe import RESIDUALIZER_A, RESIDUALIZER_C
from diffgbm.first_stage.conditional_cdf import ConditionalCDF
from diffgbm.first_stage.cross_fitting import FirstStage
from diffgbm.first_stage.gaussian_process import GaussianProcessMean
from diffgbm.first_stage.leaf_forest import ExtraTreesMean
from diffgbm.first_stage.lightgbm_mean import LightGBMMean
from diffgbm.first_stage.regressors import AnyRegressor
from diffgbm.first_stage.stack import Stack

RESIDUALIZE = ("off", "mean", "mean_scale", "stack", "gp")
GIVEN = ("mean", "stack", "gp", "cdf")
STACKED = ("mean", "stack", "gp")
"""Names of first-stage models that predict the response itself: what a list may hold."""


@dataclass(frozen=True)
class Plan:
    """First-stage models by what is done with them.

    Attributes
    ----------
    subtracted : FirstStage or None
        Its prediction is taken out of the response.
    scaled : FirstStage or None
        Its prediction of log |residual| divides what is left.
    given : tuple of FirstStage
        Their predictions are columns for the noise model; the subtracted one may be among them.
    """

    subtracted: FirstStage | None
    scaled: FirstStage | None
    given: tuple[FirstStage, ...]


def plan_first_stage(residualize: Any, first_stage_features: Any, params: Mapping[str, Any] | None) -> Plan:
    """Read ``residualize`` and ``first_stage_features``; ``params`` are those of the LightGBM mean."""
    lightgbm = LightGBMMean(dict(RESIDUALIZER_A, **(params or {})))
    subtracted: FirstStage | None = None
    scaled: FirstStage | None = None
    if not isinstance(residualize, str):
        subtracted = _stage(residualize, "residualize", lightgbm, RESIDUALIZE)
    elif known("residualize", residualize, RESIDUALIZE) != "off":
        subtracted = _stage(residualize.removesuffix("_scale"), "residualize", lightgbm)
        scaled = lightgbm if residualize == "mean_scale" else None
    given = []
    for item in _items(first_stage_features):
        # what is subtracted is not fitted a second time to be given as well
        same = isinstance(item, str) and (item == "mean" or item == residualize)
        given.append(subtracted if same and subtracted is not None else _stage(item, "first_stage_features", lightgbm))
    return Plan(subtracted, scaled, tuple(given))


def _items(first_stage_features: Any) -> Sequence[Any]:
    if first_stage_features is None:
        return ()
    return first_stage_features if isinstance(first_stage_features, (list, tuple)) else (first_stage_features,)


def _stage(value: Any, argument: str, lightgbm: LightGBMMean, names: Sequence[str] = GIVEN) -> FirstStage:
    if isinstance(value, (list, tuple)):
        if not value:
            raise ValueError(f"{argument} must name at least one regressor; got an empty list.")
        return Stack(tuple(_stage(item, argument, lightgbm, STACKED) for item in value))
    if not isinstance(value, str):
        if not hasattr(value, "cross_fit") and not (hasattr(value, "fit") and hasattr(value, "predict")):
            listed = ", ".join(map(repr, names))
            raise TypeError(
                f"{argument} must be one of {listed}, a regressor with fit and predict or a list of these; "
                f"got {value!r}."
            )
        return value if hasattr(value, "cross_fit") else AnyRegressor(value)
    name = known(argument, value, names)
    stages: dict[str, FirstStage] = {"mean": lightgbm, "gp": GaussianProcessMean(), "cdf": ConditionalCDF()}
    return stages[name] if name in stages else Stack(usual_stages())


def usual_stages() -> tuple[FirstStage, ...]:
    """Return the members of the usual stack: trees, lines and smooth functions, one of which fits most tables."""
    from sklearn.linear_model import RidgeCV

    return (
        LightGBMMean(RESIDUALIZER_C),
        LightGBMMean({**RESIDUALIZER_C, "num_leaves": 15, "min_child_samples": 5, "n_estimators": 400}),
        LightGBMMean({**RESIDUALIZER_C, "linear_tree": True, "num_leaves": 15, "linear_lambda": 0.1}),
        AnyRegressor(RidgeCV(alphas=(0.01, 0.1, 1.0, 10.0, 100.0))),
        ExtraTreesMean(),
        GaussianProcessMean("matern"),
        GaussianProcessMean("rbf"),
    )
