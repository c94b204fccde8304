"""Which work a time limit buys: fewer candidates that are finished, instead of many of which the last are cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from diffgbm.auto.presets import PRESETS, Preset
from diffgbm.first_stage.useful_threads import boosting_seconds, useful_threads

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
PROBE_ROUNDS = 40
"""Boosting rounds that measure the speed."""
PROBE_SECONDS = 0.05
"""Seconds of these rounds where the speed is one."""


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
    """Return the speed of boosting with up to ``n_jobs`` threads at this moment, in units of ``PROBE_SECONDS``."""
    return PROBE_SECONDS / max(boosting_seconds(useful_threads(n_jobs), PROBE_ROUNDS, now), 1e-6)
