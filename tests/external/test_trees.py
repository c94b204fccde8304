"""The families that need CatBoost, NGBoost or XGBoost."""

import numpy as np
import optuna
import pytest
from benchmarks.families import FAMILIES
from benchmarks.families.ibug import distribution

from tests.benchmarks.family_checks import SEEDS, check_determinism, check_distribution, draw, fitted

PARAMS = {
    "catboost": {"iterations": 200, "learning_rate": 0.05, "depth": 4},
    "ngboost": {"n_estimators": 100, "learning_rate": 0.05},
    "ibug": {"k": 40, "n_estimators": 100, "learning_rate": 0.05, "max_depth": 3},
}
SCALE_RATIO = {"catboost": 1.5, "ngboost": 1.5, "ibug": 1.1}
"""iBUG finds neighbours by the leaves of its mean model, which rarely split where only the scale changes."""
CHEAP = {"catboost": {"iterations": 2}, "ngboost": {"n_estimators": 2}, "ibug": {"n_estimators": 2}}


@pytest.mark.parametrize("name", PARAMS)
def test_they_are_installed(name):
    assert FAMILIES[name].available()


@pytest.mark.parametrize("name", PARAMS)
def test_they_recover_a_heteroscedastic_distribution(name):
    check_distribution(fitted(name, PARAMS[name]), factor=1.2, scale_ratio=SCALE_RATIO[name])


@pytest.mark.parametrize("name", PARAMS)
def test_they_are_deterministic(name):
    check_determinism(name, PARAMS[name])


@pytest.mark.parametrize("name", PARAMS)
def test_suggested_configurations_build_and_fit(name):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    X, y = draw(60, seed=3)
    for _ in range(5):
        params = FAMILIES[name].suggest(study.ask()) | CHEAP[name]
        samples = FAMILIES[name].build(params, SEEDS, 1).fit(X, y).sample(X[:4], 6)
        assert samples.shape == (6, 4)
        assert np.isfinite(samples).all()


def test_hyperparameters_arrive():
    catboost = FAMILIES["catboost"].build(PARAMS["catboost"], SEEDS, 1).regressor.get_params()
    assert {key: catboost[key] for key in PARAMS["catboost"]} == PARAMS["catboost"]
    assert (catboost["loss_function"], catboost["random_seed"]) == ("RMSEWithUncertainty", SEEDS.model)
    ngboost = FAMILIES["ngboost"].build(PARAMS["ngboost"], SEEDS, 1).regressor
    assert (ngboost.n_estimators, ngboost.learning_rate, ngboost.Dist.__name__) == (100, 0.05, "Normal")
    booster = fitted("ibug", PARAMS["ibug"], n=60).mean.booster
    assert booster.num_boosted_rounds() == 100


def test_ibug_takes_mean_and_neighbours_from_all_rows():
    X, y = draw(200, seed=4)
    model = FAMILIES["ibug"].build(PARAMS["ibug"], SEEDS, 1).fit(X, y)
    mean, variance = model.mean.predict(X[:30], model.k)
    assert model.mean.leaves.shape == (200, 100)
    samples = model.sample(X[:30], 4000)
    std = np.sqrt(model.calibration(variance))
    # errors of a mean and a variance of 4000 normal draws, at five standard deviations
    assert np.all(np.abs(samples.mean(axis=0) - mean) < 5.0 * std / np.sqrt(4000))
    assert np.all(np.abs(samples.var(axis=0) / std**2 - 1.0) < 5.0 * np.sqrt(2.0 / 4000))


def test_ibugs_neighbours_share_leaves():
    # two groups that the first split separates: every neighbour of a row is in its own group
    X = np.repeat([[0.0], [1.0]], 60, axis=0)
    rng = np.random.default_rng(0)
    y = np.where(X[:, 0] > 0.5, 10.0 + rng.standard_normal(120), 0.1 * rng.standard_normal(120))
    model = FAMILIES["ibug"].build({**PARAMS["ibug"], "k": 60}, SEEDS, 1).fit(X, y)
    _, variance = model.mean.predict(np.array([[0.0], [1.0]]), 60)
    np.testing.assert_allclose(variance, [y[:60].var(), y[60:].var()], rtol=1e-9)


def test_the_distribution_of_xgboost_is_one_that_is_installed():
    from importlib.metadata import version

    assert version(distribution())
    assert FAMILIES["ibug"].packages[0] == distribution()
