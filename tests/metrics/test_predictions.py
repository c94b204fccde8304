"""Predictions are read as distributions or as ensembles, and other shapes are refused."""

import numpy as np
import pytest

from diffgbm import JointDistribution, metrics
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


DISTRIBUTION, OBSERVED = normal_distribution([0.0, 1.0, 2.0], [1.0, 2.0, 0.5], 50), np.array([0.3, 0.9, 2.5])
OF_PAIRS = [
    *("crps", "dss", "log_score", "interval_score", "threshold_weighted_crps", "pit", "pit_ks", "coverage"),
    *("coverage_error", "q_mace", "iqr_binned_coverage", "iqr_mace"),
]


@pytest.mark.parametrize("name", OF_PAIRS)
def test_a_distribution_may_come_second(name):
    metric = getattr(metrics, name)
    np.testing.assert_array_equal(metric(OBSERVED, DISTRIBUTION), metric(DISTRIBUTION, OBSERVED))
    np.testing.assert_array_equal(metric(y=OBSERVED, prediction=DISTRIBUTION), metric(DISTRIBUTION, OBSERVED))


def test_other_metrics_in_the_other_order():
    assert metrics.crpss(OBSERVED, DISTRIBUTION, OBSERVED) == metrics.crpss(DISTRIBUTION, OBSERVED, OBSERVED)
    weighted = metrics.weighted_crps(OBSERVED, DISTRIBUTION, np.exp)
    np.testing.assert_array_equal(weighted, metrics.weighted_crps(DISTRIBUTION, OBSERVED, np.exp))
    joint, y = JointDistribution(np.arange(24.0).reshape(3, 4, 2), ("a", "b")), np.zeros((3, 2))
    for metric in (metrics.energy_score, metrics.variogram_score):
        np.testing.assert_array_equal(metric(y, joint), metric(joint, y))


def test_samples_that_come_second_are_refused():
    with pytest.raises(ValueError, match=r"Are they swapped\? The prediction comes first"):
        metrics.crps(Y, SAMPLES)


def test_a_joint_score_of_one_response_is_refused():
    with pytest.raises(ValueError, match="joint scores need the distribution of several responses"):
        metrics.energy_score(DISTRIBUTION, OBSERVED)


@pytest.mark.parametrize("name", [*OF_PAIRS, "energy_score"])
def test_an_estimator_is_no_prediction(name, flow_model):
    for pair in ((flow_model, OBSERVED), (OBSERVED, flow_model)):
        with pytest.raises(TypeError, match=r"pass its prediction, model.predict_distribution\(X\)"):
            getattr(metrics, name)(*pair)


@pytest.mark.parametrize("name", ["coverage", "coverage_error", "interval_score", "iqr_binned_coverage", "iqr_mace"])
def test_several_levels_are_refused(name):
    with pytest.raises(ValueError, match=r"level must be one number between 0 and 1; got \[0.5, 0.9\]"):
        getattr(metrics, name)(DISTRIBUTION, OBSERVED, [0.5, 0.9])
    with pytest.raises(ValueError, match="level must be one number"):
        metrics.width(DISTRIBUTION, [0.5, 0.9])
