"""The result as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.structured.dependence import WINDOWS
from benchmarks.structured.models import MODELS
from benchmarks.structured.page import Line, averages
from diffgbm._util.optional import need


def draw(lines: Sequence[Line], path: Path) -> None:
    """Draw CRPS and share outside by table, promised beside fresh CRPS of groups, and coverage by window."""
    plt = need("matplotlib.pyplot")
    figure, axes = plt.subplots(2, 2, figsize=(10.0, 7.6))
    _limits(lines, axes[0])
    _groups(lines, axes[1][0])
    _time(lines, axes[1][1])
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _limits(lines: Sequence[Line], axes: Any) -> None:
    mean = averages(lines, "limits")
    kinds = list(dict.fromkeys(table for table, model in mean if model == "DiffGBM"))
    for model in MODELS:
        found = [(i, mean[kind, model], mean[kind, "DiffGBM"]) for i, kind in enumerate(kinds) if (kind, model) in mean]
        position = [i for i, _, _ in found]
        axes[0].plot([cell["crps"] / base["crps"] for _, cell, base in found], position, "o", label=model, alpha=0.7)
        axes[1].plot([100.0 * cell["outside"] for _, cell, _ in found], position, "o", alpha=0.7)
    for axis in axes:
        axis.set_yticks(range(len(kinds)), kinds)
    axes[0].set_xlabel("CRPS relative to DiffGBM without support")
    axes[1].set_xlabel("rows with a prediction outside the support, %")
    axes[0].legend(fontsize=6, framealpha=0.6)


def _groups(lines: Sequence[Line], axis: Any) -> None:
    found = {model: cell for (_, model), cell in averages(lines, "groups").items()}
    for i, cell in enumerate(found.values()):
        axis.plot([cell["promised_crps"], cell["fresh_crps"]], [i, i], color="0.7", zorder=1)
        axis.plot(cell["promised_crps"], i, "o", mfc="white", color="C0", label="promised" if i == 0 else None)
        axis.plot(cell["fresh_crps"], i, "o", color="C0", label="fresh entities" if i == 0 else None)
    axis.set_yticks(range(len(found)), list(found), fontsize=7)
    axis.invert_yaxis()
    axis.set_xlabel("CRPS of entities with 20 rows each")
    axis.legend(fontsize=7, framealpha=0.6)


def _time(lines: Sequence[Line], axis: Any) -> None:
    windows = [f"window {k + 1}" for k in range(WINDOWS)]
    for (_, model), cell in averages(lines, "time").items():
        adaptive = model.endswith("AdaptiveConformal")
        axis.plot(
            np.arange(WINDOWS) + 1, [100.0 * cell[w] for w in windows], "o-", label=model, lw=2 if adaptive else 1
        )
    axis.axhline(90.0, color="0.7", lw=1, zorder=0)
    axis.set_xticks(np.arange(WINDOWS) + 1)
    axis.set_xlabel("window of 500 rows, while the series drifts")
    axis.set_ylabel("coverage of 90% intervals, %")
    axis.legend(fontsize=7, framealpha=0.6)
