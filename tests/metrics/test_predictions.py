"""Predictions are read as distributions or as ensembles, and other shapes are refused."""

import numpy as np
import pytest

from diffgbm import JointDistribution
from diffgbm.distributions import Ensemble
from diffgbm.metrics.predictions import as_distribution, central_interval, joint_points
from tests.metrics.predictions import SAMPLES, Y, normal_distribution


def test_distributions_stay_as_they_are():
    distribution = normal_distribution([0.0], [1.0])
    assert as_distribution(distribution) is distribution
    ensemble = Ensemble(SAMPLES)
    assert as_distribution(ensemble, np.zeros(7)) is ensemble


def test_arrays_become_ensembles():
    read = as_distribution(SAMPLES.tolist(), Y)
    assert isinstance(read, Ensemble)
    np.testing.assert_array_equal(read.samples, SAMPLES)


@pytest.mark.parametrize(("prediction", "y"), [(SAMPLES.T, Y), (Y, Y), (SAMPLES, Y[:, None])])
def test_other_shapes_are_refused(prediction, y):
    with pytest.raises(ValueError, match=r"samples of shape \(n_samples, \*y\.shape\)"):
        as_distribution(prediction, y)


def test_central_interval_has_equal_tails():
    low, high = central_interval(SAMPLES, 0.5)
    np.testing.assert_allclose(low, np.quantile(SAMPLES, 0.25, axis=0))
    np.testing.assert_allclose(high, np.quantile(SAMPLES, 0.75, axis=0))
    for level in (0.0, 1.0, 90, np.nan):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            central_interval(SAMPLES, level)


def test_joint_points_of_samples_and_of_distributions():
    samples, y = np.arange(24.0).reshape(4, 3, 2), np.zeros((3, 2))
    for prediction in (samples, JointDistribution(samples.swapaxes(0, 1), ("a", "b"))):
        points, observed = joint_points(prediction, y.tolist())
        np.testing.assert_array_equal(points, samples.swapaxes(0, 1))
        np.testing.assert_array_equal(observed, y)
    with pytest.raises(ValueError, match=r"\(n_samples, n, d\)"):
        joint_points(samples, np.zeros(3))
