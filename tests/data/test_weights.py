"""Weights: one for each row, non-negative, within what float32 holds."""

import numpy as np
import pytest

from diffgbm.data.weights import LARGEST, SMALLEST, read_weights

ROWS = np.zeros((3, 1))


@pytest.mark.parametrize("weights", [[1, 2, 3], np.array([0.0, SMALLEST, LARGEST]), (1.0, 0.0, 0.5)])
def test_weights_are_read_as_floats(weights):
    found = read_weights(weights, ROWS)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.asarray(weights, dtype=np.float64))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(2), r"sample_weight.shape == \(2,\), expected \(3,\)"),
        ([1.0, -1.0, 1.0], "Negative values in data passed to `sample_weight`"),
        ([1.0, np.nan, 1.0], "sample_weight contains NaN"),
        ([1.0, 1e-40, 1.0], "sample_weight must be 0 or lie between 1e-30 and 1e\\+30; got 1e-40 in row 1"),
        ([1.0, 1.0, 1e40], "got 1e\\+40 in row 2. Divide all weights by their mean"),
        (["a", "b", "c"], "sample_weight must hold one number for each row"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read_weights(weights, ROWS)
