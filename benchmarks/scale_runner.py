"""Fit one package once and measure it: a script that runs in the package's environment and needs only numpy.

``python scale_runner.py folder``. The folder holds ``job.json`` with the module, its arguments and a path to import
from, ``X.npy`` and ``y.npy`` (or a Parquet table) and optionally ``X_test.npy``; ``report.json`` and ``samples.npy``
are written into it. Peak memory is that of the fit: the system's counter is reset before it.
"""

from __future__ import annotations

import cProfile
import importlib
import json
import pstats
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
    """Reset the peak-memory counter of the process."""
    Path("/proc/self/clear_refs").write_text("5")


STAGES = {
    "noise": ("diffgbm/fitting/", "noisy_rows"),
    "targets": ("diffgbm/fitting/", "labels"),
    "data sets": ("diffgbm/fitting/", "bin_rows"),
    "all boosting": ("diffgbm/fitting/", "train_boosters"),
    "evaluation": ("lightgbm/", "eval_valid"),
    "first stage": ("diffgbm/first_stage/", "fit_first_stage"),
    "fit": ("diffgbm/fitting/", "fit_model"),
}
"""The functions that are timed, each with the folder that defines it. Their times include their callees."""


def stages(profile: cProfile.Profile) -> dict[str, float]:
    """Return the processor seconds of each stage of a fit. The stages do not overlap and add up to the whole fit."""
    spent = dict.fromkeys(STAGES, 0.0)
    for (file, _, function), (_, _, _, cumulative, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        for name, (folder, timed) in STAGES.items():
            if function == timed and folder in file.replace("\\", "/"):
                spent[name] += cumulative
    if missing := [name for name in ("all boosting", "data sets", "first stage", "fit") if not spent[name]]:
        raise RuntimeError(f"the profile lacks the functions of {', '.join(missing)}")
    parts = {name: spent[name] for name in ("first stage", "noise", "targets", "evaluation")}
    parts["binning"] = spent["data sets"] - spent["targets"]
    parts["trees"] = spent["all boosting"] - spent["data sets"] - spent["evaluation"]
    parts["other"] = spent["fit"] - sum(parts.values())
    return parts


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
    # a first small fit loads and compiles, so that the measurement does not include it
    rng = np.random.default_rng(0)
    few = {**job["constructor"], "n_estimators": 2, "early_stopping_rounds": None}
    make(**few).fit(rng.standard_normal((200, 3)), rng.standard_normal(200))
    read_started = time.perf_counter()
    reset_peak()
    X, y = read(folder, job["source"], module)
    reading = {"read_seconds": time.perf_counter() - read_started, "read_peak": memory("VmHWM")}
    reset_peak()
    before, started, used = memory("VmRSS"), time.perf_counter(), time.process_time()
    profile = cProfile.Profile(time.process_time, builtins=False) if job["profile"] else None
    if profile is not None:
        profile.enable()
    model = make(**job["constructor"]).fit(X, y)
    if profile is not None:
        profile.disable()
    report = {
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - used,
        "imports": imports,
        "before": before,
        "peak": memory("VmHWM"),
        "n_iterations": [int(n) for n in model.n_estimators_true],
        **reading,
        **({} if profile is None else {"stages": stages(profile)}),
    }
    if (folder / "X_test.npy").exists():
        samples = model.sample(np.load(folder / "X_test.npy"), **job["sample"])
        np.save(folder / "samples.npy", np.asarray(samples, dtype=float).reshape(len(samples), -1))
    (folder / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
