"""What is fitted: a preset, or a preset without one of its parts; and tables without their repeated rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.table_files import Table
from benchmarks.tables import paper_values
from diffgbm import AutoDiffGBM
from diffgbm.auto.presets import PRESETS, Preset

FULL = "full"
"""The variant that nothing is taken out of."""

DATA_SETS = tuple(name for name in paper_values.DATA_SETS if name != "ct_slices")
"""Data sets of the comparison, the cheapest first."""
ABLATION_DATA = ("yacht", "energy", "concrete", "wine", "power_plant")
ABLATION_FOLDS = (1, 2)
REPEATED_DATA = ("concrete", "wine", "protein")
"""Data sets whose rows are repeated often enough to flatter a model that remembers them."""
FEW_VALUES = ("wine", "naval")
"""Data sets whose responses have few values (7 and 26)."""


def without_first_stages(preset: Preset) -> Preset:
    """Leave only the published choice: nothing, or LightGBM's mean subtracted."""
    return replace(preset, first_stage_models=("lightgbm",), first_stages=(("none", ()), ("lightgbm", ())))


def without_selection(preset: Preset) -> Preset:
    """Leave the plain flow recipe on LightGBM's residuals, bagged as often as the preset says."""
    return replace(
        preset,
        first_stage_models=("lightgbm",),
        first_stages=(("lightgbm", ()),),
        recipes=("flow",),
        rounds=(),
        sizes=("usual",),
        final_models=1,
        large_plain=False,
        samplers=False,
    )


VARIANTS: Mapping[str, Callable[[Preset], Preset]] = {
    FULL: lambda preset: preset,
    "no_first_stages": without_first_stages,
    "one_bag": lambda preset: replace(preset, bags=1),
    "no_pool": lambda preset: replace(preset, final_models=1, small_factor=1, large_plain=False),
    "no_samplers": lambda preset: replace(preset, samplers=False),
    "no_recalibration": lambda preset: preset,
    "no_selection": without_selection,
}
"""Presets with a part taken out, by name; recalibration is an argument of the estimator."""


@dataclass(frozen=True)
class Job:
    """One fit.

    Attributes
    ----------
    data_set : str
    fold : int
        The test fold.
    preset, variant : str
        Names in ``PRESETS`` and ``VARIANTS``.
    deduplicated : bool
        Whether repeated rows were taken out of the table first.
    """

    data_set: str
    fold: int
    preset: str
    variant: str
    deduplicated: bool

    def __str__(self) -> str:
        extra = [self.variant] * (self.variant != FULL) + ["deduplicated"] * self.deduplicated
        return ", ".join([f"{self.data_set} fold {self.fold}", self.preset, *extra])

    def estimator(self, seed: int, threads: int, time_limit: float | None) -> AutoDiffGBM:
        """Return the unfitted model."""
        return AutoDiffGBM(
            time_limit=time_limit,
            preset=VARIANTS[self.variant](PRESETS[self.preset]),
            recalibrate=self.variant != "no_recalibration",
            n_jobs=threads,
            seed=seed,
        )


def deduplicated(table: Table) -> Table:
    """Return the table with the first of all rows that have the same features, in their order."""
    _, first = np.unique(table.X, axis=0, return_index=True)
    kept = np.sort(first)
    return replace(table, X=table.X[kept], y=table.y[kept])
