"""Ensembles against numpy and brute force."""

import numpy as np
import pytest

from diffgbm import JointDistribution, PredictiveDistribution
from diffgbm.distributions import Ensemble

RNG = np.random.default_rng(0)
ONE, TWO = RNG.normal(size=(30, 5)), RNG.normal(size=(30, 5, 2))
both = pytest.mark.parametrize("samples", [ONE, TWO], ids=["one response", "two responses"])


@both
def test_statistics_are_numpys(samples):
    ensemble, y = Ensemble(samples), np.zeros(samples.shape[1:])
    assert ensemble.shape == y.shape
    np.testing.assert_array_equal(ensemble.mean(), samples.mean(axis=0))
    np.testing.assert_array_equal(ensemble.var(), samples.var(axis=0, ddof=1))
    np.testing.assert_array_equal(ensemble.quantile(0.3), np.quantile(samples, 0.3, axis=0))
    np.testing.assert_array_equal(ensemble.quantile([0.3, 0.6])[..., 1], np.quantile(samples, 0.6, axis=0))
    np.testing.assert_array_equal(ensemble.pit(y), (samples <= 0.0).mean(axis=0))
    np.testing.assert_array_equal(ensemble.members, np.moveaxis(samples, 0, -1))


def test_ties():
    ensemble = Ensemble(np.array([[1.0], [2.0], [2.0], [3.0]]))
    assert ensemble.pit([2.0]) == [0.75]
    assert ensemble.sf([2.0]) == [0.25]
    assert ensemble.prob_at_least([2.0]) == [0.75]


@both
@pytest.mark.parametrize("fair", [False, True])
def test_crps_is_brute_force(samples, fair):
    y, m = np.full(samples.shape[1:], 0.2), len(samples)
    pairs = np.abs(samples[:, None] - samples[None]).sum(axis=(0, 1)) / (2.0 * m * (m - 1 if fair else m))
    expected = np.abs(samples - y).mean(axis=0) - pairs
    np.testing.assert_allclose(Ensemble(samples).crps(y, fair=fair), expected)


def test_crps_between_thresholds_adds_up():
    ensemble, y = Ensemble(ONE), np.full(5, 0.2)
    parts = ensemble.crps(y, high=0.4) + ensemble.crps(y, low=0.4)
    np.testing.assert_allclose(parts, ensemble.crps(y))
    np.testing.assert_allclose(ensemble.crps(y, 50.0, 60.0), 0.0)


def test_log_density_is_that_of_the_distribution_of_the_points():
    y = np.zeros((5, 2))
    expected = PredictiveDistribution.from_points(ONE.T).logpdf(y[:, 0])
    np.testing.assert_array_equal(Ensemble(ONE).logpdf(y[:, 0]), expected)
    joint = JointDistribution(TWO.swapaxes(0, 1), ("a", "b"))
    np.testing.assert_array_equal(Ensemble(TWO).logpdf(y), joint.logpdf(y))


def test_equal_weights_leave_the_crps_as_it_is():
    y = np.zeros((5, 2))
    np.testing.assert_allclose(Ensemble(TWO).outcome_weighted_crps(y, np.ones_like), Ensemble(TWO).crps(y))


def test_one_sample_has_no_variance():
    with pytest.raises(ValueError, match="at least 2 samples"):
        Ensemble(ONE[:1]).var()
