"""What conformal calibration computes: offsets, intervals, groups and corrected distributions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from diffgbm import ConformalDiffGBM
from diffgbm.distributions import PredictiveDistribution
from diffgbm.estimators.calibration import (
    INTERQUARTILE_RANGE,
    Groups,
    conformal_intervals,
    conformal_offset,
    group_values,
    mixture,
    recalibrated,
)
from tests.estimators.wrong_model import Wrong, plain


def uniform(scales) -> PredictiveDistribution:
    """Uniform distributions on [0, scale]."""
    return PredictiveDistribution.from_points(np.outer(scales, (np.arange(200) + 0.5) / 200))


@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(-9, 9)), st.floats(0.05, 0.95))
def test_the_offset_is_the_smallest_that_enough_scores_reach(scores, coverage):
    n = len(scores)
    rank = int(np.ceil((n + 1) * coverage - 1e-12))
    if rank > n:
        with pytest.raises(ValueError, match="calibration rows; there are"):
            conformal_offset(scores, coverage)
    else:
        assert conformal_offset(scores, coverage) == np.sort(scores)[rank - 1]


def test_one_model_widens_its_intervals_by_the_offset():
    scores, ends = np.linspace(-1.0, 1.0, 19), np.array([[0.0, 1.0], [2.0, 5.0]])
    offset = conformal_offset(scores, 0.8)
    np.testing.assert_allclose(conformal_intervals([scores], [ends], 0.8, ""), ends + np.array([-offset, offset]))


def test_cv_plus_of_equal_models_is_split_conformal():
    """If all folds predict the same intervals, CV+ is the offset of all scores together."""
    rng = np.random.default_rng(0)
    scores, ends = [rng.normal(size=20), rng.normal(size=19)], np.array([[0.0, 1.0], [2.0, 5.0]])
    offset = conformal_offset(np.concatenate(scores), 0.9)
    np.testing.assert_allclose(conformal_intervals(scores, [ends, ends], 0.9, ""), ends + np.array([-offset, offset]))


def test_groups_of_a_number_are_quantiles():
    X = np.arange(12.0)[:, None]
    groups = Groups.learn(0, [X[:6], X[6:]], [uniform(np.ones(6))] * 2, 3)
    assert np.bincount(groups.of(X, uniform(np.ones(12)))).tolist() == [4, 4, 4]
    missing = np.array([[np.nan]])
    assert groups.of(missing, uniform([1.0])).tolist() == [3]


def test_groups_of_a_category_are_its_values():
    X = np.array([["b"], ["a"], ["b"]], dtype=object)
    groups = Groups.learn(0, [X], [uniform(np.ones(3))], 3)
    assert groups.values == ("a", "b")
    assert groups.of(np.array([["b"], ["c"]], dtype=object), uniform(np.ones(2))).tolist() == [1, -1]


def test_groups_by_interquartile_range_and_none():
    scales = np.arange(1.0, 9.0)
    distribution = uniform(scales)
    np.testing.assert_allclose(group_values(INTERQUARTILE_RANGE, None, distribution), scales / 2, rtol=0.02)
    groups = Groups.learn(INTERQUARTILE_RANGE, [None], [distribution], 2)
    assert groups.of(None, distribution).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert Groups.learn(None, [None], [distribution], 2).of(None, distribution).tolist() == [0] * 8
    with pytest.raises(ValueError, match="groups=3 is not a column of X"):
        group_values(3, np.zeros((2, 1)), uniform(np.ones(2)))


@pytest.mark.parametrize("groups", [Groups("a", np.array([1.0, 2.0]), ()), Groups(0, None, ("x", 3, None))])
def test_groups_are_stored_and_read(groups):
    again = Groups.from_stored(groups.to_stored(), groups.column)
    assert (again.column, again.values) == (groups.column, groups.values)
    np.testing.assert_array_equal(again.edges, groups.edges)


def test_uniform_pit_values_change_little_and_others_are_undone():
    distribution = uniform([1.0])
    even = (np.arange(400) + 0.5) / 400
    np.testing.assert_allclose(recalibrated(distribution, even).quantile(0.3), distribution.quantile(0.3), atol=0.01)
    # the truth is always in the upper half: F -> G(F) moves the median to 0.75
    corrected = recalibrated(distribution, 0.5 + even / 2)
    np.testing.assert_allclose(corrected.quantile(0.5), 0.75, atol=0.02)


def test_a_mixture_has_all_points():
    mixed = mixture([uniform([1.0, 2.0]), uniform([3.0, 2.0])])
    np.testing.assert_allclose(mixed.mean(), [1.0, 1.0], rtol=1e-4)
    np.testing.assert_allclose(mixed.cdf(np.array([1.0, 1.0])), [0.5 + 1 / 6, 0.5], atol=0.01)


def test_offset_by_hand():
    scores = np.array([5.0, 1.0, 3.0, 2.0, 4.0])
    assert conformal_offset(scores, 0.5) == 3.0  # ceil(6 * 0.5) = 3rd smallest
    assert conformal_offset(scores, 0.51) == 4.0
    assert conformal_offset(scores, 5.0 / 6.0) == 5.0
    assert conformal_offset(np.arange(9.0), 0.9) == 8.0  # 10 * 0.9 is 9, in spite of rounding
    assert conformal_offset(np.arange(19.0), 0.95) == 18.0


@pytest.mark.parametrize(("coverage", "enough"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_too_few_calibration_rows_say_how_many_are_needed(coverage, enough):
    conformal_offset(np.arange(float(enough)), coverage)
    with pytest.raises(
        ValueError, match=rf"coverage={coverage} needs at least {enough} calibration rows; there are {enough - 1}"
    ):
        conformal_offset(np.arange(enough - 1.0), coverage)


def test_recalibration_leaves_a_calibrated_distribution_alone():
    rng = np.random.default_rng(0)
    X, y = plain(4000, rng)
    right = Wrong(1.0).fit(X, y)
    model = ConformalDiffGBM(right, recalibrate=True).calibrate(X, y)
    distribution, same = right.predict_distribution(X[:50]), model.predict_distribution(X[:50])
    q = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(distribution.cdf(same.quantile(q)), np.tile(q, (50, 1)), atol=0.03)
    even = (np.arange(1000) + 0.5) / 1000
    np.testing.assert_allclose(recalibrated(distribution, even).levels, distribution.levels, atol=1e-9)


@pytest.mark.parametrize("n", [1, 4, 20, 500])
def test_recalibrated_quantiles_never_cross(n):
    rng = np.random.default_rng(n)
    distribution = Wrong().fit(*plain(50, rng)).predict_distribution(plain(30, rng)[0])
    for pits in (rng.uniform(size=n), np.zeros(n), np.ones(n), np.full(n, 0.4), rng.beta(0.2, 0.2, n)):
        corrected = recalibrated(distribution, pits)
        assert np.all(np.diff(corrected.levels) > 0.0)
        assert corrected.levels[0] > 0.0
        assert corrected.levels[-1] < 1.0
        assert np.all(np.diff(corrected.quantile(np.linspace(0.0, 1.0, 101))) >= 0.0)
        np.testing.assert_array_equal(corrected.cdf([[-np.inf, np.inf]]), np.tile([0.0, 1.0], (30, 1)))


def test_folds_are_combined_by_cv_plus():
    rng = np.random.default_rng(0)
    scores = [rng.normal(size=6), rng.normal(size=5)]
    ends = [np.sort(rng.normal(size=(4, 2)), axis=1) for _ in scores]
    found = conformal_intervals(scores, ends, 0.8, "")
    for i in range(4):
        low = np.sort(np.concatenate([e[i, 0] - s for e, s in zip(ends, scores, strict=True)]))
        high = np.sort(np.concatenate([e[i, 1] + s for e, s in zip(ends, scores, strict=True)]))
        np.testing.assert_allclose(found[i], [low[11 - 10], high[10 - 1]])  # ceil(12 * 0.8) = 10
