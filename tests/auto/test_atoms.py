"""Values with room: laws on few values whose intervals cover what they say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kstest

from diffgbm import AutoDiffGBM
from diffgbm.auto.acceptance import helpful_shapes
from diffgbm.auto.atoms import ROOM, ResponseShape
from diffgbm.auto.pool import point_crps
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.auto.recalibration import Correction
from diffgbm.distributions.scalar import PredictiveDistribution
from diffgbm.engine import row_uniforms
from tests.auto.tiny_auto import TINY, auto, small_trees  # noqa: F401
from tests.conftest import tiny, toy

VALUES = st.lists(st.integers(-50, 50), min_size=2, max_size=9, unique=True)
POINTS = arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 30)), elements=st.floats(-60.0, 60.0))
N = 20_000


def roomy(values):
    return ResponseShape(np.sort(np.array(values, dtype=float))).with_room()


def places(n, seed=0):
    return np.random.default_rng(seed).uniform(size=n)


def right_distributions(n=N, m=400, seed=0):
    """Points (n, m) of laws that are heaps on four values, and observations that these laws are right about."""
    rng = np.random.default_rng(seed)
    chance = rng.dirichlet([0.5, 1.0, 1.0, 0.5], size=n)
    y = (rng.uniform(size=n)[:, None] > np.cumsum(chance, axis=1)).sum(axis=1).astype(float)
    level = (np.arange(m) + 0.5) / m
    value = (level[None, :, None] > np.cumsum(chance, axis=1)[:, None, :]).sum(axis=2)
    return np.sort(value + 0.03 * rng.normal(size=(n, m)), axis=1), y


def coverage(points, y, level):
    low, high = PredictiveDistribution.from_points(points).interval(level).T
    return float(np.mean((low <= y) & (y <= high)))


def test_room_is_a_thousandth_of_the_smallest_distance():
    shape = roomy([3.0, 5.0, 5.5])
    assert shape.room == pytest.approx(ROOM * 0.5)
    assert str(shape) == "3 values from 3 to 5.5, give or take 0.0005"
    assert ResponseShape(low=1.0).with_room() == ResponseShape(low=1.0)


@given(POINTS, VALUES)
def test_points_are_spread_evenly_over_the_room_of_their_value(points, values):
    points, shape, u = np.sort(points, axis=1), roomy(values), places(len(points))
    moved = shape.spread(points, u)
    np.testing.assert_array_equal(shape(moved), shape(points))  # each value keeps its probability
    assert (np.diff(moved, axis=1) >= 0.0).all()
    for row, middle, share in zip(moved, shape(points), u, strict=True):
        for value in np.unique(middle):
            own = row[middle == value]
            even = (np.arange(len(own)) + 0.5) / len(own)
            np.testing.assert_allclose(own, value + shape.room * (even - share), atol=1e-12)


@given(POINTS, VALUES)
def test_single_points_are_pulled_into_the_room_once(points, values):
    shape, u = roomy(values), places(len(points))
    moved = shape.pull(points, u)
    np.testing.assert_array_equal(shape(moved), shape(points))
    below = shape(points) - moved
    assert (below <= shape.room * u[:, None] + 1e-12).all()
    assert (below >= shape.room * (u[:, None] - 1.0) - 1e-12).all()
    np.testing.assert_array_equal(shape.pull(moved, u), moved)
    # a value is in its own room, and so are the points of laws
    np.testing.assert_array_equal(shape.pull(shape(points), u), shape(points))
    distribution = shape.spread(np.sort(points, axis=1), u)
    np.testing.assert_allclose(shape.pull(distribution, u), distribution, atol=1e-12)


def test_right_distributions_cover_what_they_say():
    """On the values themselves intervals of 50% cover far more; 4.5 standard errors are allowed."""
    points, y = right_distributions()
    shape = roomy([0.0, 1.0, 2.0, 3.0])
    moved = shape.spread(points, places(len(y), 1))
    for level in (0.5, 0.8, 0.9, 0.95):
        error = 4.5 * np.sqrt(level * (1.0 - level) / len(y))
        assert coverage(moved, y, level) == pytest.approx(level, abs=error)
    assert coverage(shape(points), y, 0.5) > 0.8
    assert coverage(points, y, 0.5) > 0.55
    pit = PredictiveDistribution.from_points(moved).pit(y)
    assert kstest(pit, "uniform").pvalue > 1e-3
    assert kstest(PredictiveDistribution.from_points(points).pit(y), "uniform").pvalue < 1e-9


def test_room_costs_next_to_nothing():
    points, y = right_distributions(2000)
    shape = roomy([0.0, 1.0, 2.0, 3.0])
    exact, moved = (point_crps(p, y).mean() for p in (shape(points), shape.spread(points, places(len(y)))))
    # the room is a uniform law of width r, at most r from the value
    assert abs(moved - exact) <= shape.room
    assert moved < point_crps(points, y).mean()


def test_values_are_given_room_where_that_helps():
    points, y = right_distributions(2000)
    (shape,) = helpful_shapes(y[:, None], y[:, None], points[:, :, None], None, places(len(y)))
    np.testing.assert_array_equal(shape.atoms, [0.0, 1.0, 2.0, 3.0])
    assert shape.room == pytest.approx(ROOM)
    (without,) = helpful_shapes(y[:, None], y[:, None], points[:, :, None], None, None)
    assert not without


@pytest.mark.parametrize("why", ["CRPS", "coverage"])
def test_and_nowhere_else(why):
    points, y = right_distributions(2000)
    if why == "CRPS":  # laws between two values, nearer to the one that is rarer
        points = np.tile(np.linspace(1.4, 1.49, 400), (len(y), 1))
        y = np.tile([1.0, 1.0, 2.0, 2.0, 2.0], len(y) // 5)
    else:  # laws that cover what they say, and would not if they were kept to values that they do not believe in
        rng = np.random.default_rng(0)
        centre = y + rng.normal(size=len(y))
        points = np.sort(centre[:, None] + rng.normal(size=points.shape), axis=1)
    (shape,) = helpful_shapes(y[:, None], y[:, None], points[:, :, None], None, places(len(y)))
    assert not shape


@pytest.fixture(scope="module")
def pool():
    X, y = toy()
    member = tiny("flow").fit(X, y).model_
    return PooledModel((member,), np.ones(1), None, (roomy(np.arange(-8.0, 8.0)),))


CORRECTION = Correction(np.pad([[0.0], [-0.45]], ((0, 14), (0, 3))), np.linspace(0.0, 2.0, 101))


def estimator(pool):
    model = AutoDiffGBM(n_jobs=1)
    model.pool_ = pool
    return model


@pytest.mark.parametrize("correction", [None, CORRECTION], ids=["as it is", "recalibrated"])
def test_distributions_and_samples_stay_in_the_room_of_the_values(pool, correction):
    X, _ = toy(40, seed=1)
    model, shape, u = estimator(replace(pool, correction=correction)), pool.shapes[0], row_uniforms(X)
    distribution = model.predict_distribution(X)
    np.testing.assert_allclose(shape.pull(distribution.values, u), distribution.values, atol=1e-12)
    samples = model.sample(X, 500, seed=0)
    assert samples.shape == (500, 40)
    np.testing.assert_allclose(shape.pull(samples.T, u), samples.T, atol=1e-12)
    # a value is sampled as often as the law says: 4.5 standard errors
    for value in (-1.0, 0.0, 1.0, 2.0):
        p = distribution.prob_between(value - 0.5, value + 0.5)
        error = 4.5 * np.sqrt(np.mean(p * (1.0 - p)) / samples.size) + 1.0 / distribution.values.shape[1]
        assert np.mean(shape(samples) == value) == pytest.approx(p.mean(), abs=error)


def test_distributions_and_samples_do_not_depend_on_the_rows_beside_them(pool):
    X, _ = toy(30, seed=1)
    model = estimator(pool)
    whole, distribution = model.sample(X, 9, seed=5), model.predict_distribution(X)
    np.testing.assert_array_equal(model.sample(X[11:], 9, seed=5, first_row=11), whole[:, 11:])
    np.testing.assert_array_equal(model.predict_distribution(X[::-1]).values, distribution.values[::-1])
    np.testing.assert_array_equal(model.sample(X, 20, seed=5)[:9], whole)


def grades(n=600):
    """Three values, of which one is all but certain at many rows."""
    X, _ = toy(n)
    return X, np.digitize(X[:, 0] + 0.02 * X[:, 1], [0.35, 0.7]) * 0.1 + 0.1


def test_automatic_fits_give_values_room_and_say_so():
    X, y = grades()
    preset = replace(TINY, recipes=("edm",), noisy_rows=4000)
    model = auto(preset).fit(X, y)
    assert model.pool_.shapes[0].room == pytest.approx(ROOM * 0.1)
    assert "kept to 3 values from 0.1 to 0.3, give or take 0.0001" in model.explain()
    shape, u = model.pool_.shapes[0], row_uniforms(X[model.oob_rows_])
    np.testing.assert_allclose(
        shape.pull(model.oob_distribution_.values, u), model.oob_distribution_.values, atol=1e-12
    )
    np.testing.assert_allclose(shape(model.sample(X, 5, seed=0)), model.sample(X, 5, seed=0), atol=shape.room)
    for discrete in (True, False):
        assert auto(preset, discrete=discrete).fit(X, y).pool_.shapes[0].room == 0.0


def test_a_column_of_responses_has_no_room():
    X, y = grades(240)
    model = auto().fit(X, y[:, None])
    assert all(shape.room == 0.0 for shape in model.pool_.shapes)
    assert model.sample(X[:4], 3, seed=0).shape == (3, 4, 1)
