"""First-stage models: cross-fitted, and taken out of the response or used as features of the noise model."""

from diffgbm.first_stage.assembly import (
    MIN_ROWS,
    FirstStageValues,
    FittedFirstStage,
    assemble,
    fit_first_stage,
    n_fits,
)
from diffgbm.first_stage.cross_fitting import Task
from diffgbm.first_stage.plan import Plan, plan_first_stage

__all__ = [
    "MIN_ROWS",
    "FirstStageValues",
    "FittedFirstStage",
    "Plan",
    "Task",
    "assemble",
    "fit_first_stage",
    "n_fits",
    "plan_first_stage",
]
