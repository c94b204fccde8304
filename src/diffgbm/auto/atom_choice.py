"""Whether atoms beside a continuous part help: a small model with them against one without, on unseen rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.types import Array
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.budget import Clock
from diffgbm.data.splits import reserve, subsample
from diffgbm.diffusion.recipe import NAMED
from diffgbm.fitting.atoms import atom_values
from diffgbm.fitting.defaults import DEFAULTS
from diffgbm.fitting.training import fit_table
from diffgbm.fitting.training_table import TrainingTable

ROWS = 2000
"""Rows of the comparison, at most."""
LEAST_SECONDS = 10.0
"""A time limit below this leaves no time for the comparison, which takes about a second."""
HELD_OUT = 0.25
"""Share of these rows that the models are compared on."""
POINTS = 89
"""Points of a distribution that is only scored."""
PROBE: dict[str, Any] = {
    **DEFAULTS,
    **NAMED["flow"],
    "flow_path": "vp",
    "n_repeats": 10,
    "noise_design": "even",
    "n_estimators": 100,
    "num_leaves": 8,
    "extra_residualizer_params": {"n_estimators": 100, "num_leaves": 8, "learning_rate": 0.05},
}
"""Arguments of the models that are compared."""


def accepted_atoms(table: TrainingTable, seed: int, n_jobs: int, clock: Clock) -> Array:
    """Return the values of many rows, if treating them as atoms lowers the CRPS of unseen rows.

    These are ``atom_values(y, "auto")``. A response that takes few values has no continuous part: it is confined to its
    values instead. Without time for the comparison the values are atoms: a model without them has no probability there.
    """
    if not table.response.is_1d or ResponseShape.of(table.observed[:, 0]).atoms is not None:
        return np.empty(0)
    values = atom_values(table.observed[:, 0], "auto")
    if len(values) == 0:
        return values
    if not clock.fits(LEAST_SECONDS * clock.budget.atoms, clock.budget.atoms):
        return values
    rows, _ = subsample(len(table.y), min(ROWS, len(table.y)), (seed, ROWS), structure=table.structure)
    some = table.part(rows)
    train, held_out = reserve(len(rows), int(HELD_OUT * len(rows)), (seed, 1), some.structure)
    continuous = ~np.isin(some.observed[train, 0], values)
    if continuous.sum() < 2 or len(held_out) == 0:
        return values[:0]
    y, weights = some.observed[held_out, 0], None if some.weights is None else some.weights[held_out]
    scores = []
    for atoms in (None, values.tolist()):
        params = {**PROBE, "atoms": atoms, "seed": seed, "n_jobs": n_jobs}
        model, _ = fit_table(params, some.part(train))
        distribution: Any = model.distribution(some.X[held_out], model.recipe.sampler, POINTS, threads=n_jobs)
        scores.append(float(np.average(distribution.crps(y), weights=weights)))
    return values if scores[1] < scores[0] else values[:0]
