"""Whether AutoDiffGBM keeps short time limits on large and wide tables, in processor seconds of one thread.

Processor seconds do not depend on what else the machine does: the clock of the fit counts them too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from diffgbm import AutoDiffGBM
from diffgbm._util.types import Array
from diffgbm.auto import fitting
from diffgbm.auto.budget import Clock
from diffgbm.fitting.warm import warmup

CASES = ((50_000, 20, 1.0), (50_000, 20, 2.0), (50_000, 20, 5.0), (50_000, 20, 10.0), (2000, 200, 15.0))
"""Rows, columns and limit in seconds."""
LEVELS = (0.5, 0.8, 0.9, 0.95)


def simulated(rows: int, columns: int, seed: int) -> tuple[Array, Array]:
    """Draw a table whose mean has waves and products, and whose noise differs between rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    mean = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * np.abs(X[:, 3])
    return X, mean + (0.2 + 0.8 / (1.0 + np.exp(-2.0 * X[:, 4]))) * rng.standard_normal(rows)


def line(rows: int, columns: int, limit: float, preset: str) -> str:
    """Fit one table under a limit; return a row of the page."""
    X, y = simulated(rows, columns, 0)
    before = time.process_time()
    model = AutoDiffGBM(preset=preset, time_limit=limit, seed=0, n_jobs=1).fit(X, y)
    seconds = time.process_time() - before
    X, y = simulated(2000, columns, 1)
    distribution = model.predict_distribution(X)
    intervals = [distribution.interval(level) for level in LEVELS]
    coverage = [float(np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))) for ends in intervals]
    covered = " / ".join(f"{value:.3f}" for value in coverage)
    return f"| {rows} x {columns} | {limit:g} | {seconds:.1f} | {distribution.crps(y).mean():.3f} | {covered} |"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("--preset", default="balanced")


@contextmanager
def processor_clock() -> Iterator[None]:
    """Let automatic fits count processor seconds, which do not depend on what else the machine does."""
    module: Any = fitting
    usual = module.Clock
    module.Clock = lambda limit: Clock(limit, time.process_time)
    try:
        yield
    finally:
        module.Clock = usual


def run(args: argparse.Namespace) -> None:
    """Print one row for each case."""
    warmup()
    with processor_clock():
        print("| table | limit | seconds | CRPS | coverage at 50 / 80 / 90 / 95% |\n|---|---|---|---|---|")
        for case in CASES:
            print(line(*case, args.preset), flush=True)
