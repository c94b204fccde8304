"""Shapley values have closed forms for additive functions and products."""

import numpy as np
import pytest

from diffgbm.fitting.shapley import Columns, background_size, shapley_plan, shapley_values

RNG = np.random.default_rng(0)
X, BACKGROUND = RNG.normal(size=(4, 5)), RNG.normal(size=(7, 5))
FIVE = Columns((0, 1, 2, 3, 4), (1, 1, 1, 1, 1))
EXACT, SAMPLED = 10_000, 100


def additive(rows: np.ndarray) -> np.ndarray:
    return (rows @ np.array([1.0, -2.0, 0.5, 0.0, 3.0]))[:, None]


def product(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([rows[:, 0] * rows[:, 1], np.sin(rows).sum(axis=1) * rows[:, 4]])


@pytest.mark.parametrize("max_evals", [EXACT, SAMPLED])
def test_an_additive_function_gives_its_terms(max_evals: int) -> None:
    values, base = shapley_values(additive, X, BACKGROUND, FIVE, max_evals, seed=0)
    expected = (X - BACKGROUND.mean(axis=0)) * np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    np.testing.assert_allclose(values[:, :, 0], expected, atol=1e-12)
    np.testing.assert_allclose(base, additive(BACKGROUND).mean(axis=0))


def test_a_product_is_shared_as_shapley_says() -> None:
    values, _ = shapley_values(product, X, BACKGROUND, FIVE, EXACT, seed=0)
    b = BACKGROUND
    first = [np.mean(0.5 * (x[0] - b[:, 0]) * (x[1] + b[:, 1])) for x in X]
    np.testing.assert_allclose(values[:, 0, 0], first)
    np.testing.assert_allclose(values[:, 2:, 0], 0.0, atol=1e-12)


@pytest.mark.parametrize("max_evals", [EXACT, SAMPLED, 1])
def test_values_add_up_to_the_difference(max_evals: int) -> None:
    values, base = shapley_values(product, X, BACKGROUND, FIVE, max_evals, seed=1)
    np.testing.assert_allclose(values.sum(axis=1), product(X) - base, atol=1e-10)


def test_random_orders_approach_the_exact_values() -> None:
    exact, _ = shapley_values(product, X, BACKGROUND, FIVE, EXACT, seed=0)
    errors = []
    for max_evals in (70, 200):
        sampled, _ = shapley_values(product, X, BACKGROUND, FIVE, max_evals, seed=0)
        errors.append(np.abs(sampled - exact).max())
    assert 0.0 < errors[1] < errors[0] < 1.0


def test_columns_of_several_numbers_share_one_value() -> None:
    grouped = Columns((0, 2, 2, 4), (2, 0, 2, 1))  # the second column is not used
    values, base = shapley_values(additive, X, BACKGROUND, grouped, EXACT, seed=0)
    single, _ = shapley_values(additive, X, BACKGROUND, FIVE, EXACT, seed=0)
    assert values.shape == (4, 4, 1)
    np.testing.assert_allclose(values[:, 0], single[:, 0] + single[:, 1])
    np.testing.assert_array_equal(values[:, 1], 0.0)
    np.testing.assert_allclose(values.sum(axis=1), additive(X) - base)


def test_no_column_has_no_value() -> None:
    values, base = shapley_values(additive, X, BACKGROUND, Columns((0,), (0,)), EXACT, seed=0)
    np.testing.assert_array_equal(values, 0.0)
    np.testing.assert_allclose(base, additive(BACKGROUND).mean(axis=0))


def test_evaluations_stay_near_the_budget() -> None:
    assert len(shapley_plan(3, 10, 2000, 0).chosen) == 10 * 8
    assert len(shapley_plan(20, 50, 2000, 0).chosen) == 50 * 2 * 21
    assert background_size(20, 1000, 2000) == 50
    assert background_size(2000, 1000, 2000) == 5
    assert background_size(3, 4, 2000) == 4
