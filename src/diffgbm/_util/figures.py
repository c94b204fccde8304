"""Style of the matplotlib figures: colours, new axes, legends and dots."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.optional import need

BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
"""Colours of Okabe and Ito, which people with colour vision deficiency can tell apart."""
INK = "#222222"


def axes(ax: Any, size: tuple[float, float] = (6.4, 4.2)) -> Any:
    """Return ``ax``, or the axes of a new figure."""
    if ax is not None:
        return ax
    return need("matplotlib.pyplot").subplots(figsize=size, layout="constrained")[1]


def finish(ax: Any, legend: bool = True, **options: Any) -> Any:
    """Remove the upper and right spines, add a legend without a frame, and return the axes."""
    ax.spines[["top", "right"]].set_visible(False)
    if legend:
        ax.legend(frameon=False, **options)
    return ax


def tint(colour: str, strength: float) -> tuple[float, ...]:
    """Mix ``colour`` with white. The result is opaque, so that overlapping shapes keep their shades."""
    channels = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return tuple(1.0 - strength * (1.0 - channel) for channel in channels)


def dots(n: int) -> dict[str, Any]:
    """Style of ``n`` points: the more points, the smaller they are; many are rasterized to keep files small."""
    size = float(np.clip(8.0 - 0.55 * np.log2(max(n, 1)), 1.2, 5.0))
    return {"marker": "o", "linestyle": "", "markersize": size, "markeredgewidth": 0, "rasterized": n > 5000}


def percent(level: float) -> str:
    """Format a probability as a percentage."""
    return f"{100.0 * level:.4g}%"
