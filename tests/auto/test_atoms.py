"""Shapes of responses: few values and limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from diffgbm import metrics
from diffgbm.auto.atoms import MAX_ATOMS, ROWS_PER_ATOM, ResponseShape
from diffgbm.auto.pool import point_crps
from diffgbm.distributions.scalar import PredictiveDistribution
from diffgbm.distributions.support import Support
from tests.auto.shapes import correct_distributions


def test_few_values_are_noticed():
    y = np.repeat([3.0, 5.0, 8.0], ROWS_PER_ATOM)
    shape = ResponseShape.of(y)
    np.testing.assert_array_equal(shape.atoms, [3.0, 5.0, 8.0])
    assert str(shape) == "3 values from 3 to 8"
    np.testing.assert_array_equal(shape(np.array([[-9.0, 3.9, 4.1], [6.4, 6.6, 99.0]])), [[3, 3, 5], [5, 8, 8]])


def test_gaps_between_counts_are_filled_and_codes_are_not_counts():
    counts = np.repeat([0.0, 1.0, 2.0, 3.0, 4.0, 6.0], ROWS_PER_ATOM)
    np.testing.assert_array_equal(ResponseShape.of(counts).atoms, np.arange(7.0))
    coded = np.repeat([1.0, 2.0, 3.0, 4.0, 999.0], ROWS_PER_ATOM)
    np.testing.assert_array_equal(ResponseShape.of(coded).atoms, [1.0, 2.0, 3.0, 4.0, 999.0])
    tens = np.repeat([0.0, 10.0, 20.0, 40.0], ROWS_PER_ATOM)
    np.testing.assert_array_equal(ResponseShape.of(tens).atoms, [0.0, 10.0, 20.0, 40.0])


def test_counts_between_given_limits_may_exceed_those_that_were_seen():
    shape = ResponseShape.of(np.repeat([0.0, 1.0, 2.0, 3.0], ROWS_PER_ATOM))
    open_above = shape.as_counts(Support(0.0))
    assert open_above.support.integers
    np.testing.assert_array_equal(open_above(np.array([-2.0, 1.4, 7.6])), [0.0, 1.0, 8.0])
    np.testing.assert_array_equal(shape(np.array([7.6])), [3.0])
    prices = ResponseShape.of(np.repeat([1.5, 2.5, 3.5], ROWS_PER_ATOM))
    assert prices.as_counts(Support(0.0)) is prices


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


def test_correct_distributions_attain_nominal_coverage():
    """Randomised at atoms; intervals that contain whole atoms cover far more. 4.5 standard errors are allowed."""
    points, y = correct_distributions(4000, 200)
    shape = ResponseShape(np.arange(4.0))
    distribution = PredictiveDistribution.from_points(shape(points), support=shape.support)
    for level in (0.5, 0.8, 0.9, 0.95):
        error = 4.5 * np.sqrt(level * (1.0 - level) / len(y))
        assert metrics.coverage(distribution, y, level) == pytest.approx(level, abs=error)
    low, high = distribution.interval(0.5).T
    assert np.mean((low <= y) & (y <= high)) > 0.8
    assert metrics.coverage(PredictiveDistribution.from_points(points), y, 0.5) > 0.54
    assert metrics.pit_ks(distribution, y).pvalue > 1e-3
    assert metrics.pit_ks(PredictiveDistribution.from_points(points), y).pvalue < 1e-9


def test_supports_of_shapes():
    assert ResponseShape().support is None
    np.testing.assert_array_equal(ResponseShape(np.arange(3.0)).support.atoms, np.arange(3.0))
    limits = ResponseShape(low=0.0).support
    assert (limits.low, limits.high, len(limits.atoms)) == (0.0, np.inf, 0)


def test_responses_that_are_never_negative_have_the_limit_zero():
    positive = ResponseShape.sign_of(np.array([0.5, 2.0]))
    assert (positive.low, positive.limits.low, str(positive)) == (None, 0.0, "at least 0")
    zeros = ResponseShape.sign_of(np.append(np.zeros(2), np.linspace(1.0, 2.0, 50)))
    assert (zeros.low, zeros.limits.low) == (0.0, 0.0)
    assert not ResponseShape.sign_of(np.array([-1e-9, 2.0]))


def test_only_responses_that_pile_up_at_a_limit_have_probability_there():
    points = np.random.default_rng(0).normal(1.0, 1.0, size=(4, 100))
    positive, zeros = (ResponseShape.sign_of(y) for y in (np.ones(50), np.append(np.zeros(5), np.ones(50))))
    inside, piled = positive.confined(points), zeros.confined(points)
    assert inside.min() > 0.0
    np.testing.assert_array_equal(piled, np.sort(np.maximum(points, 0.0), axis=1))
    np.testing.assert_array_equal(positive(points), np.maximum(points, 0.0))


@given(arrays(float, (3, 9), elements=st.floats(-5.0, 5.0)), arrays(float, 3, elements=st.floats(0.0, 5.0)))
def test_clipping_at_a_limit_never_raises_the_crps(points, y):
    clipped = ResponseShape(low=0.0)(np.sort(points, axis=1))
    assert (point_crps(clipped, y) <= point_crps(np.sort(points, axis=1), y) + 1e-12).all()
