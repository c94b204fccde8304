"""Kinds of columns: what a column is, is decided by its type and its values."""

import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from diffgbm._util.errors import DiffGBMWarning
from diffgbm.data.dates import Dates
from diffgbm.data.features import FeatureTable
from diffgbm.data.kinds import Category, Dropped, Number, level_codes, recognised, unseen_share


def series(values):
    return nw.from_native(values, series_only=True)


def read(values):
    column = values if isinstance(values, np.ndarray) else series(values)
    how = recognised(column, "'c'")
    return how, how.encode(column, "'c'")


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([True, False, True]),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([True, None, False], dtype=object),
        pl.Series([True, None, False]),
        pa.chunked_array([[True, None, False]]),
    ],
)
def test_truth_values_are_numbers(values):
    how, matrix = read(values)
    assert how == Number()
    assert set(matrix[~np.isnan(matrix)]) == {0.0, 1.0}


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([Decimal("1.25"), None, Decimal("3")], dtype=object),
        pd.Series([Decimal("1.25"), None, Decimal("3")], dtype=pd.ArrowDtype(pa.decimal128(9, 3))),
        pl.Series([Decimal("1.25"), None, Decimal("3")]),
        pa.chunked_array([[Decimal("1.25"), None, Decimal("3.00")]]),
        pd.Series(["1.25", None, " 3 "]),
        pd.Series([1.25, "?", "3"], dtype=object),
        pl.Series(["1.25", "n/a", "3"]),
        np.array(["1.25", "-", "3"]),
    ],
)
def test_decimals_and_text_of_numbers_are_numbers(values):
    how, matrix = read(values)
    assert how.kind == "number"
    np.testing.assert_array_equal(matrix[:, 0], [1.25, np.nan, 3.0])


def test_marks_of_missing_values_are_named():
    assert read(pd.Series(["1", "?", "NA"]))[0].detail == "written as text; '?', 'NA' is missing"
    # marks alone are text
    assert read(pd.Series(["?", "-", "-"]))[0] == Category(("-", "?"))


@pytest.mark.parametrize("mark", [",", "'", "\u2019", " ", "\u00a0", "\u202f"])
def test_separators_of_thousands_are_read_and_remembered(mark):
    how, matrix = read(pd.Series([f"1{mark}234.5", "?", "999", f"-12{mark}345{mark}678"]))
    assert how.thousands == mark
    assert how.detail == f"written as text, thousands separator {mark!r}; '?' is missing"
    np.testing.assert_array_equal(matrix[:, 0], [1234.5, np.nan, 999.0, -12345678.0])
    # numbers of later frames may be without, or be numbers
    np.testing.assert_array_equal(how.encode(series(pd.Series([f"5{mark}000", "6000"])), "'c'")[:, 0], [5000.0, 6000.0])
    np.testing.assert_array_equal(how.encode(series(pd.Series([7000])), "'c'")[:, 0], [7000.0])
    with pytest.raises(TypeError, match=r"column 'c' .* not numbers"):
        Number(is_text=True).encode(series(pd.Series([f"5{mark}000"])), "'c'")


@pytest.mark.parametrize(
    "values",
    [
        ["1,234", "2,5"],  # a decimal comma
        ["1,234", "5678"],  # a long number without a separator
        ["1,234", "0,512"],
        ["$1,234", "$2,000"],
        ["12%", "7%"],
        ["3,5 €", "12,25 €"],
    ],
)
def test_numbers_in_other_forms_are_categories_with_a_warning(values):
    with pytest.warns(DiffGBMWarning, match=r"'c' is read as categories, but looks like numbers .* like '.*Convert it"):
        how, _ = read(pd.Series(values))
    assert how.kind == "category"


@pytest.mark.parametrize("values", [["3 rooms", "4 rooms"], ["a", "b"], ["1.2.3", "10.2.1"], ["12-34", "5-6"]])
def test_names_with_digits_are_categories_without_a_warning(values):
    assert read(pd.Series(values))[0].kind == "category"


@pytest.mark.parametrize(
    "values",
    [
        pd.to_timedelta(pd.Series([36.0, None, -12.0]), unit="h"),
        pd.Series([dt.timedelta(days=1.5), None, dt.timedelta(days=-0.5)], dtype=object),
        pl.Series([dt.timedelta(days=1.5), None, dt.timedelta(days=-0.5)]),
        pa.chunked_array([[dt.timedelta(days=1.5), None, dt.timedelta(days=-0.5)]]),
        np.array([36, "NaT", -12], dtype="timedelta64[h]"),
    ],
)
def test_durations_are_days(values):
    how, matrix = read(values)
    assert (how.kind, how.detail) == ("duration", "days")
    np.testing.assert_allclose(matrix[:, 0], [1.5, np.nan, -0.5])


@pytest.mark.parametrize("make", [lambda v: pd.Series(v, dtype=object), pl.Series, lambda v: pa.chunked_array([v])])
def test_times_are_hours(make):
    how, matrix = read(make([dt.time(6, 30), None, dt.time(0)]))
    assert how.kind == "time"
    np.testing.assert_allclose(matrix[:, 0], [6.5, np.nan, 0.0])
    # a CSV file is read again as text
    np.testing.assert_allclose(how.encode(series(pd.Series(["06:30:00", None])), "'c'")[:, 0], [6.5, np.nan])


def test_a_duration_stays_a_duration():
    how, _ = read(pd.Series([dt.timedelta(1)] * 2, dtype=object))
    with pytest.raises(TypeError, match="column 'c' held durations in training; now it holds 3"):
        how.encode(series(pd.Series([3], dtype=object)), "'c'")


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([[1], [2, 3]]),
        pd.Series([{"a": 1}, {"b": 2}]),
        pl.Series([[1], [2, 3]]),
        pl.Series([{"a": 1}, {"a": 2}]),
        pa.chunked_array([[[1], [2, 3]]]),
    ],
)
def test_nested_values_are_not_used(values):
    how, matrix = read(values)
    assert isinstance(how, Dropped)
    assert matrix.shape == (2, 0)
    assert "holds" in how.detail


@pytest.mark.parametrize(
    "values", [pd.Series([None, None], dtype=object), pl.Series([None, None]), pd.Series([pd.NaT])]
)
def test_columns_without_values(values):
    how, matrix = read(values)
    assert how.detail.endswith("no values")
    assert np.isnan(matrix).all()


def test_constant_text_is_noted():
    how, matrix = read(pd.Series(["x", "x"]))
    assert how.detail == "constant: x"
    np.testing.assert_array_equal(matrix, [[0.0], [0.0]])


def test_periods_are_dates():
    how, matrix = read(pd.Series(pd.period_range("2020-01", periods=3, freq="M")))
    assert isinstance(how, Dates)
    assert matrix.shape == (3, how.width)


def test_a_few_words_among_numbers_are_reported():
    values = pd.Series([*map(str, range(40)), "12 km"])
    with pytest.warns(
        DiffGBMWarning, match=r"column 'c' is read as categories, because of text like '12 km' in row 40"
    ):
        how, _ = read(values)
    assert len(how.levels) == 41


@pytest.mark.parametrize(
    "values", [["21/04/2020", "03/05/2020"], ["4.5.21 10:30", "6.7.21 11:00"], ["2020/04/21", None, "2020/5/1"]]
)
def test_dates_in_other_forms_are_reported(values):
    with pytest.warns(DiffGBMWarning, match=r"column 'c' is read as categories, but looks like dates .*to_datetime"):
        assert read(pd.Series(values))[0].kind == "category"


def test_leading_zeros_make_codes():
    assert read(pd.Series(["00501", "90210", "1234"]))[0] == Category(("00501", "1234", "90210"))
    assert read(pd.Series(["0.5", "0", "10"]))[0].kind == "number"


def test_truth_values_of_a_column_of_text():
    codes = level_codes(np.array([True, False]), ("FALSE", "TRUE"))
    np.testing.assert_array_equal(codes, [1.0, 0.0])


def test_bytes_become_text():
    assert Category.learn(np.array([b"x", b"y"]), "c").levels == ("x", "y")


def test_missing_is_not_unseen():
    column = series(pd.Series(["a", None, "z", "a"]))
    assert unseen_share(column, ("a",)) == 0.25


def test_marks_of_missing_dates_and_times_of_the_day_as_text():
    """An empty text among ISO dates is a missing date; 10:30 is a time."""
    days = pd.DataFrame({"c": ["2020-01-01", "", "NA", "2020-03-01"] * 5, "t": ["10:30", "23:59:30", "?", "00:00"] * 5})
    table, matrix = FeatureTable.learn(days, None, "")
    assert [column.kind for column in table.columns] == ["date", "time"]
    missing = np.isnan(matrix[:4])
    assert missing[:, 0].tolist() == [False, True, True, False]
    np.testing.assert_allclose(matrix[:4, -1], [10.5, 23.0 + 59.5 / 60.0, np.nan, 0.0])
    np.testing.assert_array_equal(table.encode(days, ""), matrix)
    with pytest.raises(TypeError, match="'t' held times in training; now it holds 'late'"):
        table.encode(days.assign(t="late"), "")
