"""Diagnostics in closed form: binomial bands, groups, randomised transforms."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from diffgbm import PredictiveDistribution
from diffgbm.distributions import Ensemble
from diffgbm.metrics import diagnostics
from tests.metrics.predictions import SAMPLES, Y


def test_pit_counts_and_their_band():
    histogram = diagnostics.pit_counts(np.array([[0.0, 0.1], [0.5, 1.0]]), 2)
    np.testing.assert_array_equal(histogram.counts, [2, 2])
    np.testing.assert_array_equal(histogram.edges, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(histogram.expected, [2.0, 2.0])
    np.testing.assert_array_equal(histogram.low, binom.ppf(0.025, 4, [0.5, 0.5]))
    np.testing.assert_array_equal(histogram.high, binom.ppf(0.975, 4, [0.5, 0.5]))


def test_chance_of_an_ensemble_counts_the_values_it_can_take():
    # 0, .1, .2 | .3, .4 | .5, .6, .7 | .8, .9, 1
    np.testing.assert_allclose(diagnostics.ensemble_chance(10, 4), np.array([3, 2, 3, 3]) / 11)
    assert diagnostics.ensemble_chance(7, 5).sum() == pytest.approx(1.0)


def test_reliability_by_hand():
    levels = np.array([0.5, 0.9])
    prediction = PredictiveDistribution.from_points(np.tile(np.arange(101.0), (2, 1)))
    inside = diagnostics.inside_central(prediction, np.array([50.0, 10.0]), levels)
    np.testing.assert_array_equal(inside, [[True, True], [False, True]])
    curve = diagnostics.reliability_of(inside, levels)
    np.testing.assert_array_equal(curve.coverage, [0.5, 1.0])
    np.testing.assert_array_equal(curve.at, [0.0, 0.5, 0.9, 1.0])
    np.testing.assert_array_equal(curve.low, binom.ppf(0.025, 2, curve.at) / 2)
    assert curve.low[-1] == curve.high[-1] == 1.0


def test_several_responses_count_as_more_observations():
    inside = np.ones((7, 2, 3), dtype=bool)
    np.testing.assert_array_equal(diagnostics.reliability_of(inside, np.array([0.1, 0.5, 0.9])).coverage, 1.0)


def test_proportion_is_exact():
    share = diagnostics.proportion(np.arange(15) < 11)
    exact = binomtest(11, 15).proportion_ci(0.95)
    assert (share.count, share.value, share.low, share.high) == (15, 11 / 15, exact.low, exact.high)


def test_coverage_by_group():
    inside, values = np.array([True, False, True, True]), np.array([4.0, 1.0, 3.0, 2.0])
    groups = diagnostics.coverage_by_group(inside, values, diagnostics.equal_groups(values, 2))
    np.testing.assert_array_equal(groups.mean, [1.5, 3.5])
    assert [group.value for group in groups.covered] == [0.5, 1.0]
    assert [group.count for group in groups.covered] == [2, 2]


def test_width_against_error():
    width, error = np.array([3.0, 1.0, 2.0, 4.0]), np.array([0.3, 0.1, 0.4, 0.2])
    result = diagnostics.width_against_error(width, error, 2)
    np.testing.assert_array_equal(result.width, width)
    np.testing.assert_array_equal(result.mean_width, [1.5, 3.5])
    np.testing.assert_allclose(result.mean_error, [0.25, 0.25])


def test_observed_against_predicted():
    predicted, observed = np.array([3.0, 1.0, 2.0, 4.0]), np.array([30.0, 10.0, 40.0, 20.0])
    result = diagnostics.observed_against_predicted(predicted, observed, 2)
    np.testing.assert_array_equal(result.group_predicted, [1.5, 3.5])
    np.testing.assert_array_equal(result.group_observed, [25.0, 25.0])
    # equal predictions share a group
    tied = diagnostics.observed_against_predicted(np.array([2.0, 2.0, 2.0, 4.0]), observed, 3)
    np.testing.assert_array_equal(tied.group_predicted, [2.0, 4.0])


def test_event_reliability():
    probability = np.array([0.1, 0.1, 0.1 + 1e-13, 0.8, 0.8, 0.6])
    observed = np.array([0.0, 5.0, 1.0, 5.0, 1.5, 9.0])
    result = diagnostics.event_reliability(1.0, probability, observed, 3)
    # a value on the threshold does not exceed it, and equal probabilities share a group
    assert [(h.count, h.value) for h in result.happened] == [(3, pytest.approx(1 / 3)), (1, 1.0), (2, 1.0)]
    np.testing.assert_allclose(result.probability, [0.1, 0.6, 0.8])
    assert result.brier == pytest.approx((0.01 + 0.81 + 0.01 + 0.04 + 0.04 + 0.16) / 6)
    assert result.reference == pytest.approx(2 / 3 * 1 / 3)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 9))
def test_groups_are_ordered_partitions(values, bins):
    values = np.array(values, dtype=float)
    equal, tied = diagnostics.equal_groups(values, bins), diagnostics.tied_groups(values, bins)
    for groups in (equal, tied):
        np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(len(values)))
        ends = [(values[group].min(), values[group].max()) for group in groups]
        assert all(a[1] <= b[0] for a, b in pairwise(ends))
    assert len(equal) == min(bins, len(values))
    assert np.ptp([len(group) for group in equal]) <= 1
    # equal values share a group
    assert all(not set(values[a]) & set(values[b]) for a, b in pairwise(tied))


def test_levels_of_the_diagram():
    np.testing.assert_allclose(diagnostics.LEVELS, np.arange(1, 20) / 20)
    assert diagnostics.inside_central(Ensemble(SAMPLES), Y, np.array(diagnostics.LEVELS)).shape == (2, 19)
