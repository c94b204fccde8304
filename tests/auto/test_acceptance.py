"""Acceptance tests: shapes and corrections are taken where they help on unseen rows."""

import numpy as np
import pytest

from diffgbm.auto import acceptance
from diffgbm.auto.acceptance import (
    LEVELS,
    MIN_ROWS,
    accepted_correction,
    accepted_shapes,
    central_error,
    coverage_error,
)
from diffgbm.auto.recalibration import CELLS, fit_correction, interquartile_range, rank
from diffgbm.distributions.scalar import PredictiveDistribution
from tests.auto.distributions import (
    EVEN,
    adjusted,
    distributions_of_bags,
    half_informative_distributions,
    normal_distributions,
)
from tests.auto.shapes import correct_distributions


def test_a_response_is_confined_where_that_helps():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=(400, 2)).astype(float)
    points = np.sort(rng.normal(size=(400, 60, 2)) * 0.3 + y[:, None], axis=1)
    # the nearest value is the observation for the first response, and seldom for the second
    points[:, :, 1] = y[:, None, 1] + np.linspace(0.55, 0.65, 60)
    first, second = accepted_shapes(y, y, points, None)
    np.testing.assert_array_equal(first.atoms, [0.0, 1.0, 2.0, 3.0])
    assert second.atoms is None


def test_coverage_is_randomised_at_atoms():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=(2000, 1)).astype(float)
    # uniform distributions are calibrated; so are they on the values, though intervals contain whole atoms
    points = np.sort(rng.uniform(-0.5, 3.5, size=(2000, 60, 1)), axis=1)
    np.testing.assert_array_equal(accepted_shapes(y, y, points, None)[0].atoms, np.arange(4.0))


def test_a_response_of_few_values_must_not_cost_coverage(monkeypatch):
    """Points around 1, for a response that is 0 in 30% of the rows: confined to 1, they are surer and more often wrong.

    By hand, the CRPS is 0.7 * 0.075 + 0.3 * 0.85 = 0.3075 before and 0.3 after; intervals cover 70% of the rows
    before, 70% of their level after: the mean error of LEVELS goes from 0.19 to 0.24.
    """
    y = np.tile([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0], 200)[:, None]
    points = np.tile(np.linspace(0.55, 1.45, 101), (2000, 1))[:, :, None]
    free, confined = (PredictiveDistribution.from_points(p[:, :, 0]) for p in (points, np.ones_like(points)))
    assert confined.crps(y[:, 0]).mean() < free.crps(y[:, 0]).mean()
    assert accepted_shapes(y, y, points, None)[0].atoms is None
    monkeypatch.setattr("diffgbm.auto.acceptance.MAX_COVERAGE_LOSS", 1.0)
    np.testing.assert_array_equal(accepted_shapes(y, y, points, None)[0].atoms, [0.0, 1.0])


def test_rows_without_weight_do_not_decide():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=(400, 1)).astype(float)
    points = np.sort(y[:, None] + rng.normal(size=(400, 60, 1)) * 0.3, axis=1)
    points[:200] = y[:200, None] + np.linspace(0.55, 0.65, 60)[None, :, None]  # mostly nearer to another value
    for weights, helps in ((np.arange(400) >= 200, True), (np.arange(400) < 200, False)):
        (shape,) = accepted_shapes(y, y, points, weights.astype(float))
        assert (shape.atoms is not None) is helps


def test_coverage_error_by_hand():
    points = np.tile(np.arange(1.0, 101.0), (4, 1))
    distribution = PredictiveDistribution.from_points(points)
    # three of four inside all intervals: errors .25, .05, .15 and .20
    assert coverage_error(distribution, np.array([50.0, 50.0, 50.0, 500.0])) == pytest.approx(
        (0.25 + 0.05 + 0.15 + 0.2) / 4
    )


def test_correct_distributions_near_few_values_are_confined():
    points, y = correct_distributions(2000)
    (shape,) = accepted_shapes(y[:, None], y[:, None], points[:, :, None], None)
    np.testing.assert_array_equal(shape.atoms, [0.0, 1.0, 2.0, 3.0])


def test_distributions_are_not_confined_where_that_raises_the_crps():
    # between two values, nearer to the one that is rarer
    points, y = np.tile(np.linspace(1.4, 1.49, 400), (2000, 1)), np.tile([1.0, 1.0, 2.0, 2.0, 2.0], 400)
    (shape,) = accepted_shapes(y[:, None], y[:, None], points[:, :, None], None)
    assert shape.atoms is None


@pytest.mark.parametrize("smallest", [0.0, 0.01, -0.01])
def test_responses_that_are_never_negative_stay_so(smallest):
    rng = np.random.default_rng(0)
    y = np.append(rng.exponential(size=400) + max(smallest, 0.0), smallest)[:, None]
    points = y[:, None] + rng.normal(size=(401, 60, 1))
    (shape,) = accepted_shapes(y, y, points, None)
    assert (shape.limits is not None and shape.limits.low == 0.0) == (smallest >= 0.0)
    assert shape.low is None
    assert shape.atoms is None


@pytest.mark.parametrize("width", [0.85, 2.0])
def test_a_wrong_width_is_corrected(width):
    correction = accepted_correction(*normal_distributions(1500, width), None, seed=0)
    distribution, y = normal_distributions(1500, width, seed=1)
    before, after = coverage_error(distribution, y), coverage_error(correction(distribution), y)
    # sampling error of a coverage of 1,500 rows, twice: fitted and tested
    assert after < 3.0 * np.sqrt(2.0 * 0.25 / 1500)
    assert after < 0.5 * before
    assert correction(distribution).crps(y).mean() < distribution.crps(y).mean()


def test_narrow_and_wide_distributions_are_corrected_each_its_way():
    correction = accepted_correction(*half_informative_distributions(4000), None, seed=0)
    distribution, y = half_informative_distributions(4000, seed=1)
    better = correction(distribution)
    narrow, wide = np.array_split(np.argsort(interquartile_range(distribution)), 2)
    for rows in (narrow, wide):
        # on the whole the distributions are about right, in neither half are they
        assert coverage_error(distribution[rows], y[rows]) > 0.04
        assert coverage_error(better[rows], y[rows]) < 3.0 * np.sqrt(2.0 * 0.25 / 2000)
    assert better.crps(y).mean() < 0.99 * distribution.crps(y).mean()
    assert np.mean(interquartile_range(better)[narrow]) < np.mean(interquartile_range(distribution)[narrow])
    assert np.mean(interquartile_range(better)[wide]) > np.mean(interquartile_range(distribution)[wide])


def test_correct_distributions_hardly_change():
    """The change is within the sampling error of 1,500 rows."""
    n = 1500
    for seed in range(20):
        scale = np.exp(np.random.default_rng((seed, 2)).normal(size=n))
        distribution, y = normal_distributions(n, 1.0, seed, scale)
        correction = accepted_correction(distribution, y, None, seed=0)
        if correction is not None:
            ranks = rank(interquartile_range(distribution), correction.iqr_quantiles)
            coverage = correction.coverage(ranks).mean(axis=0)
            for level in (0.5, 0.9):
                assert abs(np.interp(level, EVEN, coverage) - level) < 3.0 * np.sqrt(level * (1.0 - level) / n)
            assert correction(distribution).crps(y).mean() < 1.002 * distribution.crps(y).mean()


def test_few_rows_give_no_correction():
    assert accepted_correction(*normal_distributions(MIN_ROWS - 1, 0.3), None, seed=0) is None
    assert accepted_correction(*normal_distributions(MIN_ROWS, 0.3), None, seed=0) is not None


def mostly_narrow_distributions(n, width):
    """Distributions of ``width`` times the correct width, except a few correct ones that no rank separates.

    The few are so wide that they decide the CRPS.
    """
    few = np.arange(n) < n // 50
    scale = np.where(few, 1000.0, np.exp(np.random.default_rng(0).normal(size=n)))
    return *normal_distributions(n, np.where(few, 1.0, width), 0, scale), few


def test_a_correction_may_not_cost_crps():
    distribution, y, few = mostly_narrow_distributions(8000, 0.5)
    changed = fit_correction(distribution, distribution.pit(y))(distribution)
    assert coverage_error(changed, y) < 0.2 * coverage_error(distribution, y)
    assert changed.crps(y).mean() > 1.02 * distribution.crps(y).mean()
    assert accepted_correction(distribution, y, None, seed=0) is None
    assert accepted_correction(distribution[~few], y[~few], None, seed=0) is not None


def test_the_largest_share_that_costs_no_crps_is_accepted():
    distribution, y, few = mostly_narrow_distributions(20_000, 0.85)
    found = accepted_correction(distribution, y, None, seed=0)
    right = accepted_correction(distribution[~few], y[~few], None, seed=0)
    reached = [
        coverage_error(distributions, y) for distributions in (distribution, found(distribution), right(distribution))
    ]
    assert reached[2] < reached[1] < 0.9 * reached[0]
    rise = right(distribution).crps(y) - distribution.crps(y)
    # the whole way would cost more than chance explains
    assert rise.mean() > rise.std() / np.sqrt(len(y))
    assert (found(distribution).crps(y) - distribution.crps(y)).mean() < 0.5 * rise.mean()


def test_rows_without_weight_do_not_count():
    wide, y_wide = normal_distributions(800, 2.0)
    right, y_right = normal_distributions(800, 1.0, seed=1)
    distribution = PredictiveDistribution(np.vstack([wide.values, right.values]), wide.levels)
    y = np.concatenate([y_wide, y_right])
    heavy, light = np.where(np.arange(1600) < 800, 1.0, 1e-9), np.where(np.arange(1600) < 800, 1e-9, 1.0)
    changed = accepted_correction(distribution, y, heavy, seed=0)
    assert changed.coverage(rank(interquartile_range(wide), changed.iqr_quantiles))[:, CELLS // 2].min() > 0.7
    quiet = accepted_correction(distribution, y, light, seed=0)
    if quiet is not None:
        found = quiet.coverage(rank(interquartile_range(right), quiet.iqr_quantiles))[:, CELLS // 2]
        assert np.abs(found - 0.5).max() < 3.0 * np.sqrt(0.25 / 800)


def test_a_pool_is_corrected_by_adjusted_observations():
    one, many, y = distributions_of_bags(4000, 0.2)
    correction = accepted_correction(one, adjusted(one, y, 0.2), None, seed=0)
    _, many, y = distributions_of_bags(4000, 0.2, seed=1)
    assert coverage_error(many, y) > 0.05
    assert coverage_error(correction(many), y) < 3.0 * np.sqrt(2.0 * 0.25 / 4000)
    assert correction(many).crps(y).mean() < many.crps(y).mean()


def test_central_error_by_hand():
    # eight rows, pairs by width; |2u - 1| of a pair: (0, 0), (.6, .6), (.85, .85), (.99, .99)
    distance = np.repeat([0.0, 0.6, 0.85, 0.99], 2)
    pit, size = 0.5 + 0.5 * distance, np.arange(8.0)
    all_rows = np.mean(np.abs(np.array([0.25, 0.5, 0.75, 0.75]) - LEVELS))
    pairs = np.mean([np.abs((d <= np.array(LEVELS)) - np.array(LEVELS)) for d in (0.0, 0.6, 0.85, 0.99)])
    assert central_error(pit, size, None) == pytest.approx(all_rows + pairs)
    mixed_up = np.random.default_rng(0).permutation(8)
    assert central_error(pit[mixed_up], size[mixed_up], np.full(8, 3.0)) == pytest.approx(all_rows + pairs)


def pit_of(coverages):
    """PIT values of groups of 1,000 rows whose central intervals cover ``level ** power``, for each power."""
    c = (np.arange(1000) + 0.5) / 1000
    return np.concatenate([0.5 + 0.5 * c ** (1.0 / power) for power in coverages])


def test_a_correction_that_helps_quarters_but_not_all_rows_is_refused():
    width = np.repeat(np.arange(4.0), 1000)
    before, after = pit_of([0.5, 0.5, 2.0, 2.0]), pit_of([0.95, 0.95, 1.6, 1.6])
    assert acceptance.central_error(after, width, None) < acceptance.central_error(before, width, None)
    assert acceptance.overall_error(after, None) > acceptance.overall_error(before, None)
    assert not acceptance.improves(before, after, width, None)
    assert acceptance.improves(before, pit_of([1.0, 1.0, 1.0, 1.0]), width, None)
    assert acceptance.improves(pit_of([2.0, 2.0, 2.0, 2.0]), after, width, None)


def test_coverage_of_all_rows_within_its_standard_error_is_good_enough():
    width = np.repeat(np.arange(4.0), 1000)
    before, after = pit_of([0.625, 0.625, 1.45, 1.45]), pit_of([0.99, 0.99, 1.0, 1.0])
    assert acceptance.improves(before, after, width, None)
