"""The comparison as a page: ranks with critical differences, CRPS, coverage and costs, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.records import Record
from benchmarks.rivals.contestants import CONTESTANTS
from benchmarks.rivals.jobs import KEY, SHARE, Cell, is_busy
from benchmarks.rivals.problems import KNOWN
from benchmarks.rivals.results import DISCRETE, KEPT, NEARLY_EXACT, Block, block, geometric_ratios, lower, shown_folds
from benchmarks.tables.ranking import ALPHA, critical_difference, friedman, mean_ranks
from diffgbm._util.types import Array

COMMAND = "python -m benchmarks rivals"


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
    blocks = blocks_of(lines, limits, threads, folds)
    parts = ["# DiffGBM beside other packages", _introduction(threads)]
    parts += [missing(lines, cells), *busy(lines)]
    parts += [f"![CRPS against time]({figure})"] if figure else []
    for i, found in enumerate(blocks):
        # contestants without a limit alone are the same under each
        if found.contestants and (i == 0 or found.limit in found.own.values()):
            parts += [f"## {found.limit:g} seconds", *_sections(found)]
    parts += ["## Contestants", contestants(lines)]
    return "\n\n".join(parts) + "\n"


def blocks_of(lines: Sequence[Record], limits: Iterable[float], threads: int, folds: Sequence[int]) -> list[Block]:
    """Return one block for each limit, of the folds that were measured under it."""
    return [block(lines, limit, threads, shown_folds(lines, limit, threads, folds)) for limit in limits]


def _introduction(threads: int) -> str:
    sentences = (
        f"Made by `{COMMAND}` from `rivals.jsonl`, one line for each fit.",
        f"Every package has an environment of its own, the same rows, {cores(threads)} and the same time limit;",
        "at most 8,000 training and 2,000 test rows.",
        "Settings are the defaults of each package and what its documentation recommends for distributions;",
        "nobody is tuned. The CRPS is that of 99 quantiles for all.",
        "A package that takes no time limit is fitted once, and counts under a limit if its fit took at most",
        f"{KEPT:g} times as long; one that was run with a shorter limit only appears with that. Imports are not part",
        "of a fit.",
    )
    return "\n".join(sentences)


def cores(threads: int) -> str:
    """Say how many cores a fit has."""
    return "one core" if threads == 1 else f"{threads} cores"


def missing(lines: Sequence[Record], cells: Sequence[Cell]) -> str:
    """Say what was not measured yet, by limit, and what failed."""
    done = {tuple(line[name] for name in KEY): line for line in lines}
    absent = [cell for cell in cells if cell.key not in done]
    failed = [cell for cell in cells if "failed" in done.get(cell.key, {})]
    if not absent and not failed:
        return f"All {len(cells)} fits were made."
    text = f"**Not complete: {len(absent)} of {len(cells)} fits are missing and {len(failed)} failed.** "
    text += "Ranks are those of the contestants and tables below, and may change."
    items = []
    for limit in dict.fromkeys(cell.limit for cell in absent):
        counts = Counter(cell.contestant for cell in absent if cell.limit == limit)
        under = "without a limit" if limit is None else f"at {limit:g} s"
        planned = Counter(cell.contestant for cell in cells if cell.limit == limit)
        names = ", ".join(f"{CONTESTANTS[name].label} {n} of {planned[name]}" for name, n in counts.items())
        items.append(f"- Missing {under}: {'everything' if counts == planned else names}.")
    for name in dict.fromkeys(cell.contestant for cell in failed):
        of = [cell for cell in failed if cell.contestant == name]
        last = done[of[-1].key]["failed"].strip().splitlines()[-1][:160]
        items.append(f"- {CONTESTANTS[name].label} failed {len(of)} times, the last time with: {last}")
    return "\n".join([text, "", *items])


def busy(lines: Sequence[Record]) -> list[str]:
    """Say how much of its core a fit had, and how many fits were measured beside other jobs."""
    text = []
    shares = [x["fit_processor_seconds"] / x["fit_seconds"] for x in lines if x.get("fit_processor_seconds", 0.0) > 1.0]
    if shares:
        text.append(
            f"Of the time of a fit its own processor time is {100 * np.median(shares):.0f}% in the median: other "
            f"jobs used the rest. A fit on one core with less than {100 * SHARE:.0f}% is called busy."
        )
    count = sum(map(is_busy, lines))
    if count:
        text.append(
            f"**{count} of {len(lines)} fits ran on a busy machine**, beside other jobs: their times are too long, and "
            "contestants that keep a time limit had less time to compute than it says, others had not. "
            f"`{COMMAND} --retry` measures them again."
        )
    return text


def _sections(found: Block) -> list[str]:
    by_rank = ordered(found)
    folds = f"Fold{'s' * (len(found.folds) > 1)} {' and '.join(map(str, found.folds))}."
    known, real = ([t for t in found.tables if (t in KNOWN) == is_known] for is_known in (True, False))
    text = [folds, *ranks(found), _costs(found, by_rank)]
    if real:
        text += ["CRPS (lowest in bold; *late*: failed or took too long):", _crps(found, by_rank, real)]
    if known:
        text += ["CRPS where the truth is known:", _crps(found, by_rank, known)]
    return text


def mean_rank(found: Block) -> dict[str, float]:
    """Mean ranks of the contestants that were run on all tables."""
    complete = found.complete
    return dict(zip(complete, mean_ranks(found.to_rank(complete)), strict=True)) if complete else {}


def ordered(found: Block) -> list[str]:
    """Contestants by mean rank, those without one by their CRPS."""
    mean, ratios = mean_rank(found), geometric_ratios(found, found.reference)
    return sorted(found.contestants, key=lambda c: (mean.get(c, np.inf), ratios.get(c, (np.inf, 0))[0]))


def ranks(found: Block) -> list[str]:
    """Mean ranks of the contestants run on all tables, with Friedman's test and Nemenyi's critical difference."""
    reference, complete, mean = found.reference, found.complete, mean_rank(found)
    ratios, wins = geometric_ratios(found, reference), lower(found, reference)
    body = [
        [
            found.label(c),
            number(mean.get(c, np.nan), ".2f"),
            number(ratios[c][0], ".3f") if c in ratios else "",
            "" if c == reference else str(wins[c]),
            str(int(np.isfinite(found.values("crps", [c])[0]).sum())),
        ]
        for c in ordered(found)
    ]
    label = found.label(reference)
    header = ["", "mean rank", f"CRPS over {label}", "lower CRPS on", "tables"]
    text = [markdown(header, body)]
    text.append(
        f"CRPS ratios are geometric means over the tables that both have, without {NEARLY_EXACT}, which some predict "
        f'exactly. "lower CRPS on" counts the tables on which a contestant is better than {label}.'
    )
    test = friedman(found.to_rank(complete)) if len(complete) > 2 else None
    if test is not None:
        difference = critical_difference(len(complete), len(found.tables))
        text.append(
            f"Ranks of the {len(complete)} contestants that were run on all {len(found.tables)} tables; who failed or "
            f"took too long is last on that table. Friedman's test: p = {test.p_value:.2g}. Mean ranks that differ by "
            f"less than {difference:.2f} are not different at the level {ALPHA} (Nemenyi)."
        )
    return text


def _crps(found: Block, names: Sequence[str], tables: Sequence[str]) -> str:
    chosen = [found.tables.index(table) for table in tables]
    values, late = found.values("crps", names)[:, chosen], found.to_rank(names)[:, chosen] == np.inf
    best = np.nanmin(values, axis=0)

    def cell(value: float, lowest: float, too_late: bool) -> str:
        return "*late*" if too_late else f"**{value:.4g}**" if value == lowest else number(value)

    rows = zip(names, values, late, strict=True)
    body = [[found.label(c), *map(cell, row, best, missed)] for c, row, missed in rows]
    if all(table in KNOWN for table in tables):
        truth = (next(of[0]["oracle"] for (_, t), of in found.lines.items() if t == table) for table in tables)
        body.append(["*the truth*", *(number(value) for value in truth)])
    return markdown(["", *tables], body)


def coverage_error(found: Block, names: Sequence[str], level: int) -> Array:
    """Mean over tables with a continuous response of the distance between coverage and its level (contestants,)."""
    kept = [table not in DISCRETE for table in found.tables]
    return np.asarray(np.nanmean(np.abs(found.values(f"coverage_{level}", names)[:, kept] - level / 100.0), axis=1))


def _costs(found: Block, names: Sequence[str]) -> str:
    """Errors of coverage, interval score relative to the best, and costs, over the tables of each contestant."""
    fields: dict[str, tuple[str, Callable[..., Any], str]] = {
        "fit (s), median": ("fit_seconds", np.nanmedian, ".1f"),
        "longest": ("fit_seconds", np.nanmax, ".1f"),
        "predict (us a row), median": ("row_microseconds", np.nanmedian, ".0f"),
        "peak memory (MB)": ("peak_megabytes", np.nanmax, ".0f"),
    }
    interval = found.values("interval_score_90", names)[:, [table != NEARLY_EXACT for table in found.tables]]
    relative = np.exp(np.nanmean(np.log(interval / np.nanmin(interval, axis=0)), axis=1))
    columns = [coverage_error(found, names, 50), coverage_error(found, names, 90), relative]
    forms = [".3f", ".3f", ".2f", *(form for _, _, form in fields.values())]
    columns += [reduce(found.values(field, names), axis=1) for field, reduce, _ in fields.values()]
    body = [
        [found.label(name), *(number(float(c[i]), form) for c, form in zip(columns, forms, strict=True))]
        for i, name in enumerate(names)
    ]
    header = ["", "50% coverage is off by", "90% coverage is off by", "interval score over the best", *fields]
    return (
        markdown(header, body) + f"\n\nCoverage leaves out {' and '.join(DISCRETE)}, whose responses have few values: "
        f"intervals of the true distribution would cover more than they say. The interval score leaves out "
        f"{NEARLY_EXACT}."
    )


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
