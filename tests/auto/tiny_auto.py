"""Automatic fits that take a fraction of a second: few trees, few rows, few candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from diffgbm import AutoDiffGBM
from diffgbm.auto import search as contest
from diffgbm.auto.presets import Preset, Rung
from diffgbm.diffusion.recipe import RESIDUALIZER_C
from diffgbm.first_stage import catalogue

SIZES = {
    "probe": {"num_leaves": 8, "learning_rate": 0.3, "n_estimators": 12, "min_child_samples": 5},
    "usual": {"num_leaves": 8, "learning_rate": 0.2, "n_estimators": 30, "min_child_samples": 5},
    "large": {"num_leaves": 15, "learning_rate": 0.2, "n_estimators": 30, "min_child_samples": 5},
}

TINY = Preset(
    time_limit=1e9,
    stages=("lightgbm", "ridge"),
    gp_rows=100,
    first_stages=(("stack", ()), ("none", ("mean",))),
    recipes=("flow",),
    rungs=(Rung(100, 2, "probe", 2),),
    capacities=("usual",),
    finalists=2,
    bags=2,
    noisy_rows=1000,
)
"""Goes through every stage of the automatic fit."""

LEAST = replace(TINY, stages=(), first_stages=(("lightgbm", ()),), rungs=(), finalists=1)
"""One candidate and nothing to choose."""


@pytest.fixture(scope="module", autouse=True)
def small_trees() -> Iterator[None]:
    """Presets name sizes of models that are too large for a test; give the names to small ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "RESIDUALIZER_C", {**RESIDUALIZER_C, "n_estimators": 10, "num_leaves": 8})
        patch.setattr(contest, "SIZES", SIZES)
        yield


def auto(preset: Preset = TINY, **params) -> AutoDiffGBM:
    """Make a small estimator."""
    return AutoDiffGBM(**{"preset": preset, "n_jobs": 1, "seed": 0, **params})
