"""Dates as people write them: ISO, day first or month first, with names of months, with times and zones.

The order of day and month is found from all values of a column: a part above 12 is a day. If none is, dates in order of
time decide, then the separator: dates with points are written day first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from diffgbm._util.optional import need
from diffgbm.data.file_format import COMPACT, DAY_FIRST, ISO, MONTH_FIRST

_TIME = (
    r"(?:(?:T|,? +)(?P<h>[0-9]{1,2}):(?P<mi>[0-9]{2})(?::(?P<s>[0-9]{2})(?P<f>[.,][0-9]{1,9})?)?"
    r" ?(?P<half>(?i:[ap]\.?m\.?)?)(?P<zone> ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})?))?$"
)
_ZONE = r"(?:[0-9] ?(?:Z|UTC)|:[0-9]{2} ?[+-][0-9]{2}:?[0-9]{2})$"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = rf"(?i:{'|'.join(_MONTHS)})[a-z]*\.?"
_FIRST = rf"(?P<a>[0-9]{{1,2}}|{_NAME})"
_PATTERNS = {
    ISO: r"^(?P<y>[0-9]{4})[-/.](?P<a>[0-9]{1,2})(?:[-/.](?P<b>[0-9]{1,2}))?" + _TIME,
    DAY_FIRST: rf"^{_FIRST}[-/. ] ?(?P<b>[0-9]{{1,2}}|{_NAME})[-/., ] ?(?P<y>[0-9]{{4}}|[0-9]{{2}})" + _TIME,
    COMPACT: r"^(?P<y>(?:19|20)[0-9]{2})(?P<a>[0-9]{2})(?P<b>[0-9]{2})" + _TIME,
}
"""Patterns of dates: year, month or first part, day or second part. Both orders of day and month have one pattern."""
_CLOCK = r"^(?P<h>[0-9]{1,2}):(?P<mi>[0-9]{2})(?::(?P<s>[0-9]{2})(?:[.,][0-9]+)?)? ?(?P<half>(?i:[ap]\.?m\.?)?)$"
COMPACT_VALUES = 5
"""Fewest different values of eight digits that are dates rather than numbers."""


@dataclass(frozen=True)
class DateStyle:
    """How the dates of a column are written.

    Attributes
    ----------
    order : str
        Order of year, month and day, or a format with per cent signs.
    zone : bool
        Whether they have a time zone.
    """

    order: str
    zone: bool = False


@dataclass(frozen=True)
class DateEvidence:
    """What the values of a column say about its dates.

    Attributes
    ----------
    style : DateStyle
        The style that reads most values.
    share : float
        Share of the values that it reads.
    proven : bool
        Whether no other order reads as many.
    note : str
        How an order that the values do not prove was decided.
    """

    style: DateStyle
    share: float
    proven: bool
    note: str = ""


def evidence(text: Any, asked: str | None, day_first: bool) -> DateEvidence | None:
    """Find the style that reads most of the values (n,) of a column of text; ``None`` if it holds no dates.

    Parameters
    ----------
    text : array or chunked array of pyarrow
        Values; missing ones are null.
    asked : str, optional
        Format that the user gave.
    day_first : bool
        The order to assume if nothing else decides.
    """
    compute = need("pyarrow.compute")
    values = compute.drop_null(text)
    if len(values) == 0:
        return None
    if asked is not None and (share := _share(parsed(values, DateStyle(asked)), values)) > 0.5:
        return DateEvidence(DateStyle(asked), share, True)
    if not _may_be_dates(values) or _are_versions(values):
        return None
    zone = bool(compute.any(compute.match_substring_regex(values, _ZONE)).as_py())
    found = {}
    for order in (ISO, DAY_FIRST, MONTH_FIRST, COMPACT):
        style = DateStyle(order, zone)
        found[style] = _share(parsed(values, style), values)
        if order == ISO and found[style] == 1.0:
            break  # no other order begins with four digits
    best = max(found.values())
    tied = [style for style, share in found.items() if share == best]
    if best <= 0.5 or (tied[0].order == COMPACT and len(values.unique()) < COMPACT_VALUES):
        return None
    if len(tied) == 1:
        return DateEvidence(tied[0], best, True)
    return _decided(values, tied, best, day_first)


def _decided(values: Any, tied: list[DateStyle], share: float, day_first: bool) -> DateEvidence:
    """Decide between day first and month first, which read all values alike."""
    styles = {style.order: style for style in tied}
    by_name = bool(re.search("[a-zA-Z]{3}", values[0].as_py()))
    if by_name:  # a month that has a name cannot be taken for a day
        return DateEvidence(styles[DAY_FIRST], share, True)
    sorted_as = [order for order in (DAY_FIRST, MONTH_FIRST) if _is_sorted(parsed(values, styles[order]))]
    example = values[0].as_py()
    if len(sorted_as) == 1:
        order, why = sorted_as[0], "so the rows are in order of time"
    elif "." in example:
        order, why = DAY_FIRST, "as dates with points are written"
    else:
        order, why = (DAY_FIRST, "as in files of this kind") if day_first else (MONTH_FIRST, "as no value decides it")
    other = {DAY_FIRST: "%m/%d/%Y", MONTH_FIRST: "%d/%m/%Y"}[order].replace("/", "." if "." in example else "/")
    return DateEvidence(
        styles[order], share, False, f"{example!r} is read {order}, {why}; --date-format '{other}' otherwise"
    )


def _is_sorted(dates: Any) -> bool:
    compute = need("pyarrow.compute")
    if len(dates) < 3 or len(dates.unique()) < 3:
        return False
    first, then = dates.slice(0, len(dates) - 1), dates.slice(1)
    pairs = [compute.all(compare(first, then)).as_py() for compare in (compute.less_equal, compute.greater_equal)]
    return any(pairs)


def _may_be_dates(values: Any) -> bool:
    """Whether a date may be among the first values; looking at few saves time for columns of numbers and words."""
    some = values.slice(0, 200)
    return any(
        _share(need("pyarrow.compute").extract_regex(some, pattern), some) > 0.25 for pattern in _PATTERNS.values()
    )


def _are_versions(values: Any) -> bool:
    """Whether values such as ``1.10.3`` are versions: a date of three short numbers has two digits in each."""
    compute = need("pyarrow.compute")
    short = compute.match_substring_regex(values, r"^[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{1,2}$")
    full = compute.match_substring_regex(values, r"^[0-9]{2}[.][0-9]{2}[.][0-9]{2}$")
    return bool(compute.any(compute.and_not(short, full)).as_py())


def parsed(text: Any, style: DateStyle) -> Any:
    """Read text (n,) as timestamps in microseconds, of UTC if they have zones; what is no such date is null."""
    arrow = need("pyarrow")
    if style.order not in (ISO, DAY_FIRST, MONTH_FIRST, COMPACT):
        return _by_format(text, style)
    kind = arrow.timestamp("us", "UTC" if style.zone else None)
    if style.order == ISO:
        try:
            return text.cast(kind)
        except arrow.ArrowInvalid:
            pass
    pattern = _PATTERNS[DAY_FIRST if style.order == MONTH_FIRST else style.order]
    iso = _iso_text(text, pattern, style)
    return _cast_where_valid(iso, kind)


def _by_format(text: Any, style: DateStyle) -> Any:
    """Read by a format of ``strptime``, each different value once."""
    arrow = need("pyarrow")

    def one(value: str | None) -> datetime | None:
        try:
            return None if value is None else datetime.strptime(value, style.order).replace(tzinfo=None)
        except ValueError:
            return None

    encoded = text.dictionary_encode()
    chunks = encoded.chunks if isinstance(encoded, arrow.ChunkedArray) else [encoded]
    parts = []
    for chunk in chunks:
        values = arrow.array([one(value) for value in chunk.dictionary.to_pylist()], arrow.timestamp("us"))
        parts.append(values.take(chunk.indices))
    return arrow.chunked_array(parts, arrow.timestamp("us"))


def _iso_text(text: Any, pattern: str, style: DateStyle) -> Any:
    """Write dates as Arrow reads them, ``2020-04-21 13:30:00Z``; null where the pattern does not fit."""
    compute = need("pyarrow.compute")
    parts = compute.extract_regex(text, pattern)
    parts = parts.combine_chunks() if hasattr(parts, "combine_chunks") else parts
    fields = {name: compute.struct_field(parts, name) for name in ("y", "a", "b", "h", "mi", "s", "half", "zone")}
    month, day = ("b", "a") if style.order == DAY_FIRST else ("a", "b")
    named = compute.match_substring_regex(fields[day], "^[a-zA-Z]")
    # April 21 is the same in both orders
    months = compute.if_else(named, fields[day], fields[month])
    days = compute.if_else(named, fields[month], fields[day])
    year = compute.if_else(compute.equal(compute.utf8_length(fields["y"]), 2), _century(fields["y"]), fields["y"])
    hour = _hours(fields["h"], fields["half"])
    time = compute.if_else(
        compute.equal(fields["h"], ""), "00:00:00", _joined(hour, ":", fields["mi"], ":", _two(fields["s"]))
    )
    date = _joined(year, "-", _two(_month_number(months)), "-", _two(_first_if_empty(days)), " ", time)
    if not style.zone:
        return compute.if_else(compute.equal(fields["zone"], ""), date, None)
    zone = compute.replace_substring_regex(compute.utf8_trim_whitespace(fields["zone"]), "^UTC$", "Z")
    return compute.if_else(compute.equal(zone, ""), None, _joined(date, zone))


def _century(year: Any) -> Any:
    """Two digits are the years 1970 to 2069."""
    compute = need("pyarrow.compute")
    return _joined(compute.if_else(compute.less(year, "70"), "20", "19"), year)


def _hours(hour: Any, half: Any) -> Any:
    """Return hours of the day with two digits; 12 am is 0 and 12 pm is 12."""
    compute, arrow = need("pyarrow.compute"), need("pyarrow")
    number = compute.if_else(compute.equal(hour, ""), None, hour).cast(arrow.int64())
    half = compute.utf8_lower(compute.utf8_slice_codeunits(half, 0, 1))
    noon = compute.if_else(compute.equal(number, 12), 0, number)
    number = compute.if_else(compute.equal(half, "a"), noon, number)
    number = compute.if_else(compute.equal(half, "p"), compute.add(noon, 12), number)
    return _two(number.cast(arrow.string()))


def _month_number(month: Any) -> Any:
    compute, arrow = need("pyarrow.compute"), need("pyarrow")
    found = compute.index_in(compute.utf8_lower(compute.utf8_slice_codeunits(month, 0, 3)), arrow.array(_MONTHS))
    return compute.if_else(compute.is_valid(found), compute.add(found, 1).cast(arrow.string()), month)


def _first_if_empty(day: Any) -> Any:
    return need("pyarrow.compute").if_else(need("pyarrow.compute").equal(day, ""), "1", day)


def _two(text: Any) -> Any:
    return need("pyarrow.compute").utf8_lpad(text, 2, "0")


def _joined(*parts: Any) -> Any:
    return need("pyarrow.compute").binary_join_element_wise(*parts, "")


def _cast_where_valid(iso: Any, kind: Any) -> Any:
    """Cast text to timestamps, with null for days that do not exist."""
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    try:
        return iso.cast(kind)
    except arrow.ArrowInvalid:
        # the 30th of February is rare: each different date is tried by itself
        dates = compute.utf8_slice_codeunits(iso, 0, 10)
        exists = [value for value in dates.unique().to_pylist() if value is not None and _exists(value)]
        times = compute.match_substring_regex(iso, r"^.{10} (?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]")
        good = compute.and_(compute.is_in(dates, arrow.array(exists, arrow.string())), times)
        return compute.if_else(good, iso, None).cast(kind)


def _exists(date: str) -> bool:
    try:
        datetime.strptime(date, "%Y-%m-%d")
    except ValueError:
        return False
    return True


def clock_hours(text: Any) -> Any:
    """Read times of the day (n,) as hours from 0 to 24; null where there is none."""
    compute, arrow = need("pyarrow.compute"), need("pyarrow")
    parts = compute.extract_regex(text, _CLOCK)
    parts = parts.combine_chunks() if hasattr(parts, "combine_chunks") else parts
    h, mi, s, half = (compute.struct_field(parts, name) for name in ("h", "mi", "s", "half"))
    hours, minutes, seconds = (_two(part).cast(arrow.float64()) for part in (_hours(h, half), mi, s))
    total = compute.add(hours, compute.divide(compute.add(minutes, compute.divide(seconds, 60.0)), 60.0))
    return compute.if_else(compute.and_(compute.less_equal(hours, 24.0), compute.less(minutes, 60.0)), total, None)


def is_clock(text: Any) -> bool:
    """Whether all values of a column are times of the day."""
    values = need("pyarrow.compute").drop_null(text)
    if _share(clock_hours(values.slice(0, 200)), values.slice(0, 200)) < 1.0:
        return False
    return bool(len(values)) and _share(clock_hours(values), values) == 1.0


def _share(found: Any, values: Any) -> float:
    return 1.0 - found.null_count / max(1, len(values))
