"""Model files against pickle: size on disk, and time to save and load, of a small and a large model.

Times are the shortest of several, one thread, within one process: what is measured is the reading, not the imports.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import ROOT
from diffgbm import DiffGBM, load

RESULTS = ROOT / "benchmarks" / "results"

SIZES: dict[str, dict[str, Any]] = {
    "small": {"n_estimators": 300, "num_leaves": 31},
    "large": {"n_estimators": 2000, "num_leaves": 255},
}
TINY: dict[str, dict[str, Any]] = {"tiny": {"n_estimators": 5, "num_leaves": 7}}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rows", type=int, default=5000, help="rows to fit")
    parser.add_argument("--repeats", type=int, default=5, help="times are the shortest of this many")
    parser.add_argument("--tiny", action="store_true", help="one tiny model, to see that it runs; writes no results")


def shortest(work: Callable[[], object], repeats: int) -> float:
    """Seconds of the fastest of several calls."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def fitted(rows: int, **size: Any) -> tuple[DiffGBM, Any]:
    """A flow model, mean models included, with rows to ask it about."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 10))
    y = X[:, 0] + np.sin(X[:, 1]) + (0.5 + np.abs(X[:, 2])) * rng.normal(size=rows)
    model = DiffGBM.flow(early_stopping_rounds=None, n_repeats=10, seed=0, n_jobs=1, **size)
    return model.fit(X, y), X[:100]


def measure(name: str, size: dict[str, Any], rows: int, repeats: int) -> dict[str, Any]:
    """Measure one model; its loaded twin must draw the same samples."""
    print(f"model-files: fitting {name}", file=sys.stderr, flush=True)
    model, X = fitted(rows, **size)
    with tempfile.TemporaryDirectory() as folder:
        file, pickled = Path(folder) / "m.dgbm", Path(folder) / "m.pkl"
        found = {
            "model": f"{name}, {size['n_estimators']} x {size['num_leaves']}",
            "file_save": shortest(lambda: model.save(file), repeats),
            "pickle_save": shortest(lambda: pickled.write_bytes(pickle.dumps(model)), repeats),
            "file_load": shortest(lambda: load(file), repeats),
            "pickle_load": shortest(lambda: pickle.loads(pickled.read_bytes()), repeats),
            "file_size": file.stat().st_size,
            "pickle_size": pickled.stat().st_size,
        }
        if not np.array_equal(load(file).sample(X, 10, seed=0), model.sample(X, 10, seed=0)):
            raise AssertionError("a loaded model must draw the same samples")
    return found


def table(results: list[dict[str, Any]]) -> str:
    """Write the results as Markdown."""
    lines = [
        "# Model files against pickle",
        "",
        "`python -m benchmarks model-files`: flow models, five mean models each; one thread, shortest of several.",
        "",
        "| model (trees x leaves) | file, MB | pickle, MB | size ratio | load, ms | unpickle, ms | load ratio "
        "| save, ms | pickle, ms |",
        "|---" * 9 + "|",
    ]
    for r in results:
        cells = [
            r["model"],
            f"{r['file_size'] / 1e6:.2f}",
            f"{r['pickle_size'] / 1e6:.2f}",
            f"{r['file_size'] / r['pickle_size']:.2f}",
            f"{1e3 * r['file_load']:.1f}",
            f"{1e3 * r['pickle_load']:.1f}",
            f"{r['file_load'] / r['pickle_load']:.2f}",
            f"{1e3 * r['file_save']:.1f}",
            f"{1e3 * r['pickle_save']:.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "Samples drawn by the loaded models were identical to the last bit.", ""]
    return "\n".join(lines)


def run(args: argparse.Namespace) -> None:
    """Measure, and write ``results/model_files.md``."""
    sizes = TINY if args.tiny else SIZES
    text = table([measure(name, size, args.rows, args.repeats) for name, size in sizes.items()])
    if not args.tiny:
        (RESULTS / "model_files.md").write_text(text)
    print(text)
