"""Fits of single models on folds of limited size, one line each, which resume."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import DATA_SETS, data_directory, load
from benchmarks.protocol import Fold, prepare
from benchmarks.records import Record, append, latest
from diffgbm import DiffGBM
from diffgbm.data.splits import subsample

ROWS, TEST_ROWS = 6000, 2000
"""Training and test rows, at most."""
MEASURES = ("crps", "rounds", "seconds")

Case = tuple[dict[str, Any], Callable[[], DiffGBM]]
"""What identifies a fit, the data set and the fold among it, and a function that makes the model."""


def fold_of(name: str, fold: int, rows: int, data_dir: Path | None) -> Fold:
    """Return a standardised fold of a table whose training part has at most ``rows`` rows."""
    part = prepare(load(DATA_SETS[name], data_directory(data_dir)), fold, TEST_ROWS)
    if len(part.y_train) <= rows:
        return part
    kept, _ = subsample(len(part.y_train), rows, fold)
    return Fold(part.X_train[kept], part.y_train[kept], part.X_test, part.y_test, part.response)


def measure(part: Fold, model: DiffGBM) -> dict[str, float]:
    """Fit once; return the CRPS in original units, the boosting rounds and the processor seconds of the fit."""
    start = time.process_time()
    model.fit(part.X_train, part.y_train)
    seconds = time.process_time() - start
    y = part.response.apply(part.y_test)
    crps = model.crps(part.X_test, y).mean() * float(part.response.scale)
    return {"crps": float(crps), "rounds": float(np.mean(model.n_iterations_)), "seconds": round(seconds, 2)}


def measured(path: Path, cases: Iterable[Case], data_dir: Path | None, rows: int = ROWS) -> list[Record]:
    """Return all records of a file of lines, after fitting the cases that it lacks."""
    done: dict[tuple[Any, ...], Record] = {}
    at: tuple[str, int] | None = None
    for key, make in cases:
        done = done or latest(path, tuple(key))
        if tuple(key.values()) in done:
            continue
        if at != (key["data_set"], key["fold"]):
            at = (key["data_set"], key["fold"])
            part = fold_of(*at, rows, data_dir)
        found = {**key, **measure(part, make())}
        done[tuple(key.values())] = found
        append(path, found)
        print(*found.values(), flush=True)
    return list(done.values())


def geometric(values: Iterable[float]) -> float:
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(list(values)))))
