"""Fit one package once and say what it took: a script that runs inside that package's environment and needs only numpy.

``python scale_runner.py folder``. The folder holds ``job.json`` with the module, its arguments and a path to import
from, ``X.npy`` and ``y.npy`` (or a Parquet table) and optionally ``X_test.npy``; ``report.json`` and ``samples.npy``
are written into it. Peak memory is that of the fit: the system's mark is reset before it.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def memory(name: str) -> int:
    """Read a line of the process's status (Linux) in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"there is no {name}")


def reset_peak() -> None:
    """Let the system forget the highest mark so far."""
    Path("/proc/self/clear_refs").write_text("5")


def read(folder: Path, source: str, module: Any) -> tuple[Any, Any]:
    """Return the table: held in memory, mapped, or encoded from Parquet."""
    if source == "parquet":
        return module.from_parquet(folder / "table.parquet", "y", folder=folder)
    return np.load(folder / "X.npy", mmap_mode="r" if source == "map" else None), np.load(folder / "y.npy")


def main(name: str) -> None:
    """Run one job."""
    folder = Path(name)
    job = json.loads((folder / "job.json").read_text())
    if job["path"]:
        sys.path.insert(0, job["path"])
    module = importlib.import_module("diffgbm")
    imports = memory("VmRSS")
    make = module.DiffGBM
    # what is loaded or compiled when first used is not the table's
    rng = np.random.default_rng(0)
    few = {**job["constructor"], "n_estimators": 2, "early_stopping_rounds": None}
    make(**few).fit(rng.standard_normal((200, 3)), rng.standard_normal(200))
    read_started = time.perf_counter()
    reset_peak()
    X, y = read(folder, job["source"], module)
    reading = {"read_seconds": time.perf_counter() - read_started, "read_peak": memory("VmHWM")}
    reset_peak()
    before, started, used = memory("VmRSS"), time.perf_counter(), time.process_time()
    model = make(**job["constructor"]).fit(X, y)
    report = {
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - used,
        "imports": imports,
        "before": before,
        "peak": memory("VmHWM"),
        "n_iterations": [int(n) for n in model.n_estimators_true],
        **reading,
    }
    if (folder / "X_test.npy").exists():
        samples = model.sample(np.load(folder / "X_test.npy"), **job["sample"])
        np.save(folder / "samples.npy", np.asarray(samples, dtype=float).reshape(len(samples), -1))
    (folder / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
