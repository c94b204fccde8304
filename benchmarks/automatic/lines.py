"""One fit of the comparison as a line: scores, times, selected models, and provenance."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import provenance, records
from benchmarks.automatic.variants import Job
from benchmarks.evaluation import N_SAMPLES, scores
from benchmarks.protocol import seeds, split
from benchmarks.records import Record
from benchmarks.table_files import Table
from diffgbm._util.locks import held
from diffgbm._util.types import Array
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.presets import PRESETS
from diffgbm.metrics.scores import crps

KEY = ("data_set", "fold", "preset", "variant", "deduplicated")
"""Fields that identify a line."""
PACKAGES = ("lightgbm", "numba", "scipy")
"""Packages recorded in addition to those of every result."""

ENOUGH_ROWS, MOST_DRAWS = 5000, 20
"""Target for test rows times draws, beyond which the sampling error is negligible, and the largest number of draws."""
NEXT_DRAW = 100_000
"""Difference between the seeds of two draws."""

Maker = Callable[[Job, int, int, float | None], Any]
"""Job, seed, threads and time limit to an unfitted estimator."""


def make_estimator(job: Job, seed: int, threads: int, time_limit: float | None) -> Any:
    """Return the estimator that a job names."""
    return job.estimator(seed, threads, time_limit)


def line_of(
    job: Job,
    table: Table,
    *,
    threads: int,
    time_limit: float | None = None,
    n_samples: int = N_SAMPLES,
    make: Maker = make_estimator,
    clock: Callable[[], float] = time.perf_counter,
) -> Record:
    """Fit, sample and score one job; return its line.

    The model is fitted in original units. It standardises internally, and a discrete response keeps its exact values,
    on which coverage and PIT depend.
    """
    part, streams = split(len(table.y), job.fold), seeds(job.fold)
    X, y, X_test, y_test = table.X[part.train], table.y[part.train], table.X[part.test], table.y[part.test]
    model = make(job, streams.model, threads, time_limit)
    started, work = clock(), time.process_time()
    model.fit(X, y)
    fitted, fit_work = clock(), time.process_time()
    samples = np.asarray(model.sample(X_test, n_samples, seed=streams.sampler))
    sampled, sample_work = clock(), time.process_time()
    if samples.shape != (n_samples, len(y_test)) or not np.all(np.isfinite(samples)):
        raise ValueError(f"{job}: samples of shape {samples.shape}, all finite: {np.all(np.isfinite(samples))}.")
    more = [streams.sampler + NEXT_DRAW * k for k in range(1, n_draws(len(y_test)))]
    other_draws = [float(crps(model.sample(X_test, n_samples, seed=seed), y_test).mean()) for seed in more]
    return {
        **asdict(job),
        "n_train": len(y),
        "n_test": len(y_test),
        "n_samples": n_samples,
        "n_draws": 1 + len(other_draws),
        "metrics": {**with_draws(scores(samples, y_test, y), other_draws), **attainable_coverage(samples, y)},
        "fit_seconds": fitted - started,
        "sample_seconds": sampled - fitted,
        "fit_cpu_seconds": fit_work - work,
        "sample_cpu_seconds": sample_work - fit_work,
        **selected(model),
        "threads": threads,
        "time_limit": PRESETS[job.preset].time_limit if time_limit is None else time_limit,
        "seeds": asdict(streams),
        "versions": provenance.versions(PACKAGES),
        "python": provenance.python(),
        "commit": provenance.commit(),
        "source_hash": provenance.source_hash(),
        "time": provenance.now(),
    }


def n_draws(n_test: int) -> int:
    """Return the number of draws: with 74 test rows, the CRPS of one draw of 200 samples has an error of 1%."""
    return int(np.clip(ENOUGH_ROWS // n_test, 1, MOST_DRAWS))


def with_draws(metrics: Record, other_draws: Sequence[float]) -> Record:
    """Replace the CRPS of one draw, and its skill score, by the mean of all draws."""
    mean = float(np.mean([metrics["crps"], *other_draws]))
    return {**metrics, "crps": mean, "crpss": 1.0 - mean / metrics["crps_climatology"]}


def attainable_coverage(samples: Array, training: Array) -> Record:
    """Coverage of central intervals of a discrete response under the predictive distribution itself; else empty.

    Samples (m, n) are rounded to the values of the response. The coverage exceeds the level where one value in the
    interval has more probability than the level.
    """
    shape = ResponseShape.of(training)
    if shape.atoms is None:
        return {}
    rounded = shape(samples)
    inside = {level: np.quantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=0) for level in (0.5, 0.9)}
    return {
        f"attainable_coverage_{100 * level:.0f}": float(np.mean((low <= rounded) & (rounded <= high)))
        for level, (low, high) in inside.items()
    }


def selected(model: Any) -> Record:
    """Return the selected models of a fit and their weights."""
    board = model.leaderboard_
    lines = board.to_dict("records") if hasattr(board, "to_dict") else list(board)
    return {
        "weights": model.weights_,
        "stages": model.first_stage_errors_,
        "explain": model.explain(),
        "cut_short": bool(model.cut_short_),
        "recalibrated": model.pool_.correction is not None,
        "confined_to": [str(shape) if shape else None for shape in model.pool_.shapes],
        "tried": len({line["model"] for line in lines}),
        "leaderboard": [line for line in lines if not str(line["outcome"]).startswith("dropped")],
    }


def measured(job: Job, table: Table, root: Path, *, force: bool = False, **options: Any) -> tuple[str, Record | None]:
    """Compute a job's line unless it exists.

    Returns
    -------
    state : {"kept", "measured", "shared"}
        ``shared``: another process is working on it.
    record : dict or None
        The line.
    """
    path, locks = root / "auto.jsonl", root / "studies"
    locks.mkdir(parents=True, exist_ok=True)
    name = "__".join(str(value) for value in asdict(job).values())
    with held(locks / f"{name}.lock", wait=False) as mine:
        if not mine:
            return "shared", None
        # read under the lock: the previous holder may just have written the line
        there = records.latest(path, KEY).get(tuple(asdict(job).values()))
        if there is not None and not force:
            return "kept", there
        record = line_of(job, table, **options)
        records.append(path, record)
    return "measured", record
