"""One figure: the CRPS against the total time, log-log, one point for each contestant and limit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.rivals.contestants import CONTESTANTS
from benchmarks.rivals.results import Block
from diffgbm._util.figures import BLUE, ORANGE, axes, finish
from diffgbm._util.optional import need


def summary_points(blocks: Sequence[Block]) -> dict[str, list[tuple[float, float, float]]]:
    """For each contestant its points (limit, seconds, relative CRPS): geometric means over its tables.

    The CRPS is relative to the best of all contestants and limits on each table; seconds are those of fit and
    prediction.
    """
    best: dict[str, float] = {}
    for found in blocks:
        for table, values in zip(found.tables, found.values("crps").T, strict=True):
            if np.isfinite(values).any():
                best[table] = min(best.get(table, np.inf), float(np.nanmin(values)))
    points: dict[str, list[tuple[float, float, float]]] = {}
    for found in blocks:
        reference = np.array([best[table] for table in found.tables])
        seconds = found.values("fit_seconds") + found.values("predict_seconds")
        for name, crps, spent in zip(found.contestants, found.values("crps"), seconds, strict=True):
            known = np.isfinite(crps)
            if known.any():
                ratio = float(np.exp(np.mean(np.log(crps[known] / reference[known]))))
                points.setdefault(name, []).append((found.limit, float(np.exp(np.mean(np.log(spent[known])))), ratio))
    return points


def draw(blocks: Sequence[Block], path: Path) -> Path | None:
    """Save the figure; return its path, or ``None`` without any points."""
    points = summary_points(blocks)
    if not points:
        return None
    ax = axes(None, (8.0, 5.0))
    for name, found in points.items():
        ours = CONTESTANTS[name].ours
        x, y = [p[1] for p in found], [p[2] for p in found]
        ax.plot(x, y, "o-" if CONTESTANTS[name].limited else "s", color=ORANGE if ours else BLUE, ms=5, lw=1)
        ax.annotate(CONTESTANTS[name].label, (x[-1], y[-1]), xytext=(5, 3), textcoords="offset points", fontsize=8)
    ax.set(xscale="log", yscale="log", xlabel="seconds to fit and predict (geometric mean)")
    ax.set_ylabel("CRPS, relative to the best (geometric mean)")
    finish(ax, legend=False).figure.savefig(path, dpi=120)
    need("matplotlib.pyplot").close(ax.figure)
    return path
