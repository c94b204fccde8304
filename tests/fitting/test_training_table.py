"""The user's table as models see it."""

import numpy as np
import pytest

from diffgbm.fitting.training_table import read_table
from tests.conftest import toy


def test_a_part_of_a_table_is_read_as_the_whole_was():
    X, y = toy(30)
    table = read_table(X, y, None, np.linspace(1.0, 2.0, 30), "DiffGBM")
    part = table.part(np.array([4, 2]))
    np.testing.assert_array_equal(part.y, table.y[[4, 2]])
    np.testing.assert_array_equal(part.observed[:, 0], y[[4, 2]])
    np.testing.assert_array_equal(part.weights, table.weights[[4, 2]])
    assert part.response is table.response


def test_copies_of_a_row_are_one_row_with_their_weight():
    X, y = toy(30)
    weights = np.linspace(1.0, 2.0, 60)
    stacked = read_table(np.vstack([X, X]), np.concatenate([y, y]), None, weights, "DiffGBM")
    np.testing.assert_array_equal(stacked.X, X)
    np.testing.assert_array_equal(stacked.weights, weights[:30] + weights[30:])
    np.testing.assert_array_equal(stacked.copies, [*range(30), *range(30)])
    np.testing.assert_array_equal(stacked.sources, np.arange(30))


def test_rows_of_no_weight_are_left_out_and_two_are_needed():
    X, y = toy(30)
    weights = np.ones(30)
    weights[:5] = 0.0
    np.testing.assert_array_equal(read_table(X, y, None, weights, "DiffGBM").observed[:, 0], y[5:])
    with pytest.raises(ValueError, match="DiffGBM needs at least 2 rows of positive weight"):
        read_table(X, y, None, np.arange(30) == 3, "DiffGBM")
