"""Peak memory and time of ``fit``: against the released package, and as tables grow, in memory and on disk.

Every fit is one line of ``results/scale.jsonl`` and is not run again. Each fit runs in a separate process with one
thread; the packages alternate.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import provenance
from benchmarks.datasets import DATA_SETS, ROOT, add_data_dir, data_directory, load
from benchmarks.layout import ResultsError
from benchmarks.peers.environments import python_of
from benchmarks.peers.recipes import OURS, PACKAGES, RELEASED
from benchmarks.protocol import prepare
from benchmarks.records import Record, append, latest
from benchmarks.scale_page import figure, table
from diffgbm._util.optional import need
from diffgbm.metrics.scores import crps

RESULTS = ROOT / "benchmarks" / "results"
RUNNER = Path(__file__).with_name("scale_runner.py")
KEY = ("part", "data", "package", "rows", "repeat")

PARTS = ("versus", "stages", "growth", "disk")
NOISY_ROWS = 3_000_000
"""Largest number of noisy rows of a growing table: the documented rule for ``n_repeats``."""
GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000)
GROWTH_COLUMNS = 20
TABLES = {"california_housing": (17_200, 8, 300), "protein": (38_108, 9, 300), "wide": (45_000, 384, 40)}
"""Rows, columns and trees of the tables in memory; the last is generated."""
DISK = (1_000_000, 200)
FEW_SAMPLED: dict[str, Any] = {
    "subsample_for_bin": 50_000,
    "extra_residualizer_params": {"n_estimators": 10, "bin_construct_sample_cnt": 50_000},
}
"""For tables on disk: a small sample for the bins, which is held as float64, and a short first stage."""
SHORT = 3
"""Factor by which short fits are repeated more often than long ones, because their times vary more."""
SAMPLE = {"n_samples": 100, "seed": 0}
TEST_ROWS = 400


@dataclass(frozen=True)
class Cell:
    """One fit.

    Attributes
    ----------
    part : {"versus", "stages", "growth", "disk"}
        Section of the page.
    data : str
        Name of the table.
    package : str
        Name of the package.
    rows, width : int
        Of the table.
    repeat : int
        Seed.
    source : {"memory", "map", "parquet"}
        Storage of the table.
    trees, n_repeats : int
        Of the model.
    """

    part: str
    data: str
    package: str
    rows: int
    width: int
    repeat: int
    source: str
    trees: int
    n_repeats: int

    @property
    def constructor(self) -> dict[str, Any]:
        """The estimator's arguments; the others are the released package's defaults, which are ours too."""
        arguments = {"n_estimators": self.trees, "n_repeats": self.n_repeats, "seed": self.repeat, "n_jobs": 1}
        return {**arguments, **(FEW_SAMPLED if self.part == "disk" else {})}


def repeats_for(n_rows: int) -> int:
    """The default number of copies of each row, limited to ``NOISY_ROWS`` in total and at least two per row."""
    return int(np.clip(NOISY_ROWS // n_rows, 2, 30))


def cells(repeats: int, quick: bool) -> Iterator[Cell]:
    """List all fits, packages in turn."""
    shrink, trees = (20, 5) if quick else (1, 0)

    def in_memory(part: str, data: str, package: str, repeat: int) -> Cell:
        rows, width, default_trees = TABLES[data]
        small = rows // shrink if data == "wide" else rows
        return Cell(part, data, package, small, width, repeat, "memory", trees or default_trees, 4 if quick else 30)

    for data, times in (("wide", repeats), ("protein", SHORT * repeats)):
        yield from (in_memory("versus", data, who, repeat) for repeat in range(times) for who in (OURS, RELEASED))
    yield from (in_memory("stages", data, OURS, 0) for data in TABLES)
    for rows in GROWTH[: 2 if quick else None]:
        count = repeats_for(rows)
        yield Cell(
            "growth", "narrow", OURS, rows // shrink, GROWTH_COLUMNS, 0, "map", trees or 100, 4 if quick else count
        )
    for source in ("map", "parquet"):
        yield Cell("disk", f"wide, {source}", OURS, DISK[0] // shrink, DISK[1], 0, source, trees or 20, 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_dir(parser)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--repeats", type=int, default=3, help="seeds of the comparison")
    parser.add_argument("--quick", action="store_true", help="small tables, as a smoke test; nothing is written")
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")
    parser.add_argument("--page-only", action="store_true", help="write page and figure from the recorded results")


def generated(rows: int, width: int, seed: int = 0) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float64]]]:
    """Yield a table in blocks: the response depends on ten columns, its standard deviation on the tenth."""
    rng = np.random.default_rng(seed)
    for first in range(0, rows, 50_000):
        X = rng.standard_normal((min(50_000, rows - first), width), dtype=np.float32)
        mean = X[:, :8].sum(axis=1) + np.sin(3.0 * X[:, 8])
        yield X, mean + (0.5 + np.abs(X[:, 9])) * rng.standard_normal(len(X))


def write(cell: Cell, folder: Path, data_dir: Path | None) -> NDArray[np.float64] | None:
    """Write the table of a cell; return the responses of its test rows."""
    if cell.data in DATA_SETS:
        fold = prepare(load(DATA_SETS[cell.data], data_directory(data_dir)), 1, TEST_ROWS)
        np.save(folder / "X.npy", fold.X_train)
        np.save(folder / "y.npy", fold.y_train)
        np.save(folder / "X_test.npy", fold.X_test)
        return (fold.y_test - fold.response.mean) / fold.response.scale
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(cell.rows, cell.width))
    y, first = np.empty(cell.rows), 0
    for block, response in generated(cell.rows, cell.width):
        X[first : first + len(block)], y[first : first + len(block)] = block, response
        first += len(block)
    X.flush()
    np.save(folder / "y.npy", y)
    if cell.source == "parquet":
        _write_parquet(folder, X, y)
    if cell.part != "versus":
        return None
    ((X_test, y_test),) = generated(TEST_ROWS, cell.width, seed=1)
    np.save(folder / "X_test.npy", X_test)
    return y_test


def _write_parquet(folder: Path, X: NDArray[np.float32], y: NDArray[np.float64]) -> None:
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    names = [f"x{j}" for j in range(X.shape[1])]
    schema = arrow.schema([*((name, arrow.float32()) for name in names), ("y", arrow.float64())])
    with parquet.ParquetWriter(folder / "table.parquet", schema) as writer:
        for first in range(0, len(X), 50_000):
            rows = slice(first, first + 50_000)
            writer.write_table(arrow.table([*X[rows].T, y[rows]], schema=schema))


def measure(cell: Cell, data_dir: Path | None) -> Record:
    """Fit once, in a separate process."""
    package = PACKAGES[cell.package]
    job = {
        "path": str(ROOT / "src") if package.requirement is None else None,
        "constructor": cell.constructor,
        "sample": SAMPLE,
        "source": cell.source,
        "profile": cell.part == "stages",
    }
    with tempfile.TemporaryDirectory(prefix="diffgbm-scale-") as name:
        folder = Path(name)
        y_test = write(cell, folder, data_dir)
        (folder / "job.json").write_text(json.dumps(job))
        done = subprocess.run(
            [str(python_of(package)), "-I", "-W", "ignore", str(RUNNER), str(folder)],
            env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ResultsError(f"{cell.data}, {cell.package}: {done.stderr.strip()[-300:]}")
        report = json.loads((folder / "report.json").read_text())
        if y_test is not None:
            report["crps"] = float(crps(np.load(folder / "samples.npy"), y_test).mean())
        table_bytes = (folder / "X.npy").stat().st_size
    return {
        **asdict(cell),
        **report,
        "table_bytes": table_bytes,
        "constructor": cell.constructor,
        "versions": provenance.versions(("lightgbm",)),
        "source": provenance.source_hash() if package.requirement is None else package.requirement,
        "commit": provenance.commit(),
        "when": provenance.now(),
    }


def run(args: argparse.Namespace) -> None:
    """Measure what is missing; append to ``results/scale.jsonl``, write ``scale.md`` and ``scale.png``."""
    if not Path("/proc/self/clear_refs").exists():
        raise ResultsError("peak memory of a fit is measured on Linux only.")
    kept = RESULTS / "scale.jsonl"
    wanted = [cell for cell in cells(1 if args.quick else args.repeats, args.quick) if cell.part in args.parts]
    known = {} if args.quick or args.again else latest(kept, KEY)
    fresh: list[Record] = []
    for cell in [] if args.page_only else wanted:
        if tuple(getattr(cell, name) for name in KEY) in known:
            continue
        print(f"scale: {cell.part}, {cell.data}, {cell.rows:,} rows, {cell.package}", file=sys.stderr, flush=True)
        fresh.append(measure(cell, args.data_dir))
        if not args.quick:
            append(kept, fresh[-1])
    result = fresh if args.quick else list(latest(kept, KEY).values())
    text = table(result)
    if not args.quick:
        (RESULTS / "scale.md").write_text(text)
        figure(result, RESULTS / "scale.png")
    print(text)
