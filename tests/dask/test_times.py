"""Times of a table in partitions: ranked as those of a table in memory, and refused with the same words."""

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd

from diffgbm.dask.times import as_numbers, ranks, structure_of, time_parts, time_values
from diffgbm.data.structure import read_structure

DAYS = pd.to_datetime(["2026-01-03", "2026-01-01", "2026-01-02", "2026-01-01"])


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, 2, 1],
        [3.5, -1.0, 2.0, -1.0],
        pd.Series(DAYS),
        pd.Series(DAYS.tz_localize("Europe/Zurich")),
        pd.Series(DAYS.strftime("%Y-%m-%d")),
        pd.Series([date(2026, 1, day) for day in (3, 1, 2, 1)]),
        pd.Series([3, 1, 2, 1], dtype="Int64"),
        pd.Series([datetime(2026, 1, d, tzinfo=timezone(timedelta(hours=d))) for d in (3, 1, 2, 1)], dtype=object),
    ],
)
def test_ranks_are_those_of_a_table_in_memory(values):
    values = np.array(values) if isinstance(values, list) else values
    found = ranks([time_values(values[:1]), time_values(values[1:])])
    _, given = read_structure(np.zeros((4, 1)), None, values)
    np.testing.assert_array_equal(found, given.order)
    np.testing.assert_array_equal(found, [2, 0, 1, 0])


def test_groups_are_numbered_as_in_memory():
    keys, order = np.array([7, -2, 7, 5]), np.arange(4)
    np.testing.assert_array_equal(structure_of(order, keys).labels, [0, 1, 0, 2])
    assert structure_of(order, None).labels is None


def test_mistakes_have_the_words_of_a_table_in_memory():
    for missing in (pd.Series(DAYS).where([True, False, True, False]), np.array([1.0, np.nan, 2.0, np.nan])):
        with pytest.raises(ValueError, match=r"time must have a value for each row; 2 are missing, the first in row 1"):
            time_values(missing)
    with pytest.raises(ValueError, match="time must hold numbers or dates; got text such as 'soon'"):
        time_values(pd.Series(["soon", "later"]))
    with pytest.raises(ValueError, match="time must be one-dimensional"):
        time_values(np.ones((3, 2)))
    with pytest.raises(TypeError, match=r"time must hold numbers or dates, all of one kind; got float, tuple"):
        time_values(pd.Series([1.0, (2, 3)], dtype=object))
    with pytest.raises(TypeError, match="numbers in one partition and dates in another"):
        ranks([np.arange(3), DAYS.to_numpy()])
    with pytest.raises(ValueError, match=r"time must have at least 2 different values; all rows are at 4"):
        ranks([np.array([4]), np.array([4, 4])])


def test_a_column_of_times_is_found():
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "day": [1, 2]}), npartitions=1)
    assert time_parts(frame, None, "it") is None
    assert len(time_parts(frame, "day", "it")) == 1
    with pytest.raises(ValueError, match="time='hour' is not a column of X; it has 'a', 'day'"):
        time_parts(frame, "hour", "it")
    with pytest.raises(ValueError, match="time='day' names a column, but X is no frame"):
        time_parts(da.ones((3, 2)), "day", "it")
    with pytest.raises(TypeError, match="got time of type list"):
        time_parts(frame, [1, 2], "it")


def test_numbers_tell_times_apart_in_any_unit():
    np.testing.assert_array_equal(
        as_numbers(DAYS.to_numpy().astype("datetime64[ns]")), as_numbers(DAYS.to_numpy().astype("datetime64[s]"))
    )
    np.testing.assert_array_equal(as_numbers(np.array([1, 2])), [1.0, 2.0])
