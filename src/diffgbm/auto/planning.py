"""Which work a time limit buys: fewer candidates that are finished, instead of many of which the last are cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import lightgbm
import numpy as np

from diffgbm.auto.presets import PRESETS, Preset

GROWTH = 0.7
"""Exponent of the rows in the cost of a fit: searches take a few rows, and large tables have fewer noisy copies."""
USUAL_COLUMNS = 10
"""Columns up to which the cost of a fit hardly depends on them; above, it is proportional to them."""
AMPLE = 4.0
"""A limit of this many times the cost is enough on any machine: its speed is not measured, and two fits are equal."""


@dataclass(frozen=True)
class Cost:
    """Processor seconds of a preset's work, ``fixed + growth * rows ** GROWTH``, where the speed is one."""

    fixed: float
    growth: float

    def seconds(self, n_rows: int, n_columns: int) -> float:
        """Return the seconds of a table."""
        return (self.fixed + self.growth * n_rows**GROWTH) * max(1.0, n_columns / USUAL_COLUMNS)


COSTS: Mapping[str, Cost] = {
    "fast": Cost(5.0, 0.10),
    "balanced": Cost(12.0, 0.22),
    "best": Cost(15.0, 0.45),
}
"""What the presets cost, the smallest first. Tables of equally many rows differ by a factor of two."""
PROBE_ROWS, PROBE_COLUMNS, PROBE_ROUNDS = 10_000, 8, 40
"""The work that measures the speed."""
PROBE_SECONDS = 0.05
"""Seconds of this work where the speed is one."""


def planned(preset: Preset, limit: float | None, n_rows: int, n_columns: int, speed: Callable[[], float]) -> Preset:
    """Return the largest preset, up to ``preset``, that a limit in seconds can finish; the smallest if none.

    Parameters
    ----------
    preset : Preset
        What the user asked for. One that is not in the catalogue stays as it is.
    limit : float or None
        Seconds; ``None`` is no limit.
    n_rows, n_columns : int
        Size of the table.
    speed : callable
        Measures the speed of the machine; called if the answer may depend on it.
    """
    names = list(COSTS)
    own = next((name for name in names if PRESETS[name] == preset), None)
    if limit is None or own is None or own == names[0]:
        return preset
    if AMPLE * COSTS[own].seconds(n_rows, n_columns) <= limit:
        return preset
    seconds = limit * speed()
    affordable = [name for name in names[: names.index(own) + 1] if COSTS[name].seconds(n_rows, n_columns) <= seconds]
    return PRESETS[affordable[-1] if affordable else names[0]]


def measured_speed(n_jobs: int, now: Callable[[], float]) -> float:
    """Return the speed of boosting with ``n_jobs`` threads at this moment, in units of ``PROBE_SECONDS``."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((PROBE_ROWS, PROBE_COLUMNS)), rng.standard_normal(PROBE_ROWS)
    data = lightgbm.Dataset(X, y, params={"verbosity": -1, "num_threads": n_jobs}).construct()
    params = {"objective": "l2", "verbosity": -1, "num_threads": n_jobs, "num_leaves": 31}
    before = now()
    lightgbm.train(params, data, num_boost_round=PROBE_ROUNDS)
    return PROBE_SECONDS / max(now() - before, 1e-6)
