"""Pictures of the laws themselves: over a feature, and row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.types import Array
from diffgbm.distributions.scalar import PredictiveDistribution
from diffgbm.metrics.scores import Ensemble, as_distribution, central_interval
from diffgbm.plotting.style import (
    AMBER,
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    axes,
    dots,
    finish,
    observations,
    percent,
    tint,
)

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, INK, SKY, AMBER)
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (7, 1.5)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
_LEGEND_ROWS = 10
"""More rows than this are not named one by one."""


def fan(
    x: ArrayLike,
    distribution: Any,
    y: ArrayLike | None = None,
    levels: Sequence[float] = (0.5, 0.8, 0.95),
    ax: Any = None,
) -> Any:
    """Fan chart: central intervals and median of each row over one feature.

    Parameters
    ----------
    x : array-like of shape (n,)
        The feature, in any order.
    law : PredictiveDistribution or samples (n_samples, n)
        Predictions for the same rows.
    y : array-like of shape (n,), optional
        Observations, drawn as points.
    levels : sequence of float
        Probabilities of the intervals.
    ax : matplotlib axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib axes
        The axes drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import PredictiveDistribution, plotting
    >>> x = np.linspace(0.0, 1.0, 50)
    >>> law = PredictiveDistribution.from_points(x[:, None] + np.linspace(-1.0, 1.0, 21), name="price")
    >>> ax = plotting.fan(x, law, levels=[0.5, 0.9])
    >>> ax.get_ylabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('price', ['90% interval', '50% interval', 'median'])
    """
    scalar = _scalar_distribution(distribution)
    median = scalar.quantile(0.5)
    feature = np.asarray(x).reshape(-1)
    if feature.shape != median.shape:
        raise ValueError(f"x must hold one value for each of the {len(median)} rows; got shape {np.shape(x)}.")
    observed = None if y is None else observations(scalar, y)
    widest_first = sorted({float(level) for level in levels}, reverse=True)
    intervals = [central_interval(scalar, level) for level in widest_first]
    order = np.argsort(feature, kind="stable")
    at = feature[order]
    single = len(at) == 1
    ax = axes(ax)
    for i, (low, high) in enumerate(intervals):
        shade = tint(BLUE, 0.16 + 0.32 * i / max(len(intervals) - 1, 1))
        label = f"{percent(widest_first[i])} interval"
        ax.fill_between(at, low[order], high[order], color=shade, linewidth=0, label=label)
        if single:  # a band over one point has no width
            ax.vlines(at, low, high, color=shade, linewidth=14)
    style = {"marker": "_", "markersize": 14} if single else {}
    ax.plot(at, median[order], color=BLUE, linewidth=1.8, label="median", **style)
    if observed is not None:
        ax.plot(at, observed[order], color=INK, label="observed", **dots(len(at)))
    ax.set(xlabel=_name(x, "x"), ylabel=_name(distribution, "response"))
    return finish(ax)


def densities(distribution: Any, rows: Sequence[int] | None = None, y: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw the predictive densities of some rows on a common grid.

    Parameters
    ----------
    law : PredictiveDistribution or samples (n_samples, n)
        Predictions for ``n`` rows.
    rows : sequence of int, optional
        Positions of the rows to draw; the first five if not given.
    y : array-like of shape (n,), optional
        Observations of all ``n`` rows: ticks on the axis, and dots on the curves of their rows.
    ax : matplotlib axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib axes
        The axes drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from diffgbm import PredictiveDistribution, plotting
    >>> law = PredictiveDistribution.from_points(np.arange(3)[:, None] + np.linspace(-1.0, 1.0, 200))
    >>> ax = plotting.densities(law, rows=[0, 2])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['row 0', 'row 2']
    """
    scalar = _scalar_distribution(distribution)
    if isinstance(scalar, Ensemble):
        scalar = PredictiveDistribution.from_points(scalar.samples.T)
    positions = np.arange(len(scalar))[:5] if rows is None else np.arange(len(scalar))[list(np.atleast_1d(rows))]
    if len(positions) == 0:
        raise ValueError("rows must name at least one row.")
    chosen = scalar[positions]
    observed = None if y is None else observations(scalar, y)[positions]
    grid = density_grid(chosen, observed)
    labels = positions if scalar.index is None else np.asarray(scalar.index)[positions]
    ax = axes(ax)
    for i, density in enumerate(chosen.pdf(grid[None])):
        colour, dashes = _COLOURS[i % len(_COLOURS)], _DASHES[i % len(_DASHES)]
        ax.plot(grid, density, color=colour, linestyle=dashes, linewidth=1.6, label=f"row {labels[i]}")
    if observed is not None:
        heights = chosen.pdf(observed)
        colours = [_COLOURS[i % len(_COLOURS)] for i in range(len(observed))]
        ax.vlines(observed, 0.0, 0.045, color=colours, linewidth=2.2, transform=ax.get_xaxis_transform(), zorder=4)
        ax.scatter(observed, heights, s=26, color=colours, edgecolor="white", linewidth=0.8, zorder=5)
        ax.plot([], [], "o", color="0.4", markersize=5, label="observed")
    ax.set(xlabel=_name(distribution, "response"), ylabel="density", ylim=(0.0, None), xlim=(grid[0], grid[-1]))
    return finish(ax, legend=len(positions) <= _LEGEND_ROWS)


def _scalar_distribution(distribution: Any) -> Any:
    """Read the prediction of one response: a law, or samples (n_samples, n)."""
    read = as_distribution(distribution)
    if np.ndim(read.quantile(0.5)) != 1:
        raise ValueError("This picture shows one response: choose it, as in law['name'] or samples[:, :, j].")
    return read


def _name(thing: Any, otherwise: str) -> str:
    """Name of a series or a law."""
    name = getattr(thing, "name", None)
    return otherwise if name is None or name == "" else str(name)


def density_grid(
    distribution: PredictiveDistribution, observed: Array | None, even: int = 401, own: int = 512
) -> Array:
    """Grid for the densities of ``law``: ``even`` points, and about ``own`` more where the laws are narrow."""
    k = max(16, own // len(distribution))
    inner, ends = distribution.quantile((np.arange(k) + 0.5) / k), distribution.quantile([0.003, 0.997])
    beyond = np.ptp(ends, axis=1, keepdims=True) * np.array([0.02, 0.05, 0.1, 0.2, 0.4])
    shown = np.concatenate([ends.ravel(), [] if observed is None else observed])
    low, high = float(shown.min()), float(shown.max())
    margin = 0.06 * (high - low) or 1e-3 * max(abs(low), 1.0)
    finer = np.hstack([inner, ends[:, :1] - beyond, ends[:, 1:] + beyond])
    within = finer[(finer > low) & (finer < high)]
    return np.unique(np.concatenate([np.linspace(low - margin, high + margin, even), within]))
