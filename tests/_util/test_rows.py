"""Rows are sorted and interpolated as numpy does it."""

import numpy as np
import pytest

from diffgbm._util.rows import FEW, interpolated_rows, is_sorted, sorted_rows


@pytest.mark.parametrize("n", [1, FEW, FEW + 1, 50])
@pytest.mark.parametrize("shared", ["nothing", "x", "xs", "ys"])
def test_interpolation_is_that_of_numpy(n, shared):
    rng = np.random.default_rng(n)
    x, xs, ys = rng.normal(size=(n, 30)), np.sort(rng.normal(size=(n, 20)), axis=1), rng.normal(size=(n, 20))
    xs[:, 5:8] = xs[:, 5:6]  # a jump
    x[:, :4] = xs[:, [0, 5, 10, 19]]  # at the places themselves
    x[0, 7], x[-1, 9], x[0, 11] = np.nan, np.inf, -np.inf
    parts = {"x": x, "xs": xs, "ys": ys}
    if shared != "nothing":
        parts[shared] = parts[shared][:1]
    whole = [np.broadcast_to(part, (n, part.shape[1])) for part in parts.values()]
    expected = np.array([np.interp(*row) for row in zip(*whole, strict=True)])
    np.testing.assert_array_equal(interpolated_rows(**parts), expected)


def test_infinite_ends_are_those_of_numpy():
    xs, ys = np.array([[-np.inf, 0.0, 1.0, np.inf]]), np.array([[1.0, 1.0, np.inf, np.inf]])
    x = np.tile([-5.0, 0.0, 0.5, 1.0, 7.0], (FEW + 1, 1))
    np.testing.assert_array_equal(interpolated_rows(x, xs, ys)[0], np.interp(x[0], xs[0], ys[0]))


def test_no_rows():
    assert interpolated_rows(np.empty((0, 3)), np.empty((0, 2)), np.ones((1, 2))).shape == (0, 3)


def test_rows_that_are_sorted_stay():
    values = np.array([[0.0, 1.0, 1.0], [2.0, 2.0, 3.0]])
    assert sorted_rows(values) is values
    found = sorted_rows(values[:, ::-1])
    np.testing.assert_array_equal(found, values)
    assert not is_sorted(np.array([[np.nan, 1.0]]))
    assert not is_sorted(np.array([[1.0, np.nan]]))
    assert not is_sorted(np.array([[np.nan]]))
