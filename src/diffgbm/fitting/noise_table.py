"""What a noise model learns from: encoded rows and residuals, and the noisy copies made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffgbm._util.types import Array, Booleans, Integers, Rows
from diffgbm.diffusion.recipe import Recipe
from diffgbm.first_stage import FirstStageValues
from diffgbm.fitting.noisy_rows import NoisyRows, noisy_rows

VALIDATION_ROWS = 5000
"""Noisy rows that decide when to stop. A small table's held-out rows are copied until there are so many: with one noisy
copy of 64 rows the published recipe stops anywhere between 60 and 660 rounds."""


@dataclass(frozen=True)
class NoiseTable:
    """What a noise model learns from.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Encoded rows.
    residuals : ndarray of shape (n, d)
        Standardised responses, without what the first-stage models explain.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    categorical : sequence of int
        Categorical columns of ``X``.
    stage_features : ndarray of shape (n, k) or None
        Columns of the first-stage models, if they are not among those of ``X``.
    positions : ndarray of shape (n,) or None
        Of the rows in the whole table; ``None`` if they are the whole table.
    """

    X: Array
    residuals: Array
    weights: Array | None
    categorical: Sequence[int]
    stage_features: Array | None = None
    positions: Integers | None = None

    @classmethod
    def of(
        cls,
        X: Array,
        y: Array,
        weights: Array | None,
        categorical: Sequence[int],
        stage_values: FirstStageValues,
        positions: Integers | None = None,
    ) -> NoiseTable:
        """Take the first-stage values out of standardised responses (n, d)."""
        return cls(X, stage_values.residuals(y), weights, categorical, stage_values.feature_columns, positions)

    def part(self, rows: Rows | Booleans) -> NoiseTable:
        """Return some of the rows."""
        weights, features = (None if column is None else column[rows] for column in (self.weights, self.stage_features))
        return replace(
            self,
            X=self.X[rows],
            residuals=self.residuals[rows],
            weights=weights,
            stage_features=features,
            positions=self.positions_of(rows),
        )

    def positions_of(self, rows: Rows | Booleans) -> Integers:
        """Positions of some rows in the whole table."""
        return (np.arange(len(self.X)) if self.positions is None else self.positions)[rows]

    def noisy_copies(
        self, rows: Rows, recipe: Recipe, repeats: int, seed: np.random.SeedSequence, design: str
    ) -> NoisyRows:
        """Make ``repeats`` noisy copies of some rows, to train on; ``design`` is a name in ``NOISE_DESIGNS``."""
        # rows are looked up in the table when they are needed: it is not copied
        chosen = None if len(rows) == len(self.X) and np.array_equal(rows, np.arange(len(rows))) else rows
        weights = None if self.weights is None else self.weights[rows]
        positions, y = self.positions_of(rows), self.residuals[rows]
        return noisy_rows(recipe, self.X, y, weights, repeats, seed, design, positions, chosen, self.stage_features)

    def validation_copies(
        self, rows: Rows, recipe: Recipe, repeats: int, seed: np.random.SeedSequence, design: str
    ) -> NoisyRows | None:
        """Make at most ``repeats`` noisy copies of held-out rows, to decide when to stop; ``None`` without rows."""
        if len(rows) == 0:
            return None
        return self.noisy_copies(rows, recipe, min(repeats, -(-VALIDATION_ROWS // len(rows))), seed, design)


def joined(tables: Sequence[NoiseTable]) -> NoiseTable:
    """Lay tables of the same columns end to end."""
    weights = [table.weights for table in tables if table.weights is not None]
    features = [table.stage_features for table in tables if table.stage_features is not None]
    positions = [table.positions for table in tables if table.positions is not None]
    return NoiseTable(
        np.concatenate([table.X for table in tables]),
        np.concatenate([table.residuals for table in tables]),
        np.concatenate(weights) if weights else None,
        tables[0].categorical,
        np.concatenate(features) if features else None,
        np.concatenate(positions) if positions else None,
    )
