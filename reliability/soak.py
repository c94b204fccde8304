"""A long run in one process: repeated fit, sample, save and load, with memory, threads and open files measured.

They are recorded after every round. After a warm-up their slopes must be zero within
their standard errors, or too small to matter.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from diffgbm import DiffGBM, load
from diffgbm._util.types import Array
from reliability.records import record

WARM_UP = 0.25
"""Share of the rounds in which pools, caches and the allocator's arenas fill."""
BLOCKS = 12
"""Memory of one round resembles that of the next, so that slopes are fitted to the means of blocks."""
SMALL: dict[str, Any] = {"n_repeats": 4, "n_estimators": 20, "early_stopping_rounds": None, "n_jobs": 1}


class Resources(NamedTuple):
    """Resources of a process: megabytes of memory, threads, open files."""

    memory: float
    threads: int
    files: int


def resources() -> Resources:
    """Measure this process (Linux)."""
    return Resources(memory_of("self"), len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")))


def memory_of(pid: int | str) -> float:
    """Return the megabytes that a process holds (Linux)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def slope(values: Array, blocks: int = BLOCKS) -> tuple[float, float]:
    """Return the slope per round of a line through the means of blocks, and its standard error."""
    means = np.array([block.mean() for block in np.array_split(values, blocks)])
    x = np.array([block.mean() for block in np.array_split(np.arange(len(values)), blocks)])
    x = x - x.mean()
    b = float(x @ means / (x @ x))
    residual = means - means.mean() - b * x
    return b, float(np.sqrt(residual @ residual / (blocks - 2) / (x @ x)))


def one_round(k: int, folder: Path) -> None:
    """Fit one of several models to new rows; sample, save, load, and compare with the loaded model."""
    rng = np.random.default_rng(k)
    X = rng.uniform(size=(200, 4))
    X[:, 3] = rng.integers(0, 5, 200)
    y = np.sin(4.0 * X[:, 0]) + (0.1 + X[:, 1]) * rng.standard_normal(200)
    makers: tuple[Callable[..., DiffGBM], ...] = (DiffGBM.flow, DiffGBM.published, DiffGBM)
    options: tuple[dict[str, Any], ...] = ({}, {"residualize": "mean_scale"}, {"n_bags": 2}, {"engine": "lightgbm"})
    model = makers[k % len(makers)](**SMALL, seed=k)
    model.set_params(**options[k % len(options)])
    model.fit(X, np.column_stack([y, -y]) if k % 5 == 4 else y, cat_idx=[3])
    drawn = model.sample(X[:50], n_samples=20, seed=k)
    path = folder / f"{k % 3}.dgbm"
    model.save(path)
    again = load(path).sample(X[:50], n_samples=20, seed=k)
    if not np.array_equal(drawn, again):
        raise AssertionError(f"round {k}: a loaded model draws other samples")


def run(minutes: float, name: str | None = "soak") -> dict[str, Any]:
    """Soak for some minutes; return and record the figures."""
    seen: list[Resources] = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for k in count():
            one_round(k, Path(folder))
            seen.append(resources())
            if time.monotonic() - started > 60.0 * minutes and len(seen) >= 3 * BLOCKS:
                break
    figures = {"minutes": round((time.monotonic() - started) / 60.0, 1), **summary(seen)}
    if name:
        record(name, figures)
    return figures


def summary(seen: list[Resources]) -> dict[str, Any]:
    """Return the first and last value of each quantity after the warm-up, its slope, and whether it is flat."""
    kept = np.array(seen, dtype=np.float64)[int(WARM_UP * len(seen)) :]
    figures: dict[str, Any] = {"rounds": len(seen)}
    for j, name in enumerate(Resources._fields):
        b, error = slope(kept[:, j])
        figures[name] = {
            "first": round(float(kept[0, j]), 1),
            "last": round(float(kept[-1, j]), 1),
            "most": round(float(kept[:, j].max()), 1),
            "slope_per_1000_rounds": round(1000.0 * b, 3),
            "error": round(1000.0 * error, 3),
            "flat": is_flat(b, error, len(kept), float(kept[:, j].mean())),
        }
    figures["flat"] = all(figures[name]["flat"] for name in Resources._fields)
    return figures


def is_flat(b: float, error: float, rounds: int, level: float) -> bool:
    """Tell whether a slope is zero within three errors, or leads to less than 2% more by the end."""
    return abs(b) <= 3.0 * error or abs(b) * rounds < 0.02 * level
