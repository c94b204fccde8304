"""Figures: the critical-difference diagram, and CRPS beside the best family of each data set.

Markers and positions distinguish families, so that the figures are readable without colour.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables.aggregates import metric
from benchmarks.tables.blocks import Block, blocks, panel, rows_of
from benchmarks.tables.cells import Results
from benchmarks.tables.labels import DIFFUSION, HEADLINE_FAMILIES, long
from benchmarks.tables.paper_values import NEMENYI_CD, RANKS
from benchmarks.tables.per_data_set import value
from benchmarks.tables.ranking import ALPHA, cliques, critical_difference, mean_ranks
from benchmarks.tables.ranks import testable
from diffgbm._util.optional import need

FORMATS = ("png", "pdf")
NAMES = (*(panel("critical_difference", number) for number in range(3)), "relative_crps")

STYLES: dict[str, tuple[str, str]] = {
    "published": ("s", "#000000"),
    "score_flex_sde": ("o", "#0072B2"),
    "flow_vp": ("D", "#D55E00"),
    "qreg_lightgbm": ("^", "#009E73"),
    "catboost": ("v", "#CC79A7"),
    "ngboost": ("<", "#E69F00"),
    "deep_ensemble": ("P", "#56B4E9"),
    "ibug": ("X", "#666666"),
    "card": ("*", "#7A5195"),
}
"""Marker and colour of each family of the headline; DiffGBM's are filled."""


def write(results: Results, directory: Path) -> list[Path]:
    """Draw every figure that the results allow and return the files; outdated ones are removed."""
    out: list[Path] = []
    for name, block in zip(NAMES, blocks(results, HEADLINE_FAMILIES), strict=False):
        if testable(block):
            out += _save(critical_difference_diagram(block), directory / name)
    rows = rows_of(results, HEADLINE_FAMILIES)
    if any(len(row.families) > 1 for row in rows):
        out += _save(relative_crps_dots(rows), directory / NAMES[-1])
    for path in {directory / f"{name}.{ending}" for name in NAMES for ending in FORMATS} - set(out):
        path.unlink(missing_ok=True)
    return out


def _save(figure: Any, stem: Path) -> list[Path]:
    """Save in every format, without dates, so that equal figures are equal files."""
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in FORMATS]
    for path in paths:
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else {"Software": None}
        figure.savefig(path, dpi=150, metadata=metadata)
    need("matplotlib.pyplot").close(figure)
    return paths


def critical_difference_diagram(block: Block) -> Any:
    """Draw mean CRPS ranks on a line; bars join rows without a significant difference by Nemenyi's test.

    Returns
    -------
    matplotlib.figure.Figure
        Better ranks are on the left; the paper's rank is in parentheses.
    """
    plt = need("matplotlib.pyplot")
    ranks = mean_ranks(block.means(metric("crps")))
    order = np.argsort(ranks, kind="stable")
    families, ranks = [block.families[i] for i in order], ranks[order]
    k, n = len(families), len(block.data_sets)
    difference = critical_difference(k, n)
    bars = cliques(ranks, difference)
    first_label = 0.9 + 0.28 * len(bars)
    depth = first_label + 0.55 * ((k + 1) // 2)
    figure, ax = plt.subplots(figsize=(7.6, 0.9 + 0.42 * (depth + 1.4)), layout="constrained")
    ax.set(xlim=(1 - 0.5 * k, k + 0.5 * k), ylim=(depth, -1.9))
    ax.axis("off")
    _rank_axis(ax, k)
    _difference_bar(ax, difference)
    for level, (first, last) in enumerate(bars):
        height = 0.45 + 0.28 * level
        ax.plot(
            [ranks[first] - 0.06, ranks[last] + 0.06], [height, height], color="black", lw=3.5, solid_capstyle="butt"
        )
    for index, (family, rank) in enumerate(zip(families, ranks, strict=True)):
        left = index < (k + 1) // 2
        row = index if left else k - 1 - index
        _rank_label(ax, family, float(rank), first_label + 0.55 * row, 0.7 if left else k + 0.3, left)
    title = f"Mean CRPS rank on {n} data sets: {', '.join(block.data_sets)}."
    title += " In parentheses: the paper, 9 families on 11 data sets."
    ax.set_title(textwrap.fill(title, 110), fontsize=8)
    return figure


def _rank_axis(ax: Any, k: int) -> None:
    ax.plot([1, k], [0, 0], color="black", lw=1)
    for tick in range(1, k + 1):
        ax.plot([tick, tick], [0, -0.18], color="black", lw=1)
        ax.text(tick, -0.28, str(tick), ha="center", va="bottom", fontsize=9)


def _difference_bar(ax: Any, difference: float) -> None:
    ax.plot([1, 1 + difference], [-1.25, -1.25], color="black", lw=1)
    for end in (1, 1 + difference):
        ax.plot([end, end], [-1.35, -1.15], color="black", lw=1)
    text = f"critical difference {difference:.2f} at {ALPHA} (paper: {NEMENYI_CD})"
    ax.text(1, -1.42, text, ha="left", va="bottom", fontsize=8)


def _rank_label(ax: Any, family: str, rank: float, height: float, edge: float, left: bool) -> None:
    paper = RANKS.get(family, "crps_rank")
    beside = f"{rank:.2f}" + ("" if paper is None else f" ({paper:.2f})")
    text = f"{long(family)}  {beside}" if left else f"{beside}  {long(family)}"
    ax.plot([rank, rank, edge], [0, height, height], color="0.35", lw=0.8)
    weight = "bold" if family in DIFFUSION else "normal"
    ax.text(
        edge + (-0.08 if left else 0.08),
        height,
        text,
        ha="right" if left else "left",
        va="center",
        fontsize=8.5,
        weight=weight,
    )


def relative_crps_dots(rows: Sequence[Block]) -> Any:
    """Draw each family's CRPS over the best one's, a line of dots for each data set.

    Returns
    -------
    matplotlib.figure.Figure
        The scale is logarithmic; 1 is the best family of the data set.
    """
    plt = need("matplotlib.pyplot")
    compared = [row for row in rows if len(row.families) > 1]
    crps = np.array([[value(row, family, metric("crps")) for family in HEADLINE_FAMILIES] for row in compared])
    ratios = crps / np.nanmin(crps, axis=1, keepdims=True)
    figure, ax = plt.subplots(figsize=(7.6, 1.6 + 0.38 * len(compared)), layout="constrained")
    heights = np.arange(len(compared), dtype=float)
    ax.hlines(heights, 1.0, np.nanmax(ratios, axis=1), color="0.85", lw=1, zorder=1)
    for j, family in enumerate(HEADLINE_FAMILIES):
        if np.isnan(ratios[:, j]).all():
            continue
        marker, colour = STYLES[family]
        ours = family in DIFFUSION
        inside, edge = (colour, "white") if ours else ("white", colour)
        size = {"published": 100.0}.get(family, 64.0 if ours else 52.0)  # visible behind a marker on top of it
        where = {"zorder": 4 if ours and family != "published" else 3, "label": long(family)}
        ax.scatter(ratios[:, j], heights, marker=marker, s=size, facecolor=inside, edgecolor=edge, **where)
    ax.axvline(1.0, color="black", lw=0.8, zorder=2)
    _ratio_axis(ax, float(np.nanmax(ratios)))
    ax.set_yticks(heights, labels=[row.data_sets[0] + ("" if _whole(row) else " *") for row in compared])
    ax.invert_yaxis()
    note = "" if all(map(_whole, compared)) else "   (* some families have no result)"
    ax.set_xlabel("CRPS / best CRPS on the data set" + note)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    return figure


def _whole(row: Block) -> bool:
    return set(row.families) >= set(HEADLINE_FAMILIES)


def _ratio_axis(ax: Any, largest: float) -> None:
    """Logarithmic, with plain numbers at the ticks that are within reach."""
    ax.set_xscale("log")
    steps = (1.0, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
    ticks = [tick for tick in steps if tick <= largest * 1.02]
    ax.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlim(1.0 / largest**0.03, largest**1.05)
