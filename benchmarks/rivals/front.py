"""The README's table: `AutoDiffGBM` beside other packages. ``python -m benchmarks.rivals.front`` prints it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.records import Record, latest
from benchmarks.rivals.command import RESULTS, THREADS
from benchmarks.rivals.jobs import KEY
from benchmarks.rivals.page import coverage_error, mean_rank, number, ordered
from benchmarks.rivals.problems import FOLDS
from benchmarks.rivals.results import block, geometric_ratios, lower, shown_folds

LIMIT = 120.0
HEADER = ("", "mean rank", "CRPS / {}", "lower CRPS on", "90% coverage off by", "fit, s", "predict, ms a row")


def table(lines: Sequence[Record], limit: float = LIMIT) -> str:
    """Make the Markdown table of the contestants that were run on all tables, the best mean rank on top."""
    found = block(lines, limit, THREADS, shown_folds(lines, limit, THREADS, FOLDS))
    rank, reference = mean_rank(found), found.reference
    names = [name for name in ordered(found) if name in rank]
    ratios, wins = geometric_ratios(found, reference), lower(found, reference)
    fit = np.nanmedian(found.values("fit_seconds", names), axis=1)
    row = np.nanmedian(found.values("row_microseconds", names), axis=1) / 1000.0
    covered = coverage_error(found, names, 90)
    out = ["| " + " | ".join(HEADER).format(f"`{reference}`") + " |", "| :--- |" + " ---: |" * (len(HEADER) - 1)]
    for i, name in enumerate(names):
        cells = [
            found.label(name),
            f"{rank[name]:.1f}",
            f"{ratios[name][0]:.2f}",
            "" if name == reference else f"{wins[name]} of {len(found.tables)}",
            number(float(covered[i]), ".3f"),
            number(float(fit[i]), ".1f"),
            number(float(row[i]), ".2g"),
        ]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def front_table() -> str:
    """Return the table of the committed lines."""
    return table(list(latest(RESULTS / "rivals.jsonl", KEY).values()))


if __name__ == "__main__":
    print(front_table(), end="")
