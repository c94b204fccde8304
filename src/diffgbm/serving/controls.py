"""Controls of the explorer: for each column a slider, a menu or a box, with a range and a typical value."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from diffgbm._util.types import Array
from diffgbm.data.dates import Dates
from diffgbm.data.kinds import Category, Column, Number
from diffgbm.data.level_statistics import LevelStatistics
from diffgbm.serving.table_rows import json_value

MOST_LEVELS = 1000
"""Most categories of a menu."""
STEPS = 200
"""Steps of a slider, about."""
FAN_POINTS = 41
"""Values of a column along which the fan chart is drawn."""
FAN_LEVELS = 24
"""Most categories of the fan chart."""
DAY = 86_400_000_000
"""Microseconds of a day."""


@dataclass(frozen=True)
class Control:
    """How one column is set.

    Attributes
    ----------
    name : str
        The column.
    kind : {"number", "flag", "category", "date", "moment", "time", "text", "unused"}
        Slider, yes or no, menu, date, date with a time, time of day, free text, or nothing.
    detail : str
        How the model reads the column.
    value : object
        A typical value, in JSON.
    low, high, step : float, optional
        Range and steps of a number, or of days since 1970; ``None`` if no range is known.
    integer : bool
        Whether the values are integers.
    levels : tuple
        Categories of a menu.
    more_levels : int
        Categories that the menu leaves out.
    suffix : str
        What a date ends in: its time zone.
    """

    name: str
    kind: str
    detail: str = ""
    value: Any = None
    low: float | None = None
    high: float | None = None
    step: float | None = None
    integer: bool = False
    levels: tuple[Any, ...] = ()
    more_levels: int = 0
    suffix: str = ""

    def facts(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


def control_of(name: str, how: Column, seen: Array) -> Control:
    """Return the control of a column.

    Parameters
    ----------
    name : str
        The column.
    how : Column
        How the model reads it.
    seen : ndarray of shape (m,)
        Its numbers in rows that are known, as ``how.shown`` gives them; NaN is missing.
    """
    values = seen[np.isfinite(seen)]
    if not how.width:
        return Control(name, "unused", how.detail)
    if isinstance(how, Number):
        return _time(name, values) if how.source == "time" else _number(name, how.detail, values)
    if isinstance(how, Dates):
        return _date(name, how, values)
    if isinstance(how, (Category, LevelStatistics)):
        return _category(name, how, values)
    return Control(name, "text", how.detail, "")


def _number(name: str, detail: str, values: Array) -> Control:
    if not len(values):
        return Control(name, "number", detail)
    integer = bool(np.all(values == np.round(values)) and np.abs(values).max() < 2**53)
    typical = float(np.quantile(values, 0.5, method="lower"))
    low, high = float(values.min()), float(values.max())
    if integer and (low, high) == (0.0, 1.0):
        return Control(name, "flag", detail, typical, 0.0, 1.0, 1.0, True)
    if low == high:
        low, high = low - 1.0, high + 1.0
    step = 1.0 if integer and high - low <= 10 * STEPS else _round_step((high - low) / STEPS)
    # a slider stops at low plus multiples of its step
    low, high = step * np.floor(low / step), step * np.ceil(high / step)
    ends = [float(f"{end:.12g}") for end in (low, high, typical)]
    return Control(name, "number", detail, ends[2], ends[0], ends[1], float(f"{step:.12g}"), integer)


def _round_step(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at most about ``step``."""
    power = 10.0 ** np.floor(np.log10(step))
    return float(power * max(k for k in (1.0, 2.0, 5.0) if k * power <= step * 1.0000001))


def _time(name: str, values: Array) -> Control:
    return Control(name, "time", "", _clock(float(np.median(values)) if len(values) else 12.0))


def _date(name: str, how: Dates, values: Array) -> Control:
    ends = [how.first / DAY, how.last / DAY]
    low, high = float(np.floor(min([*values, ends[0]]))), float(np.ceil(max([*values, ends[1]])))
    timed = "hour" in how.parts
    typical = float(np.quantile(values, 0.5, method="lower")) if len(values) else 0.5 * (low + high)
    suffix = "" if how.zone is None else "+00:00"
    value = date_text(typical, timed or bool(suffix), suffix)
    return Control(name, "moment" if timed or suffix else "date", how.period, value, low, high, 1.0, suffix=suffix)


def date_text(days: float, timed: bool, suffix: str = "") -> str:
    """Return days since 1970 as ISO 8601 text."""
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(minutes=round(1440.0 * days))
    return moment.isoformat(timespec="minutes") + suffix if timed else moment.date().isoformat()


def _category(name: str, how: Category | LevelStatistics, codes: Array) -> Control:
    levels = tuple(map(json_value, how.levels))
    counts = np.bincount(codes.astype(np.intp), minlength=len(levels)) if len(codes) else np.zeros(len(levels))
    typical = levels[int(np.argmax(counts))] if levels else None
    listed = levels if len(levels) <= MOST_LEVELS else _frequent(levels, counts)
    n_levels = how.n_levels if isinstance(how, LevelStatistics) else len(levels)
    return Control(name, "category", how.detail, typical, levels=listed, more_levels=n_levels - len(listed))


def typical_value(control: Control, number: float) -> Any:
    """Return a number of a known row in JSON, as the control writes it; ``None`` if the row does not say."""
    if not np.isfinite(number) or control.kind in ("unused", "text"):
        return None
    if control.kind == "category":
        # a menu that leaves categories out has other positions
        return control.levels[int(number)] if not control.more_levels else None
    if control.kind in ("date", "moment"):
        return date_text(float(number), control.kind == "moment", control.suffix)
    if control.kind == "time":
        return _clock(float(number))
    return float(f"{number:.7g}")


def _clock(hours: float) -> str:
    minutes = int(np.clip(round(60.0 * hours), 0, 1439))
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _frequent(levels: Sequence[Any], counts: Any) -> tuple[Any, ...]:
    """Return the categories that occur most often, in their order."""
    kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_LEVELS])
    return tuple(levels[int(k)] for k in kept)


def fan_values(control: Control, value: Any) -> list[Any]:
    """Return the values of a column along which the fan chart is drawn, in JSON; none if it has no range.

    Parameters
    ----------
    control : Control
        The column.
    value : object
        Its value in the row; a category that is not among the first is added.
    """
    if control.kind == "flag":
        return [0.0, 1.0]
    if control.kind == "category":
        levels = list(control.levels[:FAN_LEVELS])
        is_value = isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
        return [*levels, value] if is_value and value not in levels else levels
    if control.low is None or control.high is None:
        return []
    grid = np.linspace(control.low, control.high, FAN_POINTS)
    if control.kind in ("date", "moment"):
        timed = control.kind == "moment"
        return list(dict.fromkeys(date_text(float(day), timed, control.suffix) for day in grid))
    return np.unique(np.round(grid)).tolist() if control.integer else grid.tolist()
