"""Densities of some rows in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.figures import AMBER, BLUE, GREEN, INK, ORANGE, PURPLE, SKY, axes, finish
from diffgbm._util.types import Array
from diffgbm.distributions.base import matching_observations
from diffgbm.distributions.smoothing import QuantileFunctions, smooth_rows

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, INK, SKY, AMBER)
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (7, 1.5)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
_LEGEND_ROWS = 10
"""Largest number of rows that a legend names."""
_WRITTEN = 0.05
"""Smallest point mass whose probability is written beside it."""


def draw_densities(
    distribution: QuantileFunctions,
    rows: Sequence[int] | None = None,
    y: ArrayLike | None = None,
    ax: Any = None,
    label: str = "response",
    smooth: bool = True,
) -> Any:
    """Draw the densities of some rows on a common grid and return the axes; see ``plotting.densities``."""
    every = np.arange(len(distribution))
    positions = every[:5] if rows is None else every[list(np.atleast_1d(rows))]
    if len(positions) == 0:
        raise ValueError("rows must name at least one row.")
    chosen = distribution[positions]
    observed = None if y is None else matching_observations(distribution, y)[positions]
    drawn: list[Any] = smooth_rows(chosen) if smooth else [ExactRow(row) for row in chosen]
    names = positions if distribution.index is None else np.asarray(distribution.index)[positions]
    colours = [_COLOURS[i % len(_COLOURS)] for i in range(len(positions))]
    ax = axes(ax)
    grid = _common_grid(chosen, drawn, observed, smooth)
    curves = [row.pdf(grid) for row in drawn]
    for i, density in enumerate(curves):
        dashes = _DASHES[i % len(_DASHES)]
        ax.plot(grid, density, color=colours[i], linestyle=dashes, linewidth=1.6, label=f"row {names[i]}")
    if observed is not None:
        heights = [float(row.pdf(observed[i : i + 1])[0]) for i, row in enumerate(drawn)]
        ax.vlines(observed, 0.0, 0.045, color=colours, linewidth=2.2, transform=ax.get_xaxis_transform(), zorder=4)
        ax.scatter(observed, heights, s=26, color=colours, edgecolor="white", linewidth=0.8, zorder=5)
        ax.plot([], [], "o", color="0.4", markersize=5, label="observed")
    masses = any(len(row.atoms) for row in drawn)
    for row, colour in zip(drawn, colours, strict=True):
        _draw_point_masses(ax, row.atoms, row.masses, colour)
    ax.set(xlabel=label, ylabel="density, and probability of single values" if masses else "density")
    # a picture of point masses alone has no densities that could set its height
    top = None if any(density.max() > 0.0 for density in curves) else 1.0
    ax.set(ylim=(0.0, top), xlim=(grid[0], grid[-1]))
    return finish(ax, legend=len(positions) <= _LEGEND_ROWS)


@dataclass(frozen=True, eq=False)
class ExactRow:
    """The exact density of one row, drawn without smoothing and without point masses."""

    distribution: Any
    atoms: Array = field(default_factory=lambda: np.empty(0))
    masses: Array = field(default_factory=lambda: np.empty(0))

    def pdf(self, y: Array) -> Array:
        """Exact density at values (k,)."""
        return np.asarray(self.distribution.pdf(y[None])[0])


def _draw_point_masses(ax: Any, atoms: Array, masses: Array, colour: str) -> None:
    """Draw stems as high as their probability, where the height of the axes is 1, and write the larger ones."""
    to_top = ax.get_xaxis_transform()
    ax.vlines(atoms, 0.0, masses, color=colour, linewidth=3.0, transform=to_top, zorder=3)
    for value, mass in zip(atoms, masses, strict=True):
        if mass >= _WRITTEN:
            style = {"ha": "center", "va": "bottom", "fontsize": "small", "color": colour}
            ax.annotate(f"{100.0 * mass:.0f}%", (value, mass), (0, 2), to_top, "offset points", **style)


def _common_grid(chosen: Any, drawn: Sequence[Any], observed: Array | None, smooth: bool) -> Array:
    """Grid (k,) for the densities of all rows."""
    if not smooth:
        return density_grid(chosen, observed)
    grids = [row.grid(401, 128) for row in drawn if not row.discrete]
    shown = np.concatenate([*grids, *(row.atoms for row in drawn), [] if observed is None else observed])
    low, high = float(shown.min()), float(shown.max())
    margin = 0.06 * (high - low) or 1e-3 * max(abs(low), 1.0)
    limits = [limit for row in drawn for limit in (row.low, row.high) if np.isfinite(limit)]
    # a density that ends at a limit falls there, not between two points of the grid
    beside = [np.nextafter(limit, side) for limit in limits for side in (-np.inf, limit, np.inf)]
    # and a narrow one beside wide ones falls soon beyond the ends of its own grid, where it is almost zero
    every = np.concatenate([*map(_with_ends, grids), beside])
    within = every[(every > low - margin) & (every < high + margin)]
    return np.unique(np.concatenate([np.linspace(low - margin, high + margin, 401), within]))


def _with_ends(grid: Array) -> Array:
    """Add points beyond both ends of a grid, as far apart as its own."""
    step = (grid[-1] - grid[0]) / len(grid) * np.arange(1.0, 33.0) ** 1.5
    return np.concatenate([grid[0] - step[::-1], grid, grid[-1] + step])


def density_grid(distribution: QuantileFunctions, observed: Array | None, even: int = 401, fine: int = 512) -> Array:
    """Grid for the densities of all rows, shape (k,).

    Parameters
    ----------
    distribution : PredictiveDistribution
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
