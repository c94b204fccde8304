"""Fit AutoDiffGBM on the paper's folds and compare it with the paper: lines, tables, and which targets are met.

Fits that have a line are not run again, so you can run the same command again after an interruption.
``--minutes-total 0`` fits nothing and writes the tables of the recorded lines.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.automatic.lines import KEY, measured
from benchmarks.automatic.pages import page
from benchmarks.automatic.rivals import Rivals, run_rivals
from benchmarks.automatic.variants import (
    ABLATION_DATA,
    ABLATION_FOLDS,
    DATA_SETS,
    FULL,
    REPEATED_DATA,
    VARIANTS,
    Job,
    deduplicated,
)
from benchmarks.datasets import ROOT, add_data_dir, data_directory
from benchmarks.dispatch import cores
from benchmarks.layout import ResultsError
from benchmarks.protocol import EVALUATION_FOLDS
from benchmarks.selection import load_table
from benchmarks.tables import render
from diffgbm.auto.presets import PRESETS

RESULTS = ROOT / "benchmarks" / "results" / "auto"
"""The committed results."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of auto.jsonl and the tables")
    parser.add_argument(
        "--data-sets",
        nargs="+",
        choices=DATA_SETS,
        metavar="NAME",
        help=f"default: all ten; with --ablation {', '.join(ABLATION_DATA)}; "
        f"with --deduplicated or --rivals {', '.join(REPEATED_DATA)}",
    )
    parser.add_argument(
        "--folds", nargs="+", type=_folds, metavar="FOLD", help="1,2 or 1 2; default: 1 to 5, 1 and 2 with --ablation"
    )
    parser.add_argument("--preset", choices=list(PRESETS), default="best")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--ablation", nargs="+", choices=list(VARIANTS), metavar="NAME", help=", ".join(VARIANTS))
    kind.add_argument(
        "--rivals",
        action="store_true",
        help="fit the paper's nine families instead, with their tuned configurations, on tables without repeated rows",
    )
    parser.add_argument("--deduplicated", action="store_true", help="keep the first of rows with the same features")
    parser.add_argument("--threads", type=int, help="of each fit (default: all cores)")
    parser.add_argument("--time-limit", type=float, help="seconds of each fit (default: the preset's)")
    parser.add_argument("--minutes-total", type=float, help="start no fit after this time; the next run continues")
    parser.add_argument("--force", action="store_true", help="fit again what has a line; the last line counts")


def _folds(text: str) -> tuple[int, ...]:
    try:
        folds = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"folds are numbers, as in 1,2; got {text!r}") from None
    if wrong := [fold for fold in folds if fold not in EVALUATION_FOLDS]:
        raise argparse.ArgumentTypeError(f"folds are 1 to 5; got {wrong[0]}")
    return folds


def data_sets_and_folds(args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the data sets, the cheapest first, and folds of the options."""
    names: tuple[str, ...] = DATA_SETS
    folds: tuple[int, ...] = EVALUATION_FOLDS
    if args.deduplicated or args.rivals:
        names = REPEATED_DATA
    if args.ablation:
        names, folds = ABLATION_DATA, ABLATION_FOLDS
    if args.data_sets:
        names = tuple(name for name in DATA_SETS if name in args.data_sets)
    if args.folds:
        folds = tuple(sorted({fold for group in args.folds for fold in group}))
    return names, folds


def jobs_of(args: argparse.Namespace) -> list[Job]:
    """Return the fits of the options."""
    names, folds = data_sets_and_folds(args)
    return [
        Job(name, fold, args.preset, variant, args.deduplicated)
        for name in names
        for fold in folds
        for variant in (args.ablation or (FULL,))
    ]


def run(args: argparse.Namespace, **options: Any) -> None:
    """Fit what has no line and write the tables; ``options`` go to ``line_of``."""
    import diffgbm

    diffgbm.warmup()  # compile first, so that no fit's time includes it
    deadline = None if args.minutes_total is None else time.monotonic() + 60.0 * args.minutes_total
    root, data_dir, threads = args.results_dir, data_directory(args.data_dir), args.threads or cores()
    if args.rivals:
        names, folds = data_sets_and_folds(args)
        tables = ((name, load_table(name, data_dir)) for name in names)
        failed = run_rivals(tables, folds, root, _say, threads=threads, force=args.force, **options)
    else:
        failed = work(
            jobs_of(args),
            root,
            data_dir,
            deadline,
            force=args.force,
            threads=threads,
            time_limit=args.time_limit,
            **options,
        )
    for path in write_tables(args.results_dir):
        print(path)
    if failed:
        raise ResultsError(f"no line of {len(failed)} fits: {'; '.join(failed)}.")


def work(jobs: Sequence[Job], root: Path, data_dir: Path | None, deadline: float | None, **options: Any) -> list[str]:
    """Do the jobs in turn until the deadline (of ``time.monotonic``); return those that failed."""
    failed = []
    for i, job in enumerate(jobs):
        if deadline is not None and time.monotonic() >= deadline:
            _say(f"time is over; {len(jobs) - i} of {len(jobs)} fits were not started")
            break
        table = load_table(job.data_set, data_dir)
        try:
            state, record = measured(job, deduplicated(table) if job.deduplicated else table, root, **options)
        except Exception as error:  # one failure must not end a run of several hours
            failed.append(f"{job}: {error!r}")
            _say(failed[-1])
            continue
        result = "" if record is None else f"CRPS {record['metrics']['crps']:.4g}, {record['fit_seconds']:.0f} s"
        _say(f"{i + 1} of {len(jobs)}: {job}: {state} {result}")
    return failed


def write_tables(root: Path) -> list[Path]:
    """Write the tables of all lines as Markdown and LaTeX; nothing without lines."""
    lines = list(records.latest(root / "auto.jsonl", KEY).values())
    if not lines:
        return []
    made = page(lines, Rivals.read(root))
    files = {root / "auto.md": render.markdown(made), root / "auto.tex": render.latex(made)}
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return list(files)


def _say(text: str) -> None:
    print(f"auto: {text}", file=sys.stderr, flush=True)
