"""How many of LightGBM's threads help at this moment.

LightGBM's threads wait for each other many times in every tree. While other work holds one of the cores, all of them
wait for the thread that shares it, and two threads take several times as long as one. The model is the same for any
number, so that the number may follow the load.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cache
from threading import Lock
from typing import Any

import lightgbm as lgb
import numpy as np

LASTS = 3.0
"""Seconds after which the load is measured again."""
ROUNDS, REPETITIONS = 10, 2
"""Boosting rounds of one measurement, and measurements of each number of threads: about 30 ms together."""
SLOWER = 1.25
"""Threads are halved while they take this many times as long as one thread."""
PROBE_ROWS, PROBE_COLUMNS = 10_000, 8
"""Size of the table that is boosted."""


def boosting_seconds(threads: int, rounds: int, now: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of some boosting rounds on a small table."""
    params = {"objective": "l2", "num_leaves": 31, "verbosity": -1, "num_threads": threads}
    data, before = _probe_data(), now()
    lgb.train(params, data, num_boost_round=rounds)
    return now() - before


@cache
def _probe_data() -> lgb.Dataset:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((PROBE_ROWS, PROBE_COLUMNS)), rng.standard_normal(PROBE_ROWS)
    return lgb.Dataset(X, y, params={"verbosity": -1, "num_threads": 1}).construct()


class Load:
    """Remembers for a few seconds how many threads help.

    Parameters
    ----------
    seconds : callable
        Seconds of the measured work with so many threads.
    now : callable
        The time in seconds.
    """

    def __init__(self, seconds: Callable[[int], float], now: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._now, self._lock = seconds, now, Lock()
        self._known: dict[int, tuple[float, int]] = {}

    def threads(self, most: int) -> int:
        """Return ``most`` threads, or half, a quarter, ... of them if more would take longer than a single one."""
        if most <= 1:
            return most
        when, found = self._known.get(most, (-np.inf, most))
        # who finds another thread measuring does not wait: in a forked process that thread may not exist
        if self._now() - when > LASTS and self._lock.acquire(blocking=False):
            try:
                found = self._measured(most)
                self._known[most] = (self._now(), found)
            finally:
                self._lock.release()
        return found

    def _measured(self, most: int) -> int:
        threads, alone, together = most, 0.0, 0.0
        # in turn: a moment's load meets both
        for _ in range(REPETITIONS):
            alone += self._seconds(1)
            together += self._seconds(threads)
        while threads > 1 and together > SLOWER * alone:
            threads //= 2
            together = alone if threads == 1 else sum(self._seconds(threads) for _ in range(REPETITIONS))
        return threads


_LOAD = Load(lambda threads: boosting_seconds(threads, ROUNDS))


def useful_threads(most: int) -> int:
    """Return how many of ``most`` threads of LightGBM help at this moment."""
    return _LOAD.threads(most)


def with_useful_threads(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return LightGBM's parameters with as many of their threads as help."""
    return {**params, "num_threads": useful_threads(params["num_threads"])}
