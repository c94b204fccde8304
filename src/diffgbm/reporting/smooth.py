"""Predictive distributions of rows as a report draws them: curves, point masses and marked quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffgbm._util.types import Array
from diffgbm.distributions import PredictiveDistribution
from diffgbm.distributions.smoothing import smooth_rows

EVEN, FINE = 44, 36
"""Points of a drawn density: equidistant ones, and at quantiles."""
FLAT = 0.002
"""Density, as a share of its peak, that a screen does not show."""
MARKS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the marked quantiles."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A predictive distribution to draw: point masses, and a density of the rest.

    Attributes
    ----------
    grid, density : ndarray of shape (k,)
        The density integrates to the probability outside the point masses; both are empty if there is none.
    atoms, masses : ndarray of shape (a,)
        Values of point masses, and their probabilities.
    quantiles : ndarray of shape (5,)
        At the levels ``MARKS``.
    """

    grid: Array
    density: Array
    atoms: Array
    masses: Array
    quantiles: Array


def pictures(distribution: PredictiveDistribution) -> list[Picture]:
    """Split the distribution of each row into point masses and a smooth density, and mark its quantiles."""
    marks = distribution.quantile(list(MARKS))
    drawn = []
    for row, quantiles in zip(smooth_rows(distribution), marks, strict=True):
        grid = np.empty(0) if row.discrete else row.grid(EVEN, FINE)
        grid, density = _without_flat_ends(grid, row.pdf(grid))
        drawn.append(Picture(grid, density, row.atoms, row.masses, quantiles))
    return drawn


def _without_flat_ends(grid: Array, density: Array) -> tuple[Array, Array]:
    """Cut the ends of a curve (k,) that are flat on a screen, but for one point."""
    if not len(grid):
        return grid, density
    high = np.flatnonzero(density > FLAT * density.max())
    keep = slice(max(int(high[0]) - 1, 0), int(high[-1]) + 2) if len(high) else slice(None)
    return grid[keep], density[keep]
