"""One figure: the CRPS against the total time, log-log, one point for each contestant and limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rivals.contestants import CONTESTANTS
from benchmarks.rivals.results import NEARLY_EXACT, Block
from diffgbm._util.figures import BLUE, ORANGE, axes, finish
from diffgbm._util.optional import need

CORNERS = ((6, 3, "left"), (6, -10, "left"), (-6, 3, "right"), (-6, -10, "right"), (6, 12, "left"), (6, -19, "left"))
"""Where a label may stand beside its point, in points."""


@dataclass(frozen=True)
class Point:
    """One contestant under one limit: geometric means over its tables."""

    limit: float
    seconds: float
    ratio: float
    tables: int


def summary_points(blocks: Sequence[Block]) -> dict[str, list[Point]]:
    """For each contestant its points: one for each limit, or one if it takes none.

    The CRPS is relative to the best of all contestants and limits on each table; seconds are those of fit and
    prediction. The table that some predict exactly is left out.
    """
    best: dict[str, float] = {}
    for found in blocks:
        for table, values in zip(found.tables, found.values("crps").T, strict=True):
            if np.isfinite(values).any():
                best[table] = min(best.get(table, np.inf), float(np.nanmin(values)))
    points: dict[str, list[Point]] = {}
    for found in blocks:
        reference = np.array([best[table] for table in found.tables])
        wanted = np.array([table != NEARLY_EXACT for table in found.tables])
        seconds = found.values("fit_seconds") + found.values("predict_seconds")
        for name, crps, spent in zip(found.contestants, found.values("crps"), seconds, strict=True):
            known = np.isfinite(crps) & wanted
            if known.any() and found.own.get(name, found.limit) == found.limit:
                ratio, total = _geometric(crps[known] / reference[known]), _geometric(spent[known])
                mine = points.setdefault(name, [])
                # without a limit the longest limit has all of its tables
                mine[:] = mine if CONTESTANTS[name].limited else []
                mine.append(Point(found.limit, total, ratio, int(known.sum())))
    return points


def _geometric(values: Any) -> float:
    return float(np.exp(np.mean(np.log(values))))


def draw(blocks: Sequence[Block], path: Path) -> Path | None:
    """Save the figure; return its path, or ``None`` without any points."""
    points = summary_points(blocks)
    if not points:
        return None
    ticker = need("matplotlib.ticker")
    ax = axes(None, (9.0, 5.5))
    most = max(point.tables for found in points.values() for point in found)
    for name, found in points.items():
        color = ORANGE if CONTESTANTS[name].ours else BLUE
        ax.plot([p.seconds for p in found], [p.ratio for p in found], color=color, lw=1)
        for p in found:
            ax.plot(p.seconds, p.ratio, "o", color=color, mfc=color if p.tables == most else "white", ms=6)
    ax.set(xscale="log", yscale="log", xlabel="seconds to fit and predict (geometric mean over tables)")
    ax.set_ylabel(f"CRPS over the lowest (geometric mean over tables without {NEARLY_EXACT})")
    ax.set_title("Orange: DiffGBM. Open circles: not all tables. Lower left is better.", fontsize=9, loc="left")
    ax.margins(x=0.18, y=0.08)
    ax.yaxis.set_major_locator(ticker.MaxNLocator(8))
    ax.yaxis.set_minor_locator(ticker.NullLocator())
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    _label(ax, points)
    finish(ax, legend=False).figure.savefig(path, dpi=120)
    need("matplotlib.pyplot").close(ax.figure)
    return path


def _label(ax: Any, points: dict[str, list[Point]]) -> None:
    """Write names beside points."""
    ax.figure.canvas.draw()
    box = need("matplotlib.transforms").Bbox
    taken = []
    for p in (p for found in points.values() for p in found):
        x, y = ax.transData.transform((p.seconds, p.ratio))
        taken.append(box.from_extents(x - 4, y - 4, x + 4, y + 4))
    for name, found in points.items():
        for p in found:
            limit = f", {p.limit:g} s" if CONTESTANTS[name].limited else ""
            taken.append(_place(ax, CONTESTANTS[name].label + limit, (p.seconds, p.ratio), taken))


def _place(ax: Any, text: str, point: tuple[float, float], taken: Sequence[Any]) -> Any:
    """Write a label at the corner where it hides least, the first of equals; return its box."""
    renderer = ax.figure.canvas.get_renderer()
    tried = []
    for dx, dy, side in CORNERS:
        at = ax.annotate(text, point, xytext=(dx, dy), textcoords="offset points", fontsize=7.5, ha=side)
        box = at.get_window_extent(renderer)
        tried.append((sum(box.overlaps(other) for other in taken), at, box))
    chosen = min(tried, key=lambda each: each[0])
    for _, at, _ in tried:
        if at is not chosen[1]:
            at.remove()
    return chosen[2]
