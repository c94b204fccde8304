"""The conditional distribution function: between 0 and 1, increasing, right on average."""

import numpy as np

from diffgbm.first_stage.conditional_cdf import ConditionalCDF, cdf_outputs
from tests.first_stage.stages import table, task_of


def test_distribution_functions_are_between_zero_and_one_and_rise():
    X, y = table(n=200, d=2)
    fitted = ConditionalCDF(5, 1, 5).cross_fit(task_of(X, y))
    for columns in (fitted.out_of_fold, fitted.predictor(table(60, seed=3)[0])):
        for first in (1, 7):
            cdf = columns[:, first : first + 5]
            assert cdf.min() >= 0.0
            assert cdf.max() <= 1.0 + 1e-6
            assert np.diff(cdf, axis=1).min() > -1e-6
    # out of fold they are right on average: the share of rows below each quantile
    np.testing.assert_allclose(fitted.out_of_fold[:, 1:6].mean(axis=0), np.arange(1, 6) / 6, atol=0.06)


def test_outputs_of_the_distribution_function():
    y = np.arange(1.0, 17.0)
    outputs = cdf_outputs(y, 3)
    np.testing.assert_array_equal(outputs[:, 0], y)
    np.testing.assert_array_equal(outputs[:, 1:].sum(axis=0), [4, 8, 12])
    few = cdf_outputs(np.array([2.0, 5.0, 5.0, 9.0]), 7)  # between all values of a discrete response
    np.testing.assert_array_equal(few, [[2, 1, 1], [5, 0, 1], [5, 0, 1], [9, 0, 0]])
    assert cdf_outputs(np.full(5, 3.0), 7).shape == (5, 1)
