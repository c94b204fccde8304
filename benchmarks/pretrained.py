"""AutoDiffGBM beside pretrained models and others, as Izbicki and Rodrigues compare them: published figures and ours.

``results/pretrained/published.csv`` holds their figures for the tables that we have. Ours are made as theirs: the
first N rows of ``RandomState(42).permutation(n)``, and ``train_test_split(test_size=0.25, random_state=0..3)``. Their
scores are of densities on a grid of 200 points, ours of the distributions themselves.

References
----------
Izbicki, R. and Rodrigues, P. L. C. (2026). Comparison of methods for conditional density estimation of tabular data.
arXiv 2603.26611.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import kstest
from sklearn.model_selection import train_test_split

from benchmarks import provenance
from benchmarks.bag_mix import RESULTS
from benchmarks.datasets import DATA_SETS, add_data_dir, data_directory, load
from benchmarks.records import Record, append, latest
from benchmarks.rivals.page import markdown
from benchmarks.short_limits import processor_clock
from benchmarks.table_files import Table
from diffgbm import AutoDiffGBM, warmup
from diffgbm._util.types import Array

KEY = ("table", "rows_in_all", "preset", "split")
SCORES = ("crps", "log_likelihood", "pit_ks", "coverage_90", "seconds")
PRETRAINED = ("RealTabPFN-2.5", "TabICL-Quantiles", "TabPFN-2.5", "TabPFN-Native")
"""Methods of the published comparison that were trained on other tables before."""
SPLITS = 4
SIZES = (1000, 5000, 10_000, 20_000)


def _whole(table: Table) -> tuple[Array, Array]:
    return table.X, table.y


def _white_wine(table: Table) -> tuple[Array, Array]:
    """Return the white wines, without the colour."""
    column = table.features.index("color")
    white = table.X[:, column] == 0.0
    return np.delete(table.X[white], column, axis=1), table.y[white]


def _dollars(table: Table) -> tuple[Array, Array]:
    """Return the table as OpenML 537 has it: totals of a block instead of means of a household, and dollars."""
    of = {name: table.X[:, i] for i, name in enumerate(table.features)}
    households = of["Population"] / of["AveOccup"]
    totals = [np.round(of[name] * households) for name in ("AveRooms", "AveBedrms")]
    counts = [of["Population"], np.round(households)]
    columns = [of["MedInc"], of["HouseAge"], *totals, *counts, of["Latitude"], of["Longitude"]]
    return np.column_stack(columns), 1e5 * table.y


@dataclass(frozen=True)
class Source:
    """Where the rows of a published table come from: the name of a data set, and what is done to it."""

    data_set: str
    prepare: Callable[[Table], tuple[Array, Array]] = _whole


SOURCES: Mapping[str, Source] = {
    "kin8nm": Source("kin8nm"),
    "california_housing (OpenML 537, dollars)": Source("california_housing", _dollars),
    "protein": Source("protein"),
    "wine, white only": Source("wine", _white_wine),
}
"""Tables by their names among the published figures."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    short = [source.data_set for source in SOURCES.values()]
    parser.add_argument("--tables", nargs="+", choices=short, default=short, metavar="NAME")
    parser.add_argument("--rows", nargs="+", type=int, default=list(SIZES), metavar="N", help="rows in all")
    parser.add_argument("--splits", type=int, default=SPLITS, help="how many of the four splits")
    parser.add_argument("--presets", nargs="+", default=["best"], metavar="PRESET")
    parser.add_argument("--minutes", type=float, default=np.inf, help="begin no further fit after this time")
    parser.add_argument("--results-dir", type=Path, default=RESULTS / "pretrained", help="directory of lines and page")


def read_published(path: Path) -> list[Record]:
    """Read the published figures; scores that are missing are NaN."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {
                "table": row["table"],
                "rows_in_all": int(row["rows_in_all"]),
                "method": row["method"],
                **{name: float(row[name] or "nan") for name in ("crps_se", *SCORES)},
            }
            for row in csv.DictReader(file)
        ]


def split_rows(X: Array, y: Array, rows: int, split: int) -> tuple[Array, Array, Array, Array]:
    """Return training and test rows and their responses, as the published comparison draws them."""
    chosen = np.random.RandomState(42).permutation(len(y))[:rows]
    X_train, X_test, y_train, y_test = train_test_split(X[chosen], y[chosen], test_size=0.25, random_state=split)
    return X_train, y_train, X_test, y_test


def measure(X: Array, y: Array, key: Record) -> Record:
    """Fit one split on one thread and score it; the seconds are processor time of fit and prediction."""
    X_train, y_train, X_test, y_test = split_rows(X, y, key["rows_in_all"], key["split"])
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoDiffGBM(preset=key["preset"], seed=key["split"], n_jobs=1).fit(X_train, y_train)
    distribution = model.predict_distribution(X_test)
    seconds = time.process_time() - start
    low, high = distribution.interval(0.9).T
    try:
        likelihood = float(np.mean(distribution.logpdf(y_test)))
    except ValueError:  # a discrete distribution has no density
        likelihood = float("nan")
    return {
        **key,
        "crps": float(distribution.crps(y_test).mean()),
        "log_likelihood": likelihood,
        "pit_ks": float(kstest(distribution.pit(y_test), "uniform").statistic),
        "coverage_90": float(np.mean((low <= y_test) & (y_test <= high))),
        "seconds": seconds,
        "time": provenance.now(),
        "commit": provenance.commit(),
    }


def averaged(lines: Sequence[Record]) -> list[Record]:
    """Average our splits; the standard error of the CRPS is that of their mean."""
    groups: dict[tuple[str, int, str], list[Record]] = {}
    for line in lines:
        groups.setdefault((line["table"], line["rows_in_all"], line["preset"]), []).append(line)
    found = []
    for (table, rows, preset), members in groups.items():
        values = {name: np.array([line[name] for line in members], dtype=np.float64) for name in SCORES}
        n, crps = len(members), values["crps"]
        found.append(
            {
                "table": table,
                "rows_in_all": rows,
                "method": f"**AutoDiffGBM {preset}** ({n} of {SPLITS} splits)",
                "crps_se": float(crps.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan"),
                **{name: float(each.mean()) for name, each in values.items()},
            }
        )
    return found


def page(published: Sequence[Record], lines: Sequence[Record]) -> str:
    """Write everything as Markdown: a summary, and one table of all methods for each problem that we have measured."""
    ours = averaged(lines)
    problems = sorted({(line["table"], line["rows_in_all"]) for line in ours})
    text = [
        "# Beside pretrained models",
        "`python -m benchmarks pretrained`: the comparison of Izbicki and Rodrigues (arXiv 2603.26611) and "
        "`AutoDiffGBM` on the same splits, three quarters of N rows for training. Their scores are of densities on a "
        "grid of 200 points; seconds are fit and prediction, theirs on their machine (pretrained models with a GPU), "
        "ours processor seconds of one thread. The log-likelihood of a response with few values cannot be compared.",
        "Missing: " + (_missing(published, lines) or "nothing") + ".",
    ]
    if problems:
        summary = [_summary(name, n, published, ours) for name, n in problems]
        header = ["", "ours", "best pretrained", "best other", "ours / pretrained", "ours / other"]
        text.append(markdown(header, summary))
    for name, n in problems:
        text += [f"## {name}, N = {n:,}", _all_methods(name, n, [*published, *ours])]
    return "\n\n".join(text) + "\n"


def _of(records: Sequence[Record], table: str, rows: int) -> list[Record]:
    return [each for each in records if (each["table"], each["rows_in_all"]) == (table, rows)]


def _summary(table: str, rows: int, published: Sequence[Record], ours: Sequence[Record]) -> list[str]:
    mine = min(_of(ours, table, rows), key=lambda each: each["crps"])
    theirs = _of(published, table, rows)
    best = [
        min((each for each in theirs if (each["method"] in PRETRAINED) is known), key=lambda each: each["crps"])
        for known in (True, False)
    ]
    return [
        f"{table}, N = {rows:,}",
        f"{mine['crps']:.4g}",
        *(f"{each['crps']:.4g} ({each['method']})" for each in best),
        *(f"{mine['crps'] / each['crps']:.3f}" for each in best),
    ]


def _all_methods(table: str, rows: int, records: Sequence[Record]) -> str:
    header = ["", "CRPS", "log-likelihood", "PIT-KS", "90% coverage", "seconds"]
    body = []
    for each in sorted(_of(records, table, rows), key=lambda each: each["crps"]):
        error = "" if np.isnan(each["crps_se"]) else f" ± {each['crps_se']:.2g}"
        scores = [f"{each[name]:.{digits}f}" for name, digits in zip(SCORES[1:], (3, 3, 3, 0), strict=True)]
        body.append([each["method"], f"{each['crps']:.4g}{error}", *scores])
    return markdown(header, body)


def _missing(published: Sequence[Record], lines: Sequence[Record]) -> str:
    """Say which problems of the default options lack splits of ours."""
    parts = []
    for name in SOURCES:
        for rows in SIZES:
            done = len({line["split"] for line in _of(lines, name, rows) if line["preset"] == "best"})
            if _of(published, name, rows) and done < SPLITS:
                parts.append(f"{name}, N = {rows:,} ({SPLITS - done} of {SPLITS} splits)")
    return "; ".join(parts)


def run(args: argparse.Namespace) -> None:
    """Fit what is missing, small tables first, and write the page."""
    published = read_published(RESULTS / "pretrained" / "published.csv")
    path = args.results_dir / "pretrained.jsonl"
    done, start = latest(path, KEY), time.monotonic()
    warmup()
    with processor_clock():
        for rows in sorted(args.rows):
            for name, source in SOURCES.items():
                if source.data_set not in args.tables or not _of(published, name, rows):
                    continue
                X, y = source.prepare(load(DATA_SETS[source.data_set], data_directory(args.data_dir)))
                for split in range(args.splits):
                    for preset in args.presets:
                        values = (name, rows, preset, split)
                        if values in done or time.monotonic() - start > 60.0 * args.minutes:
                            continue
                        done[values] = measure(X, y, dict(zip(KEY, values, strict=True)))
                        append(path, done[values])
                        print(*values, f"CRPS {done[values]['crps']:.4g}", flush=True)
    (args.results_dir / "pretrained.md").write_text(page(published, list(done.values())), encoding="utf-8")
    print(args.results_dir / "pretrained.md")
