"""Columns of text: found to be numbers, dates, times or text from all their values, and read as such.

``find_readings`` looks at a table of text and decides; ``read_column`` applies a decision to the text of a column, in
training and in every later file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from diffgbm._util.optional import need
from diffgbm.data import date_text, number_text
from diffgbm.data.file_format import DAY_FIRST, ISO, MONTH_FIRST, ColumnReading, FileFormat, ReadingOptions
from diffgbm.data.number_text import FEW, NumberEvidence, NumberStyle

TEXT_MARKS = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "-", "--", "<NA>", "#N/A", "(null)", "\\N")
"""Marks of missing values in columns of text, spelled so."""
NUMBER_MARKS = (
    *("", "?", "na", "n/a", "n.a.", "nan", "-nan", "null", "none", "nil", "nat", "-", "--", "---", "\u2013", "\u2014"),
    *(".", "..", "...", "missing", "unknown", "undefined", "<na>", "(null)", "\\n", "n/d", "k.a.", "#n/a", "#na"),
    *("#value!", "#div/0!", "#ref!", "#num!", "#null!", "#name?", "0000-00-00", "00/00/0000"),
)
"""Marks of missing values in columns of numbers and dates, in small letters."""
EMPTY = "no values"
"""Note of a column that has none."""
MOST_MARKS = 20
"""Most marks of missing values that a reading remembers."""


@dataclass(frozen=True)
class Unread:
    """Values of a column that do not fit its reading.

    Attributes
    ----------
    name : str
        The column.
    rows : tuple of int
        First rows, counted from 0 within the table.
    values : tuple of str
        Their text.
    count : int
        How many there are in all.
    """

    name: str
    rows: tuple[int, ...]
    values: tuple[str, ...]
    count: int


def find_readings(
    table: Mapping[str, Any], file: FileFormat, options: ReadingOptions, kinds: Mapping[str, str]
) -> list[ColumnReading]:
    """Find how each column is read.

    Parameters
    ----------
    table : mapping of str to pyarrow columns
        The values; columns that are not text have a type of their own and are ``typed``.
    file : FileFormat
        Layout of the file.
    options : ReadingOptions
        What the user says.
    kinds : mapping of str to {"number", "text", "date"}
        Columns whose kind is known, because they are targets or a model reads them.
    """
    arrow = need("pyarrow")
    text = {name: trimmed(column) for name, column in table.items() if arrow.types.is_string(column.type)}
    present = {name: without_marks(column, options.missing) for name, column in text.items()}
    numbers = {
        name: None if kinds.get(name) in ("text", "date") else number_text.evidence(column)
        for name, column in present.items()
    }
    decimal = options.decimal or number_text.styles_of(list(numbers.values()))
    day_first = decimal == "," or file.separator == ";"
    readings = []
    for name in table:
        if name not in text:
            readings.append(typed_reading(name, table[name].type))
            continue
        found = _reading(name, present[name], numbers[name], decimal, day_first, file, options, kinds.get(name))
        readings.append(replace(found, missing=_marks(text[name], found.kind, options.missing)))
    return readings


def options_not_used(
    table: Mapping[str, Any], file: FileFormat, options: ReadingOptions, readings: Sequence[ColumnReading]
) -> list[str]:
    """Say which options the file contradicts, or have no meaning for it: they have no effect."""
    kinds = {"--sep": ("csv",), "--encoding": ("csv",), "--sheet": ("excel",)}
    given = {"--sep": options.separator, "--encoding": options.encoding, "--sheet": options.sheet}
    other = [option for option, value in given.items() if value and file.kind not in kinds[option]]
    out = [f"{option} has no effect: the file is {file.describe()}" for option in other]
    dates = [reading for reading in readings if reading.kind == "date"]
    if options.date_format and all(reading.dates != options.date_format for reading in readings):
        seen = f"; column {dates[0].name!r} has dates {dates[0].dates}" if dates and dates[0].dates else ""
        out.append(f"--date-format {options.date_format!r} fits no column and has no effect{seen}")
    for reading in readings if options.decimal else ():
        if reading.kind == "number" and reading.decimal != options.decimal:
            found = number_text.evidence(without_marks(trimmed(table[reading.name]), options.missing))
            if found is not None and found.decimal == reading.decimal:
                out.append(
                    f"column {reading.name!r} has the decimal mark {reading.decimal!r} and is read so, although "
                    f"--decimal is {options.decimal!r}"
                )
    return out


def typed_reading(name: str, kind: Any) -> ColumnReading:
    """Return the reading of a column that has a type in its file."""
    types = need("pyarrow").types
    inner = kind.value_type if types.is_dictionary(kind) else kind
    words = {
        "true or false": types.is_boolean(inner),
        "number": types.is_integer(inner) or types.is_floating(inner) or types.is_decimal(inner),
        "date": types.is_timestamp(inner) or types.is_date(inner),
        "text": types.is_string(inner) or types.is_large_string(inner),
    }
    return ColumnReading(name, "typed", type=next((word for word, fits in words.items() if fits), str(inner)))


def _reading(
    name: str,
    column: Any,
    number: NumberEvidence | None,
    decimal: str | None,
    day_first: bool,
    file: FileFormat,
    options: ReadingOptions,
    kind: str | None,
) -> ColumnReading:
    """Find how one column is read, given what its values and the other columns say."""
    if column.null_count == len(column):
        return ColumnReading(name, kind if kind == "text" else "number", note=EMPTY)
    if kind == "text":
        return ColumnReading(name, "text")
    dates = None if kind == "number" else date_text.evidence(column, options.date_format, day_first)
    if dates is not None and options.date_format and dates.share < 1.0 - FEW:  # the format is that of another column
        dates = date_text.evidence(column, None, day_first) or dates
    # 2020.5 is a number; eight digits that are all dates are dates, and so is what the user calls so
    if number is not None and dates is not None and dates.style.order in (ISO, DAY_FIRST, MONTH_FIRST):
        dates = None
    if dates is not None and dates.share >= 1.0 - FEW:
        return ColumnReading(name, "date", dates=dates.style.order, zone=dates.style.zone, note=dates.note)
    if number is not None and (kind == "number" or not number_text.has_leading_zeros(column)):
        mark = "," if "," in number.ambiguous else "."
        by_size = bool(number.ambiguous) and number_text.grouped_by_size(column, mark)
        style, note = number_text.decided(number, decimal, file.separator, by_size)
        return ColumnReading(name, "number", style.decimal, style.thousands, style.unit, note=note)
    if kind == "number":  # its values are named when they are read
        return ColumnReading(name, "number", decimal or ".")
    if kind is None and date_text.is_clock(column):
        return ColumnReading(name, "time")
    return ColumnReading(name, "text", note=_why_text(column, number, dates))


def _why_text(column: Any, number: NumberEvidence | None, dates: date_text.DateEvidence | None) -> str:
    """Say why a column that looks like numbers or dates is text."""
    if number is not None:
        return "leading zeros: codes, not numbers"
    if dates is not None:
        return f"only {dates.share:.0%} are dates {dates.style.order}"
    compute = need("pyarrow.compute")
    digits = compute.match_substring_regex(column, r"^[^\p{L}]{0,4}[0-9][0-9.,' ]*[^0-9]{0,8}$")
    share = (compute.sum(digits).as_py() or 0) / max(1, len(column) - column.null_count)
    if share < 0.5:
        return ""
    odd = column.filter(compute.fill_null(compute.invert(digits), False))
    return f"{share:.0%} look like numbers, not of one style" + (f"; e.g. {odd[0].as_py()[:20]!r}" if len(odd) else "")


def trimmed(column: Any) -> Any:
    """Remove spaces around values."""
    return need("pyarrow.compute").utf8_trim_whitespace(column)


def without_marks(column: Any, extra: Sequence[str], marks: Sequence[str] = NUMBER_MARKS) -> Any:
    """Make marks of missing values null; those of numbers are compared in small letters."""
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    compared = compute.utf8_lower(column) if marks is NUMBER_MARKS else column
    missing = compute.is_in(compared, arrow.array(marks, arrow.string()))
    if extra:
        missing = compute.or_(missing, compute.is_in(column, arrow.array([*extra], arrow.string())))
    return compute.if_else(missing, None, column)


def _marks(column: Any, kind: str, extra: Sequence[str]) -> tuple[str, ...]:
    """Return the marks of missing values that occur."""
    compute = need("pyarrow.compute")
    left = without_marks(column, extra, TEXT_MARKS if kind == "text" else NUMBER_MARKS)
    gone = column.filter(compute.and_(compute.is_null(left), compute.is_valid(column)))
    found = gone.unique().to_pylist()
    return tuple(sorted(found)[:MOST_MARKS])


def read_column(column: Any, reading: ColumnReading, extra: Sequence[str] = ()) -> tuple[Any, Unread | None]:
    """Read the text of a column; values that do not fit are null and returned beside it.

    Parameters
    ----------
    column : pyarrow column
        Text as it is in the file; columns of other types are returned as they are.
    reading : ColumnReading
        How it is read.
    extra : sequence of str
        Marks of missing values besides the usual ones and those of the reading.
    """
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    if not arrow.types.is_string(column.type) or reading.kind == "typed":
        return column, None
    marks = (*reading.missing, *extra)
    if reading.kind == "text":
        return without_marks(trimmed(column), marks, TEXT_MARKS), None
    present = without_marks(trimmed(column), marks)
    values = _READERS[reading.kind](present, reading)
    bad = compute.and_(compute.is_valid(present), compute.is_null(values))
    count = compute.sum(bad).as_py() or 0
    if not count:
        return values, None
    rows = compute.indices_nonzero(bad).slice(0, 5).to_pylist()
    return values, Unread(reading.name, tuple(rows), tuple(present[row].as_py() for row in rows), count)


def are_truths(column: Any, extra: Sequence[str] = ()) -> bool:
    """Whether a column of text holds nothing but true, false and missing values."""
    if not need("pyarrow").types.is_string(column.type):
        return False
    present = set(without_marks(trimmed(column), extra).unique().to_pylist()) - {None}
    return bool(present) and {value.lower() for value in present} <= {"true", "false"}


def _truths(text: Any, reading: ColumnReading) -> Any:
    """Return true as 1 and false as 0; other text is null."""
    compute = need("pyarrow.compute")
    small = compute.utf8_lower(text)
    known = compute.is_in(small, need("pyarrow").array(["true", "false"]))
    return compute.if_else(known, compute.equal(small, "true").cast("float64"), None)


_READERS: dict[str, Callable[[Any, ColumnReading], Any]] = {
    "truth": _truths,
    "number": lambda text, reading: number_text.parsed(
        text, NumberStyle(reading.decimal, reading.thousands, reading.unit)
    ),
    "date": lambda text, reading: date_text.parsed(text, date_text.DateStyle(reading.dates, reading.zone)),
    "time": lambda text, reading: date_text.clock_hours(text),
}


def disagreement(reading: ColumnReading, column: Any, file: FileFormat, options: ReadingOptions) -> str | None:
    """Say how a column of a later file is written otherwise than in training; ``None`` if it is not.

    Only what the values prove counts: an integer fits every decimal mark.
    """
    if not need("pyarrow").types.is_string(column.type) or reading.kind not in ("number", "date"):
        return None
    present = without_marks(trimmed(column), (*reading.missing, *options.missing))
    if reading.kind == "number":
        found = number_text.evidence(present)
        if found is None:
            return None
        if found.decimal not in (None, reading.decimal) and options.decimal is None:
            return (
                f"has the decimal mark {found.decimal!r}; the training file had {reading.decimal!r}. "
                f"To read this file: --decimal '{found.decimal}'"
            )
        bare = found.unit == "" and number_text.is_currency(reading.unit) if reading.unit else False
        if found.unit != reading.unit and not bare:
            here, there = (f"the unit {unit!r}" if unit else "no unit" for unit in (found.unit, reading.unit))
            return f"has {here}; the training file had {there}. Convert it"
        return None
    dates = date_text.evidence(present, options.date_format, False)
    if dates is not None and dates.proven and dates.style.order != reading.dates and options.date_format is None:
        return f"has dates {dates.style.order}; the training file had {reading.dates}. Name the format by --date-format"
    return None
