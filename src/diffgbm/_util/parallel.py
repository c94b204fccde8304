"""Blocks of rows on a pool of threads, and linear algebra on one."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from diffgbm._util.shared_change import SharedChange

ROWS = 64
"""Blocks are multiples of this: the engine decides a split for 64 rows at once."""


def n_threads(n_jobs: int | None) -> int:
    """Resolve ``n_jobs`` as joblib does (-1: all cores, -2: all but one); ``OMP_NUM_THREADS`` caps it."""
    if n_jobs == 0 or not (n_jobs is None or isinstance(n_jobs, (int, np.integer))) or isinstance(n_jobs, bool):
        raise ValueError(f"n_jobs must be a non-zero integer or None; got {n_jobs!r}.")
    threads = int(joblib.effective_n_jobs(n_jobs))
    if n_jobs is not None and n_jobs < 0 and os.environ.get("OMP_NUM_THREADS", "").isdigit():
        threads = min(threads, max(1, int(os.environ["OMP_NUM_THREADS"])))
    return threads


def block_rows(numbers_per_row: int, n_rows: int, threads: int) -> int:
    """Choose rows for each block: about 8 MB of numbers, at least one block for each thread."""
    fitting = 1_000_000 // max(1, numbers_per_row)
    shared = -(-n_rows // (ROWS * threads)) * ROWS
    return max(ROWS, min(fitting // ROWS * ROWS, shared))


def map_blocks(work: Callable[[int, int], None], n_rows: int, size: int, threads: int, bar: Any) -> None:
    """Call ``work(first, last)`` for each block of ``size`` rows, ``threads`` of them at a time."""

    def one(first: int) -> int:
        last = min(first + size, n_rows)
        work(first, last)
        return last - first

    starts = range(0, n_rows, size)
    if threads == 1 or len(starts) == 1:
        for first in starts:
            bar.update(one(first))
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in pool.map(one, starts):
            bar.update(done)


@cache
def _libraries() -> ThreadpoolController:
    """Those of numpy and scipy, which are loaded by now; to look for them takes milliseconds."""
    return ThreadpoolController()


one_blas_thread = SharedChange(lambda: _libraries().limit(limits=1, user_api="blas"))
"""Keep linear algebra on one thread for a block: the order in which it adds depends on how many there are.

The last bit of a first-stage prediction is enough for other trees where several splits are equally good, and threads of
BLAS would come on top of ``n_jobs``. The limit is the process's: of several threads that fit, the last ends it.
"""
