import numpy as np
import pytest
from sklearn.model_selection import KFold

from diffgbm._util.errors import DiffGBMWarning
from diffgbm.diffusion.recipe import RESIDUALIZER_A
from diffgbm.first_stage import MIN_ROWS, Task, fit_first_stage, plan_first_stage
from diffgbm.first_stage.assembly import winsorised_std

SMALL = {"n_estimators": 20, "num_leaves": 8}


def fit(X, y, mode="mean", k=5, params=SMALL, weights=None, categorical=(), seed=7, tick=lambda: None):
    task = Task(X, y, categorical, weights, k, 1, seed, 1, tick)
    first_stage, said = fit_first_stage(task, plan_first_stage(mode, None, params))
    return first_stage, (y - said.location) / said.scale


def location_scale(first_stage, X):
    values = first_stage.values(X)
    return values.location, values.scale


def data(n=200, d=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    y = np.sin(6.0 * X[:, :1]) + (0.1 + X[:, 1:]) * rng.standard_normal((n, d))
    return X, y


def out_of_fold(X, y, **kwargs):
    """Out-of-fold mean of each row, from what ``fit_guide`` returns."""
    first_stage, residuals = fit(X, y, **kwargs)
    return y - (residuals * first_stage.spread + first_stage.centre)


@pytest.mark.parametrize("params", [SMALL, {**SMALL, "n_estimators": 200, "early_stopping_rounds": 5}])
def test_a_rows_residual_comes_from_models_that_never_saw_it(params):
    X, y = data()
    before = out_of_fold(X, y, params=params)
    i = 17
    changed = y.copy()
    changed[i] += 50.0
    after = out_of_fold(X, changed, params=params)
    fold = next(held for _, held in KFold(5, shuffle=True, random_state=7).split(X) if i in held)
    others = np.setdiff1d(np.arange(len(y)), fold)
    np.testing.assert_allclose(after[fold], before[fold], rtol=0, atol=1e-9)
    assert np.abs(after[others] - before[others]).max() > 0.1


def test_each_row_is_scaled_by_the_model_of_its_own_fold():
    X, y = data()
    first_stage, residuals = fit(X, y, mode="mean_scale")
    scaled = residuals * first_stage.spread + first_stage.centre
    error = y - out_of_fold(X, y)
    for k, (_, held_out) in enumerate(KFold(5, shuffle=True, random_state=7).split(X)):
        sigma = np.maximum(np.exp(first_stage.log_scale.models[0][k].predict(X[held_out])), first_stage.scale_floor)
        np.testing.assert_allclose(scaled[held_out, 0], error[held_out, 0] / sigma, rtol=1e-9)


def test_prediction_averages_the_folds():
    X, y = data(d=2)
    first_stage, _ = fit(X, y, mode="mean_scale", k=4)
    new = data(seed=1)[0]
    location, scale = location_scale(first_stage, new)
    assert [len(fold) for fold in first_stage.location.models] == [4, 4]
    mean = np.column_stack([np.mean([b.predict(new) for b in fold], axis=0) for fold in first_stage.location.models])
    log_sigma = np.column_stack(
        [np.mean([b.predict(new) for b in fold], axis=0) for fold in first_stage.log_scale.models]
    )
    sigma = np.maximum(np.exp(log_sigma), first_stage.scale_floor)
    np.testing.assert_allclose(location, mean + sigma * first_stage.centre)
    np.testing.assert_allclose(scale, sigma * first_stage.spread)


def test_mean_alone_has_one_scale():
    X, y = data()
    first_stage, residuals = fit(X, y)
    _, scale = location_scale(first_stage, X)
    np.testing.assert_array_equal(scale, np.full_like(y, first_stage.spread))
    assert first_stage.log_scale is None
    assert np.abs(residuals.mean()) < 1e-12
    assert winsorised_std(residuals) == pytest.approx(1.0)


def test_winsorised_std_ignores_the_tails():
    rng = np.random.default_rng(0)
    r = rng.standard_normal((1000, 2))
    r[:5, 0] = 1e6
    low, high = np.quantile(r[:, 1], [0.01, 0.99])
    std = winsorised_std(r)
    assert std[1] == pytest.approx(np.clip(r[:, 1], low, high).std())
    assert std[0] < 1.2


def test_winsorised_std_is_never_zero():
    mostly = np.zeros((1000, 1))
    mostly[0] = 5.0
    assert winsorised_std(mostly) == pytest.approx(mostly.std())
    assert winsorised_std(np.zeros((10, 1))) == 1.0


def test_the_mean_is_learned_and_taken_out():
    X, y = data(1000)
    _, residuals = fit(X, y, params=None)
    signal = np.sin(6.0 * X[:, 0])
    assert abs(np.corrcoef(residuals[:, 0], signal)[0, 1]) < 0.1
    assert abs(np.corrcoef(y[:, 0], signal)[0, 1]) > 0.5


def test_mean_scale_evens_out_the_spread():
    X, y = data(2000)
    _, plain = fit(X, y, params=None)
    _, scaled = fit(X, y, mode="mean_scale", params=None)
    low, high = X[:, 1] < 0.3, X[:, 1] > 0.7

    def ratio(r):
        return r[high].std() / r[low].std()

    assert ratio(plain) > 2.0
    assert 0.7 < ratio(scaled) < 1.4


def test_off_does_nothing():
    X, y = data()
    first_stage, residuals = fit(X, y, mode="off")
    assert first_stage is None
    np.testing.assert_array_equal(residuals, y)


@pytest.mark.parametrize("n", [10, MIN_ROWS - 1])
def test_few_rows_are_fitted_without_a_mean_and_a_warning_says_so(n):
    X, y = data(n)
    with pytest.warns(DiffGBMWarning, match=rf"need at least 80 rows and got {n}"):
        first_stage, residuals = fit(X, y)
    assert first_stage is None
    np.testing.assert_array_equal(residuals, y)


def test_eighty_rows_are_enough():
    first_stage, _ = fit(*data(MIN_ROWS))
    assert first_stage is not None


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


def test_weightless_rows_teach_nothing():
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


def test_several_responses_are_guided_one_by_one():
    X, y = data(d=3)
    first_stage, residuals = fit(X, y)
    for j in range(3):
        alone, r = fit(X, y[:, [j]])
        np.testing.assert_allclose(residuals[:, [j]], r)
        np.testing.assert_allclose(location_scale(first_stage, X)[0][:, [j]], location_scale(alone, X)[0])


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


def test_one_tick_for_each_fold():
    ticks = []
    fit(*data(), k=4, tick=lambda: ticks.append(1))
    assert len(ticks) == 4


def test_unknown_mode_lists_the_valid_ones():
    with pytest.raises(
        ValueError, match="residualize must be one of 'off', 'mean', 'mean_scale', 'stack', 'gp'; got 'median'"
    ):
        fit(*data(), mode="median")
