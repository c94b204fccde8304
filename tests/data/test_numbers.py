"""Frames, columns and array-likes as numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from diffgbm.data.numbers import as_frame, column_numbers, column_values, is_missing, not_numbers, plain_array


def test_frames_are_recognised():
    for frame in (pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), pl.LazyFrame({"a": [1]})):
        found = as_frame(frame)
        assert found is not None
        assert found.columns == ["a"]
    for other in (np.ones((2, 2)), [1, 2], pd.Series([1]), None):
        assert as_frame(other) is None


@pytest.mark.parametrize("value", [None, np.nan, pd.NA, pd.NaT, float("nan")])
def test_missing_values(value):
    assert is_missing(value)
    np.testing.assert_array_equal(column_numbers(np.array([1, value], dtype=object), "0"), [1.0, np.nan])


def test_values_that_are_there():
    assert not any(map(is_missing, (0, "", False, 1.5, "nan")))
    assert column_values(np.array([1, 2])) == column_values(as_frame(pl.DataFrame({"a": [1, 2]}))["a"]) == [1, 2]


def test_masked_values_become_nan_and_complex_numbers_are_refused():
    np.testing.assert_array_equal(plain_array(np.ma.masked_equal([1, 2], 2), "X"), [1.0, np.nan])
    with pytest.raises(ValueError, match="Complex data not supported: y has dtype complex128"):
        plain_array(np.array([1j]), "y")
    with pytest.raises(ValueError, match="X must be an array or a frame, its rows of one length"):
        plain_array([[1.0], [1.0, 2.0]], "X")


def test_columns_without_numbers_are_named():
    with pytest.raises(TypeError, match="X column 'town' has dtype"):
        column_numbers(np.array(["x"], dtype=object), "'town'")
    with pytest.raises(TypeError, match="its values are sequences"):
        column_numbers(np.array([[1, 2], None], dtype=object)[:1], "0", "y")
    assert not_numbers("y", "", "object") == "y has dtype object; responses must be numbers."
