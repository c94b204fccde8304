"""The comparison as a page: ranks with critical differences, CRPS, coverage and costs, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.records import Record
from benchmarks.rivals.contestants import CONTESTANTS
from benchmarks.rivals.jobs import KEY, Cell, is_busy
from benchmarks.rivals.results import KEPT, Block, block, geometric_ratios
from benchmarks.tables.ranking import ALPHA, critical_difference, friedman, mean_ranks
from diffgbm._util.types import Array

COMMAND = "python -m benchmarks rivals"
REFERENCE = {30.0: "fast", 120.0: "balanced", 600.0: "best"}
"""Our contestant that others are compared with under each limit."""


def markdown(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table; all columns but the first are aligned to the right."""
    marks = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, marks, *body])


def number(value: float, form: str = ".4g") -> str:
    """Format a number; nothing for NaN."""
    return "" if np.isnan(value) else format(value, form)


def page(lines: Sequence[Record], cells: Sequence[Cell], threads: int, folds: Sequence[int], figure: str | None) -> str:
    """Write the page of all recorded lines; ``cells`` are those of the whole comparison."""
    limits = sorted({cell.limit for cell in cells if cell.limit is not None})
    blocks = [block(lines, limit, threads, folds) for limit in limits]
    parts = ["# DiffGBM beside other packages", _introduction(threads, folds)]
    parts += [missing(lines, cells), *busy(lines)]
    parts += [f"![CRPS against time]({figure})"] if figure else []
    for i, found in enumerate(blocks):
        # contestants without a limit alone are the same under each
        if found.contestants and (i == 0 or any(CONTESTANTS[name].limited for name in found.contestants)):
            parts += [f"## {found.limit:g} seconds", *_sections(found)]
    parts += ["## Contestants", contestants(lines)]
    return "\n\n".join(parts) + "\n"


def _introduction(threads: int, folds: Sequence[int]) -> str:
    sentences = (
        f"Made by `{COMMAND}` from `rivals.jsonl`, one line for each fit.",
        f"Every package has an environment of its own, the same rows, {threads} core(s) and the same time limit;",
        f"folds {' and '.join(map(str, folds))}; at most 8,000 training and 2,000 test rows.",
        "Settings are the defaults of each package and what its documentation recommends for distributions;",
        "nobody is tuned. The CRPS is that of 99 quantiles for all.",
        "A package that takes no time limit is fitted once, and counts under a limit if its fit took at most",
        f"{KEPT:g} times as long.",
    )
    return "\n".join(sentences)


def missing(lines: Sequence[Record], cells: Sequence[Cell]) -> str:
    """Say what was not measured yet, and what failed."""
    done = {tuple(line[name] for name in KEY): line for line in lines}
    absent = [cell for cell in cells if cell.key not in done]
    failed = [cell for cell in cells if "failed" in done.get(cell.key, {})]
    if not absent and not failed:
        return f"All {len(cells)} fits were made."
    text = f"**Not complete: {len(absent)} of {len(cells)} fits are missing and {len(failed)} failed.** "
    text += "Ranks are those of the contestants and tables below, and may change."
    counts = Counter(cell.contestant for cell in absent)
    items = []
    if absent:
        items.append("- Missing: " + ", ".join(f"{CONTESTANTS[name].label} {n}" for name, n in counts.items()) + ".")
    for name in dict.fromkeys(cell.contestant for cell in failed):
        of = [cell for cell in failed if cell.contestant == name]
        last = done[of[-1].key]["failed"].strip().splitlines()[-1][:160]
        items.append(f"- {CONTESTANTS[name].label} failed {len(of)} times, the last time with: {last}")
    return "\n".join([text, "", *items])


def busy(lines: Sequence[Record]) -> list[str]:
    """Say how many lines were measured beside other jobs."""
    count = sum(map(is_busy, lines))
    if not count:
        return []
    return [
        f"**{count} of {len(lines)} fits ran on a busy machine**, beside other jobs: their times are too long, and "
        "contestants that keep a time limit had less time to compute than it says, others had not. "
        f"`{COMMAND} --retry` measures them again."
    ]


def _sections(found: Block) -> list[str]:
    reference = REFERENCE.get(found.limit, "balanced")
    reference = reference if reference in found.contestants else found.contestants[0]
    return [*ranks(found, reference), _crps(found), _costs(found)]


def ranks(found: Block, reference: str) -> list[str]:
    """Mean ranks of the contestants with all tables, with Friedman's test and Nemenyi's critical difference."""
    complete, ratios = found.complete, geometric_ratios(found, reference)
    crps = found.values("crps", complete)
    mean = dict(zip(complete, mean_ranks(crps), strict=True)) if len(complete) else {}
    ordered = sorted(found.contestants, key=lambda c: (mean.get(c, np.inf), ratios.get(c, (np.inf, 0))[0]))
    body = [
        [
            CONTESTANTS[c].label,
            number(mean.get(c, np.nan), ".2f"),
            number(ratios[c][0], ".3f") if c in ratios else "",
            str(int(np.isfinite(found.values("crps", [c])[0]).sum())),
        ]
        for c in ordered
    ]
    header = ["", "mean rank", f"CRPS over {CONTESTANTS[reference].label}", "tables"]
    text = [markdown(header, body)]
    test = friedman(crps) if len(complete) > 2 else None
    if test is not None:
        difference = critical_difference(len(complete), len(found.tables))
        text.append(
            f"Ranks of the {len(complete)} contestants with all {len(found.tables)} tables; Friedman's test: "
            f"p = {test.p_value:.2g}. Mean ranks that differ by less than {difference:.2f} are not different at the "
            f"level {ALPHA} (Nemenyi). The CRPS ratio is a geometric mean over the tables that both have."
        )
    return text


def _crps(found: Block) -> str:
    values = found.values("crps")
    best = np.nanmin(values, axis=0) if len(values) else np.empty(0)
    body = []
    for j, table in enumerate(found.tables):
        cells = [f"**{value:.4g}**" if value == best[j] else number(value) for value in values[:, j]]
        body.append([table, *cells])
    return "CRPS:\n\n" + markdown(["", *(CONTESTANTS[c].label for c in found.contestants)], body)


def _costs(found: Block) -> str:
    """Coverage, interval score relative to the best, and costs, over the tables of each contestant."""
    fields: dict[str, tuple[str, Callable[[Array], Any], str]] = {
        "50% coverage": ("coverage_50", np.nanmean, ".2f"),
        "90% coverage": ("coverage_90", np.nanmean, ".2f"),
        "fit (s), median": ("fit_seconds", np.nanmedian, ".1f"),
        "predict (us a row)": ("row_microseconds", np.nanmedian, ".0f"),
        "peak memory (MB)": ("peak_megabytes", np.nanmax, ".0f"),
    }
    interval = found.values("interval_score_90")
    relative = np.exp(np.nanmean(np.log(interval / np.nanmin(interval, axis=0)), axis=1))
    body = []
    for i, name in enumerate(found.contestants):
        row = [number(float(reduce(found.values(field, [name])[0])), form) for field, reduce, form in fields.values()]
        body.append([CONTESTANTS[name].label, *row[:2], number(float(relative[i]), ".2f"), *row[2:]])
    header = ["", "50% coverage", "90% coverage", "interval score over the best"]
    return markdown([*header, *list(fields)[2:]], body)


def contestants(lines: Sequence[Record]) -> str:
    """Return the settings and versions of all contestants that were run."""
    run = dict.fromkeys(line["contestant"] for line in lines)
    body = []
    for name in (c for c in CONTESTANTS if c in run):
        contestant = CONTESTANTS[name]
        sources = dict.fromkeys(
            f"commit {line['source']['commit']}" if isinstance(line["source"], dict) else line["source"]
            for line in lines
            if line["contestant"] == name
        )
        limit = "kept" if contestant.limited else "takes none"
        body.append([contestant.label, ", ".join(sources), contestant.settings or "defaults", limit])
    return markdown(["", "version", "settings", "time limit"], body).replace("---:", "---")
