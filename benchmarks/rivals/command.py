"""Compare DiffGBM with other packages for distributions: CRPS, coverage, time and memory under the same limits.

Every cell (table, fold, contestant, limit) is one line of ``rivals.jsonl`` and is not run again: the command can be
stopped at any time and goes on where it was. The page says what is missing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT, add_data_dir
from benchmarks.dispatch import cores
from benchmarks.peers.environments import CACHE
from benchmarks.records import Record, append, latest
from benchmarks.rivals.contestants import CONTESTANTS
from benchmarks.rivals.figure import draw
from benchmarks.rivals.jobs import KEY, Cell, is_busy, run_cell
from benchmarks.rivals.page import blocks_of, page
from benchmarks.rivals.problems import FOLDS, KNOWN, TABLES, Problem, problem

RESULTS = ROOT / "benchmarks" / "results"
LIMITS = (30.0, 120.0, 600.0)
"""Seconds of the comparison."""
THREADS = 1
"""Cores of the comparison as it is committed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_data_dir(parser)
    parser.add_argument("--tables", nargs="+", choices=[*TABLES, *KNOWN], default=[*TABLES, *KNOWN], metavar="NAME")
    parser.add_argument("--folds", nargs="+", type=int, default=list(FOLDS), metavar="FOLD")
    parser.add_argument(
        "--contestants", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS), metavar="NAME", help=_names()
    )
    parser.add_argument("--limits", nargs="+", type=float, default=list(LIMITS), metavar="SECONDS")
    parser.add_argument("--threads", type=int, default=min(THREADS, cores()), help="cores of each fit")
    parser.add_argument("--again", nargs="+", choices=CONTESTANTS, default=[], help="run these even if lines exist")
    parser.add_argument("--retry", action="store_true", help="run cells again that failed or ran on a busy machine")
    parser.add_argument("--minutes", type=float, help="begin no further fit after this time")
    parser.add_argument("--page-only", action="store_true", help="write the page from the recorded lines")
    parser.add_argument("--environments", type=Path, default=CACHE, help="directory of the packages' environments")
    parser.add_argument("--results", type=Path, default=RESULTS, help="directory of rivals.jsonl, .md and .png")


def _names() -> str:
    return "one of " + ", ".join(CONTESTANTS)


def plan(
    tables: Iterable[str], folds: Sequence[int], contestants: Sequence[str], limits: Sequence[float], threads: int
) -> list[Cell]:
    """List all cells: small tables and short limits first; contestants without a limit are fitted once."""
    cells: dict[Cell, None] = {}
    for limit in sorted(limits):
        for table in tables:
            for fold in folds:
                for name in contestants:
                    own = limit if CONTESTANTS[name].limited else None
                    cells[Cell(table, fold, name, own, threads)] = None
    return list(cells)


def to_do(
    cells: Sequence[Cell], done: dict[tuple[Any, ...], Record], again: Sequence[str] = (), retry: bool = False
) -> list[Cell]:
    """Return the cells without a line, those of contestants to run again, and with ``retry`` those that failed.

    Cells that ran on a busy machine count as failed.
    """

    def wanted(cell: Cell) -> bool:
        line = done.get(cell.key)
        return line is None or cell.contestant in again or (retry and ("failed" in line or is_busy(line)))

    return [cell for cell in cells if wanted(cell)]


def work(
    cells: Sequence[Cell],
    problem_of: Callable[[str, int], Problem],
    path: Path,
    longest: float,
    minutes: float | None = None,
    run_one: Callable[[Cell, Problem, float], Record] = run_cell,
    now: Callable[[], float] = time.monotonic,
) -> int:
    """Run cells one after another, each written to ``path`` as it finishes; return how many were run."""
    started = now()
    for number, cell in enumerate(cells):
        if minutes is not None and now() - started > 60.0 * minutes:
            return number
        line = run_one(cell, problem_of(cell.table, cell.fold), longest)
        append(path, line)
        result = line["failed"].splitlines()[-1][:120] if "failed" in line else _result(line)
        print(f"rivals: {number + 1}/{len(cells)} {cell}: {result}", file=sys.stderr, flush=True)
    return len(cells)


def _result(line: Record) -> str:
    return f"CRPS {line['crps']:.4g}, 90% coverage {line['coverage_90']:.2f}, fit {line['fit_seconds']:.1f} s"


def run(args: argparse.Namespace) -> None:
    """Run what is missing and write the page."""
    lines, longest = args.results / "rivals.jsonl", max(args.limits)
    if not args.page_only:
        cells = plan(args.tables, args.folds, args.contestants, args.limits, args.threads)
        left = to_do(cells, latest(lines, KEY), args.again, args.retry)
        print(f"rivals: {len(cells) - len(left)} of {len(cells)} cells are recorded already", file=sys.stderr)
        run_one = partial(run_cell, environments=args.environments)
        work(left, lambda name, fold: problem(name, fold, args), lines, longest, args.minutes, run_one)
    recorded = list(latest(lines, KEY).values())
    everything = plan([*TABLES, *KNOWN], FOLDS, list(CONTESTANTS), LIMITS, args.threads)
    figure = draw(blocks_of(recorded, LIMITS, args.threads, args.folds), args.results / "rivals.png")
    text = page(recorded, everything, args.threads, args.folds, None if figure is None else figure.name)
    (args.results / "rivals.md").write_text(text, encoding="utf-8")
    print(args.results / "rivals.md")
