"""Stacks: non-negative weights, no worse than the best member."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from diffgbm.first_stage.cross_fitting import CrossFitted
from diffgbm.first_stage.stack import LEAST, combined, sparse_weights


def crossed(columns, gained=None):
    """Members whose predictions are the columns of a table."""
    gained = np.zeros(columns.shape[1]) if gained is None else gained
    return [
        CrossFitted(lambda X, c=c: c[:, None], c[:, None], np.array([g]))
        for c, g in zip(columns.T, gained, strict=True)
    ]


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_a_stack_is_no_worse_than_its_best_member(k, seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=60)
    columns = y[:, None] * rng.uniform(0.2, 1.2, k) + rng.normal(size=(60, k)) * rng.uniform(0.1, 2.0, k)
    stack = combined(crossed(columns), y[:, None])
    weights = stack.predictor.weights
    assert (weights >= 0.0).all()
    error = np.mean((y - stack.out_of_fold[:, 0]) ** 2)
    alone = np.mean((y[:, None] - columns) ** 2, axis=0).min()
    assert error <= 1.01 * alone
    assume(len(weights) == k and (weights > LEAST * weights.sum()).all())  # no member was left out
    assert error <= alone * (1.0 + 1e-9)
    np.testing.assert_allclose(stack.predictor(y[:, None]), stack.out_of_fold)


def test_a_stack_finds_the_weights():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(200, 3))
    y = columns @ [0.7, 0.0, 0.3]
    np.testing.assert_allclose(sparse_weights(columns, y), [0.7, 0.0, 0.3], atol=1e-12)
    stack = combined(crossed(columns, [1.0, 5.0, 2.0]), y[:, None])
    assert len(stack.predictor.members) == 2
    np.testing.assert_allclose(stack.gained, 0.7**2 * 1.0 + 0.3**2 * 2.0)


def test_a_stack_of_useless_members_predicts_zero():
    y = np.random.default_rng(0).normal(size=(50, 1))
    np.testing.assert_array_equal(combined(crossed(-y), y).out_of_fold, 0.0 * y)


def test_heavy_rows_decide_the_weights_of_a_stack():
    rng = np.random.default_rng(0)
    y, noise = rng.normal(size=100), 3.0 * rng.normal(size=100)
    first = np.arange(100) < 50
    columns = np.column_stack([np.where(first, y, noise), np.where(first, noise, y)])
    weights = combined(crossed(columns), y[:, None], np.where(first, 1.0, 1e-6)).predictor.weights[:, 0]
    np.testing.assert_allclose(weights, [1.0], atol=1e-3)
