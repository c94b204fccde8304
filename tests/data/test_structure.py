"""Groups and times as the caller gives them: arrays, series, columns; what is wrong with them is said."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from diffgbm.data.features import EncodedTable, FeatureTable
from diffgbm.data.structure import INDEPENDENT, NOTHING_GIVEN, Structure, check_groups, read_structure

X = np.zeros((6, 2))
FRAME = pd.DataFrame({"size": np.arange(6.0), "shop": list("aabbca"), "day": [3, 3, 1, 2, 2, 5]})


def test_nothing_given_is_nothing():
    table, given = read_structure(X, None, None)
    assert table is X
    assert given is NOTHING_GIVEN


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, lambda v: pd.Series(v).astype("category")])
def test_groups_are_numbered_as_they_appear(kind):
    table, given = read_structure(X, kind(list("aabbca")), None)
    assert table is X
    np.testing.assert_array_equal(given.labels, [0, 0, 1, 1, 2, 0])
    assert given.order is None


DAYS = [dt.date(2026, 1, d) for d in (3, 3, 1, 2, 2, 5)]


@pytest.mark.parametrize(
    "time",
    [
        [3, 3, 1, 2, 2, 5],
        np.array([0.3, 0.3, 0.1, 0.2, 0.2, 0.5]),
        DAYS,
        pd.Series(pd.to_datetime(DAYS)),
        pd.Series(pd.to_datetime(DAYS).tz_localize("Europe/Paris")),
        pd.Series(pd.to_datetime(DAYS)).dt.to_period("D"),
        pl.Series(DAYS),
        np.array(DAYS, dtype="datetime64[D]"),
        [day.isoformat() for day in DAYS],
    ],
)
def test_times_are_ranked_and_unsorted_ones_are_noticed(time):
    _, given = read_structure(X, None, time)
    np.testing.assert_array_equal(given.order, [2, 2, 0, 1, 1, 3])
    assert not given.sorted
    assert read_structure(X, None, np.arange(6))[1].sorted


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
def test_a_column_of_groups_is_no_feature_and_one_of_times_stays(library):
    frame = library(FRAME)
    table, given = read_structure(frame, "shop", "day")
    assert list(table.columns) == ["size", "day"]
    assert type(table) is type(frame)
    assert given.group_column == "shop"
    np.testing.assert_array_equal(given.labels, [0, 0, 1, 1, 2, 0])
    np.testing.assert_array_equal(given.order, [2, 2, 0, 1, 1, 3])


@pytest.mark.parametrize(
    ("groups", "time", "message"),
    [
        ([1, 2], None, "groups must have one value for each of the 6 rows of X; it has 2"),
        (None, np.arange(7), "time must have one value for each of the 6 rows of X; it has 7"),
        ([1, 1, None, 2, 2, 2], None, "groups must have a value for each row; 1 are missing, the first in row 2"),
        (None, [1, 1, np.nan, 2, 2, np.nan], "time must have a value for each row; 2 are missing, the first in row 2"),
        (None, [pd.NaT] * 6, "time must have a value for each row; 6 are missing"),
        (["a"] * 6, None, "groups must name at least 2 groups.*all rows are in group 'a'"),
        (None, [7] * 6, "time must have at least 2 different values; all rows are at 7"),
        (None, ["20240131"] * 5 + ["20250131"], "time must hold numbers or dates; got text such as '20240131'"),
        (None, list("abcdef"), "time must hold numbers or dates; got text such as 'a'"),
        (None, [1, 2, 3, DAYS[0], 4, 5], "time must hold numbers or dates, all of one kind"),
        (np.zeros((6, 2)), None, r"groups must be one-dimensional.*shape \(6, 2\)"),
        ([[1], [2], [1], [1], [2, 3], [1]], None, "groups must be one-dimensional"),
        ("shop", None, "groups='shop' names a column, but X is no frame"),
    ],
)
def test_bad_groups_and_times_are_named(groups, time, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read_structure(X, groups, time)


def test_columns_that_cannot_be_used_are_named():
    with pytest.raises(ValueError, match="time='month' is not a column of X; it has 'size', 'shop', 'day'"):
        read_structure(FRAME, None, "month")
    with pytest.raises(ValueError, match="groups='shop' is the only column of X"):
        read_structure(FRAME[["shop"]], "shop", None)
    features, matrix = FeatureTable.learn(X, None, "test")
    with pytest.raises(ValueError, match="pass the values of 'shop'"):
        read_structure(EncodedTable(features, matrix), "shop", None)


def test_fewer_groups_than_folds():
    check_groups(None, 5, "cv")
    check_groups(np.array([0, 1, 2]), 3, "cv")
    with pytest.raises(ValueError, match=r"groups must have at least as many groups as cv=5.*got 3 groups\. Set cv=3"):
        check_groups(np.array([0, 1, 2]), 5, "cv")


def test_parts_are_numbered_without_gaps():
    part = Structure(np.array([5, 3, 5, 9]), np.array([0, 1, 2, 3])).part(np.array([1, 3]))
    np.testing.assert_array_equal(part.labels, [0, 1])
    np.testing.assert_array_equal(part.order, [0, 1])
    assert INDEPENDENT.n_units(7) == 7
    single = Structure(np.array([0, 0, 1]), np.array([0, 1, 1])).part(np.array([1]))
    assert (single.labels, single.order) == (None, None)
    assert part.n_units(2) == 2
