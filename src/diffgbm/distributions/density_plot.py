"""Densities of some rows in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.figures import AMBER, BLUE, GREEN, INK, ORANGE, PURPLE, SKY, axes, finish
from diffgbm._util.types import Array
from diffgbm.distributions.base import Distribution, matching_observations

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, INK, SKY, AMBER)
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (7, 1.5)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
_LEGEND_ROWS = 10
"""Largest number of rows that a legend names."""


class ScalarDistribution(Distribution, Protocol):
    """Predictive distributions of one response with a density, like ``PredictiveDistribution``."""

    def pdf(self, y: ArrayLike) -> Array:
        """Density at a grid for each row (n, k), or one for all (1, k): shape (n, k)."""
        ...


def draw_densities(
    distribution: ScalarDistribution,
    rows: Sequence[int] | None = None,
    y: ArrayLike | None = None,
    ax: Any = None,
    label: str = "response",
) -> Any:
    """Draw the densities of some rows on a common grid and return the axes; see ``plotting.densities``."""
    every = np.arange(len(distribution))
    positions = every[:5] if rows is None else every[list(np.atleast_1d(rows))]
    if len(positions) == 0:
        raise ValueError("rows must name at least one row.")
    chosen = distribution[positions]
    observed = None if y is None else matching_observations(distribution, y)[positions]
    grid = density_grid(chosen, observed)
    names = positions if distribution.index is None else np.asarray(distribution.index)[positions]
    ax = axes(ax)
    for i, density in enumerate(chosen.pdf(grid[None])):
        colour, dashes = _COLOURS[i % len(_COLOURS)], _DASHES[i % len(_DASHES)]
        ax.plot(grid, density, color=colour, linestyle=dashes, linewidth=1.6, label=f"row {names[i]}")
    if observed is not None:
        heights = chosen.pdf(observed)
        colours = [_COLOURS[i % len(_COLOURS)] for i in range(len(observed))]
        ax.vlines(observed, 0.0, 0.045, color=colours, linewidth=2.2, transform=ax.get_xaxis_transform(), zorder=4)
        ax.scatter(observed, heights, s=26, color=colours, edgecolor="white", linewidth=0.8, zorder=5)
        ax.plot([], [], "o", color="0.4", markersize=5, label="observed")
    ax.set(xlabel=label, ylabel="density", ylim=(0.0, None), xlim=(grid[0], grid[-1]))
    return finish(ax, legend=len(positions) <= _LEGEND_ROWS)


def density_grid(distribution: ScalarDistribution, observed: Array | None, even: int = 401, fine: int = 512) -> Array:
    """Grid for the densities of all rows, shape (k,).

    Parameters
    ----------
    distribution : ScalarDistribution
        The rows to draw.
    observed : ndarray, optional
        Values that the grid includes.
    even : int
        Equidistant points.
    fine : int
        About as many further points, at quantiles of the rows: narrow densities need a finer grid.
    """
    k = max(16, fine // len(distribution))
    inner, ends = distribution.quantile((np.arange(k) + 0.5) / k), distribution.quantile([0.003, 0.997])
    beyond = np.ptp(ends, axis=1, keepdims=True) * np.array([0.02, 0.05, 0.1, 0.2, 0.4])
    shown = np.concatenate([ends.ravel(), [] if observed is None else observed])
    low, high = float(shown.min()), float(shown.max())
    margin = 0.06 * (high - low) or 1e-3 * max(abs(low), 1.0)
    finer = np.hstack([inner, ends[:, :1] - beyond, ends[:, 1:] + beyond])
    within = finer[(finer > low) & (finer < high)]
    return np.unique(np.concatenate([np.linspace(low - margin, high + margin, even), within]))
