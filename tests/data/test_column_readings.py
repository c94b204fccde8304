"""Columns of text: what they hold is found, read again the same way, and disagreements are named."""

from datetime import datetime

import pyarrow as pa
import pytest

from diffgbm.data.column_readings import disagreement, find_readings, read_column
from diffgbm.data.file_format import DAY_FIRST, ISO, ColumnReading, FileFormat, ReadingOptions

CSV = FileFormat("csv")
FOUND = ReadingOptions()


def column(values, kind=None):
    return pa.chunked_array([pa.array(values, kind or pa.string())])


def reading(values, options=FOUND, file=CSV, kind=None):
    [found] = find_readings({"x": column(values)}, file, options, {} if kind is None else {"x": kind})
    return found


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", " 2 ", ""], ColumnReading("x", "number", missing=("",))),
        (["1", "?", "N/A", "unknown"], ColumnReading("x", "number", missing=("?", "N/A", "unknown"))),
        (["Zug", "unknown", "?"], ColumnReading("x", "text", missing=("?",))),
        (["2020-04-21", "-"], ColumnReading("x", "date", dates=ISO, missing=("-",))),
        (["2020.5", "2021.12"], ColumnReading("x", "number")),  # no months
        (["12:30", "13:00"], ColumnReading("x", "time")),
        (["00501", "12345"], ColumnReading("x", "text", note="leading zeros: codes, not numbers")),
        (["5", "6", "x"], ColumnReading("x", "text", note="67% look like numbers, not of one style; e.g. 'x'")),
        (["", "NA"], ColumnReading("x", "number", missing=("", "NA"), note="no values")),
        (["True", "False"], ColumnReading("x", "text")),
    ],
)
def test_readings(values, expected):
    assert reading(values) == expected


def test_the_decimal_mark_of_one_column_decides_the_others():
    table = {"a": column(["1,234", "2,345"]), "b": column(["0,5", "1,5"]), "c": column(["3", "4"])}
    found = {r.name: r for r in find_readings(table, CSV, FOUND, {})}
    assert [found[name].decimal for name in "abc"] == [",", ",", ","]
    assert found["a"].note == "'1,234' is read as 1.234; --decimal . reads it otherwise"
    found = {r.name: r for r in find_readings({**table, "b": column(["0.5"] * 2)}, CSV, FOUND, {})}
    assert (found["a"].decimal, found["a"].thousands) == (".", ",")


def test_the_user_decides():
    assert reading(["1,234"], ReadingOptions(decimal=",")).decimal == ","
    assert reading(["1", "-999"], ReadingOptions(missing=("-999", "x"))).missing == ("-999",)
    assert reading(["01|02|20"], ReadingOptions(date_format="%d|%m|%y")).dates == "%d|%m|%y"
    assert reading(["01/02/2020", "02/03/2020"], file=FileFormat("csv", separator=";")).dates == DAY_FIRST


def test_a_kind_that_is_known_is_kept():
    assert reading(["5", "6"], kind="text") == ColumnReading("x", "text")
    assert reading(["00501"], kind="number") == ColumnReading("x", "number")
    assert reading(["20200101"] * 9, kind="number") == ColumnReading("x", "number")
    assert find_readings({"x": column([1.0], pa.float64())}, CSV, FOUND, {}) == [
        ColumnReading("x", "typed", type="number")
    ]


def test_values_that_do_not_fit_are_returned():
    values, unread = read_column(column(["5", "big", " ", "7"]), ColumnReading("x", "number"))
    assert values.to_pylist() == [5.0, None, None, 7.0]
    assert (unread.rows, unread.values, unread.count) == ((1,), ("big",), 1)
    values, unread = read_column(column(["5", "big"]), ColumnReading("x", "number"), ["big"])
    assert (values.to_pylist(), unread) == ([5.0, None], None)
    values, unread = read_column(column(["21/04/2020", "04/21/2020"]), ColumnReading("x", "date", dates=DAY_FIRST))
    assert values.to_pylist() == [datetime(2020, 4, 21), None]
    assert unread.values == ("04/21/2020",)
    assert read_column(column([" Zug", "NA", "none"]), ColumnReading("x", "text"))[0].to_pylist() == [
        "Zug",
        None,
        "none",
    ]


@pytest.mark.parametrize(
    ("known", "values", "problem"),
    [
        (ColumnReading("x", "number", ","), ["1.5"], r"has the decimal mark '\.'; .* had ','\. .*--decimal '\.'"),
        (ColumnReading("x", "number", ","), ["1", "2"], None),
        (ColumnReading("x", "number", ".", ",", "$"), ["€5"], "has the unit '€'; the training file had the unit '\\$'"),
        (ColumnReading("x", "number", ".", ",", "$"), ["5"], None),
        (ColumnReading("x", "number", unit="%"), ["5"], "has no unit; the training file had the unit '%'"),
        (ColumnReading("x", "number"), ["5 %"], "has the unit '%'; the training file had no unit"),
        (ColumnReading("x", "date", dates=DAY_FIRST), ["04/21/2020"], "has dates month-day-year; .*--date-format"),
        (ColumnReading("x", "date", dates=DAY_FIRST), ["04/05/2020"], None),
        (ColumnReading("x", "text"), ["04/05/2020"], None),
    ],
)
def test_a_file_that_disagrees_says_how(known, values, problem):
    import re

    found = disagreement(known, column(values), CSV, FOUND)
    assert (found is None) if problem is None else re.search(problem, found)
