"""Responses: read from anything, standardised, and mapped back; summaries of partitions add up."""

from functools import reduce

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from diffgbm.data.outliers import winsorised
from diffgbm.data.response import ResponseSummary, ResponseTable, check_units, read_response


@pytest.mark.parametrize(
    ("y", "names", "shape"),
    [
        (np.arange(3), None, (3,)),
        ([1, 2, 3], None, (3,)),
        (np.ones((3, 1)), None, (3, 1)),
        (np.ones((3, 2), dtype=np.float32), None, (3, 2)),
        (pd.Series([1, 2, 3], name="price"), ("price",), (3,)),
        (pd.Series([1, 2, 3], index=[5, 5, 5]), None, (3,)),
        (pl.Series("price", [1, 2, 3]), ("price",), (3,)),
        (pd.DataFrame({"u": [1, 2, 3], "v": [4, 5, 6]}), ("u", "v"), (3, 2)),
        (pd.DataFrame(np.ones((3, 2))), ("0", "1"), (3, 2)),
        (pl.DataFrame({"u": [1, 2, 3]}), ("u",), (3, 1)),
        (pd.Series([1, 2, 3], dtype="Int64"), None, (3,)),
        (np.array([True, False, True]), None, (3,)),
    ],
)
def test_responses_of_every_kind(y, names, shape):
    got, values = read_response(y)
    assert got == names
    assert values.shape == shape
    assert values.dtype == np.float64


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None: it must be an array, Series or frame"),
        (np.array([1.0, np.nan, np.inf, 2.0]), r"y must be finite; Input y contains NaN .* 2 row\(s\), first at row 1"),
        (np.array([[1.0, 2.0], [3.0, -np.inf]]), "y must be finite; .*first at row 1"),
        (pd.Series([1.0, None]), "y must be finite"),
        (pd.Series([1, None], dtype="Int64"), "y must be finite"),
        (pl.Series([None, 1.0]), "y must be finite; .*first at row 0"),
        (np.ones((2, 2, 2)), r"y must have shape \(n,\) or \(n, d\); got shape \(2, 2, 2\)"),
        (np.ones((3, 0)), "y must have at least one column"),
        (pd.Series(["a", "b"], name="price"), "y column 'price' has dtype .*responses must be numbers"),
        (pd.DataFrame({"price": pd.to_datetime(["2020-01-01"])}), "y column 'price' .*must be numbers"),
        (np.array(["a", "b"]), "y .*must be numbers"),
        (["a", "b"], "y .*must be numbers"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "y .*must be numbers"),
        (3.0, "y "),
    ],
)
def test_bad_responses(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read_response(y)


def test_rows_must_match():
    with pytest.raises(ValueError, match="X and y must have the same number of rows; got X with 3, y with 2"):
        ResponseTable.learn(np.ones(2), None, 3)


FAR = np.repeat([0.0, 1.0, -9.0], [6, 13, 1])[:, None]
"""Found by hypothesis: its last value is an outlier."""


@example(FAR, 1e-9)
@given(
    arrays(np.float64, st.tuples(st.integers(2, 30), st.integers(1, 3)), elements=st.integers(-(10**6), 10**6)),
    st.sampled_from([1e-9, 1.0, 1e12]),
)
def test_standardising_and_back(y, factor):
    y = y * factor
    table, standard = ResponseTable.learn(y, None, len(y))
    y = winsorised(y)[0]  # of twenty rows or more one may be an outlier, which is moved
    np.testing.assert_allclose(table.restore(standard), y, rtol=1e-9, atol=1e-9 * factor)
    moving = table.scale > 0.0
    np.testing.assert_allclose(standard[:, moving].mean(axis=0), 0.0, atol=1e-2)
    assert (np.ptp(y[:, ~moving], axis=0) <= 1e-12 * np.abs(y[:, ~moving]).max(axis=0, initial=0.0)).all()


def test_standardising_is_weighted():
    y, w = np.array([0.0, 1.0, 5.0, 100.0]), np.array([1.0, 2.0, 1.0, 0.0])
    table, _ = ResponseTable.learn(y, w, 4)
    repeated = np.array([0.0, 1.0, 1.0, 5.0])
    assert table.location == pytest.approx(repeated.mean())
    assert table.scale == pytest.approx(repeated.std())


def test_a_constant_is_restored_exactly():
    y = np.full(5, 0.1) * 3.0
    table, standard = ResponseTable.learn(y, None, 5)
    assert table.scale == 0.0
    np.testing.assert_array_equal(table.restore(np.linspace(-5, 5, 11)[:, None])[:, 0], np.full(11, y[0]))
    assert np.isfinite(standard).all()


def test_shape_follows_the_users():
    flat, _ = ResponseTable.learn(np.arange(4.0), None, 4)
    tall, _ = ResponseTable.learn(np.arange(4.0)[:, None], None, 4)
    assert flat.squeeze(np.ones((5, 4, 1))).shape == (5, 4)
    assert tall.squeeze(np.ones((5, 4, 1))).shape == (5, 4, 1)


@settings(deadline=None)
@given(st.integers(1, 4), st.booleans(), st.integers(0, 99))
def test_location_and_scale_are_the_weighted_mean_and_standard_deviation_to_the_last_bit(d, weighted, seed):
    """One partition: the bits that ``np.average`` gives, in either memory order."""
    rng = np.random.default_rng(seed)
    y = 10.0 + rng.standard_normal((37, d))
    y = np.asfortranarray(y) if seed % 2 else y
    w = rng.uniform(0.1, 2.0, 37) if weighted else None
    table, standard = ResponseTable.learn(y, w, 37)
    y = y if w is None else y[w > 0.0]
    mean = np.average(y, axis=0, weights=w)
    np.testing.assert_array_equal(table.location, mean)
    np.testing.assert_array_equal(table.scale, np.sqrt(np.average((y - mean) ** 2, axis=0, weights=w)))
    np.testing.assert_array_equal(standard, (y - mean) / table.scale)


def test_summaries_of_partitions_add_up():
    rng = np.random.default_rng(0)
    y, w = rng.standard_normal((30, 2)), rng.uniform(0.1, 2.0, 30)
    parts = [ResponseSummary.of(y[part], w[part]) for part in (slice(0, 4), slice(4, 5), slice(5, 30))]
    table = ResponseTable.from_summary(("u", "v"), False, reduce(ResponseSummary.__add__, parts))
    expected, _ = ResponseTable.learn(y, w, 30)
    np.testing.assert_allclose(table.location, expected.location, rtol=1e-12)
    np.testing.assert_allclose(table.scale, expected.scale, rtol=1e-12)
    constant = [ResponseSummary.of(np.full((2, 1), 0.1), None)] * 2
    assert ResponseTable.from_summary(None, True, constant[0] + constant[1]).location == 0.1


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e200), (-1e200, 0.0), (0.0, 1e-200)])
def test_units_without_a_variance_are_refused(low, high):
    with pytest.raises(ValueError, match=r"y \(column 1\) .*variance cannot be computed"):
        check_units(np.array([0.0, low]), np.array([1.0, high]))
