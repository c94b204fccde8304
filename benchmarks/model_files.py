"""Model files against pickle: size on disk, time to load, and time to the first prediction.

Times are processor times, the shortest of several, with one thread and within one process, so that they exclude imports
and other processes. Model files do not store out-of-bag distributions; they are removed before pickling too.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import provenance, records
from benchmarks.datasets import ROOT
from diffgbm import AutoDiffGBM, DiffGBM, load

RESULTS = ROOT / "benchmarks" / "results"
LINES = RESULTS / "model_files.jsonl"

COMMON: dict[str, Any] = {"early_stopping_rounds": None, "n_repeats": 10, "seed": 0, "n_jobs": 1}
MODELS: dict[str, Callable[[], Any]] = {
    "flow, 300 x 31": lambda: DiffGBM.flow(n_estimators=300, num_leaves=31, **COMMON),
    "EDM, 1000 x 255": lambda: DiffGBM(n_estimators=1000, num_leaves=255, max_bin=1023, **COMMON),
    "flow, stack subtracted, mean and cdf as features, 3 bags, 300 x 31": lambda: DiffGBM.flow(
        n_estimators=300, num_leaves=31, residualize="stack", first_stage_features=["mean", "cdf"], n_bags=3, **COMMON
    ),
    'AutoDiffGBM("fast")': lambda: AutoDiffGBM(preset="fast", time_limit=120, seed=0, n_jobs=1),
}
TINY: dict[str, Callable[[], Any]] = {
    "tiny": lambda: DiffGBM.flow(n_estimators=5, num_leaves=7, residualize="gp", n_bags=2, **COMMON)
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rows", type=int, default=3000, help="rows to fit")
    parser.add_argument("--repeats", type=int, default=7, help="times are the shortest of this many")
    parser.add_argument("--tiny", action="store_true", help="one tiny model, as a smoke test; writes no results")


def shortest(repeats: int, *works: Callable[[], object]) -> list[float]:
    """Processor seconds of the fastest call of each function. Calls alternate, so that all see the same load."""
    times = np.empty((repeats, len(works)))
    for i in range(repeats):
        for j, work in enumerate(works):
            started = time.process_time()
            work()
            times[i, j] = time.process_time() - started
    return [float(t) for t in times.min(axis=0)]


def table_of(rows: int) -> tuple[Any, Any]:
    """Ten columns, one of them a count, and a heteroscedastic response."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 10))
    X[:, 9] = rng.poisson(3.0, size=rows)
    y = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.1 * X[:, 9] + (0.5 + np.abs(X[:, 2])) * rng.normal(size=rows)
    return X, y


def without_distributions(model: Any) -> Any:
    """The same model without its out-of-bag distributions."""
    light = copy(model)
    for name in ("oob_distribution_", "oob_rows_"):
        light.__dict__.pop(name, None)
    return light


def measure(name: str, make: Callable[[], Any], rows: int, repeats: int) -> dict[str, Any]:
    """Measure one model and check that the loaded model draws the same samples."""
    print(f"model-files: fitting {name}", file=sys.stderr, flush=True)
    X, y = table_of(rows)
    model, X = without_distributions(make().fit(X, y)), X[:100]
    with tempfile.TemporaryDirectory() as folder:
        file, pickled = Path(folder) / "m.dgbm", Path(folder) / "m.pkl"

        def unpickled() -> Any:
            return pickle.loads(pickled.read_bytes())

        file_save, pickle_save = shortest(
            2, lambda: model.save(file), lambda: pickled.write_bytes(pickle.dumps(model, pickle.HIGHEST_PROTOCOL))
        )
        if not np.array_equal(load(file).sample(X, 10, seed=0), model.sample(X, 10, seed=0)):
            raise AssertionError("a loaded model must draw the same samples")
        file_load, pickle_load, file_first, pickle_first = shortest(
            repeats,
            lambda: load(file),
            unpickled,
            lambda: load(file).predict(X[:1]),
            lambda: unpickled().predict(X[:1]),
        )
        return {
            "model": name,
            "rows": rows,
            "file_size": file.stat().st_size,
            "pickle_size": pickled.stat().st_size,
            **{"file_load": file_load, "pickle_load": pickle_load},
            **{"file_first": file_first, "pickle_first": pickle_first},
            **{"file_save": file_save, "pickle_save": pickle_save},
            "commit": provenance.commit(),
            "time": provenance.now(),
            "versions": provenance.versions(["lightgbm"]),
        }


def table(results: list[dict[str, Any]]) -> str:
    """Write the results as Markdown."""
    lines = [
        "# Model files against pickle",
        "",
        f"`python -m benchmarks model-files`: models of {results[0]['rows']:,} rows and 10 columns; processor time,",
        "one thread, the shortest of several. The first prediction loads the model and predicts one row.",
        "Pickles use the highest protocol, uncompressed. Neither holds out-of-bag distributions.",
        "",
        "| model | file, MB | pickle, MB | size ratio | load, ms | unpickle, ms | load ratio "
        "| first prediction, ms | by pickle, ms | ratio | save, ms | pickle, ms |",
        "|---" * 12 + "|",
    ]
    for r in results:
        cells = [
            r["model"],
            f"{r['file_size'] / 1e6:.2f}",
            f"{r['pickle_size'] / 1e6:.2f}",
            f"**{r['file_size'] / r['pickle_size']:.2f}**",
            *(
                cell
                for what in ("load", "first")
                for cell in (
                    f"{1e3 * r[f'file_{what}']:.0f}",
                    f"{1e3 * r[f'pickle_{what}']:.0f}",
                    f"**{r[f'file_{what}'] / r[f'pickle_{what}']:.2f}**",
                )
            ),
            f"{1e3 * r['file_save']:.0f}",
            f"{1e3 * r['pickle_save']:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "The loaded models draw bit-identical samples.", ""]
    return "\n".join(lines)


def run(args: argparse.Namespace) -> None:
    """Measure, and write ``results/model_files.jsonl`` and ``.md``."""
    result = []
    for name, make in (TINY if args.tiny else MODELS).items():
        result.append(measure(name, make, args.rows, args.repeats))
        if not args.tiny:
            records.append(LINES, result[-1])
    text = table(result)
    if not args.tiny:
        (RESULTS / "model_files.md").write_text(text)
    print(text)
