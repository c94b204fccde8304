"""Whether what a model promises is kept: out-of-bag scores beside those of new rows, on every table of pydataset.

pydataset holds several hundred tables of textbooks and packages of R, which nobody prepared for us. The response is the
numeric column with the most values; half of the rows, 1,500 at most, are learned from and as many are new.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import provenance
from benchmarks.datasets import ROOT
from benchmarks.records import Record, append, latest
from benchmarks.rivals.page import markdown
from benchmarks.short_limits import processor_clock
from diffgbm import AutoDiffGBM, warmup
from diffgbm._util.optional import need
from diffgbm._util.types import Array

RESULTS = ROOT / "benchmarks" / "results" / "promises"
KEY = ("table", "seed")
ROWS, LEAST_ROWS, LEAST_COLUMNS, LEAST_VALUES = 1500, 200, 3, 20
"""Rows on each side, at most; rows and columns of a table and distinct responses, at least."""
BROKEN = 3.0
"""A promise is broken if new rows are worse by so many standard errors."""
TOO_FAR = 4.0
"""Coverage is off if it differs from 90% by more than so many standard errors."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="divisions of each table")
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="default: all that are large enough")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--time-limit", type=float, default=15.0, help="processor seconds of each fit")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")


def response_of(frame: pd.DataFrame) -> str | None:
    """Return the numeric column with the most values, unless it numbers the rows; ``None`` if there is none."""
    best, most = None, LEAST_VALUES - 1
    for name, column in frame.items():
        if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            continue
        values = column.dropna().to_numpy(np.float64)
        steps = np.diff(values)
        if len(values) > 1 and (np.all(steps == steps[0]) or not np.all(np.isfinite(values))):
            continue
        if (count := len(np.unique(values))) > most:
            best, most = str(name), count
    return best


def suitable(frame: Any) -> bool:
    """Whether a table is large enough."""
    return isinstance(frame, pd.DataFrame) and len(frame) >= LEAST_ROWS and frame.shape[1] >= LEAST_COLUMNS


def divided(frame: pd.DataFrame, target: str, seed: int) -> tuple[pd.DataFrame, Array, pd.DataFrame, Array]:
    """Return frames and responses of the rows to learn from, and of the new ones."""
    known = frame[frame[target].notna()]
    order = np.random.default_rng(seed).permutation(len(known))[: 2 * ROWS]
    parts = (known.iloc[order[: len(order) // 2]], known.iloc[order[len(order) // 2 :]])
    first, second = ((part.drop(columns=target), part[target].to_numpy(np.float64)) for part in parts)
    return (*first, *second)


def measure(frame: pd.DataFrame, target: str, key: Record, preset: str, limit: float) -> Record:
    """Fit one table; return what it promises and what new rows say, in units of climatology's CRPS."""
    X, y, X_new, y_new = divided(frame, target, key["seed"])
    with warnings.catch_warnings(record=True) as caught, processor_clock():
        warnings.simplefilter("always")
        model = AutoDiffGBM(preset=preset, time_limit=limit, seed=key["seed"], n_jobs=1).fit(X, y)
        found = model.predict_distribution(X_new)
    promised, observed = model.oob_distribution_.crps(y[model.oob_rows_]), found.crps(y_new)
    climatology = float(np.mean([np.mean(np.abs(y - value)) for value in y_new]))
    climatology -= 0.5 * float(np.mean(np.abs(y[:, None] - y[None, :])))
    low, high = np.moveaxis(found.interval(0.9), -1, 0)
    error = np.hypot(*(np.std(losses) / np.sqrt(len(losses)) for losses in (promised, observed)))
    unit = climatology or 1.0
    return {
        **key,
        "target": target,
        "rows": len(y),
        "columns": X.shape[1],
        "promised": float(promised.mean()) / unit,
        "observed": float(observed.mean()) / unit,
        "error": float(error) / unit,
        "coverage": float(np.mean((low <= y_new) & (y_new <= high))),
        "values": len(np.unique(y)),
        "warnings": [str(one.message)[:100] for one in caught],
        "time": provenance.now(),
    }


def page(lines: Sequence[Record]) -> str:
    """Write what was found as Markdown: all promises in numbers, broken ones by name."""
    refused = [line for line in lines if "refused" in line]
    lines = [line for line in lines if "refused" not in line]
    z = [_standard_errors(line) for line in lines]
    broken = [line for line, value in zip(lines, z, strict=True) if value > BROKEN]
    off = [line for line in lines if _coverage_errors(line) < -TOO_FAR]
    head = ["", "rows", "columns", "promised", "new rows", "standard errors", "coverage at 90%"]
    body = [
        [
            f"{line['table']}, {line['target']}, {line['seed']}",
            str(line["rows"]),
            str(line["columns"]),
            *(f"{line[name]:.3f}" for name in ("promised", "observed")),
            f"{_standard_errors(line):+.1f}",
            f"{line['coverage']:.3f}",
        ]
        for line in lines
        if line in broken or line in off
    ]
    ratios = [line["observed"] / line["promised"] for line in lines if line["promised"] > 0.0]
    tables, coverage = len({line["table"] for line in lines}), np.mean([line["coverage"] for line in lines])
    text = [
        "# What is promised, and what new rows say",
        "`python -m benchmarks promises`: every table of pydataset with 200 rows, three columns and a numeric column "
        "of 20 values; the one with the most values is the response. `AutoDiffGBM(preset='fast')` learns from half of "
        f"the rows ({ROWS:,} at most), chosen at random; the others are new. CRPS in units of climatology's.",
        f"{len(lines)} fits of {tables} tables. New rows have {np.median(ratios):.3f} times the CRPS that was promised "
        f"(median; 5 and 95%: {np.quantile(ratios, 0.05):.2f} and {np.quantile(ratios, 0.95):.2f}), and differ by "
        f"{np.mean(z):+.2f} standard errors on average. Worse by more than {BROKEN:g}: {len(broken)}. Intervals for "
        f"90% cover {coverage:.3f} on average and too little by more than {TOO_FAR:g} standard errors in {len(off)}.",
    ]
    text += [markdown(head, body)] if body else []
    text += [f"Refused: {line['table']}: {line['refused']}" for line in refused]
    return "\n\n".join(text) + "\n"


def _standard_errors(line: Record) -> float:
    """By how many standard errors new rows are worse than promised."""
    return float((line["observed"] - line["promised"]) / line["error"]) if line["error"] > 0.0 else 0.0


def _coverage_errors(line: Record) -> float:
    """How many standard errors coverage is above 90%."""
    return float((line["coverage"] - 0.9) / np.sqrt(0.09 / line["rows"]))


def run(args: argparse.Namespace) -> None:
    """Fit what is missing, and write the page."""
    data = need("pydataset").data
    path = args.results_dir / "promises.jsonl"
    done = latest(path, KEY)
    warmup()
    for name in args.tables or sorted(data()["dataset_id"]):
        frame = data(name)
        target = response_of(frame) if suitable(frame) else None
        if target is None or frame[target].notna().sum() < LEAST_ROWS:
            continue
        for seed in args.seeds:
            if (name, seed) not in done:
                key = {"table": name, "seed": seed}
                try:
                    line = measure(frame, target, key, args.preset, args.time_limit)
                except ValueError as error:  # a refusal is a result, too
                    line = {**key, "target": target, "refused": str(error)}
                append(path, line)
                done[name, seed] = line
                print(line, flush=True)
    if done:
        (args.results_dir / "promises.md").write_text(page(list(done.values())), encoding="utf-8")
