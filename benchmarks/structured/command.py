"""Tables with structure: limits, atoms, counts, groups and time, beside other packages.

Tables are synthetic and small, so that every model is fitted in the same run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT
from benchmarks.structured.dependence import group_jobs, time_jobs
from benchmarks.structured.figure import draw
from benchmarks.structured.limits import jobs
from benchmarks.structured.models import MODELS
from benchmarks.structured.page import page

RESULTS = ROOT / "benchmarks" / "results"
FIGURE = ROOT / "docs" / "_static" / "structure.png"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rows", type=int, default=600, help="training rows of the tables with limits")
    parser.add_argument("--seeds", type=int, default=4, help="tables of each kind")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS), metavar="MODEL")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")
    parser.add_argument("--figure", type=Path, default=FIGURE, help="figure to write")


def _all_jobs(args: argparse.Namespace) -> Iterator[tuple[dict[str, Any], Callable[[], dict[str, float]]]]:
    """Yield what names a line, and the function that measures it."""
    for seed in range(args.seeds):
        for table, model, measure in jobs(args.rows, seed, args.models):
            yield {"part": "limits", "rows": args.rows, "table": table, "seed": seed, "model": model}, measure
        for part, found in (("groups", group_jobs(seed)), ("time", time_jobs(seed))):
            for model, measure in found:
                yield {"part": part, "rows": args.rows, "table": part, "seed": seed, "model": model}, measure


def measured(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return one record for each table, seed and model; those that the file of lines has are not fitted again."""
    path = args.results_dir / "structure.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    names = ("part", "rows", "table", "seed", "model")
    done = {tuple(line[name] for name in names) for line in lines}
    for named, measure in _all_jobs(args):
        if tuple(named.values()) not in done:
            lines.append({**named, **measure()})
            with path.open("a") as file:
                file.write(json.dumps(lines[-1]) + "\n")
            print(*lines[-1].values(), flush=True)
    return [line for line in lines if line["rows"] == args.rows and line["seed"] < args.seeds]


def run(args: argparse.Namespace) -> None:
    """Measure what is missing, and write page and figure."""
    args.results_dir.mkdir(parents=True, exist_ok=True)
    lines = measured(args)
    (args.results_dir / "structure.md").write_text(page(lines, args.rows, args.seeds))
    draw(lines, args.figure)
