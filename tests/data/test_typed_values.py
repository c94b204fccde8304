"""Values that have types cell by cell: a column of one kind keeps it, any other is text."""

import datetime as dt
import math

import pyarrow as pa
import pytest

from diffgbm.data.typed_values import as_text, typed_column


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2.5, None, math.nan], pa.float64(), [1.0, 2.5, None, None]),
        ([dt.date(2020, 1, 2), None], pa.timestamp("us"), [dt.datetime(2020, 1, 2), None]),
        (["x", 5.0, None], pa.string(), ["x", "5", None]),
        ([True, False], pa.string(), ["True", "False"]),
        ([dt.datetime(2020, 1, 2), "soon"], pa.string(), ["2020-01-02 00:00:00", "soon"]),
        ([None, None], pa.string(), [None, None]),
    ],
)
def test_columns(values, kind, expected):
    column = typed_column(values)
    assert column.type == kind
    assert column.to_pylist() == expected


def test_text_of_values():
    assert [as_text(v) for v in (5.0, 5.5, dt.time(12, 30), [1], "x")] == ["5", "5.5", "12:30:00", "[1]", "x"]
