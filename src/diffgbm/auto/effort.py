"""What a time limit buys on a table: the preset's work, or less of it that can be finished."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from diffgbm._util.types import Rows
from diffgbm.auto.budget import BUDGET, Budget
from diffgbm.auto.first_stages import ALWAYS
from diffgbm.auto.presets import Preset
from diffgbm.data.splits import subsample
from diffgbm.data.structure import INDEPENDENT, Structure

SEARCH_SECONDS = 4.0
"""Seconds of the limit that a search takes on any table."""
CELLS_PER_SECOND = 60_000
"""A table of more numbers than this for each other second of the limit is large for the limit. At such limits both ways
are equally good: 10,000 x 20 in 4 and 8 seconds has a CRPS of 0.434 and 0.389 with the preset's work, and of 0.393 and
0.390 with less of it; 3,000 x 20 in 2 and 4 seconds 0.472 and 0.442, and 0.427 and 0.432."""
FEW_CELLS = 20_000
"""A table of at most so many numbers is never large."""
TRAINING_CELLS_PER_SECOND = 500_000
"""Numbers of a large table that are learned from for each second of the limit."""
LEAST_ROWS = 5000
"""Rows of a large table that are learned from at least."""
HOLDOUT_PER_SECOND, LEAST_HOLDOUT, MAX_HOLDOUT = 400, 1500, 2000
"""Rows that are held out for recalibration for each second of the limit, at least and at most."""
FOLDS, FEW_FOLDS = 5, 3
"""Folds of first-stage models. Three cost half as much as five."""
SHORT_BUDGET = replace(BUDGET, first_stage_models=0.4, reserve=1.0)
"""Shares of a limit that is short for the table: nothing is tried and nothing is searched."""
FEW_SECONDS = 10.0
"""Below this limit the search and the final models need more than their usual share."""
HASTY_BUDGET = replace(
    BUDGET,
    first_stage_models=0.3,
    conditional_cdf=0.35,
    first_round=0.45,
    last_round=0.6,
    size_round_begins=0.65,
    size_round_ends=0.7,
)
"""Shares of such a limit. In 5 seconds wine has a CRPS of 0.317 with these and 0.456 with the usual ones; in 30 seconds
kin8nm has 0.0451 with these, because a first-stage model is left out, and 0.0426 with the usual ones."""


@dataclass(frozen=True)
class Effort:
    """The work of a fit.

    Attributes
    ----------
    preset : Preset
        First-stage models, candidates and bags.
    budget : Budget
        Shares of the time limit.
    folds : int
        Folds of the first-stage models.
    rows : int or None
        Rows that are learned from, at most; ``None`` is all of them.
    holdout : int
        Rows that are held out for recalibration, at most.
    """

    preset: Preset
    budget: Budget = BUDGET
    folds: int = FOLDS
    rows: int | None = None
    holdout: int = MAX_HOLDOUT

    @property
    def is_reduced(self) -> bool:
        """Whether it is less than the preset's."""
        return self.rows is not None

    def some(self, rows: Rows, seed: int, structure: Structure = INDEPENDENT) -> Rows:
        """Return those of the rows of a table with ``structure`` that models learn from, in order."""
        if self.rows is None or len(rows) <= self.rows:
            return rows
        return rows[np.sort(subsample(len(rows), self.rows, seed, structure=structure.part(rows))[0])]


def effort_for(preset: Preset, limit: float | None, n_rows: int, n_columns: int) -> Effort:
    """Return the work that a limit in seconds allows on a table of ``n_rows`` and ``n_columns``.

    On a table that is large for the limit the search would leave no time for what it has found. The preset's first
    candidate is trained instead, with LightGBM as the only first-stage model, on as many rows as there is time for.
    This depends on the limit and not on the clock. A table that is not large for its limit has the work of the preset.
    """
    cells = n_rows * n_columns
    if limit is None or cells <= max(FEW_CELLS, CELLS_PER_SECOND * (limit - SEARCH_SECONDS)):
        hasty = limit is not None and limit < FEW_SECONDS
        return Effort(preset, HASTY_BUDGET if hasty else BUDGET)
    small = replace(
        preset,
        first_stage_models=(ALWAYS,),
        first_stages=preset.first_stages[:1],
        recipes=preset.recipes[:1],
        rounds=(),
        sizes=("usual",) if "usual" in preset.sizes else preset.sizes[:1],
        final_models=1,
        small_factor=1,
        large_plain=False,
        samplers=False,
    )
    rows = max(LEAST_ROWS, int(TRAINING_CELLS_PER_SECOND * limit / n_columns))
    holdout = max(LEAST_HOLDOUT, min(MAX_HOLDOUT, int(HOLDOUT_PER_SECOND * limit)))
    return Effort(small, SHORT_BUDGET, FEW_FOLDS, rows, holdout)
