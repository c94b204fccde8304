r"""Dates and times as numbers: year, month, day of the week, hour, day of the year as a circle, and elapsed time.

Parts are those of the wall clock: a column with a time zone is read in the zone of training. Elapsed time counts days
since the first training row. A part that is the same in all training rows is left out.

No part of a row depends on the other rows, so no row learns of the future from its date. Elapsed time and year are held
at their first and last training values: a model does not continue a trend beyond the dates that it was fitted to.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array
from diffgbm.data.numbers import column_values, is_mark, is_missing

Moments = NDArray[np.datetime64]

PARTS = ("elapsed days", "year", "month", "weekday", "hour", "sine of the day", "cosine of the day")
"""Columns of a date, in the order of the matrix."""
DAYS_OF_YEAR = 365.25
BEYOND = 0.1
"""Share of the training period by which a row may lie outside it without a warning."""

_DAY_US = 86_400_000_000
_ISO = re.compile(
    r"\s*(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}:?\d{2})?)?\s*"
)


@dataclass(frozen=True)
class Dates:
    """How a column of dates is read.

    Attributes
    ----------
    parts : tuple of str
        Those of ``PARTS`` that vary in training.
    first, last : int
        First and last training moment, in microseconds since 1970 (UTC if there is a zone).
    zone : str or None
        Time zone of the parts; ``None`` for dates without one.
    is_text : bool
        Whether the column holds ISO 8601 text.
    """

    parts: tuple[str, ...]
    first: int
    last: int
    zone: str | None
    is_text: bool

    kind: ClassVar[str] = "date"
    levels: ClassVar[None] = None

    @property
    def width(self) -> int:
        """Number of columns in the matrix."""
        return len(self.parts)

    @classmethod
    def learn(cls, column: Any, name: str) -> Dates:
        """Learn the period, the zone and the parts that vary."""
        wall, utc, zone = _moments(column, name)
        known = utc[~np.isnat(utc)].astype(np.int64)
        table = cls(PARTS, int(known.min()), int(known.max()), zone, _is_text(column))
        values = table._all_parts(wall, utc)
        varies = {part: np.nanmax(v) > np.nanmin(v) for part, v in values.items()}
        # the two coordinates of a circle belong together
        circle = varies["sine of the day"] or varies["cosine of the day"]
        kept = tuple(p for p in PARTS if (circle if p.endswith("of the day") else varies[p]))
        return cls(kept, table.first, table.last, zone, table.is_text)

    def encode(self, column: Any, name: str) -> Array:
        """Return the parts (n, width); missing dates are NaN."""
        wall, utc, zone = _moments(column, name, self.zone)
        if (zone is None) != (self.zone is None) and not np.isnat(utc).all():
            had, has = ("no time zone", f"the zone {zone}") if self.zone is None else (f"the zone {self.zone}", "none")
            raise ValueError(
                f"X column {name} had {had} in training and has {has} now. Convert it "
                "(pandas: X[c].dt.tz_localize(...); polars: pl.col(c).dt.replace_time_zone(...))."
            )
        values = self._all_parts(wall, utc)
        return np.column_stack([values[part] for part in self.parts]) if self.parts else np.empty((len(wall), 0))

    def shown(self, column: Any, name: str) -> Array:
        """Return one number (n,) for each row: days since 1970."""
        return _floats(_moments(column, name, self.zone)[1]) / _DAY_US

    def text(self, value: float) -> str:
        """Format a number of ``shown`` as a date."""
        moment = np.datetime64(round(value * _DAY_US), "us")
        midnight = moment == moment.astype("datetime64[D]")
        return str(moment.astype("datetime64[D]" if midnight else "datetime64[m]")).replace("T", " ")

    def beyond(self, column: Any, name: str) -> float:
        """Share of the rows that lie outside the training period by more than ``BEYOND`` of its length."""
        at = _floats(_moments(column, name, self.zone)[1])
        slack = BEYOND * (self.last - self.first)
        return float(np.mean((at > self.last + slack) | (at < self.first - slack))) if len(at) else 0.0

    @property
    def period(self) -> str:
        """First and last training date."""
        return " to ".join(self.text(moment / _DAY_US) for moment in (self.first, self.last))

    @property
    def detail(self) -> str:
        """How the column was read, in a few words."""
        zone = {None: "", "UTC": " UTC"}.get(self.zone, f" UTC, parts in {self.zone}")
        if not self.parts:
            return f"constant, not used: {self.text(self.first / _DAY_US)}{zone}"
        return f"{self.period}{zone}: {', '.join(self.parts)}{' (from ISO text)' if self.is_text else ''}"

    def _all_parts(self, wall: Moments, utc: Moments) -> dict[str, Array]:
        """Compute all parts; elapsed time and year are held within the training period."""
        missing = np.isnat(utc)
        safe = np.where(missing, np.datetime64(self.first, "us"), wall)
        day = safe.astype("datetime64[D]")
        year = day.astype("datetime64[Y]")
        ends = np.array([self.first, self.last]).astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64)
        angle = 2.0 * np.pi * (day - year.astype("datetime64[D]")).astype(np.float64) / DAYS_OF_YEAR
        elapsed = np.clip(_floats(utc), self.first, self.last) - self.first
        parts = {
            "elapsed days": elapsed / _DAY_US,
            "year": np.clip(year.astype(np.int64), ends[0], ends[1]) + 1970.0,
            "month": day.astype("datetime64[M]").astype(np.int64) % 12 + 1.0,
            "weekday": (day.astype(np.int64) + 3) % 7 + 0.0,
            "hour": (safe - day).astype(np.float64) / (_DAY_US / 24.0),
            "sine of the day": np.sin(angle),
            "cosine of the day": np.cos(angle),
        }
        return {part: np.where(missing, np.nan, values) for part, values in parts.items()}


def are_iso_dates(values: Sequence[Any]) -> bool:
    """Whether all values are ISO 8601 dates or date-times as text."""
    # most columns of text fail at their first value
    return len(values) > 0 and all(isinstance(v, str) and _ISO.fullmatch(v) for v in values) and _parse(values)


def is_iso_date(value: Any) -> bool:
    """Whether a value is an ISO 8601 date or date-time as text."""
    return are_iso_dates([value])


def _parse(values: Sequence[Any]) -> bool:
    try:
        [_iso_moment(v) for v in values]
    except ValueError:
        return False
    return True


def is_moment(value: Any) -> bool:
    """Whether a value is a date or a date with a time."""
    return isinstance(value, (dt.date, np.datetime64))


def is_period(column: nw.Series[Any]) -> bool:
    """Whether a column holds periods of pandas."""
    return str(getattr(column.to_native(), "dtype", "")).startswith("period[")


def _is_text(column: Any) -> bool:
    found = next((v for v in column_values(column) if not is_missing(v)), None)
    return isinstance(found, str)


def _moments(column: Any, name: str, zone: str | None = None) -> tuple[Moments, Moments, str | None]:
    """Read a column as moments of the wall clock and of UTC (n,), in microseconds, with its zone.

    ``zone`` is the zone of training, in which the wall clock is read; by default that of the column.
    """
    if isinstance(column, nw.Series) and is_period(column):  # a period is its start
        column = nw.from_native(column.to_native().dt.to_timestamp(), series_only=True)
    if isinstance(column, nw.Series) and column.dtype in (nw.Datetime, nw.Date):
        found = getattr(column.dtype, "time_zone", None)
        utc = _timestamps(column)
        if found is None:
            return utc, utc, None
        zone = found if zone is None else zone
        return _timestamps(column.dt.convert_time_zone(zone).dt.replace_time_zone(None)), utc, zone
    values = column_values(column)
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        moments = column.astype("datetime64[us]")
        return moments, moments, None
    distinct = {v: _moment(v, name) for v in set(values) if not is_missing(v) and not is_mark(v)}
    aware = {m.tzinfo is not None for m in distinct.values()}
    if len(aware) > 1:
        raise ValueError(f"X column {name} holds dates with and without a time zone; give all of them one.")
    if aware != {True}:
        moments = np.array([distinct.get(v, "NaT") for v in values], dtype="datetime64[us]")
        return moments, moments, None
    zones = {getattr(m.tzinfo, "key", None) for m in distinct.values()}
    own = next(iter(zones)) if len(zones) == 1 else None
    zone = str(own or "UTC") if zone is None else zone
    target = _zone(zone, name)
    in_utc = {v: m.astimezone(dt.timezone.utc).replace(tzinfo=None) for v, m in distinct.items()}
    on_wall = {v: m.astimezone(target).replace(tzinfo=None) for v, m in distinct.items()}
    utc = np.array([in_utc.get(v, "NaT") for v in values], dtype="datetime64[us]")
    return np.array([on_wall.get(v, "NaT") for v in values], dtype="datetime64[us]"), utc, zone


def _zone(zone: str, name: str) -> dt.tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if zone == "UTC":
        return dt.timezone.utc
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(f"X column {name}: this system does not know the time zone {zone!r}.") from None


def _timestamps(column: nw.Series[Any]) -> Moments:
    """Return a column of dates as moments (n,); missing values are NaT."""
    stamps = column.cast(nw.Datetime("us", getattr(column.dtype, "time_zone", None))).dt.timestamp("us")
    missing = column.is_null().to_numpy().astype(bool)
    values = np.where(missing, 0, stamps.fill_null(0).to_numpy()).astype(np.int64)
    return np.where(missing, np.datetime64("NaT", "us"), values.astype("datetime64[us]"))


def _moment(value: Any, name: str) -> dt.datetime:
    """Read one date of an object column, or ISO text."""
    if isinstance(value, dt.datetime):
        return value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()
    try:
        return _iso_moment(value)
    except (TypeError, ValueError, AttributeError):
        raise ValueError(
            f"X column {name} held dates in training, written like 2020-04-21; now it holds {value!r}."
        ) from None


def _iso_moment(text: str) -> dt.datetime:
    found = _ISO.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no ISO 8601 date")
    date, clock, seconds, fraction, offset = found.groups()
    if clock is None:
        return dt.datetime.fromisoformat(date)
    if offset is not None:
        offset = "+00:00" if offset == "Z" else offset if ":" in offset else f"{offset[:3]}:{offset[3:]}"
    micros = (fraction or "0")[:6].ljust(6, "0")
    return dt.datetime.fromisoformat(f"{date}T{clock}:{seconds or '00'}.{micros}{offset or ''}")


def _floats(moments: Moments) -> Array:
    """Return moments (n,) as microseconds since 1970; NaT is NaN."""
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64))
