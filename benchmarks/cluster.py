"""Fit and predict on a local Dask cluster of one and of two workers, and extrapolate to a billion rows.

Rates are in processor seconds of the workers, which other processes of the machine disturb less; wall-clock times are
recorded too. Workers have one thread each.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks import provenance
from benchmarks.cluster_plan import plan
from benchmarks.datasets import ROOT
from benchmarks.records import Record, append, latest
from diffgbm._util.optional import need

RESULTS = ROOT / "benchmarks" / "results"
WORKERS = (1, 2)
ROWS, QUICK_ROWS = 200_000, 4_000
COLUMNS = 10
PARTITIONS = 8
ROUNDS, MEAN_ROUNDS, FOLDS = 200, 100, 5
MODEL: dict[str, Any] = {
    "n_repeats": 1,
    "n_estimators": ROUNDS,
    "early_stopping_rounds": None,
    "residualize_k_folds": FOLDS,
    "extra_residualizer_params": {"n_estimators": MEAN_ROUNDS, "num_leaves": 31},
    "seed": 0,
    "n_jobs": 1,
}
SAMPLES = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--quick", action="store_true", help="few rows, as a smoke test; nothing is written")
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")


def table(rows: int) -> tuple[Any, Any]:
    """Generate a table of ``COLUMNS`` numbers; the response depends on three of them."""
    array = need("dask.array")
    random = array.random.default_rng(0)
    X = random.standard_normal((rows, COLUMNS), chunks=(-(-rows // PARTITIONS), COLUMNS))
    noise = random.standard_normal(rows, chunks=X.chunks[0])
    return X, X[:, 0] + array.sin(X[:, 1]) + (0.5 + abs(X[:, 2])) * noise


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Yield a client of that many processes on this machine."""
    distributed = need("distributed")
    local = {"host": "127.0.0.1", "dashboard_address": ":0", "processes": True, "threads_per_worker": 1}
    with distributed.LocalCluster(n_workers=workers, **local) as made, distributed.Client(made) as client:
        yield client


def cost(client: Any, function: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Call ``function``; return its result, its seconds and the processor seconds of all workers."""
    before, started = sum(client.run(time.process_time).values()), time.perf_counter()
    result = function()
    wall = time.perf_counter() - started
    processor = sum(client.run(time.process_time).values()) - before
    return result, {"seconds": round(wall, 3), "processor_seconds": round(processor, 3)}


def measure(workers: int, rows: int) -> Record:
    """Fit without and with a mean, predict intervals and draw samples."""
    from diffgbm import dask

    estimator: Any = dask.DaskDiffGBM  # its constructors are annotated with the class of the local estimator
    with cluster(workers) as client:
        X, y = client.persist(list(table(rows)))
        small = {**MODEL, "n_estimators": 2, "extra_residualizer_params": {"n_estimators": 2}}
        warm = estimator.flow(**small).fit(X, y, client=client)
        local = warm.to_local()
        for ask, options in ((local.predict_interval, {}), (local.sample, {"n_samples": 2, "seed": 0})):
            client.run(ask, np.zeros((64, COLUMNS)), **options)
        _, alone = cost(client, lambda: estimator.flow(**{**MODEL, "residualize": "off"}).fit(X, y, client=client))
        model, with_first_stage = cost(client, lambda: estimator.flow(**MODEL).fit(X, y, client=client))
        interval, samples = model.predict_interval(X), model.sample(X, SAMPLES, seed=0).mean(axis=0)
        _, predicted = cost(client, lambda: client.compute(interval).result())
        _, sampled = cost(client, lambda: client.compute(samples).result())
    return {
        "workers": workers,
        "rows": rows,
        "columns": COLUMNS,
        "rounds": ROUNDS,
        "mean_rounds": MEAN_ROUNDS,
        "folds": FOLDS,
        "samples": SAMPLES,
        "fit_without_mean": alone,
        "fit": with_first_stage,
        "interval": predicted,
        "sample": sampled,
        "versions": provenance.versions(("lightgbm", "dask", "distributed")),
        "commit": provenance.commit(),
        "when": provenance.now(),
    }


def run(args: argparse.Namespace) -> None:
    """Measure what is missing; append to ``results/cluster.jsonl`` and write ``results/cluster.md``."""
    kept, key = RESULTS / "cluster.jsonl", ("workers", "rows")
    rows = QUICK_ROWS if args.quick else ROWS
    actual = {} if args.quick or args.again else latest(kept, key)
    for workers in WORKERS:
        if (workers, rows) not in actual:
            print(f"cluster: {workers} worker{'s' * (workers > 1)}, {rows:,} rows", file=sys.stderr, flush=True)
            actual[workers, rows] = record = measure(workers, rows)
            if not args.quick:
                append(kept, record)
    text = plan([actual[workers, rows] for workers in WORKERS])
    if not args.quick:
        (RESULTS / "cluster.md").write_text(text)
    print(text)
