"""What the pictures share: colours, a figure when none is given, and how observations are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.metrics.scores import AnyDistribution

BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
INK = "#222222"


def axes(ax: Any, size: tuple[float, float] = (6.4, 4.2)) -> Any:
    """Return ``ax``, or the axes of a new figure."""
    if ax is not None:
        return ax
    return need("matplotlib.pyplot").subplots(figsize=size, layout="constrained")[1]


def finish(ax: Any, legend: bool = True, **options: Any) -> Any:
    """Take away what does not inform."""
    ax.spines[["top", "right"]].set_visible(False)
    if legend:
        ax.legend(frameon=False, **options)
    return ax


def tint(colour: str, strength: float) -> tuple[float, ...]:
    """Mix ``colour`` with white: opaque, so that shapes on top of each other keep their shades."""
    channels = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return tuple(1.0 - strength * (1.0 - channel) for channel in channels)


def dots(n: int) -> dict[str, Any]:
    """Style of ``n`` points: smaller where there are many, and kept small in files."""
    size = float(np.clip(8.0 - 0.55 * np.log2(max(n, 1)), 1.2, 5.0))
    return {"marker": "o", "linestyle": "", "markersize": size, "markeredgewidth": 0, "rasterized": n > 5000}


def percent(level: float) -> str:
    """Write a probability as a percentage."""
    return f"{100.0 * level:.4g}%"


def observations(distribution: AnyDistribution, y: ArrayLike) -> Array:
    """Read the observations of a prediction; (n, 1) is (n,) for a law of one response."""
    observed = np.asarray(y, dtype=np.float64)
    expected = np.shape(distribution.quantile(0.5))
    if observed.shape == (*expected, 1):
        observed = observed[..., 0]
    if observed.shape != expected:
        raise ValueError(f"y must have the shape {expected} of the predictions; got {observed.shape}.")
    return observed
