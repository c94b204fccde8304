"""Outliers: found by the gap to all other values, never in a heavy tail."""

import warnings

import numpy as np
import pytest

from diffgbm._util.errors import DiffGBMWarning
from diffgbm.data.outliers import MAX_COUNT, Outliers, farthest, find_outliers, warn_of_outliers, winsorised

TAILS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "Student t, 2 degrees of freedom": lambda rng, n: rng.standard_t(2, n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "lognormal, sigma 2": lambda rng, n: np.exp(2.0 * rng.standard_normal(n)),
    "Pareto, infinite mean": lambda rng, n: rng.pareto(0.7, n),
    "counts": lambda rng, n: rng.poisson(0.3, n).astype(float),
    "zero-inflated": lambda rng, n: np.where(rng.uniform(size=n) < 0.9, 0.0, np.exp(2.0 * rng.standard_normal(n))),
    "rare ones": lambda rng, n: (rng.uniform(size=n) < 0.005).astype(float),
    "constant": lambda rng, n: np.ones(n),
}

INFINITE_MEAN = ("Cauchy", "Pareto, infinite mean")


@pytest.mark.parametrize("name", TAILS)
@pytest.mark.parametrize("n", [30, 800])
def test_no_tail_has_outliers(name, n):
    rng = np.random.default_rng(n)
    found = sum(find_outliers(TAILS[name](rng, n)) is not None for _ in range(300))
    assert found <= (
        7 if name in INFINITE_MEAN else 2
    )  # the rule allows one in 1,000; in the heaviest tails one in 100


@pytest.mark.parametrize("factor", [1e3, 1e6, 1e300])
def test_one_wild_value_is_found_and_moved_next_to_the_others(factor):
    y = np.random.default_rng(0).standard_normal(800) + 3.0
    largest = np.delete(np.abs(y - 3.0), 5).max()
    y[5] *= factor
    found = find_outliers(y)
    assert found is not None
    assert found.rows.tolist() == [5]
    assert found.share > 0.99
    assert largest < found.moved[0] - 3.0 < 2.0 * largest


def test_a_claim_in_cents_is_found_in_a_heavy_tail():
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.exp(8.0 + 1.1 * rng.standard_normal(900))
        y[17] = 40.0 * np.delete(y, 17).max()
        outliers = find_outliers(y)
        found += outliers is not None and outliers.rows.tolist() == [17] and outliers.moved[0] < 0.1 * y[17]
    assert found >= 15


def test_several_outliers_keep_their_order_and_their_side():
    y = np.random.default_rng(1).standard_normal(800)
    y[[3, 4, 5]] = [1e3, -1e6, 1e5]
    found = find_outliers(y)
    assert found.rows.tolist() == [4, 5, 3]
    assert found.moved[0] < 0.0 < found.moved[2] < found.moved[1] < 10.0
    moved, _ = winsorised(y[:, None])
    assert find_outliers(moved[:, 0]) is None  # nothing is left to move


def test_a_group_that_trees_can_learn_is_no_outlier():
    y = np.random.default_rng(2).standard_normal(5000)
    y[: MAX_COUNT + 1] += 1e6
    assert find_outliers(y) is None


def test_few_values_have_no_outliers():
    assert find_outliers(np.array([0.0] * 10 + [1e9])) is None


def test_columns_without_outliers_are_returned_as_they_are():
    y = np.random.default_rng(3).standard_normal((200, 2))
    same, found = winsorised(y)
    assert same is y
    assert found == [None, None]


def test_rows_that_do_not_count_are_not_looked_at():
    y = np.random.default_rng(4).standard_normal((200, 1))
    y[7] = 1e6
    counted = np.arange(200) != 7
    assert winsorised(y, counted)[0] is y
    counted[:5], counted[7] = False, True
    moved, found = winsorised(y, counted)
    assert found[0].rows.tolist() == [7]
    assert abs(moved[7, 0]) < 10.0


def test_the_farthest_are_those_beyond_the_largest_gap():
    y = np.random.default_rng(5).standard_normal(400)
    y[[8, 9]] = [50.0, -60.0]
    assert sorted(farthest(y).tolist()) == [8, 9]


def test_the_warning_names_rows_values_and_remedy():
    y = np.zeros((30, 1))
    y[4] = 12345.0
    outliers = Outliers(np.array([4]), np.array([2.5]), 0.75)
    with pytest.warns(DiffGBMWarning, match=r"1 outlier.*75%.*row d \(12345\).*2\.5.*remove.*arcsinh"):
        warn_of_outliers(y, [outliers], list("abcdefghijklmnopqrstuvwxyzabcd".replace("e", "d")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_outliers(y, [None])


def test_an_outlier_among_few_values_becomes_one_of_them():
    y = np.random.default_rng(6).integers(0, 3, 300).astype(float)
    y[9] = 500.0
    found = find_outliers(y)
    assert found.rows.tolist() == [9]
    assert found.moved.tolist() == [2.0]
