"""Shapes of responses: few values, limits, and atoms of positive width."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kstest

from diffgbm.auto.atoms import ATOM_WIDTH, MAX_ATOMS, ROWS_PER_ATOM, ResponseShape
from diffgbm.auto.pool import point_crps
from diffgbm.distributions.scalar import PredictiveDistribution
from tests.auto.shapes import correct_distributions, uniforms, wide_atoms

VALUES = st.lists(st.integers(-50, 50), min_size=2, max_size=9, unique=True)


POINTS = arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 30)), elements=st.floats(-60.0, 60.0))


def coverage(points, y, level):
    low, high = PredictiveDistribution.from_points(points).interval(level).T
    return float(np.mean((low <= y) & (y <= high)))


def test_few_values_are_noticed():
    y = np.repeat([3.0, 5.0, 8.0], ROWS_PER_ATOM)
    shape = ResponseShape.of(y)
    np.testing.assert_array_equal(shape.atoms, [3.0, 5.0, 8.0])
    assert str(shape) == "3 values from 3 to 8"
    np.testing.assert_array_equal(shape(np.array([[-9.0, 3.9, 4.1], [6.4, 6.6, 99.0]])), [[3, 3, 5], [5, 8, 8]])


@pytest.mark.parametrize(
    "y",
    [
        np.repeat([3.0, 5.0, 8.0], ROWS_PER_ATOM - 1) + np.linspace(0.0, 1e-6, 3 * ROWS_PER_ATOM - 3),
        np.linspace(0.0, 1.0, 500),
        np.full(100, 2.0),
        np.arange(MAX_ATOMS + 1.0).repeat(ROWS_PER_ATOM)[ROWS_PER_ATOM - 1 : -ROWS_PER_ATOM + 1],
    ],
    ids=["nearly equal", "even", "constant", "many values"],
)
def test_other_responses_are_continuous(y):
    shape = ResponseShape.of(y)
    if len(np.unique(y)) == 1:  # a constant piles up at both its limits
        assert (shape.low, shape.high) == (2.0, 2.0)
        return
    assert not shape
    assert str(shape) == "continuous"
    np.testing.assert_array_equal(shape(y), y)


@pytest.mark.parametrize(("low", "high"), [(True, False), (False, True), (True, True)])
def test_a_pile_at_a_limit_is_noticed(low, high):
    y = np.random.default_rng(0).normal(size=1000)
    y = np.clip(y, -1.0 if low else None, 1.5 if high else None)
    shape = ResponseShape.of(y)
    assert shape.low == (-1.0 if low else None)
    assert shape.high == (1.5 if high else None)
    assert str(shape) == " and ".join(["at least -1"] * low + ["at most 1.5"] * high)
    far = shape(np.array([-50.0, 0.3, 50.0]))
    np.testing.assert_array_equal(far, [-1.0 if low else -50.0, 0.3, 1.5 if high else 50.0])


@given(arrays(float, 12, elements=st.floats(-1e6, 1e6)), st.lists(st.integers(-50, 50), min_size=2, unique=True))
def test_confining_moves_to_the_nearest_value_and_is_idempotent(points, values):
    atoms = np.sort(np.array(values, dtype=float))
    shape = ResponseShape(atoms=atoms)
    moved = shape(points)
    np.testing.assert_array_equal(np.abs(points - moved), np.abs(points[:, None] - atoms).min(axis=1))
    np.testing.assert_array_equal(shape(moved), moved)


def test_the_atom_width_is_a_thousandth_of_the_smallest_distance():
    shape = wide_atoms([3.0, 5.0, 5.5])
    assert shape.atom_width == pytest.approx(ATOM_WIDTH * 0.5)
    assert str(shape) == "3 values from 3 to 5.5, atom width 0.0005"
    assert ResponseShape(low=1.0).with_atom_width() == ResponseShape(low=1.0)


@given(POINTS, VALUES)
def test_points_are_evenly_distributed_over_their_atom(points, values):
    points, shape, jitter = np.sort(points, axis=1), wide_atoms(values), uniforms(len(points))
    moved = shape.distribute(points, jitter)
    np.testing.assert_array_equal(shape(moved), shape(points))  # each value keeps its probability
    assert (np.diff(moved, axis=1) >= 0.0).all()
    for row, middle, share in zip(moved, shape(points), jitter, strict=True):
        for value in np.unique(middle):
            inside = row[middle == value]
            even = (np.arange(len(inside)) + 0.5) / len(inside)
            np.testing.assert_allclose(inside, value + shape.atom_width * (even - share), atol=1e-12)


@given(POINTS, VALUES)
def test_values_are_clipped_to_their_atom_once(points, values):
    shape, jitter = wide_atoms(values), uniforms(len(points))
    moved = shape.clip(points, jitter)
    np.testing.assert_array_equal(shape(moved), shape(points))
    below = shape(points) - moved
    assert (below <= shape.atom_width * jitter[:, None] + 1e-12).all()
    assert (below >= shape.atom_width * (jitter[:, None] - 1.0) - 1e-12).all()
    np.testing.assert_array_equal(shape.clip(moved, jitter), moved)
    # an atom contains its value, and the points of distributions that were moved to it
    np.testing.assert_array_equal(shape.clip(shape(points), jitter), shape(points))
    distribution = shape.distribute(np.sort(points, axis=1), jitter)
    np.testing.assert_allclose(shape.clip(distribution, jitter), distribution, atol=1e-12)


def test_correct_distributions_attain_nominal_coverage():
    """On the values themselves intervals of 50% cover far more; 4.5 standard errors are allowed."""
    points, y = correct_distributions()
    shape = wide_atoms([0.0, 1.0, 2.0, 3.0])
    moved = shape.distribute(points, uniforms(len(y), 1))
    for level in (0.5, 0.8, 0.9, 0.95):
        error = 4.5 * np.sqrt(level * (1.0 - level) / len(y))
        assert coverage(moved, y, level) == pytest.approx(level, abs=error)
    assert coverage(shape(points), y, 0.5) > 0.8
    assert coverage(points, y, 0.5) > 0.55
    pit = PredictiveDistribution.from_points(moved).pit(y)
    assert kstest(pit, "uniform").pvalue > 1e-3
    assert kstest(PredictiveDistribution.from_points(points).pit(y), "uniform").pvalue < 1e-9


def test_the_atom_width_hardly_changes_the_crps():
    points, y = correct_distributions(2000)
    shape = wide_atoms([0.0, 1.0, 2.0, 3.0])
    exact, moved = (point_crps(p, y).mean() for p in (shape(points), shape.distribute(points, uniforms(len(y)))))
    # an atom is a uniform distribution of width r, at most r from the value
    assert abs(moved - exact) <= shape.atom_width
    assert moved < point_crps(points, y).mean()
