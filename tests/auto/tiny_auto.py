"""Automatic fits that take a fraction of a second: few trees, few rows, few candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from diffgbm import AutoDiffGBM
from diffgbm.auto import candidates
from diffgbm.auto.budget import Clock
from diffgbm.auto.first_stages import fit_first_stages
from diffgbm.auto.leaderboard import Leaderboard
from diffgbm.auto.presets import Preset, Round
from diffgbm.auto.problem import Problem
from diffgbm.auto.progress import Progress
from diffgbm.auto.scorer import Scorer
from diffgbm.auto.trainer import Trainer
from diffgbm.diffusion.recipe import RESIDUALIZER_C
from diffgbm.first_stage import Task, catalogue
from diffgbm.fitting.training_table import read_table

SIZES = {
    "probe": {"num_leaves": 8, "learning_rate": 0.3, "n_estimators": 12, "min_child_samples": 5},
    "usual": {"num_leaves": 8, "learning_rate": 0.2, "n_estimators": 30, "min_child_samples": 5},
    "large": {"num_leaves": 15, "learning_rate": 0.2, "n_estimators": 30, "min_child_samples": 5},
}

TINY = Preset(
    time_limit=1e9,
    first_stage_models=("lightgbm", "ridge"),
    gp_rows=100,
    first_stages=(("stack", ()), ("none", ("mean",))),
    recipes=("flow",),
    rounds=(Round(rows=100, n_repeats=2, size="probe", keep=2),),
    sizes=("usual",),
    final_models=2,
    bags=2,
    noisy_rows=1000,
)
"""Takes every step of an automatic fit."""

LEAST = replace(TINY, first_stage_models=(), first_stages=(("lightgbm", ()),), rounds=(), final_models=1)
"""One candidate and nothing to choose."""


@pytest.fixture(scope="module", autouse=True)
def small_trees() -> Iterator[None]:
    """The sizes that presets name are too large for a test: give their names to small ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "RESIDUALIZER_C", {**RESIDUALIZER_C, "n_estimators": 10, "num_leaves": 8})
        patch.setattr(candidates, "SIZES", SIZES)
        yield


def auto(preset: Preset = TINY, **params) -> AutoDiffGBM:
    """Make a small estimator."""
    return AutoDiffGBM(**{"preset": preset, "n_jobs": 1, "seed": 0, **params})


def trainer_of(X: Any, y: Any, preset: Preset = TINY, **options: Any) -> tuple[Trainer, Scorer]:
    """Fit first-stage models; return what trains and scores candidates."""
    table = read_table(X, y, None, options.get("sample_weight"), "test")
    task = Task(table.X, table.y, (), table.weights, 3, 1, 0, 1)
    first_stages = fit_first_stages(task, preset, Clock(None), lambda message: None)
    return Trainer(Problem(table, first_stages, 0, 1)), Scorer.of(table)


def progress_of(limit: float | None = None, unit: float = 1.0) -> Progress:
    """Progress of a fit without messages."""
    return Progress(Clock(limit), Leaderboard(unit))
