"""First-stage models of an automatic fit: tried on a few rows, cross-fitted on all, stacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from diffgbm._util.deadline import OutOfTime
from diffgbm._util.types import Array, Rows
from diffgbm.auto.budget import Clock
from diffgbm.auto.presets import Preset
from diffgbm.data.splits import subsample
from diffgbm.first_stage import MIN_ROWS, FirstStageValues, FittedFirstStage, Task, assemble
from diffgbm.first_stage.catalogue import CATALOGUE, SHRUNK_SCALE, Size, build
from diffgbm.first_stage.cross_fitting import CrossFitted, known_rows
from diffgbm.first_stage.dense import MOST_LEVELS
from diffgbm.first_stage.shrunk_scale import ShrunkScaleModel
from diffgbm.first_stage.stack import combined, sparse_weights

NONE = "none"
"""Name of no first-stage model among those that are subtracted."""
ALWAYS = "lightgbm"
"""The first-stage model that is fitted even if time runs out."""
TRIAL_ROWS = 2000
"""Rows that first-stage models are tried on."""
FEW_COLUMNS = 200
"""Columns up to which Gaussian processes and neural networks are tried."""


@dataclass(frozen=True, eq=False)
class FirstStages:
    """The cross-fitted first-stage models of a table.

    Attributes
    ----------
    task : Task
        The table.
    fitted : dict
        Cross-fitted models by name: members of the stack, ``"stack"``, ``"cdf"`` and ``"kernel_cdf"``.
    errors : dict
        Root mean squared error of each, out of fold, in units of the response's standard deviation.
    """

    task: Task
    fitted: dict[str, CrossFitted] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)

    def assembled(self, subtracted: str, features: Sequence[str]) -> tuple[FittedFirstStage, FirstStageValues]:
        """Return the first stage of a candidate and its out-of-fold values of the training rows.

        A name with the suffix ``"_shrunk_scale"`` divides the residuals by a shrunken scale.
        """
        model = None if subtracted == NONE else self.fitted[subtracted.removesuffix(SHRUNK_SCALE)]
        scaled = ShrunkScaleModel() if subtracted.endswith(SHRUNK_SCALE) else None
        return assemble(self.task, model, [self.fitted[fitted_name(name)] for name in features], scaled)

    def part(self, rows: Rows) -> FirstStages:
        """Return the first-stage models with their out-of-fold values of some rows."""
        fitted = {name: model.part(rows) for name, model in self.fitted.items()}
        return FirstStages(self.task.part(rows), fitted, self.errors)

    def has(self, subtracted: str, features: Sequence[str]) -> bool:
        """Whether all models of a candidate were fitted."""
        return {subtracted.removesuffix(SHRUNK_SCALE), *map(fitted_name, features)} - {NONE} <= set(self.fitted)


def fitted_name(feature: str) -> str:
    """Return the name of the model behind a feature: ``"mean"`` is the stack's prediction."""
    return "stack" if feature == "mean" else feature


def size_for(n_rows: int, gp_rows: int) -> Size:
    """Return the size of first-stage models that suits a table of ``n_rows``."""
    return Size(n_trees=80 if n_rows <= 2000 else 40 if n_rows <= 10_000 else 20, gp_rows=gp_rows)


def repeats_for(n_rows: int) -> int:
    """Return how often cross-fitting is repeated: small tables gain from it, large ones cannot afford it."""
    return 3 if n_rows <= 1000 else 2 if n_rows <= 10_000 else 1


def fit_first_stages(task: Task, preset: Preset, clock: Clock, report: Callable[[str], None]) -> FirstStages:
    """Try the preset's first-stage models on a few rows, fit the useful ones on all rows and stack them.

    LightGBM is always fitted, with as many rounds as there is time for. When time runs out, the models that were worth
    least on a few rows are left out, and those that cannot be finished. A table of fewer than ``MIN_ROWS`` rows has no
    first-stage models.
    """
    n = len(task.y)
    if n < MIN_ROWS:
        return FirstStages(task)
    names = list(preset.first_stage_models)
    if _is_wide(task):
        names = [name for name in names if not CATALOGUE[name].few_columns]
    size = size_for(n, preset.gp_rows)
    useful = useful_models(task, names, preset.gp_rows, clock, report)
    members: dict[str, CrossFitted] = {}
    errors: dict[str, float] = {}
    for name in useful if ALWAYS in useful else [*useful, ALWAYS]:
        if name != ALWAYS and clock.over(clock.budget.first_stage_models):
            continue
        report(f"fitting first-stage models ({name})")
        # half of the time is kept for LightGBM, until it is fitted
        pieces = 1 if name == ALWAYS or ALWAYS in members else 2
        deadline = clock.deadline(clock.budget.first_stage_models).part(pieces)
        fit = _fit_until(name, size, replace(task, deadline=deadline), clock)
        if fit is not None:
            members[name], errors[name] = fit, _error(task, fit)
    # in the preset's order: the stack does not depend on which model was fitted first
    fitted = {name: members[name] for name in sorted(members, key=[*names, ALWAYS].index)}
    fitted["stack"] = combined(list(fitted.values()), task.y, task.weights)
    errors["stack"] = _error(task, fitted["stack"])
    for name in _distribution_functions(task, preset):
        if clock.over(clock.budget.conditional_cdf):
            break
        report(f"fitting first-stage models ({name})")
        deadline = clock.deadline(clock.budget.conditional_cdf)
        fit = _fit_until(name, size, replace(task, repeats=1, deadline=deadline), clock)
        if fit is not None:
            fitted[name] = fit
    return FirstStages(task, fitted, errors)


def _distribution_functions(task: Task, preset: Preset) -> list[str]:
    """Return the models of the distribution function that candidates of the preset have as features."""
    wanted = {name for _, features in preset.first_stages for name in features}
    names = [name for name, entry in CATALOGUE.items() if name in wanted and not entry.predicts_response]
    return [name for name in names if not (CATALOGUE[name].few_columns and _is_wide(task))]


def _is_wide(task: Task) -> bool:
    """Whether the table has more than ``FEW_COLUMNS`` columns with flags and categories apart."""
    n_categorical = len(task.categorical)
    most = 2 * (task.X.shape[1] - n_categorical) + MOST_LEVELS * n_categorical
    # the dense table of many rows takes time, and is made only if it is needed
    return most > FEW_COLUMNS and task.dense[0].width > FEW_COLUMNS


def _fit_until(name: str, size: Size, task: Task, clock: Clock) -> CrossFitted | None:
    """Cross-fit a model; return ``None`` if it cannot be finished by the deadline of the task."""
    try:
        fitted = build(name, size).cross_fit(task)
    except OutOfTime:
        clock.cut = True
        return None
    clock.cut = clock.cut or task.deadline.over
    return fitted


def useful_models(
    task: Task, names: Sequence[str], gp_rows: int, clock: Clock, report: Callable[[str], None]
) -> list[str]:
    """Return the models that have a weight in a stack on a few rows, the largest weight first.

    On a small table, return all of them. A model that was cut short is not compared.
    """
    n = len(task.y)
    if n <= 2 * TRIAL_ROWS or list(names) == [ALWAYS]:
        return list(names)
    rows, _ = subsample(n, TRIAL_ROWS, task.seed, ordered=False, structure=task.structure)
    small = replace(task.part(rows), k_folds=3, repeats=1)
    size = size_for(TRIAL_ROWS, gp_rows)
    predictions: list[Array] = []
    tried: list[str] = []
    for name in names:
        if clock.over(clock.budget.first_stage_trials):
            break
        report(f"trying first-stage models on {len(rows)} rows ({name})")
        deadline = clock.deadline(clock.budget.first_stage_trials)
        fit = _fit_until(name, size, replace(small, deadline=deadline), clock)
        if fit is None or deadline.over:
            continue
        predictions.append(fit.out_of_fold)
        tried.append(name)
    if not tried:
        return []
    weight = np.zeros(len(tried))
    for j in range(task.y.shape[1]):
        weight += sparse_weights(np.column_stack([p[:, j] for p in predictions]), small.y[:, j])
    return [tried[i] for i in np.argsort(-weight, kind="stable") if weight[i] > 0.0]


def _error(task: Task, fitted: CrossFitted) -> float:
    known = known_rows(fitted.out_of_fold)
    if known is not None:
        return _error(task.part(known), fitted.part(known))
    square = np.average((task.y - fitted.out_of_fold) ** 2, axis=0, weights=task.weights)
    return float(np.sqrt(square / np.maximum(task.y.var(axis=0), np.finfo(float).tiny)).mean())
