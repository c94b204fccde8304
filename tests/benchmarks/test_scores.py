"""The scores that the benchmarks report, against the definition, scoringrules and hand-worked cases."""

import numpy as np
import pytest
import scoringrules

from diffgbm.metrics import coverage, crps


@pytest.fixture
def forecast():
    rng = np.random.default_rng(0)
    return rng.standard_t(3, size=(37, 50)), rng.standard_normal(50)


def brute_force(samples, y):
    pairs = np.abs(samples[:, None] - samples[None, :]).sum(axis=(0, 1))
    return np.abs(samples - y).mean(axis=0) - pairs / (2 * len(samples) ** 2)


def test_crps_is_the_ensemble_form(forecast):
    np.testing.assert_allclose(crps(*forecast), brute_force(*forecast), rtol=1e-12)


def test_crps_agrees_with_scoringrules(forecast):
    samples, y = forecast
    expected = scoringrules.crps_ensemble(y, samples.T, estimator="nrg")
    np.testing.assert_allclose(crps(samples, y), expected, rtol=1e-10)


def test_one_sample_is_the_absolute_error():
    np.testing.assert_allclose(crps(np.array([[1.0, 4.0]]), np.array([3.0, 4.0])), [2.0, 0.0])


def test_two_samples_by_hand():
    # mean |x - 0| = 1, mean of the four pair distances / 2 = 0.5
    np.testing.assert_allclose(crps(np.array([[-1.0], [1.0]]), np.array([0.0])), [0.5])


def test_coverage_counts_the_central_interval():
    samples = np.tile(np.linspace(0.0, 1.0, 101)[:, None], (1, 4))
    assert coverage(samples, np.array([0.04, 0.06, 0.94, 0.96]), 0.9) == 0.5
