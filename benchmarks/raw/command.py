"""Tables as people have them, as frames without preparation: CRPS, coverage and seconds beside other packages."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT
from benchmarks.peers.environments import CACHE, PeerError
from benchmarks.raw.business import KINDS
from benchmarks.raw.models import COUNTS, MODELS, Settings, scores
from benchmarks.raw.page import page
from benchmarks.raw.real_tables import REAL, real_table
from benchmarks.raw.troubles import Table, business_table

RESULTS = ROOT / "benchmarks" / "results" / "raw"
KEY = ("table", "split", "rows", "quantiles", "model")
"""What makes a line: one with the same values is not measured again."""
TUNING = 1000
"""Splits from here on are those that settings were chosen on; they are in no table of the page."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    everything = [*KINDS, *REAL]
    parser.add_argument("--tables", nargs="+", choices=everything, default=everything, metavar="TABLE")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS), metavar="MODEL")
    parser.add_argument("--rows", type=int, default=1000, help="training rows, at most")
    parser.add_argument("--test-rows", type=int, default=500, help="test rows, at most")
    parser.add_argument("--splits", type=int, default=2, help="seeds of generated tables, splits of real ones")
    parser.add_argument("--first-split", type=int, default=0, help=f"{TUNING} for settings, 0 for the page")
    parser.add_argument("--quantiles", type=int, choices=COUNTS, default=COUNTS[0], help="number of even quantiles")
    parser.add_argument("--threads", type=int, default=1, help="threads of each package")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds of each automatic fit")
    parser.add_argument("--environments", type=Path, default=CACHE, help="directory of the environment of AutoGluon")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")


def the_table(name: str, rows: int, test_rows: int, split: int) -> Table:
    """Return a generated or a real table."""
    if name in KINDS:
        return business_table(name, n_train=rows, n_test=test_rows, seed=split)
    return real_table(name, rows, test_rows, split)


def measured(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the lines of a file, after fitting what is missing."""
    path = args.results_dir / "raw.jsonl"
    lines = [read_line(text) for text in path.read_text().splitlines()] if path.exists() else []
    done = {tuple(line[name] for name in KEY) for line in lines}
    for split in range(args.first_split, args.first_split + args.splits):
        for name in args.tables:
            keys = {model: (name, split, args.rows, args.quantiles, model) for model in args.models}
            missing = [model for model, key in keys.items() if key not in done]
            if not missing:
                continue
            table = the_table(name, args.rows, args.test_rows, split)
            for model in missing:
                settings = Settings(args.time_limit, split, args.environments, args.quantiles, args.threads)
                try:
                    found = measure(model, table, settings)
                except PeerError as error:  # the others go on; the page has no figure for it
                    print(f"benchmarks raw: {name}, {model}: {error}", file=sys.stderr)
                    continue
                lines.append({**dict(zip(KEY, keys[model], strict=True)), **found})
                with path.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
                print(*(value for name, value in lines[-1].items() if name != "losses"), flush=True)
    return lines


def measure(model: str, table: Table, settings: Settings) -> dict[str, Any]:
    """Fit and predict once; the seconds are wall-clock time of both."""
    start = time.perf_counter()
    quantiles = MODELS[model](table, settings)
    seconds = time.perf_counter() - start
    return {
        **scores(quantiles, table.y_test, table.low, table.high),
        "seconds": seconds,
        "test_rows": len(table.y_test),
        "train_rows": len(table.y_train),
        "time_limit": settings.time_limit,
        "threads": settings.threads,
    }


def read_line(text: str) -> dict[str, Any]:
    """Read a line; the first ones were of 19 quantiles and one thread."""
    return {"quantiles": COUNTS[0], "threads": 1, **json.loads(text)}


def reported(lines: Sequence[dict[str, Any]], rows: int, quantiles: int) -> list[dict[str, Any]]:
    """Return the lines that belong on the page."""
    wanted = (rows, quantiles)
    return [line for line in lines if (line["rows"], line["quantiles"]) == wanted and line["split"] < TUNING]


def run(args: argparse.Namespace) -> None:
    """Measure what is missing, and write the page."""
    args.results_dir.mkdir(parents=True, exist_ok=True)
    found = reported(measured(args), args.rows, args.quantiles)
    if found:
        (args.results_dir / "raw.md").write_text(page(found, list(KINDS)), encoding="utf-8")
