"""Quantile LightGBM: quantiles that never cross, an inverse CDF with the tails that are documented."""

import numpy as np
import optuna
import pytest
from benchmarks.families import FAMILIES
from benchmarks.families.qreg_lightgbm import inverse_cdf, levels_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from tests.benchmarks.family_checks import SEEDS, check_determinism, check_distribution, draw, fitted

PARAMS = {"quantile_count": 24, "n_estimators": 60, "learning_rate": 0.1, "num_leaves": 15}


def sorted_rows(count):
    values = arrays(np.float64, (3, count), elements=st.floats(-100.0, 100.0, width=32))
    return values.map(lambda rows: np.sort(rows, axis=1))


def test_levels_are_the_even_inner_ones():
    np.testing.assert_allclose(levels_of(49), np.arange(0.02, 0.99, 0.02))
    np.testing.assert_allclose(levels_of(24), np.arange(0.04, 0.97, 0.04))


@given(quantiles=st.integers(3, 49).flatmap(sorted_rows), u=st.lists(st.floats(1e-12, 1.0 - 1e-12), min_size=2))
@settings(deadline=None)
def test_quantile_functions_never_decrease(quantiles, u):
    u = np.sort(u)
    values = inverse_cdf(quantiles, np.repeat(u[:, None], len(quantiles), axis=1))
    assert np.isfinite(values).all()
    assert np.all(np.diff(values, axis=0) >= -1e-9)


@given(quantiles=sorted_rows(30))
@settings(deadline=None)
def test_between_the_levels_it_is_linear(quantiles):
    levels = levels_of(30)
    u = np.linspace(levels[0], levels[-1], 101)
    values = inverse_cdf(quantiles, np.repeat(u[:, None], 3, axis=1))
    for row in range(3):
        np.testing.assert_allclose(values[:, row], np.interp(u, levels, quantiles[row]), atol=1e-9)


@given(mean=st.floats(-5.0, 5.0), std=st.floats(0.01, 10.0), count=st.integers(24, 49))
@settings(deadline=None)
def test_tails_of_a_normal_distribution_are_exact(mean, std, count):
    truth = norm(mean, std)
    quantiles = truth.ppf(levels_of(count))[None]
    ends = 1.0 / (count + 1)
    u = np.concatenate([np.geomspace(1e-9, ends, 20), 1.0 - np.geomspace(1e-9, ends, 20)])
    np.testing.assert_allclose(inverse_cdf(quantiles, u[:, None])[:, 0], truth.ppf(u), rtol=1e-6, atol=1e-6 * std)


def test_tails_have_the_scale_of_the_outer_quantiles_of_their_own_side():
    quantiles = np.concatenate([np.zeros(21), [1.0, 2.0, 3.0]])[None]  # all other quantiles are equal
    low, high = inverse_cdf(quantiles, np.array([[1e-6], [1.0 - 1e-6]]))[:, 0]
    assert low == 0.0
    z = norm.ppf([22 / 25, 24 / 25, 1.0 - 1e-6])
    np.testing.assert_allclose(high, 3.0 + 2.0 / (z[1] - z[0]) * (z[2] - z[1]), rtol=1e-6)


def test_equal_quantiles_are_a_point():
    assert np.all(inverse_cdf(np.full((2, 24), 7.0), np.array([[1e-9, 0.5], [0.3, 1.0 - 1e-9]])) == 7.0)


def test_fitted_quantiles_do_not_cross_and_samples_have_them():
    model = fitted("qreg_lightgbm", PARAMS)
    X, _ = draw(40, seed=5)
    quantiles = model.quantiles(X)
    assert quantiles.shape == (40, 24)
    assert np.all(np.diff(quantiles, axis=1) >= 0.0)
    raw = np.column_stack([booster.predict(X) for booster in model.boosters])
    assert np.any(np.diff(raw, axis=1) < 0.0)  # which they did before they were sorted
    below = (model.sample(X, 2000)[:, None, :] <= quantiles.T).mean(axis=0)
    # each share has a standard deviation of at most 0.5/sqrt(2000); largest of 24 x 40, at six of them
    gaps = np.diff(quantiles, axis=1, append=np.inf).T > 0.0  # equal quantiles share their mass
    assert np.all(np.abs(below - levels_of(24)[:, None])[gaps] < 3.0 / np.sqrt(2000))


def test_it_recovers_a_heteroscedastic_distribution():
    check_distribution(fitted("qreg_lightgbm", PARAMS), factor=1.25)


def test_it_is_deterministic():
    check_determinism("qreg_lightgbm", PARAMS)


@pytest.mark.parametrize("seed", range(3))
def test_suggested_configurations_have_the_suggested_levels(seed):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    params = FAMILIES["qreg_lightgbm"].suggest(study.ask())
    X, y = draw(60, seed=3)
    model = FAMILIES["qreg_lightgbm"].build({**params, "n_estimators": 2}, SEEDS, 1).fit(X, y)
    assert model.quantiles(X[:4]).shape == (4, params["quantile_count"])
