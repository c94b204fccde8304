"""Randomisation at point masses: transforms are uniform, coverage is nominal, and nothing else changes."""

import numpy as np
import pytest
from scipy.stats import kstest

from diffgbm import metrics
from diffgbm.distributions import PredictiveDistribution
from diffgbm.distributions.support import Support
from diffgbm.metrics.randomisation import inside_levels, probabilities_around, randomised_pit, row_numbers

COIN = np.repeat([0.0, 1.0], [30, 70])


def coins(n=4000):
    y = (np.random.default_rng(0).uniform(size=n) < 0.7).astype(float)
    return np.tile(COIN, (n, 1)), y


@pytest.mark.parametrize("kind", ["support", "points", "samples"])
def test_a_correct_two_valued_distribution_passes_the_test_of_calibration(kind):
    points, y = coins()
    prediction = {
        "support": lambda: PredictiveDistribution.from_points(points, support=Support(atoms=np.array([0.0, 1.0]))),
        "points": lambda: PredictiveDistribution.from_points(points),
        "samples": lambda: points.T,
    }[kind]()
    assert metrics.pit_ks(prediction, y).pvalue > 1e-3
    for level in (0.5, 0.8, 0.9):
        assert metrics.coverage(prediction, y, level) == pytest.approx(level, abs=0.03)
    assert metrics.q_mace(prediction, y) < 0.03
    assert metrics.iqr_mace(prediction, y) < 0.03


def test_without_randomisation_it_does_not():
    points, y = coins()
    assert kstest(PredictiveDistribution.from_points(points).pit(y), "uniform").pvalue < 1e-30


def test_wrong_two_valued_distributions_fail():
    points, y = coins()
    assert metrics.pit_ks(PredictiveDistribution.from_points(points[:, ::-1][:, :60]), y).pvalue < 1e-6


def test_distributions_without_point_masses_involve_no_random_number():
    rng = np.random.default_rng(0)
    distribution = PredictiveDistribution.from_points(rng.normal(size=(200, 50)))
    y = rng.normal(size=200)
    np.testing.assert_array_equal(randomised_pit(distribution, y, rng.uniform(size=200)), distribution.pit(y))
    np.testing.assert_array_equal(metrics.pit(distribution, y, seed=1), distribution.pit(y))
    low, high = distribution.interval(0.8).T
    inside = inside_levels(distribution, y, np.array([0.8]), rng.uniform(size=200))[:, 0]
    np.testing.assert_array_equal(inside, (low <= y) & (y <= high))
    samples = rng.normal(size=(40, 200))
    np.testing.assert_array_equal(metrics.pit(samples, y), (samples <= y).mean(axis=0))
    expected = np.sort((samples >= y).mean(axis=0))
    assert metrics.q_mace(samples, y) == np.mean(np.abs(expected - np.linspace(0.0, 1.0, 200)))


def test_numbers_depend_on_seed_and_row_alone():
    whole = row_numbers((100,), 3)
    np.testing.assert_array_equal(row_numbers((40,), 3, first_row=60), whole[60:])
    np.testing.assert_array_equal(row_numbers((10, 2), 3, first_row=5), row_numbers((15, 2), 3)[5:])
    assert (row_numbers((100,), 4) != whole).all()
    assert kstest(row_numbers((5000,)), "uniform").pvalue > 1e-3


def test_predictions_that_do_not_know_their_masses_are_not_randomised():
    class Foreign:
        def pit(self, y):
            return np.full(np.shape(y), 0.25)

    below, upto = probabilities_around(Foreign(), np.zeros(3))
    np.testing.assert_array_equal(below, upto)
