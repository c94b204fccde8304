"""Tables larger than memory: time and peak memory of ``diffgbm predict`` on CSV and Parquet files of many rows.

The installed command runs in a separate process, with one thread, on synthetic files of ten columns. Its peak memory
must not grow with the number of rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import provenance
from benchmarks.datasets import ROOT
from benchmarks.layout import ResultsError
from benchmarks.records import Record, append, latest
from diffgbm._util.optional import need

RESULTS = ROOT / "benchmarks" / "results"
KEY = ("format", "rows")

ROWS = (1_000, 200_000, 2_000_000)
QUICK_ROWS = (100, 20_000)
FORMATS = ("csv", "parquet")
TRAINING_ROWS = 2_000
GROUP = 1 << 20
"""Rows of a Parquet row group, and of a generated block: the default of pyarrow."""
TOWNS = ("Basel", "Bern", "Geneva", "Lausanne", "Lugano", "Lucerne", "Winterthur", "Zurich")
MODEL = {"n_estimators": 100, "n_repeats": 10, "early_stopping_rounds": None}

LAUNCH = """
import json, os, sys, time
started = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
seconds = time.perf_counter() - started
print(json.dumps({"code": os.waitstatus_to_exitcode(status), "seconds": seconds, "peak": used.ru_maxrss,
                  "processor_seconds": used.ru_utime + used.ru_stime}))
"""
"""A small process between this one and the command: the peak memory of a child starts at that of its parent."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--quick", action="store_true", help="small files, as a smoke test; nothing is written")
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")


def blocks(rows: int, seed: int = 0) -> Iterator[Any]:
    """Yield a generated table in blocks: an identifier, eight numbers, a town; the response depends on four of them."""
    arrow = need("pyarrow")
    rng = np.random.default_rng(seed)
    for first in range(0, rows, GROUP):
        n = min(GROUP, rows - first)
        X = rng.normal(size=(n, 8)).round(4)
        town = rng.integers(len(TOWNS), size=n)
        y = X[:, 0] + np.sin(X[:, 1]) + 0.3 * town + (0.5 + np.abs(X[:, 2])) * rng.normal(size=n)
        yield arrow.table(
            {
                "id": arrow.array(np.arange(first, first + n)),
                **{f"x{j}": X[:, j] for j in range(8)},
                "town": arrow.DictionaryArray.from_arrays(town, list(TOWNS)).cast(arrow.string()),
                "y": y.round(4),
            }
        )


def write(path: Path, rows: int, seed: int = 0) -> None:
    """Write a table with the writers of pyarrow. Only a file named ``train`` has the response."""
    training = path.stem == "train"
    writer = None
    for block in blocks(rows, seed):
        table = block if training else block.drop_columns(["y"])
        writer = writer or _writers()[path.suffix[1:]](path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _writers() -> dict[str, Callable[..., Any]]:
    return {"csv": need("pyarrow.csv").CSVWriter, "parquet": need("pyarrow.parquet").ParquetWriter}


def command(*words: object) -> dict[str, Any]:
    """Run the installed ``diffgbm`` and return its seconds and its peak memory in bytes."""
    program = Path(sys.executable).with_name("diffgbm")
    done = subprocess.run(
        [sys.executable, "-c", LAUNCH, str(program), *map(str, words)], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    result: dict[str, Any] = json.loads(lines[-1]) if lines else {"code": done.returncode}
    if result["code"] != 0:
        raise ResultsError(f"diffgbm {words[0]} ended with {result['code']}: {done.stderr.strip()[-300:]}")
    result["peak"] *= 1 if sys.platform == "darwin" else 1024
    return {**result, "summary": json.loads(lines[0])}


def measure(model: Path, folder: Path, ending: str, rows: int) -> Record:
    """Predict one file: mean and 90% interval of each row, with its identifier, into a file of the same format."""
    table, out = folder / f"table.{ending}", folder / f"out.{ending}"
    write(table, rows, seed=1)
    result = command("predict", model, table, "-o", out, "--keep", "id", "--jobs", 1, "--json")
    if result["summary"]["rows"] != rows:
        raise ResultsError(f"{result['summary']['rows']} of {rows} rows were predicted.")
    record = {
        "format": ending,
        "rows": rows,
        "input_bytes": table.stat().st_size,
        "output_bytes": out.stat().st_size,
        "peak_bytes": result["peak"],
        "seconds": round(result["seconds"], 2),
        "processor_seconds": round(result["processor_seconds"], 2),
        "versions": provenance.versions(("lightgbm", "pyarrow")),
        "commit": provenance.commit(),
        "source_hash": provenance.source_hash(),
        "when": provenance.now(),
    }
    for file in (table, out):
        file.unlink()
    return record


def table(records: Sequence[Record]) -> str:
    """Write the records as Markdown."""
    from diffgbm.cli.commands import DISTRIBUTION_POINTS
    from diffgbm.cli.output import NUMBERS_AT_ONCE

    lines = [
        "# Predicting files larger than memory",
        "",
        "`python -m benchmarks chunks`: `diffgbm predict --keep id --jobs 1` in a separate process, mean and 90% "
        f"interval of each row; flow recipe, {MODEL['n_estimators']} trees, eight numbers and a text column, Parquet "
        f"in groups of {GROUP:,} rows. Peak memory includes Python and all libraries, which take nearly all of it for "
        "the smallest file. The command reads and predicts "
        f"{NUMBERS_AT_ONCE // DISTRIBUTION_POINTS:,} rows at a time.",
        "",
        "| file | rows | input, MB | output, MB | peak memory, MB | seconds | processor seconds |",
        "|---" * 7 + "|",
    ]
    for r in sorted(records, key=lambda r: (r["format"], r["rows"])):
        numbers = [r["input_bytes"] / 1e6, r["output_bytes"] / 1e6, r["peak_bytes"] / 1e6]
        cells = [r["format"], f"{r['rows']:,}", *(f"{v:,.1f}" for v in numbers[:2]), f"{numbers[2]:,.0f}"]
        cells += [f"{r['seconds']:.1f}", f"{r['processor_seconds']:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    growth = [text for ending in FORMATS if (text := _growth(records, ending))]
    return "\n".join([*lines, "", *growth, ""])


def _growth(records: Sequence[Record], ending: str) -> str:
    largest = sorted((r for r in records if r["format"] == ending), key=lambda r: r["rows"])[-2:]
    if len(largest) < 2:
        return ""
    few, many = largest
    ratio = many["peak_bytes"] / few["peak_bytes"]
    return f"{ending}: {many['rows'] / few['rows']:.0f} times the rows take {ratio:.2f} times the memory."


def run(args: argparse.Namespace) -> None:
    """Measure what is missing; append to ``results/chunks.jsonl`` and write ``results/chunks.md``."""
    if not hasattr(os, "wait4"):
        raise ResultsError("peak memory of a process is measured on Linux and macOS only.")
    kept = RESULTS / "chunks.jsonl"
    known = {} if args.quick or args.again else latest(kept, KEY)
    sizes = QUICK_ROWS if args.quick else ROWS
    wanted = [(ending, rows) for rows in sizes for ending in FORMATS]
    result = {key: record for key, record in known.items() if key in wanted}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "model.dgbm"
        write(folder / "train.parquet", TRAINING_ROWS)
        if len(result) < len(wanted):
            options = [word for key, value in MODEL.items() for word in ("--set", f"{key}={json.dumps(value)}")]
            words = ("--target", "y", "--drop", "id", "-o", model, "--jobs", 1, "--json")
            command("fit", folder / "train.parquet", "--recipe", "flow", *words, *options)
        for ending, rows in wanted:
            if (ending, rows) in result:
                continue
            print(f"chunks: {rows:,} rows of {ending}", file=sys.stderr, flush=True)
            result[ending, rows] = record = measure(model, folder, ending, rows)
            if not args.quick:
                append(kept, record)
    text = table(list(result.values()))
    if not args.quick:
        (RESULTS / "chunks.md").write_text(text)
    print(text)
