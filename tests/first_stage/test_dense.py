"""Dense tables: standardised numbers, flags for missing values, one column for each frequent category."""

import numpy as np
import pytest

from diffgbm.first_stage.dense import MOST_LEVELS, DenseTable


def test_dense_table():
    nan, inf = np.nan, np.inf
    X = np.array(
        [[1.0, nan, 5.0, 0.0, nan], [2.0, 4.0, 5.0, 1.0, nan], [9.0, inf, 5.0, 1.0, nan], [4.0, 8.0, 5.0, nan, nan]]
    )
    dense = DenseTable.learn(X, [3])
    rows = dense(X)
    assert rows.shape == (4, dense.width) == (4, 4 + 2 + 2)
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows[:, :2].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(rows[:, :2].std(axis=0), 1.0)
    np.testing.assert_array_equal(dense.fill, [3.0, 6.0, 5.0, 0.0])
    np.testing.assert_array_equal(rows[:, 2:4], 0.0)  # a constant, and a column of which nothing is known
    np.testing.assert_array_equal(rows[:, 4:6], [[1, 1], [0, 1], [1, 1], [0, 1]])  # flags of gaps
    np.testing.assert_array_equal(rows[:, 6:], [[1, 0], [0, 1], [0, 1], [0, 0]])
    # new rows: a gap where there was none, a code that was never seen
    new = dense(np.array([[nan, 4.0, 5.0, 7.0, 2.0]]))
    assert new[0, 0] == pytest.approx((3.0 - 4.0) / X[:, 0].std())
    np.testing.assert_array_equal(new[0, 4:], [0, 0, 0, 0])


def test_only_frequent_categories_get_a_column():
    codes = np.concatenate([np.repeat(np.arange(40.0), 2), np.arange(20.0, 40.0)])
    dense = DenseTable.learn(codes[:, None], [0])
    assert dense.width == MOST_LEVELS
    kept = dense.levels[0][1]
    assert set(np.arange(20.0, 40.0)) <= set(kept)
    np.testing.assert_array_equal(dense(codes[:, None]).sum(axis=1), np.isin(codes, kept))


def test_all_columns_may_be_categories():
    dense = DenseTable.learn(np.array([[0.0], [1.0], [1.0]]), [0])
    np.testing.assert_array_equal(dense(np.array([[1.0], [np.nan]])), [[0, 1], [0, 0]])


def test_one_outlier_does_not_squeeze_a_column_and_no_value_is_far_beyond_the_training_values():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    plain = DenseTable.learn(X, [])
    wild = X.copy()
    wild[5, 0] = 1e9
    dense = DenseTable.learn(wild, [])
    assert dense.scale == pytest.approx(plain.scale, rel=0.1)
    assert np.abs(dense(wild)).max() < 10.0
    assert np.array_equal(plain(X), (X - plain.centre) / plain.scale)
    assert np.abs(plain(np.array([[1e9, -1e9]]))).max() < 10.0
