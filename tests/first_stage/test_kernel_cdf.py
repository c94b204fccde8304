"""The smooth distribution function: what it estimates, how its parameters are chosen, what it leaves out."""

import numpy as np
import pytest
from scipy.stats import norm

from diffgbm._util.deadline import Deadline, OutOfTime
from diffgbm.first_stage import Task
from diffgbm.first_stage.conditional_cdf import cdf_outputs
from diffgbm.first_stage.gaussian_process import Hyperparameters, left_out_predictions
from diffgbm.first_stage.kernel_cdf import FACTORS, RIDGES, KernelCDF, tuned


def wide_noise(n, seed=0):
    """A response whose location is smooth in the first column and whose scale is in the second."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    location, scale = np.sin(4.0 * X[:, 0]), 0.2 + X[:, 1]
    return X, location + scale * rng.standard_normal(n), location, scale


def test_it_estimates_the_distribution_function():
    X, y, _, _ = wide_noise(800)
    fitted = KernelCDF("rbf", 300, 800, 5).cross_fit(Task(X, y[:, None], [], None, 5, 1, 0, 1))
    new, _, location, scale = wide_noise(200, 1)
    cuts = np.unique(np.quantile(y, np.arange(1, 6) / 6, method="inverted_cdf"))
    true = norm.cdf((cuts - location[:, None]) / scale[:, None])
    found = fitted.predictor(new)
    assert found.shape == (200, 6)
    constant = cdf_outputs(y, 5)[:, 1:].mean(axis=0)
    assert np.sqrt(np.mean((found[:, 1:] - true) ** 2)) < 0.35 * np.sqrt(np.mean((constant - true) ** 2))
    assert np.corrcoef(found[:, 0], location)[0, 1] > 0.95


def test_the_choice_has_the_lowest_error_of_all():
    X, y, _, _ = wide_noise(60)
    outputs = cdf_outputs(y, 4)[:, 1:]
    outputs = outputs - outputs.mean(axis=0)
    given = Hyperparameters(3.0, 0.5, np.array([0.5, 1.0]))

    def error(factor, ridge):
        params = Hyperparameters(1.0, ridge, factor * given.lengths)
        return np.mean((left_out_predictions("matern", params, X, outputs)[1] - outputs) ** 2)

    errors = {(factor, ridge): error(factor, ridge) for factor in FACTORS for ridge in RIDGES}
    factor, ridge = min(errors, key=lambda pair: errors[pair])
    found = tuned("matern", given, X, outputs)
    np.testing.assert_allclose(found.lengths, factor * given.lengths)
    assert found.noise / found.signal == pytest.approx(ridge)


def test_no_level_of_a_constant_response():
    X = np.random.default_rng(0).uniform(size=(40, 2))
    fitted = KernelCDF("rbf", 40, 40).cross_fit(Task(X, np.zeros((40, 1)), [], None, 4, 1, 0, 1))
    np.testing.assert_allclose(fitted.columns, np.zeros((40, 1)), atol=1e-12)


def test_it_ends_by_its_deadline():
    X, y, _, _ = wide_noise(60)
    params = Hyperparameters(1.0, 0.1, np.ones(2))
    with pytest.raises(OutOfTime):
        tuned("rbf", params, X, y[:, None], Deadline(0.0, lambda: 1.0))
