"""Whether atoms beside a continuous part help: a small model with them against one without, on unseen rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.errors import kept_warnings
from diffgbm._util.types import Array
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.budget import Clock
from diffgbm.auto.search import part_folds
from diffgbm.data.splits import Split
from diffgbm.diffusion.recipe import NAMED
from diffgbm.fitting.atoms import atom_values
from diffgbm.fitting.defaults import DEFAULTS
from diffgbm.fitting.training import fit_table
from diffgbm.fitting.training_table import TrainingTable
from diffgbm.fitting.weak_fits import end_piles

ROWS = 2000
"""Rows of the comparison, at most."""
LEAST_SECONDS = 10.0
"""A time limit below this leaves no time for the comparison, which takes about a second."""
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
    Piles at an end of a continuous response are atoms in any case. A model without them may have an equal CRPS, but not
    their probability: of 18% zeros it predicted 8%.
    """
    if not table.response.is_1d or ResponseShape.of(table.observed[:, 0]).atoms is not None:
        return np.empty(0)
    values = atom_values(table.observed[:, 0], "auto")
    if len(values) == 0:
        return values
    certain = np.intersect1d(values, end_piles(table.observed[:, 0]))
    if len(certain) == len(values) or not clock.fits(LEAST_SECONDS * clock.budget.atoms, clock.budget.atoms):
        return values
    losses: list[list[Array]] = [[], []]
    folds = part_folds(len(table.y), min(ROWS, len(table.y)), seed, table.structure)
    for train, held_out in folds:
        if np.sum(~np.isin(table.observed[train, 0], values)) < 2 or len(held_out) == 0:
            return certain
        for found, atoms in zip(losses, (None, values.tolist()), strict=True):
            found.append(probe_losses(table, (train, held_out), seed, n_jobs, atoms=atoms))
    rows = np.concatenate([held_out for _, held_out in folds])
    weights = None if table.weights is None else table.weights[rows]
    without, with_atoms = (float(np.average(np.concatenate(found), weights=weights)) for found in losses)
    return values if with_atoms < without else certain


def probe_losses(table: TrainingTable, split: Split, seed: int, n_jobs: int, **arguments: Any) -> Array:
    """CRPS of the held-out rows of a small model, in the user's units: shape (rows,)."""
    train, held_out = split
    with kept_warnings():  # those of the final models are for the user
        model, _ = fit_table({**PROBE, "seed": seed, "n_jobs": n_jobs, **arguments}, table.part(train))
    distribution: Any = model.distribution(table.X[held_out], model.recipe.sampler, POINTS, threads=n_jobs)
    return np.asarray(distribution.crps(table.observed[held_out, 0]))
