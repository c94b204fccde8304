"""Corrections of laws: what PIT values tell of them, on the whole and along the spread, and whether to act on it."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from diffgbm.auto.acceptance import LEAST_ROWS, LEVELS, central_error, coverage_error, helpful_correction
from diffgbm.auto.final_models import disagreement
from diffgbm.auto.recalibration import (
    CELLS,
    RANKS,
    Correction,
    as_in_a_pool,
    effective_rows,
    learned,
    random_pit,
    rank,
    smooth_functions,
    spread,
    weighted_quantiles,
)
from diffgbm.distributions.scalar import PredictiveDistribution

NORMAL = norm.ppf((np.arange(89) + 0.5) / 89)
EVEN = np.linspace(0.0, 1.0, CELLS + 1)


def normal_distributions(n, width, seed=0, scale=1.0):
    """Laws of the right centre and ``width`` times the right spread, and observations."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=n)
    points = centre[:, None] + np.broadcast_to(width * scale, n)[:, None] * NORMAL
    return PredictiveDistribution.from_points(points), centre + scale * rng.normal(size=n)


def timid_distributions(n, seed=0):
    """Laws that tell narrow rows from wide ones, but only half as well as they differ (in logarithms)."""
    scale = np.exp(np.random.default_rng((seed, 1)).normal(size=n))
    return normal_distributions(n, scale**-0.5, seed, scale)


def distributions_of_ranks(n):
    """Laws whose spreads are in order."""
    return PredictiveDistribution.from_points((1.0 + np.arange(n))[:, None] * NORMAL)


def covered(correction, level, at=0.5):
    """What a correction says that intervals cover."""
    return np.interp(level, EVEN, correction.coverage(np.array([at]))[0])


@pytest.mark.parametrize("width", [0.85, 2.0])
def test_wrong_spread_is_corrected(width):
    correction = helpful_correction(*normal_distributions(1500, width), None, seed=0)
    distribution, y = normal_distributions(1500, width, seed=1)
    before, after = coverage_error(distribution, y), coverage_error(correction(distribution), y)
    # sampling error of a coverage of 1,500 rows, twice: learned and judged
    assert after < 3.0 * np.sqrt(2.0 * 0.25 / 1500)
    assert after < 0.5 * before
    assert correction(distribution).crps(y).mean() < distribution.crps(y).mean()


def test_narrow_and_wide_distributions_are_corrected_each_its_way():
    correction = helpful_correction(*timid_distributions(4000), None, seed=0)
    distribution, y = timid_distributions(4000, seed=1)
    better = correction(distribution)
    narrow, wide = np.array_split(np.argsort(spread(distribution)), 2)
    for rows in (narrow, wide):
        # on the whole the laws are about right, in neither half are they
        assert coverage_error(distribution[rows], y[rows]) > 0.04
        assert coverage_error(better[rows], y[rows]) < 3.0 * np.sqrt(2.0 * 0.25 / 2000)
    assert better.crps(y).mean() < 0.99 * distribution.crps(y).mean()
    assert np.mean(spread(better)[narrow]) < np.mean(spread(distribution)[narrow])
    assert np.mean(spread(better)[wide]) > np.mean(spread(distribution)[wide])


def test_right_distributions_are_left_alone():
    """Or as good as alone: what is moved is within the error with which 1,500 rows know it."""
    n = 1500
    for seed in range(20):
        scale = np.exp(np.random.default_rng((seed, 2)).normal(size=n))
        distribution, y = normal_distributions(n, 1.0, seed, scale)
        correction = helpful_correction(distribution, y, None, seed=0)
        if correction is not None:
            said = correction.coverage(rank(spread(distribution), correction.spreads)).mean(axis=0)
            for level in (0.5, 0.9):
                assert abs(np.interp(level, EVEN, said) - level) < 3.0 * np.sqrt(level * (1.0 - level) / n)
            assert correction(distribution).crps(y).mean() < 1.002 * distribution.crps(y).mean()


def test_few_rows_correct_nothing():
    assert helpful_correction(*normal_distributions(LEAST_ROWS - 1, 0.3), None, seed=0) is None
    assert helpful_correction(*normal_distributions(LEAST_ROWS, 0.3), None, seed=0) is not None


def test_coverage_by_hand():
    # c = |2u - 1| with density 2 (1 - c): theta_1 = E sqrt(3) (2c - 1) = -1 / sqrt(3), and nothing of higher orders
    n = 2000
    distance = 1.0 - np.sqrt(1.0 - (np.arange(n) + 0.5) / n)
    mixed_up = np.random.default_rng(0).permutation(n)
    distribution = distributions_of_ranks(n)
    correction = learned(distribution, 0.5 + 0.5 * (distance * np.where(np.arange(n) % 2, 1.0, -1.0))[mixed_up])
    assert correction.theta[1, 0] == pytest.approx(-(1.0 - 1.0 / (n / 3.0)) / np.sqrt(3.0), abs=1e-3)
    level = np.linspace(0.0, 1.0, 11)
    only = Correction(
        np.where(np.abs(correction.theta) == np.abs(correction.theta).max(), correction.theta, 0.0), RANKS
    )
    # LEAST_DENSITY lifts the last twentieth by 0.1 * 0.05 / 2 of the whole
    np.testing.assert_allclose(covered(only, level), 2.0 * level - level**2, atol=3e-3)


def test_a_correction_without_coefficients_changes_nothing():
    distribution, _ = timid_distributions(50)
    same = Correction(np.zeros((16, 4)), np.sort(spread(distribution)))(distribution)
    np.testing.assert_allclose(same.values, distribution.values, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(same.levels, distribution.levels)


def test_corrected_distributions_cover_what_the_correction_says():
    distribution = distributions_of_ranks(3)
    theta = np.zeros((16, 4))
    theta[1, 0], theta[2, 1] = -0.2, 0.1
    correction = Correction(theta, spread(distribution))
    better = correction(distribution)
    for i, at in enumerate((0.0, 0.5, 1.0)):
        for level in (0.3, 0.5, 0.9):
            low, high = distribution[i].interval(level)[0]
            assert np.diff(better[i].cdf(np.array([[low, high]])))[0, 0] == pytest.approx(
                covered(correction, level, at), abs=2e-3
            )


def test_each_row_is_corrected_by_itself():
    distribution, y = timid_distributions(500)
    correction = learned(distribution, distribution.pit(y))
    whole = correction(distribution).values
    for rows in (slice(0, 1), slice(7, 300), [3, 499, 20]):
        np.testing.assert_array_equal(correction(distribution[rows]).values, whole[rows])


@pytest.mark.parametrize("unit", [2.0**-160, 2.0**160])
def test_the_unit_of_the_response_does_not_matter(unit):
    """Also where single precision has no numbers."""
    distribution, y = timid_distributions(500)
    other = PredictiveDistribution(unit * distribution.values, distribution.levels)
    found = learned(other, other.pit(unit * y))(other)
    np.testing.assert_array_equal(found.values, unit * learned(distribution, distribution.pit(y))(distribution).values)


@pytest.mark.parametrize("count", [4, 16])
def test_smooth_functions_are_orthonormal(count):
    c = (np.arange(200_000) + 0.5) / 200_000
    functions = smooth_functions(c, count)
    np.testing.assert_allclose(functions.T @ functions / len(c), np.eye(count), atol=1e-6)


def test_few_rows_are_described_by_few_orders():
    """A density of |2u - 1| that goes up and down five times needs orders for which 150 rows are too few."""
    grid = np.linspace(0.0, 1.0, 10_001)
    reached = grid + 0.9 * np.sin(10.0 * np.pi * grid) / (10.0 * np.pi)
    found = []
    for n in (150, 3000):
        pit = 0.5 + 0.5 * np.interp((np.arange(n) + 0.5) / n, reached, grid)
        found.append(learned(distributions_of_ranks(n), np.random.default_rng(0).permutation(pit)))
    few, many = found
    assert few is None or not few.theta[4:].any()
    assert np.abs(many.theta[8:, 0]).max() > 0.2


def mostly_narrow_distributions(n, width):
    """Laws of ``width`` times the right spread, but for a few that are right, too few to be told apart by their rank.

    The few are so wide that they decide the CRPS.
    """
    few = np.arange(n) < n // 50
    scale = np.where(few, 1000.0, np.exp(np.random.default_rng(0).normal(size=n)))
    return *normal_distributions(n, np.where(few, 1.0, width), 0, scale), few


def test_a_correction_may_not_cost_crps():
    distribution, y, few = mostly_narrow_distributions(8000, 0.5)
    changed = learned(distribution, distribution.pit(y))(distribution)
    assert coverage_error(changed, y) < 0.2 * coverage_error(distribution, y)
    assert changed.crps(y).mean() > 1.02 * distribution.crps(y).mean()
    assert helpful_correction(distribution, y, None, seed=0) is None
    assert helpful_correction(distribution[~few], y[~few], None, seed=0) is not None


def test_as_much_of_a_correction_is_taken_as_costs_nothing():
    distribution, y, few = mostly_narrow_distributions(20_000, 0.85)
    found = helpful_correction(distribution, y, None, seed=0)
    right = helpful_correction(distribution[~few], y[~few], None, seed=0)
    reached = [
        coverage_error(distributions, y) for distributions in (distribution, found(distribution), right(distribution))
    ]
    assert reached[2] < reached[1] < 0.9 * reached[0]
    rise = right(distribution).crps(y) - distribution.crps(y)
    # the whole way would cost more than chance explains
    assert rise.mean() > rise.std() / np.sqrt(len(y))
    assert (found(distribution).crps(y) - distribution.crps(y)).mean() < 0.5 * rise.mean()


def test_half_a_correction_is_half_of_what_it_says():
    distribution, y = timid_distributions(800)
    whole = learned(distribution, distribution.pit(y))
    ranks = np.linspace(0.1, 0.9, 5)
    half, none = whole.part(0.5).coverage(ranks), whole.part(0.0).coverage(ranks)
    np.testing.assert_allclose(half, 0.5 * (whole.coverage(ranks) + none), atol=0.01)
    np.testing.assert_array_equal(whole.part(1.0).theta, whole.theta)


def test_distributions_of_one_spread_are_corrected_as_a_whole():
    """Then the rank tells nothing, and what it seems to tell must not be counted twice."""
    distribution, y = normal_distributions(3000, 1.5)
    pit = distribution.pit(y)
    correction = learned(distribution, pit)
    ranks = rank(spread(distribution), correction.spreads)
    np.testing.assert_array_equal(ranks, 0.5)
    for level in (0.3, 0.5, 0.8):
        wanted = np.mean(np.abs(2.0 * pit - 1.0) <= level)
        np.testing.assert_allclose(correction.coverage(ranks)[:, round(level * CELLS)], wanted, atol=0.02)


def test_what_chance_does_is_not_corrected():
    n = 1000
    distribution = distributions_of_ranks(n)
    samples = [np.random.default_rng(seed).uniform(size=n) for seed in range(200)]
    found = [learned(distribution, sample) for sample in samples]
    ranks = (np.arange(20) + 0.5) / 20

    def off(correction):
        return 0.0 if correction is None else abs(np.mean(correction.coverage(ranks)[:, CELLS // 2]) - 0.5)

    empirical = [abs(np.mean(np.abs(2.0 * sample - 1.0) <= 0.5) - 0.5) for sample in samples]
    # what uniform samples are moved by is a part of what they show
    assert np.mean(list(map(off, found))) < 0.5 * np.mean(empirical)


@given(st.integers(0, 2**32 - 1), st.integers(5, 3000), st.floats(0.2, 5.0))
def test_corrected_distributions_of_anything_are_distributions(seed, n, shape):
    rng = np.random.default_rng(seed)
    distribution = PredictiveDistribution.from_points(rng.normal(size=(n, 1)) + rng.gamma(shape, size=(n, 7)))
    correction = learned(distribution, rng.beta(shape, shape, size=n), rng.uniform(0.1, 2.0, size=n))
    if correction is not None:
        better = correction(distribution[:20])
        assert (np.diff(better.values, axis=1) >= 0.0).all()
        ends = distribution[:20].quantile([0.0, 1.0])
        assert (better.values >= ends[:, :1]).all()
        assert (better.values <= ends[:, 1:]).all()


def test_pit_of_distributions_with_atoms_is_uniform():
    rng = np.random.default_rng(0)
    n = 4000
    distribution = PredictiveDistribution.from_points(np.tile(np.repeat([0.0, 1.0, 2.0], [30, 50, 20]), (n, 1)))
    y = rng.choice([0.0, 1.0, 2.0], p=[0.3, 0.5, 0.2], size=n)
    assert kstest(random_pit(distribution, y, rng.uniform(size=n)), "uniform").pvalue > 1e-3


def test_rows_without_weight_do_not_correct():
    wide, y_wide = normal_distributions(800, 2.0)
    right, y_right = normal_distributions(800, 1.0, seed=1)
    distribution = PredictiveDistribution(np.vstack([wide.values, right.values]), wide.levels)
    y = np.concatenate([y_wide, y_right])
    heavy, light = np.where(np.arange(1600) < 800, 1.0, 1e-9), np.where(np.arange(1600) < 800, 1e-9, 1.0)
    told = helpful_correction(distribution, y, heavy, seed=0)
    assert told.coverage(rank(spread(wide), told.spreads))[:, CELLS // 2].min() > 0.7
    quiet = helpful_correction(distribution, y, light, seed=0)
    if quiet is not None:
        found = quiet.coverage(rank(spread(right), quiet.spreads))[:, CELLS // 2]
        assert np.abs(found - 0.5).max() < 3.0 * np.sqrt(0.25 / 800)


def distributions_of_bags(n, rho, bags=50, seed=0):
    """Laws N(m + a, 1) of one bag each, where bags differ by ``a`` of variance ``rho``, their mixtures, observations.

    The laws of single bags are right: observations are N(m, 1 - rho).
    """
    rng = np.random.default_rng(seed)
    scale = np.exp(rng.normal(size=n))[:, None]
    one = NORMAL + np.sqrt(rho) * rng.normal(size=(n, 1))
    centres = norm.ppf((np.arange(bags) + 0.5) / bags, scale=np.sqrt(rho))
    many = np.tile(np.sort((NORMAL + centres[:, None]).ravel()), (n, 1))
    y = np.sqrt(1.0 - rho) * rng.normal(size=n)
    return *(PredictiveDistribution.from_points(scale * points) for points in (one, many)), scale[:, 0] * y


def as_in_its_pool(distribution, y, rho):
    return as_in_a_pool(distribution, y, rho, np.random.default_rng(1).uniform(size=len(y)))


@pytest.mark.parametrize("rho", [0.02, 0.3])
def test_pit_of_a_pool_from_distributions_of_its_bags(rho):
    one, many, y = distributions_of_bags(4000, rho)
    assert kstest(one.pit(y), "uniform").pvalue > 1e-3
    assert kstest(many.pit(y), one.pit(as_in_its_pool(one, y, rho))).pvalue > 1e-3
    if rho > 0.1:  # and it matters
        assert kstest(many.pit(y), one.pit(y)).pvalue < 1e-9


def test_bags_that_agree_leave_observations_alone():
    distribution, y = normal_distributions(500, 0.5)
    low, high = distribution.quantile([0.0, 1.0]).T
    beyond = (y <= low) | (y >= high)
    assert 0 < np.count_nonzero(beyond) < 250
    np.testing.assert_allclose(as_in_its_pool(distribution, y, 0.0), y, atol=1e-9)
    np.testing.assert_array_equal(as_in_its_pool(distribution, y, 10.0)[beyond], y[beyond])
    middle = distribution.quantile([0.5])[:, 0]
    moved = as_in_its_pool(distribution, y, 10.0)[~beyond]
    assert (np.abs(moved - middle[~beyond]) <= np.abs(y - middle)[~beyond]).all()


def test_a_pool_is_corrected_by_what_its_bags_tell():
    one, many, y = distributions_of_bags(4000, 0.2)
    correction = helpful_correction(one, as_in_its_pool(one, y, 0.2), None, seed=0)
    _, many, y = distributions_of_bags(4000, 0.2, seed=1)
    assert coverage_error(many, y) > 0.05
    assert coverage_error(correction(many), y) < 3.0 * np.sqrt(2.0 * 0.25 / 4000)
    assert correction(many).crps(y).mean() < many.crps(y).mean()


@dataclass(frozen=True)
class FakeMember:
    """Bags that are centres of laws of a given spread."""

    bags: tuple[float, ...]
    spread: float


def test_disagreement_by_hand():
    def points(candidate, member, rows):
        (centre,) = member.bags
        return np.tile((centre + member.spread * np.array([-1.0, 1.0]))[:, None], (len(rows), 1, 1))

    contest = SimpleNamespace(seed=0, n_rows=2000, points=points, response=SimpleNamespace(scale=np.array([3.0])))

    def found(weights, *members):
        return disagreement(contest, SimpleNamespace(members=members, candidates=members, weights=np.array(weights)))

    assert found([1.0], FakeMember((0.3, 0.3, 0.3), 2.0)) == pytest.approx(0.0, abs=1e-12)
    assert found([1.0], FakeMember((5.0,), 2.0)) == 0.0  # one bag
    assert found([1.0], FakeMember((0.0, 1.0), 2.0)) == pytest.approx(0.25 / 4.0)
    # means of the pool: 0 and 0.25; variances: 1 + 0 and 0.25 (1 + 1) + 0.75 - 0.25**2
    pool = found([0.25, 0.75], FakeMember((0.0, 1.0), 1.0), FakeMember((0.0, 0.0, 9.0), 1.0))
    assert pool == pytest.approx(0.125**2 / np.mean([1.0, 1.25 - 0.0625]))
    # where the response is zero and what it is counted in do not matter
    assert found([1.0], FakeMember((1e9, 1e9 + 1.0), 2.0)) == pytest.approx(0.25 / 4.0)
    contest.response.scale[0] = 1e200
    assert found([1.0], FakeMember((0.0, 1e200), 2e200)) == pytest.approx(0.25 / 4.0)


def test_rank_and_quantiles():
    values = np.array([3.0, 1.0, 2.0, 4.0])
    np.testing.assert_allclose(weighted_quantiles(values, np.array([0.0, 0.125, 0.5, 1.0])), [1.0, 1.0, 2.5, 4.0])
    # weights 1, 1, 6 of 1, 2, 3 in their order: the middles are at 1/16, 3/16 and 10/16
    heavy = np.array([6.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(weighted_quantiles(values, np.array([1, 2, 3, 10]) / 16, heavy), [1.0, 1.5, 2.0, 3.0])
    quantiles = np.array([0.0, 1.0, 1.0, 1.0, 2.0])
    np.testing.assert_allclose(rank(np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 9.0]), quantiles), [0, 0, 0.125, 0.5, 1, 1])
    np.testing.assert_allclose(rank(np.full(3, 5.0), np.full(101, 5.0)), 0.5)


def test_effective_rows():
    assert effective_rows(7, None) == 7.0
    assert effective_rows(4, np.array([2.0, 2.0, 0.0, 0.0])) == 2.0


def test_central_error_by_hand():
    # eight rows, pairs by spread; |2u - 1| of a pair: (0, 0), (.6, .6), (.85, .85), (.99, .99)
    distance = np.repeat([0.0, 0.6, 0.85, 0.99], 2)
    pit, size = 0.5 + 0.5 * distance, np.arange(8.0)
    all_rows = np.mean(np.abs(np.array([0.25, 0.5, 0.75, 0.75]) - LEVELS))
    pairs = np.mean([np.abs((d <= np.array(LEVELS)) - np.array(LEVELS)) for d in (0.0, 0.6, 0.85, 0.99)])
    assert central_error(pit, size, None) == pytest.approx(all_rows + pairs)
    mixed_up = np.random.default_rng(0).permutation(8)
    assert central_error(pit[mixed_up], size[mixed_up], np.full(8, 3.0)) == pytest.approx(all_rows + pairs)
