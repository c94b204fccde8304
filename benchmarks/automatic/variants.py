"""Fits of the comparison: presets, presets without one of their parts, and tables without repeated rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.protocol import REPEATS
from benchmarks.table_files import Table
from benchmarks.tables import paper_values
from diffgbm import AutoDiffGBM
from diffgbm.auto.presets import PRESETS, Preset

FULL = "full"
"""The variant with all parts."""

DATA_SETS = tuple(name for name in paper_values.DATA_SETS if name != "ct_slices")
"""Data sets of the comparison, the cheapest first."""
ABLATION_DATA = ("yacht", "energy", "concrete", "wine", "power_plant")
ABLATION_FOLDS = (1, 2)
REPEATED_DATA = ("concrete", "wine", "protein")
"""Data sets with many duplicate rows, which reward memorisation."""
DISCRETE = ("wine", "naval")
"""Data sets with discrete responses (7 and 26 values)."""


def without_first_stages(preset: Preset) -> Preset:
    """Keep only the first stages of the paper: none, or LightGBM's mean subtracted."""
    return replace(preset, first_stage_models=("lightgbm",), first_stages=(("none", ()), ("lightgbm", ())))


def without_selection(preset: Preset) -> Preset:
    """Keep only the flow recipe on LightGBM's residuals, with the bags of the preset."""
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
"""Presets without one part, by name; recalibration is an argument of the estimator."""


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
        Whether repeated rows were removed from the table.
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
            repeats=REPEATS,
        )


def deduplicated(table: Table) -> Table:
    """Return the table with the first of all rows that have the same features, in the original order."""
    _, first = np.unique(table.X, axis=0, return_index=True)
    kept = np.sort(first)
    return replace(table, X=table.X[kept], y=table.y[kept])
