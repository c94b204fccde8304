"""LightGBM as a first-stage model: its parameters, early stopping, weights and categories."""

import numpy as np

from diffgbm.diffusion.recipe import RESIDUALIZER_A
from diffgbm.first_stage.lightgbm_mean import first_stage_params, regression_params
from tests.first_stage.test_assembly import data, fit, location_scale


def test_variant_a_is_the_default():
    expected = {"n_estimators": 100, "learning_rate": 0.05, "max_depth": 6, "num_leaves": 31, "min_child_samples": 20}
    assert expected == RESIDUALIZER_A
    first_stage, _ = fit(*data(), params=None)
    booster = first_stage.location.models[0][0]
    assert booster.num_trees() == 100
    text = booster.model_to_string()
    for line in ("[learning_rate: 0.05]", "[max_depth: 6]", "[num_leaves: 31]", "[min_data_in_leaf: 20]"):
        assert line in text


def test_early_stopping_ends_the_folds():
    X, y = data(400)
    params = {"n_estimators": 500, "learning_rate": 0.3, "early_stopping_rounds": 5}
    first_stage, _ = fit(X, y, params=params)
    assert all(booster.num_trees() < 500 for booster in first_stage.location.models[0])


def test_rows_of_no_weight_change_nothing():
    X, y = data(400)
    weights = np.ones(400)
    weights[::2] = 0.0
    wild = y.copy()
    wild[::2] += 100.0
    new = data(seed=3)[0]

    def mean(y):
        first_stage, _ = fit(X, y, weights=weights)
        return np.mean([b.predict(new) for b in first_stage.location.models[0]], axis=0)

    np.testing.assert_allclose(mean(wild), mean(y), atol=1e-9)


def test_categories_reach_the_first_stage():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (600, 1)).astype(float)
    effect = np.array([3.0, -2.0, 5.0, 0.0, -4.0, 1.0])
    y = effect[X[:, 0].astype(int), None] + 0.1 * rng.standard_normal((600, 1))
    first_stage, _ = fit(X, y, categorical=[0], params={"n_estimators": 100, "learning_rate": 0.2})
    text = first_stage.location.models[0][0].model_to_string()
    assert "num_cat=0" not in text.split("Tree=1")[0]
    location, _ = location_scale(first_stage, np.arange(6.0)[:, None])
    np.testing.assert_allclose(location[:, 0], effect, atol=0.3)


def test_parameters_are_split_into_lightgbms_rounds_and_patience():
    params, rounds, patience = first_stage_params({"n_estimators": 7, "max_depth": 3, "seed": 9}, 1, 2)
    assert (rounds, patience) == (7, None)
    assert params == {**regression_params(1, 2), "max_depth": 3, "seed": 9}
    assert first_stage_params({"n_estimators": 7, "early_stopping_rounds": 4}, 1, 2)[1:] == (7, 4)
