"""First-stage models for the automatic fit: tried on a few rows, fitted on all, stacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffgbm._util.types import Array
from diffgbm.auto.budget import Clock
from diffgbm.data.splits import subsample
from diffgbm.first_stage import FirstStageValues, FittedFirstStage, Task, assemble
from diffgbm.first_stage.catalogue import CATALOGUE, Size, build
from diffgbm.first_stage.cross_fitting import CrossFitted
from diffgbm.first_stage.stack import combined, sparse_weights

PROBE_ROWS = 2000
WIDEST_SMOOTH = 200
"""Columns up to which Gaussian processes and neural networks are tried."""


def size_for(n_rows: int, gp_rows: int) -> Size:
    """Return the size of first-stage models that suits a table of ``n_rows``."""
    return Size(n_trees=80 if n_rows <= 2000 else 40 if n_rows <= 10_000 else 20, gp_rows=gp_rows)


@dataclass
class Stages:
    """The fitted first-stage models of a table, and the guides made of them.

    Attributes
    ----------
    task : Task
        The whole table.
    fitted : dict
        Cross-fitted models by name: the members, ``"stack"`` and ``"cdf"``.
    errors : dict
        Root mean squared error of each, out of fold, as a share of the response's spread.
    """

    task: Task
    fitted: dict[str, CrossFitted]
    errors: dict[str, float]

    def first_stage(self, subtracted: str, given: Sequence[str]) -> tuple[FittedFirstStage, FirstStageValues]:
        """Put a guide together; ``"mean"`` stands for the stack."""
        taken = None if subtracted == "none" else self.fitted[subtracted]
        columns = [self.fitted["stack" if name == "mean" else name] for name in given]
        return assemble(self.task, taken, columns)

    def has(self, subtracted: str, given: Sequence[str]) -> bool:
        """Whether all that a guide needs was fitted."""
        needed = {subtracted, *("stack" if name == "mean" else name for name in given)} - {"none"}
        return needed <= set(self.fitted)


def fit_stages(
    task: Task, names: Sequence[str], gp_rows: int, with_cdf: bool, clock: Clock, report: Callable[[str], None]
) -> Stages:
    """Try first-stage models on a few rows, fit the useful ones on all and stack them.

    LightGBM is always fitted. Work that no longer fits into two fifths of the time is left out: the models that were
    worth most on a few rows come first.
    """
    n = len(task.y)
    if task.dense[0].width > WIDEST_SMOOTH:
        names = [name for name in names if not CATALOGUE[name].few_columns]
    size = size_for(n, gp_rows)
    chosen = probe(task, names, gp_rows, clock, report)
    stages = Stages(task, {}, {})
    members: dict[str, CrossFitted] = {}
    for name in chosen if "lightgbm" in chosen else [*chosen, "lightgbm"]:
        if name != "lightgbm" and clock.over(0.3):
            continue
        report(f"first stage: {name}")
        members[name] = build(name, size).cross_fit(task)
        stages.errors[name] = _error(task, members[name])
    # in the preset's order: the stack does not depend on who came first
    stages.fitted.update({name: members[name] for name in sorted(members, key=[*names, "lightgbm"].index)})
    stages.fitted["stack"] = combined(list(stages.fitted.values()), task.y, task.weights)
    stages.errors["stack"] = _error(task, stages.fitted["stack"])
    if with_cdf and not clock.over(0.35):
        report("first stage: conditional distribution")
        stages.fitted["cdf"] = build("cdf", size).cross_fit(replace(task, repeats=1))
    return stages


def probe(task: Task, names: Sequence[str], gp_rows: int, clock: Clock, report: Callable[[str], None]) -> list[str]:
    """Return the names of the models that earn a weight in a stack on a few rows, the largest weight first.

    On a small table, all of them.
    """
    n = len(task.y)
    if n <= 2 * PROBE_ROWS:
        return list(names)
    rows, _ = subsample(n, PROBE_ROWS, task.seed, ordered=False)
    weights = None if task.weights is None else task.weights[rows]
    small = replace(task, X=task.X[rows], y=task.y[rows], weights=weights, k_folds=3, repeats=1)
    size = size_for(PROBE_ROWS, gp_rows)
    columns: list[Array] = []
    tried: list[str] = []
    for name in names:
        if clock.over(0.1):
            break
        report(f"trying {name}")
        columns.append(build(name, size).cross_fit(small).out_of_fold)
        tried.append(name)
    if not tried:
        return []
    weight = np.zeros(len(tried))
    for j in range(task.y.shape[1]):
        weight += sparse_weights(np.column_stack([c[:, j] for c in columns]), small.y[:, j])
    return [tried[i] for i in np.argsort(-weight, kind="stable") if weight[i] > 0.0]


def _error(task: Task, fitted: CrossFitted) -> float:
    square = np.average((task.y - fitted.out_of_fold) ** 2, axis=0, weights=task.weights)
    return float(np.sqrt(square / np.maximum(task.y.var(axis=0), np.finfo(float).tiny)).mean())
