"""Pools of fitted models: their distributions, samples and corrections, on models that are made by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from diffgbm import AutoDiffGBM
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.climatology import Climatology
from diffgbm.auto.pool import mixture_points, point_counts
from diffgbm.auto.pooled_model import POINTS_OF_A_BAG, PooledModel, sample_members
from diffgbm.auto.recalibration import Correction
from diffgbm.engine import Draws
from tests.conftest import tiny, toy

FREE = (ResponseShape(),)


@pytest.fixture(scope="module")
def members():
    """An ODE with a first-stage model, and an SDE without, of two bags."""
    X, y = toy()
    return (
        tiny("flow").fit(X, y).model_,
        tiny("published", n_steps=10, n_bags=2, bag_mix="mixture").fit(X, y).model_,
    )


@pytest.fixture(scope="module")
def pool(members):
    return PooledModel(members, np.array([0.3, 0.7]), None, FREE)


def estimator(pool):
    """An automatic estimator that holds a pool."""
    model = AutoDiffGBM(n_jobs=1)
    model.pool_ = pool
    return model


@pytest.mark.parametrize("which", [0, 1])
def test_a_pool_of_one_has_the_distributions_of_its_member(members, which):
    X, _ = toy(20, seed=1)
    member = members[which]
    alone = PooledModel((member,), np.ones(1), None, FREE)
    points = POINTS_OF_A_BAG * len(member.bags)
    expected = member.distribution(X, member.recipe.sampler, points)
    np.testing.assert_array_equal(alone.distribution(X, points).values, expected.values)


def test_points_are_shared_by_weight(members, pool):
    """Each bag gives enough points for a distribution, whose even ranks are the member's share of the pool's."""
    X, _ = toy(6, seed=1)
    np.testing.assert_array_equal(point_counts(pool.weights, 100), [30, 70])
    distributions = [np.sort(m.points(X, m.recipe.sampler, POINTS_OF_A_BAG * len(m.bags)), axis=1) for m in members]
    np.testing.assert_array_equal(
        pool.distribution(X, 100).values, mixture_points(distributions, pool.weights, 100)[:, :, 0]
    )


def test_fewer_points_than_members(pool):
    X, _ = toy(6, seed=1)
    alone = PooledModel(pool.members[1:], np.ones(1), None, FREE)
    np.testing.assert_array_equal(pool.distribution(X, 1).values, alone.distribution(X, 1).values)


def test_short_distributions_are_no_worse_for_many_bags(members):
    """A short distribution, of which each bag would have but a few points, has the quantiles of a long one."""
    X, _ = toy(40, seed=1)
    many = PooledModel((replace(members[1], bags=members[1].bags * 8),), np.ones(1), None, FREE)
    short, long = many.distribution(X, 55), many.distribution(X, 5000)
    levels = np.linspace(0.1, 0.9, 17)
    errors = np.abs(short.quantile(levels) - long.quantile(levels)) / long.std()[:, None]
    scarce = members[1].distribution(X, members[1].recipe.sampler, 6)
    assert errors.mean() < 0.5 * np.mean(np.abs(scarce.quantile(levels) - long.quantile(levels)) / long.std()[:, None])


def test_distributions_do_not_depend_on_the_batch(pool):
    X, _ = toy(20, seed=1)
    np.testing.assert_array_equal(pool.distribution(X[7:9], 55).values, pool.distribution(X, 55).values[7:9])


def test_each_sample_is_one_members(members, pool):
    X, _ = toy(5, seed=1)
    member_of = sample_members(pool.weights, 40)
    samples = pool.sample(X, 40, 123, 0, 1, 0)
    for i, member in enumerate(members):
        indices = np.flatnonzero(member_of == i)
        stream = int(np.random.SeedSequence((123, i)).generate_state(1, np.uint64)[0])
        expected = np.empty((len(indices), 5, 1))

        def receive(rows, values, expected=expected):
            expected[:, rows] = values.swapaxes(0, 1)

        steps = member.recipe.steps(member.recipe.sampler)
        member.integrate(X, steps, Draws(len(indices), stream, 0), 1, 0, receive)
        np.testing.assert_array_equal(samples[indices], expected)


def test_samples_are_independent_of_threads_and_pieces(pool):
    X, _ = toy(30, seed=1)
    whole = pool.sample(X, 9, 7, 0, 1, 0)
    np.testing.assert_array_equal(pool.sample(X, 9, 7, 0, 2, 0), whole)
    np.testing.assert_array_equal(pool.sample(X[11:], 9, 7, 11, 1, 0), whole[:, 11:])


def test_samples_follow_the_distribution(pool):
    X, _ = toy(3, seed=1)
    model = estimator(pool)
    samples = model.sample(X, 4000, seed=5)
    distribution = model.predict_distribution(X, grid=2000)
    for i in range(3):
        assert kstest(samples[:, i], lambda t, i=i: distribution[i].cdf(t[None, :])[0]).pvalue > 1e-3


def test_confined_samples_and_distributions(members):
    X, _ = toy(30, seed=1)
    atoms = np.array([-0.3, 0.2, 0.9, 1.7])
    pool = PooledModel(members, np.array([0.3, 0.7]), None, (ResponseShape(atoms=atoms),))
    free = replace(pool, shapes=FREE)
    np.testing.assert_array_equal(pool.sample(X, 9, 7, 0, 1, 0), pool.shapes[0](free.sample(X, 9, 7, 0, 1, 0)))
    np.testing.assert_array_equal(pool.distribution(X, 55).values, pool.shapes[0](free.distribution(X, 55).values))


def test_each_response_has_its_own_shape():
    X, y = toy(d=2)
    member = tiny("flow").fit(X, y).model_
    shapes = (ResponseShape(), ResponseShape(low=0.5))
    pool = PooledModel((member,), np.ones(1), None, shapes)
    samples = pool.sample(X, 9, 7, 0, 1, 0)
    assert samples[:, :, 1].min() == 0.5
    assert samples[:, :, 0].min() < 0.0
    points = pool.distribution(X, 64).points
    assert points.shape == (120, 64, 2)
    assert points[:, :, 1].min() == 0.5


@pytest.fixture(scope="module")
def correction():
    theta = np.zeros((16, 4))
    theta[1, 0], theta[1, 1] = -0.45, 0.1  # distributions are too wide, narrow ones most
    return Correction(theta, np.linspace(0.0, 2.0, 101))


def test_a_recalibrated_pool_has_recalibrated_distributions(pool, correction):
    X, _ = toy(8, seed=1)
    plain, distribution = pool.distribution(X, 55), replace(pool, correction=correction).distribution(X, 55)
    np.testing.assert_array_equal(distribution.values, correction(plain).values)
    np.testing.assert_array_equal(distribution.levels, plain.levels)
    assert (distribution.std() < 0.9 * plain.std()).all()


def test_recalibrated_distributions_and_samples_stay_where_the_response_can_be(pool, correction):
    X, _ = toy(8, seed=1)
    atoms = np.arange(-8.0, 8.0)
    confined = replace(pool, correction=correction, shapes=(ResponseShape(atoms),))
    assert np.isin(confined.distribution(X, 55).values, atoms).all()
    assert np.isin(estimator(confined).sample(X, 500, seed=0), atoms).all()


def test_recalibrated_samples_follow_the_recalibrated_distribution(pool, correction):
    X, _ = toy(3, seed=1)
    model = estimator(replace(pool, correction=correction))
    samples, distribution = model.sample(X, 4000, seed=5), model.predict_distribution(X)
    for i in range(3):
        assert kstest(samples[:, i], lambda t, i=i: distribution[i].cdf(t[None, :])[0]).pvalue > 1e-3
        plain = pool.distribution(X[[i]], 377)
        assert kstest(samples[:, i], lambda t, plain=plain: plain.cdf(t[None, :])[0]).pvalue < 1e-6


def test_recalibrated_samples_are_independent_of_pieces(pool, correction):
    X, _ = toy(30, seed=1)
    model = estimator(replace(pool, correction=correction))
    whole = model.sample(X, 9, seed=5)
    np.testing.assert_array_equal(model.sample(X[11:], 9, seed=5, first_row=11), whole[:, 11:])
    np.testing.assert_array_equal(model.set_params(n_jobs=2).sample(X, 9, seed=5), whole)


def test_first_stages_that_members_share_are_asked_once(members):
    X, _ = toy(10, seed=1)
    first = members[0]
    asked = []

    def location(rows):
        asked.append(len(rows))
        return first.first_stage.location(rows)

    first_stage = replace(first.first_stage, location=location)
    twins = tuple(replace(first, first_stage=replace(first_stage)) for _ in range(3))
    values = PooledModel(twins, np.full(3, 1.0 / 3.0), None, FREE).distribution(X, 30).values
    assert asked == [10]
    single = PooledModel((first,), np.ones(1), None, FREE).distribution(X, 10).values
    np.testing.assert_array_equal(values, np.repeat(single, 3, axis=1))


@st.composite
def weight_vectors(draw, least=0.0):
    raw = np.array(draw(st.lists(st.floats(least, 1.0), min_size=1, max_size=6)))
    assume(raw.sum() > 1e-3)
    return raw / raw.sum()


@settings(deadline=None)
@given(weight_vectors(0.01), st.integers(1, 2000))
def test_any_first_samples_are_divided_by_weight(weights, n):
    counts = np.bincount(sample_members(weights, n), minlength=len(weights))
    # random members would be off by the square root of n
    assert np.abs(counts - n * weights).max() <= 2.0 + np.log(n)
    np.testing.assert_array_equal(sample_members(weights, n), sample_members(weights, 2000)[:n])


@pytest.fixture(scope="module")
def discrete_pool():
    X, y = toy()
    member = tiny("flow").fit(X, y).model_
    return PooledModel((member,), np.ones(1), None, (ResponseShape(np.arange(-8.0, 8.0)),))


CORRECTION = Correction(np.pad([[0.0], [-0.45]], ((0, 14), (0, 3))), np.linspace(0.0, 2.0, 101))


@pytest.mark.parametrize("correction", [None, CORRECTION], ids=["as it is", "recalibrated"])
def test_distributions_and_samples_stay_within_the_atoms(discrete_pool, correction):
    X, _ = toy(40, seed=1)
    model, shape = estimator(replace(discrete_pool, correction=correction)), discrete_pool.shapes[0]
    distribution = model.predict_distribution(X)
    assert np.isin(distribution.values, shape.atoms).all()
    samples = model.sample(X, 500, seed=0)
    assert samples.shape == (500, 40)
    assert np.isin(samples, shape.atoms).all()
    # a value is sampled as often as the distribution says: 4.5 standard errors
    for value in (-1.0, 0.0, 1.0, 2.0):
        p = distribution.pmf(value)
        error = 4.5 * np.sqrt(np.mean(p * (1.0 - p)) / samples.size) + 1.0 / distribution.values.shape[1]
        assert np.mean(samples == value) == pytest.approx(p.mean(), abs=error)


def test_distributions_and_samples_do_not_depend_on_the_rows_beside_them(discrete_pool):
    X, _ = toy(30, seed=1)
    model = estimator(discrete_pool)
    whole, distribution = model.sample(X, 9, seed=5), model.predict_distribution(X)
    np.testing.assert_array_equal(model.sample(X[11:], 9, seed=5, first_row=11), whole[:, 11:])
    np.testing.assert_array_equal(model.predict_distribution(X[::-1]).values, distribution.values[::-1])
    np.testing.assert_array_equal(model.sample(X, 20, seed=5)[:9], whole)


def test_climatology_takes_its_share_of_points_and_samples(members):
    X, _ = toy(6, seed=1)
    climatology = Climatology(np.array([[100.0], [200.0]]), 0.4)
    pool = PooledModel(members[:1], np.array([0.6]), None, FREE, None, climatology)
    values = pool.distribution(X, 50).values
    assert (np.sum(values == 100.0, axis=1) == 10).all()
    assert (np.sum(values == 200.0, axis=1) == 10).all()
    samples = pool.sample(X, 100, 7, 0, 1, 0)
    assert np.mean(samples >= 100.0) == pytest.approx(0.4, abs=0.02)
    np.testing.assert_array_equal(samples[:, 4:], pool.sample(X[4:], 100, 7, 4, 1, 0))
    assert not pool.is_climatology


def test_a_pool_of_climatology_alone(members):
    X, _ = toy(5, seed=1)
    pool = PooledModel(members[:1], np.zeros(1), None, FREE, None, Climatology(np.array([[1.0], [3.0]])))
    assert pool.is_climatology
    np.testing.assert_array_equal(pool.distribution(X, 4).values, np.tile([1.0, 1.0, 3.0, 3.0], (5, 1)))
    assert set(np.unique(pool.sample(X, 50, 7, 0, 1, 0))) == {1.0, 3.0}
