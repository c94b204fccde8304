"""Evaluation on folds 1 to 5: refit the selected configuration, draw 200 samples per row, compute all scores.

Each fold is one line, written to disk as soon as it is finished. A line of the selected configuration is kept, any
other is computed again; the last line of a fold counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from benchmarks import configs, provenance, records
from benchmarks.configs import Config
from benchmarks.families.base import Family
from benchmarks.layout import Layout
from benchmarks.protocol import Fold, prepare, seeds
from benchmarks.records import Record
from benchmarks.table_files import Table
from diffgbm import metrics
from diffgbm._util.locks import held
from diffgbm._util.types import Array

N_SAMPLES = 200
"""Samples for each test row."""

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Probabilities of the central intervals."""

KEY = ("data_set", "family", "fold")
"""Fields that identify a line."""


@dataclass(frozen=True)
class Evaluated:
    """How a call to ``evaluate`` ended.

    Attributes
    ----------
    state : str
        ``kept``: the line exists; ``evaluated``; ``shared``: another process is working on it; ``untuned``: no
        configuration is selected.
    record : dict or None
        The line.
    text : str
        The same in words.
    """

    state: Literal["kept", "evaluated", "shared", "untuned"]
    record: Record | None
    text: str


def evaluate(
    family: Family,
    table: Table,
    data_set: str,
    fold: int,
    layout: Layout,
    *,
    test_rows: int | None = None,
    n_samples: int = N_SAMPLES,
    threads: int = 1,
    force: bool = False,
    clock: Callable[[], float] = time.perf_counter,
) -> Evaluated:
    """Evaluate one fold with the selected configuration, unless its line exists.

    Parameters
    ----------
    family : Family
        What is evaluated.
    table : Table
        The data set, named ``data_set`` in files.
    fold : int
        The test fold; all others are the training part.
    layout : Layout
        Files of the configuration and of the line.
    test_rows : int or None
        Test rows at most.
    force : bool
        Evaluate even if the line exists.
    """
    config = configs.read(layout.config(data_set, family.name))
    if config is None:
        return Evaluated("untuned", None, "no configuration is selected; tune it first")
    part = prepare(table, fold, test_rows)
    with held(layout.fold_lock(data_set, family.name, fold), wait=False) as mine:
        if not mine:
            return Evaluated("shared", None, "another process is working on it")
        # read under the lock: the previous holder may just have written the line
        there = records.latest(layout.evaluation, KEY).get((data_set, family.name, fold))
        if there is not None and not force and is_current(there, config, n_samples, len(part.y_test)):
            return Evaluated("kept", there, _summary(there))
        record = measure(family, part, config, fold, n_samples, threads, clock)
        records.append(layout.evaluation, record)
    return Evaluated("evaluated", record, _summary(record))


def is_current(record: Record, config: Config, n_samples: int, n_test: int) -> bool:
    """Whether a line is of the selected configuration, and of as many samples and rows."""
    return bool(
        record.get("params") == config.params
        and record.get("n_samples") == n_samples
        and record.get("n_test") == n_test
    )


def measure(
    family: Family,
    part: Fold,
    config: Config,
    fold: int,
    n_samples: int = N_SAMPLES,
    threads: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Record:
    """Fit, sample and score one fold; return its line."""
    if "numba" in family.packages:
        _warm_up()
    streams = seeds(fold)
    model = family.build(config.params, streams, threads)
    started, work = clock(), time.process_time()
    model.fit(part.X_train, part.y_train)
    fitted, fit_work = clock(), time.process_time()
    samples = np.asarray(model.sample(part.X_test, n_samples))
    sampled, sample_work = clock(), time.process_time()
    if samples.shape != (n_samples, len(part.y_test)):
        raise ValueError(f"samples have shape {samples.shape}, expected {(n_samples, len(part.y_test))}.")
    if not np.all(np.isfinite(samples)):
        raise ValueError(f"{np.mean(~np.isfinite(samples)):.2%} of the samples are not finite.")
    return {
        "data_set": config.data_set,
        "family": family.name,
        "fold": fold,
        "n_train": len(part.y_train),
        "n_test": len(part.y_test),
        "n_features": part.X_train.shape[1],
        "n_samples": n_samples,
        "metrics": scores(part.response.restore(samples), part.y_test, part.response.restore(part.y_train)),
        "fit_seconds": fitted - started,
        "sample_seconds": sampled - fitted,
        # processor time, because wall-clock time depends on the load of the machine
        "fit_cpu_seconds": fit_work - work,
        "sample_cpu_seconds": sample_work - fit_work,
        "params": config.params,
        "sampler": family.sampler,
        "seeds": asdict(streams),
        "threads": threads,
        "budget": config.spending(),
        "versions": provenance.versions(family.packages),
        "python": provenance.python(),
        "commit": provenance.commit(),
        "source_hash": provenance.source_hash(),
        "time": provenance.now(),
    }


def scores(samples: Array, y: Array, y_train: Array) -> dict[str, Any]:
    """Compute every score of the paper, in the units of ``y``.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n)
        Predictions.
    y : ndarray of shape (n,)
        Observations.
    y_train : ndarray of shape (m,)
        Training responses, which give the climatology.

    Returns
    -------
    dict
        Numbers by name, and ``iqr_coverage_*`` as lists by bin, the narrowest predictions first. RMSE uses the
        sample mean, MAE the sample median: the point forecasts that minimise them.
    """
    crps, climatology = metrics.crps(samples, y).mean(), metrics.climatology_crps(y_train, y).mean()
    uniform = metrics.pit_ks(samples, y)
    result: dict[str, Any] = {
        "crps": float(crps),
        "crps_climatology": float(climatology),
        "crpss": float(1.0 - crps / climatology),
        "dss": float(metrics.dss(samples, y).mean()),
        "pit_ks": uniform.statistic,
        "pit_ks_p": uniform.pvalue,
        "q_mace": metrics.q_mace(samples, y),
        "rmse": float(np.sqrt(np.mean((samples.mean(axis=0) - y) ** 2))),
        "mae": float(np.mean(np.abs(np.median(samples, axis=0) - y))),
    }
    for level in LEVELS:
        percent = round(100 * level)
        result[f"coverage_{percent}"] = metrics.coverage(samples, y, level)
        result[f"coverage_error_{percent}"] = metrics.coverage_error(samples, y, level)
        result[f"width_{percent}"] = metrics.width(samples, level)
        result[f"iqr_coverage_{percent}"] = metrics.iqr_binned_coverage(samples, y, level).tolist()
        result[f"iqr_mace_{percent}"] = metrics.iqr_mace(samples, y, level)
    return result


@cache
def _warm_up() -> None:
    """Compile the sampling kernels once per process, so that no measured time includes it."""
    import diffgbm

    diffgbm.warmup()


def _summary(record: Record) -> str:
    actual = record["metrics"]
    return f"CRPS {actual['crps']:.4g}, 90% coverage {actual['coverage_90']:.3f}"
