"""Sampling speed of this library and of the released package, in the same run.

Both fit models of the same size on california_housing and sample 200 times for each test row; the whole ``sample``
call is timed, post-processing included. The released package is slow, so it samples fewer rows; times are for each row.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.datasets import DATA_SETS, ROOT, add_data_dir, data_directory, load
from benchmarks.peers.jobs import run_package
from benchmarks.peers.recipes import OURS, PACKAGES, RELEASED
from benchmarks.protocol import Fold, prepare
from benchmarks.records import Record, append, latest

RESULTS = ROOT / "benchmarks" / "results"
KEY = ("recipe", "size", "threads", "package")

N_SAMPLES = 200
TRAIN_ROWS = 5000


@dataclass(frozen=True)
class Size:
    """Trees, leaves and bins of a model, and how many rows the released package samples."""

    name: str
    trees: int
    leaves: int
    max_bin: int
    released_rows: int
    n_responses: int = 1


SIZES = {
    size.name: size
    for size in (
        Size("300 x 31", 300, 31, 255, 60),
        Size("1000 x 255, 1023 bins", 1000, 255, 1023, 12),
        Size("1000 x 255, 4095 bins", 1000, 255, 4095, 12),
        Size("two responses, 300 x 31", 300, 31, 255, 40, n_responses=2),
    )
}
QUICK = ("300 x 31",)

RECIPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "flow, 5 Heun": (
        {
            "training_objective": "flow_matching",
            "flow_path": "vp",
            "t_sampling": "uniform",
            "residualize": "mean",
        },
        {"n_steps": 5, "sampler_method": "heun"},
    ),
    "EDM, 50 Euler": (
        {
            "training_objective": "score",
            "score_parameterization": "edm",
            "noise_features": "raw_time_log_std",
            "t_sampling": "log_sigma_normal",
            "residualize": "off",
        },
        {"n_steps": 50, "sampler_method": "euler", "pf_ode": False},
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument("--quick", action="store_true", help="small models and one thread only; nothing is written")
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads")


def jobs(fold: Fold, size: Size, recipe: str, threads: int, package: str) -> tuple[Fold, dict[str, Any]]:
    """Return the rows and the specification of one measurement."""
    axes, sampler = RECIPES[recipe]
    ours = package == OURS
    spec = {
        "module": "diffgbm",
        "estimator": "DiffGBM",
        "path": str(ROOT / "src") if ours else None,
        "constructor": {
            **axes,
            "n_estimators": size.trees,
            "num_leaves": size.leaves,
            "max_bin": size.max_bin,
            "early_stopping_rounds": None,
            "n_repeats": 10,
            "n_jobs": threads,
            "seed": 0,
        },
        "sample": {**sampler, "n_samples": N_SAMPLES, "n_parallel": 50, "seed": 1},
        "timings": 3 if ours else 1,
    }
    X, y = fold.X_train, fold.y_train
    X_test = fold.X_test if ours else fold.X_test[: size.released_rows]
    if size.n_responses == 2:  # the first feature is predicted along with the response
        y, X, X_test = np.column_stack([y, X[:, 0]]), X[:, 1:], X_test[:, 1:]
    rows = np.random.default_rng(0).permutation(len(y))[:TRAIN_ROWS]
    return Fold(X[rows], y[rows], X_test, fold.y_test, fold.response), spec


def measure(fold: Fold, size: Size, recipe: str, threads: int, package: str) -> Record:
    """Run one measurement in the package's environment."""
    part, spec = jobs(fold, size, recipe, threads, package)
    _, report = run_package(PACKAGES[package], part, spec, threads)
    rows = len(part.X_test)
    return {
        "recipe": recipe,
        "size": size.name,
        "threads": threads,
        "package": package,
        "rows": rows,
        "seconds_per_row": report["sample_seconds"] / rows,
        "fit_seconds": report["fit_seconds"],
        "versions": report["versions"],
    }


def table(records: Iterable[Record]) -> str:
    """Write the ratios as Markdown."""
    by_key = {tuple(r[name] for name in KEY): r for r in records}
    lines = [
        "# Sampling speed",
        "",
        f"`python -m benchmarks engine`: {N_SAMPLES} samples for each test row of california_housing (fold 1), models",
        f"of the size shown, fitted to {TRAIN_ROWS:,} rows; the whole `sample` call, mean model and post-processing",
        "included. Ours samples all 3,440 test rows, the released diffgbm 0.1.2 the number shown.",
        "",
        "| recipe | model | threads | ours, ms/row | released, ms/row | released rows | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for recipe, size, threads, package in by_key:
        other = by_key.get((recipe, size, threads, RELEASED))
        if package != OURS or other is None:
            continue
        ours = by_key[recipe, size, threads, OURS]["seconds_per_row"]
        theirs = other["seconds_per_row"]
        lines.append(
            f"| {recipe} | {size} | {threads} | {1e3 * ours:.3f} | {1e3 * theirs:,.0f} | {other['rows']} | "
            f"**{theirs / ours:,.0f}** |"
        )
    return "\n".join(lines) + "\n"


def run(args: argparse.Namespace) -> None:
    """Measure what is missing, one measurement at a time, and write ``results/engine.md``."""
    fold = prepare(load(DATA_SETS["california_housing"], data_directory(args.data_dir)), 1)
    log = RESULTS / "engine.jsonl"
    done = {} if args.quick or args.again else latest(log, KEY)
    sizes: Sequence[str] = QUICK if args.quick else tuple(SIZES)
    for size in sizes:
        for recipe in RECIPES:
            for threads in [1] if args.quick else args.threads:
                for package in (RELEASED, OURS):
                    if (recipe, size, threads, package) in done:
                        continue
                    print(f"engine: {recipe}, {size}, {threads} thread(s), {package}", file=sys.stderr, flush=True)
                    record = measure(fold, SIZES[size], recipe, threads, package)
                    done[recipe, size, threads, package] = record
                    if not args.quick:
                        append(log, record)
    text = table(done.values())
    if not args.quick:
        (RESULTS / "engine.md").write_text(text)
    print(text)
