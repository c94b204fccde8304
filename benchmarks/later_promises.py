"""What fits with and without ``time=`` promise, and what later rows say, on every table with dates or years.

The tables are those of pydataset and of vega_datasets that come with the packages. The response is the numeric column
with the most values. The first three quarters in time are learned from, 1,500 rows at most; the rows that follow are
new.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import provenance
from benchmarks.promises import LEAST_ROWS, RESULTS, response_of, suitable
from benchmarks.records import Record, append, latest
from benchmarks.rivals.page import markdown
from benchmarks.short_limits import processor_clock
from diffgbm import AutoDiffGBM, warmup
from diffgbm._util.optional import need
from diffgbm._util.types import Array, Rows
from diffgbm.data.features import FeatureTable
from diffgbm.data.later_rows import MIN_TIMES, RATIO, later_error, time_columns

KEY = ("table", "with_time")
ROWS, LEAST_LATER = 1500, 20
"""Rows on each side, at most, and later rows, at least."""
FOUND = "Rows are divided at random, but later rows"
"""How the warning begins."""
VEGA = ("stocks", "sf_temps", "seattle_weather")
"""Tables of vega_datasets with dates that need no network, of 100 rows or more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="default: all that have dates or years")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--time-limit", type=float, default=15.0, help="processor seconds of each fit")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help="directory of lines and page")


def named_tables(names: Sequence[str] | None) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the tables of both packages that are large enough, or those that are named."""
    pydataset, vega = need("pydataset").data, need("vega_datasets").data
    for name in sorted({*VEGA, *pydataset()["dataset_id"]} if names is None else names):
        frame = getattr(vega, name)() if name in VEGA else pydataset(name)
        if name in VEGA or suitable(frame):
            yield name, frame


def time_of(frame: pd.DataFrame, target: str) -> tuple[str, Array, float] | None:
    """Return the column of times that makes later rows hardest to predict, its values and how much; or ``None``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        features, X = FeatureTable.learn(frame.drop(columns=target), None, "")
    y = frame[[target]].to_numpy(np.float64)
    times = {
        name: when
        for name, when in time_columns(features, X).items()
        if not np.isnan(when).any() and len(np.unique(when)) >= MIN_TIMES
    }
    found = [(name, when, later_error(X, y, when)) for name, when in times.items()]
    return max(found, key=lambda each: each[2], default=None)


def past_and_future(when: Array) -> tuple[Rows, Rows]:
    """Return the rows of the first three quarters in time, the last of them, and those that follow."""
    order = np.argsort(when, kind="stable")
    cut = int(np.searchsorted(when[order], when[order[3 * len(order) // 4]]))  # rows of one time are not divided
    return order[max(0, cut - ROWS) : cut], order[cut : cut + ROWS]


def measure(frame: pd.DataFrame, target: str, key: Record, preset: str, limit: float) -> Record | None:
    """Fit the past; return what it promises and what the future says, in units of the promise."""
    if (found := time_of(frame, target)) is None:
        return None
    column, when, _ = found
    rows = past_and_future(when)
    if len(rows[0]) < LEAST_ROWS // 2 or len(rows[1]) < LEAST_LATER or len(np.unique(when[rows[0]])) < MIN_TIMES:
        return None
    past, future = (frame.iloc[part] for part in rows)
    y, y_new = (part[target].to_numpy(np.float64) for part in (past, future))
    how: dict[str, Any] = {"time": column} if key["with_time"] else {}
    with warnings.catch_warnings(record=True) as caught, processor_clock():
        warnings.simplefilter("always")
        model = AutoDiffGBM(preset=preset, time_limit=limit, seed=0, n_jobs=1)
        model.fit(past.drop(columns=target), y, **how)
        dist = model.predict_distribution(future.drop(columns=target))
    low, high = np.moveaxis(dist.interval(0.9), -1, 0)
    return {
        **key,
        "target": target,
        "time_column": column,
        "rows": len(y),
        "later": len(y_new),
        "ratio": (time_of(past, target) or found)[2],
        "promised": float(model.oob_distribution_.crps(y[model.oob_rows_]).mean()),
        "observed": float(dist.crps(y_new).mean()),
        "coverage": float(np.mean((low <= y_new) & (y_new <= high))),
        "warned": any(str(one.message).startswith(FOUND) for one in caught),
        "time": provenance.now(),
    }


def page(lines: Sequence[Record]) -> str:
    """Write pairs of fits as Markdown, the tables that are warned of first."""
    by_table: dict[str, dict[bool, Record]] = {}
    for line in lines:
        by_table.setdefault(line["table"], {})[line["with_time"]] = line
    pairs = sorted((pair for pair in by_table.values() if len(pair) == 2), key=lambda pair: -pair[False]["ratio"])
    head = ["", "rows", "ratio", "warned", "later CRPS / promised", "with `time`", "later coverage", "with `time`"]
    head += ["later CRPS with `time` / without"]
    body = [
        [
            f"{plain['table']}, {plain['target']} by {plain['time_column']}",
            str(plain["rows"]),
            f"{plain['ratio']:.2f}",
            "yes" if plain["warned"] else "no",
            *(f"{line['observed'] / line['promised']:.2f}" for line in (plain, timed)),
            *(f"{line['coverage']:.2f}" for line in (plain, timed)),
            f"{timed['observed'] / plain['observed']:.2f}",
        ]
        for pair in pairs
        for plain, timed in [(pair[False], pair[True])]
    ]
    text = [
        "# What is promised of later rows",
        "`python -m benchmarks later-promises`: every table of pydataset with 200 rows and a column of dates or years, "
        "and three of vega_datasets. `AutoDiffGBM(preset='fast')` learns from the first three quarters in time "
        f"({ROWS:,} rows at most) and predicts the rows that follow, with and without `time=`. A fit without it warns "
        f"if the ratio of errors, measured on the training rows, is {RATIO:g} or more.",
        *(_sentences(pairs) if pairs else []),
        markdown(head, body),
    ]
    return "\n\n".join(text) + "\n"


def _sentences(pairs: Sequence[dict[bool, Record]]) -> list[str]:
    """Say how far promises of fits with and without a warning are from what later rows say."""
    out = []
    for warned, what in ((True, "is warned of"), (False, "is not")):
        some = [pair for pair in pairs if pair[False]["warned"] is warned]
        if not some:
            continue
        ratio, with_time = (
            np.median([pair[k]["observed"] / pair[k]["promised"] for pair in some]) for k in (False, True)
        )
        coverage, timed = (np.mean([pair[k]["coverage"] for pair in some]) for k in (False, True))
        out.append(
            f"On the {len(some)} tables whose fit {what}, later rows have {ratio:.2f} times the promised CRPS (median) "
            f"and 90% intervals cover {coverage:.0%} (mean); with `time=` these are {with_time:.2f} and {timed:.0%}."
        )
    return out


def run(args: argparse.Namespace) -> None:
    """Fit what is missing, and write the page."""
    path = args.results_dir / "later_promises.jsonl"
    done = latest(path, KEY)
    warmup()
    for name, frame in named_tables(args.tables):
        frame = frame.loc[:, ~frame.columns.duplicated()]
        target = response_of(frame.drop(columns=[c for c in frame.columns if str(c).lower() == "year"]))
        if target is None:
            continue
        frame = frame[frame[target].notna()]
        for with_time in (False, True):
            if (name, with_time) not in done:
                line = measure(frame, target, {"table": name, "with_time": with_time}, args.preset, args.time_limit)
                if line is None:
                    break
                append(path, line)
                done[name, with_time] = line
                print(line, flush=True)
    if done:
        (args.results_dir / "later_promises.md").write_text(page(list(done.values())), encoding="utf-8")
