"""Errors name the argument, its value and the accepted ones; small and unusual data are fitted."""

import re
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from diffgbm import DiffGBM
from diffgbm._util.errors import DiffGBMWarning
from diffgbm.diffusion.noise_levels import LOSS_WEIGHTINGS, NOISE_FEATURES, TIME_SAMPLINGS
from diffgbm.diffusion.paths import PATHS
from diffgbm.diffusion.recipe import OBJECTIVES
from diffgbm.diffusion.sampler import METHODS, SCHEDULES
from diffgbm.diffusion.targets import TARGETS
from diffgbm.engine.factory import Kind
from diffgbm.first_stage.catalogue import subtracted_names
from tests.conftest import tiny, toy

X, Y = toy(90)
RECIPES = ["published", "score_plus", "flow", "default"]

OPTIONS = {
    "training_objective": OBJECTIVES,
    "sde_name": PATHS,
    "flow_path": PATHS,
    "score_parameterization": TARGETS,
    "noise_features": NOISE_FEATURES,
    "loss_weighting": LOSS_WEIGHTINGS,
    "t_sampling": TIME_SAMPLINGS,
    "residualize": subtracted_names(),
    "sampler_method": METHODS,
    "velocity_stochasticity_schedule": SCHEDULES,
    "engine": get_args(Kind),
}


def refusal(message):
    return pytest.raises((TypeError, ValueError), match=message)


@pytest.mark.parametrize("recipe", ["score_plus", "flow"])
@pytest.mark.parametrize("wrong", ["nonsense", None, 3, ["edm"]])
@pytest.mark.parametrize("option", OPTIONS)
def test_unknown_option_names_list_the_valid_ones(option, wrong, recipe):
    if wrong is None and option == "sampler_method":
        pytest.skip("None takes the objective's own")
    # residualize also accepts a list: its item is wrong
    shown = wrong[0] if option == "residualize" and isinstance(wrong, list) else wrong
    with refusal(f"{option} must be one of .*; got {re.escape(repr(shown))}") as caught:
        tiny(recipe).set_params(**{option: wrong}).fit(X, Y)
    for name in OPTIONS[option] if shown is wrong else ["mean", "gp"]:
        assert repr(name) in str(caught.value)


@pytest.mark.parametrize("option", OPTIONS)
def test_every_valid_name_is_accepted(option):
    for name in OPTIONS[option]:
        params = {option: name, "n_estimators": 2, "n_repeats": 2, "pf_ode": True}
        if name in PATHS:
            params["score_parameterization"] = "velocity"
        assert np.isfinite(tiny("default", **params).fit(X, Y).sample(X[:2], 2, n_steps=3)).all()


def test_a_misspelt_name_gets_a_suggestion():
    with refusal("Did you mean 'log_sigma_normal'?"):
        tiny("default", t_sampling="log_sigma_norm").fit(X, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_repeats": 0}, "n_repeats must be an integer >= 1; got 0"),
        ({"n_repeats": 1.5}, "n_repeats must be an integer >= 1; got 1.5"),
        ({"n_estimators": 0}, "n_estimators must be an integer >= 1; got 0"),
        ({"n_estimators": True}, "n_estimators must be an integer >= 1; got True"),
        ({"early_stopping_rounds": 0}, "early_stopping_rounds must be an integer >= 1; got 0"),
        ({"eval_percent": 0.0, "early_stopping_rounds": 5}, "eval_percent must be a number > 0 and <= 1; got 0.0"),
        ({"eval_percent": 1.0, "early_stopping_rounds": 5}, "eval_percent must leave rows to train on; got 1.0"),
        ({"eval_percent": "10%", "early_stopping_rounds": 5}, "eval_percent must be a number .*got '10%'"),
        ({"num_leaves": 1}, "num_leaves must be an integer >= 2; got 1"),
        ({"max_depth": "deep"}, "max_depth must be an integer >= -1; got 'deep'"),
        ({"learning_rate": 0.0}, "learning_rate must be a number > 0; got 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate must be a number > 0; got nan"),
        ({"max_bin": 1}, "max_bin must be an integer >= 2; got 1"),
        ({"subsample_for_bin": 0}, "subsample_for_bin must be an integer >= 1; got 0"),
        ({"min_child_samples": -1}, "min_child_samples must be an integer >= 0; got -1"),
        ({"subsample": 1.5}, "subsample must be a number > 0 and <= 1; got 1.5"),
        ({"subsample_freq": -1}, "subsample_freq must be an integer >= 0; got -1"),
        ({"n_jobs": 0}, "n_jobs must be a non-zero integer or None; got 0"),
        ({"n_jobs": "all"}, "n_jobs must be a non-zero integer or None; got 'all'"),
        ({"residualize_k_folds": 1}, "residualize_k_folds must be an integer >= 2; got 1"),
        ({"seed": -1}, "seed must be an integer >= 0; got -1"),
        ({"seed": "lucky"}, "seed must be an integer >= 0; got 'lucky'"),
        ({"n_steps": 0}, "n_steps must be an integer >= 1; got 0"),
        ({"extra_lightgbm_params": [1]}, "extra_lightgbm_params must be a dict or None; got list"),
        ({"extra_residualizer_params": "A"}, "extra_residualizer_params must be a dict or None; got str"),
        ({"pf_ode": True, "velocity_stochasticity": 1.0}, "pf_ode=True .*velocity_stochasticity=1.0"),
        (
            {"sde_initialize_from_data": True, "sde_hyperparam_min": 0.1},
            "sde_initialize_from_data=True contradicts sde_hyperparam_min/sde_hyperparam_max",
        ),
        ({"sde_hyperparam_max": 1e-9}, "0 < min < max < inf"),
        ({"edm_sigma_data": -1}, "edm_sigma_data must be a finite number > 0; got -1"),
    ],
)
def test_bad_arguments(params, message):
    with refusal(message):
        tiny("default", **params).fit(X, Y)


@pytest.mark.parametrize("path", ["linear", "trig"])
def test_pairs_that_are_impossible(path):
    with refusal(rf"score_parameterization='noise' cannot be used with the '{path}' path"):
        tiny("default", sde_name=path, score_parameterization="noise").fit(X, Y)
    with refusal(rf"reverse SDE cannot start on the '{path}' path"):
        tiny("default", sde_name=path, pf_ode=False).fit(X, Y)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, np.where(np.arange(90) == 7, np.nan, Y), r"y must be finite.*first at row 7"),
        (X, np.where(np.arange(90) == 7, -np.inf, Y), r"y must be finite.*first at row 7"),
        (X, Y[:50], "X and y must have the same number of rows; got X with 90, y with 50"),
        (X[:50], Y, "X and y must have the same number of rows; got X with 50, y with 90"),
        (X, None, "y"),
        (X, Y.astype(str).astype(object), None),
        (X, np.array(["a"] * 90), "y has dtype .*responses must be numbers"),
        (X[:1], Y[:1], "needs at least 2 rows"),
        (X[:0], Y[:0], "minimum of 1"),
        (X[:, :, None], Y, "X .*3|dim 3"),
        (X + 1j, Y, "Complex data not supported"),
        (pd.DataFrame({"town": [object()] * 90}), Y, "X column 'town' .*astype\\('category'\\)"),
        (np.array([[object()]] * 90), Y, "X column 0 .*cat_idx"),
    ],
)
def test_bad_data(x, y, message):
    if message is None:  # numbers written as text are read as numbers
        assert np.isfinite(tiny().fit(x, y).predict(x)).all()
        return
    with refusal(message):
        tiny().fit(x, y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(50), r"sample_weight.shape == \(50,\), expected \(90,\)"),
        (-np.ones(90), "Negative values in data passed to `sample_weight`"),
        (np.full(90, np.nan), "sample_weight contains NaN"),
        (np.zeros(90), "(sample_weight must be positive for some rows|Sample weights must contain at least one)"),
        (np.eye(90)[0], "at least 2 rows of positive weight"),
    ],
)
def test_bad_weights(weights, message):
    with refusal(message):
        tiny().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("cat_idx", [[3], [-1], ["a"], 0])
def test_bad_cat_idx(cat_idx):
    with refusal("cat_idx must hold column positions between 0 and 2; got"):
        tiny().fit(X, Y, cat_idx=cat_idx)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer >= 1; got 0"),
        ({"n_samples": -3}, "n_samples must be an integer >= 1; got -3"),
        ({"n_samples": 2.0}, "n_samples must be an integer >= 1; got 2.0"),
        ({"n_parallel": 0}, "n_parallel must be an integer >= 1; got 0"),
        ({"n_steps": 0}, "n_steps must be an integer >= 1; got 0"),
        ({"seed": -1}, "seed must be an integer >= 0; got -1"),
        ({"seed": "x"}, "seed must be an integer >= 0; got 'x'"),
        ({"sampler_method": "rk4"}, "sampler_method must be one of 'euler', 'heun'; got 'rk4'"),
        ({"velocity_stochasticity": -1.0}, "velocity_stochasticity must be a finite number >= 0; got -1.0"),
        ({"velocity_stochasticity": 1.0, "velocity_stochasticity_schedule": "x"}, "schedule must be one of 'linear'"),
        ({"pf_ode": True, "velocity_stochasticity": 1.0}, "pf_ode=True .*velocity_stochasticity=1.0"),
    ],
)
def test_bad_arguments_of_sample(flow_model, arguments, message):
    with refusal(message):
        flow_model.sample(X[:2], **{"n_samples": 2, **arguments})


def test_bad_rows_at_prediction(flow_model):
    with refusal("X has 2 features, but DiffGBM is expecting 3 features as input"):
        flow_model.predict(X[:, :2])
    with refusal("Expected 2D array"):
        flow_model.predict(X[0])
    with refusal("max_samples must be an integer"):
        flow_model.predict(X, max_samples=0)
    named = tiny().fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    with refusal("(?s)feature names should match.*unseen at fit time:\n- d.*now missing:\n- c"):
        named.predict(pd.DataFrame(X, columns=["a", "b", "d"]))


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.predict(X),
        lambda m: m.sample(X, 2),
        lambda m: m.predict_distribution(X),
        lambda m: m.score(X, Y),
        lambda m: m.n_estimators_true,
    ],
    ids=["predict", "sample", "predict_distribution", "score", "n_estimators_true"],
)
def test_before_fit(call):
    with pytest.raises(NotFittedError, match="This DiffGBM instance is not fitted yet"):
        call(DiffGBM())


def test_a_refused_fit_leaves_the_model_as_it_was(flow_model):
    before = flow_model.predict(X)
    with refusal("y must be finite"):
        flow_model.fit(X, np.full(90, np.nan))
    np.testing.assert_array_equal(flow_model.predict(X), before)


# data that must be fitted


def fitted(recipe, x, y, **params):
    return tiny(recipe, **{"n_steps": 5, **params}).fit(x, y)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("constant", [0.0, 0.1, -7.25e11, 3e-12])
def test_a_constant_response_is_sampled_exactly(recipe, constant):
    y = np.full(90, constant)
    model = fitted(recipe, X, y)
    np.testing.assert_array_equal(model.sample(X[:5], 7, seed=0), constant)
    np.testing.assert_allclose(model.predict(X[:5]), constant, rtol=1e-14)


@pytest.mark.parametrize("recipe", RECIPES)
def test_one_constant_response_of_two(recipe):
    model = fitted(recipe, X, np.column_stack([Y, np.full(90, 4.0)]))
    samples = model.sample(X[:5], 7, seed=0)
    np.testing.assert_array_equal(samples[..., 1], 4.0)
    assert np.ptp(samples[..., 0]) > 0.0


@pytest.mark.parametrize("recipe", RECIPES)
def test_duplicated_rows(recipe):
    model = fitted(recipe, np.repeat(X[:3], 40, axis=0), np.repeat(Y[:3], 40))
    assert_sensible(model.sample(X[:3], 50, seed=0), Y[:3])


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("n", [2, 3, 10, 79])
@pytest.mark.filterwarnings("ignore::diffgbm._util.errors.DiffGBMWarning")
def test_few_rows(recipe, n):
    for patience in (None, 5):
        model = fitted(recipe, X[:n], Y[:n], early_stopping_rounds=patience)
        samples = model.sample(X, 20, seed=0)
        assert np.isfinite(samples).all()
        if n >= 10:
            assert_sensible(samples, Y[:n])


@pytest.mark.parametrize("recipe", ["score_plus", "flow", "default"])
def test_few_rows_are_fitted_with_a_warning(recipe):
    with pytest.warns(DiffGBMWarning, match=r"residualize .* need at least 80 rows and got 10: .*Set residualize"):
        tiny(recipe).fit(X[:10], Y[:10])


@pytest.mark.parametrize("recipe", RECIPES)
def test_fewer_rows_than_folds(recipe):
    model = fitted(recipe, X, Y, residualize_k_folds=200)
    assert_sensible(model.sample(X, 20, seed=0), Y)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_single_feature(recipe):
    model = fitted(recipe, X[:, 0], Y)
    assert_sensible(model.sample(X[:, 0], 20, seed=0), Y)


@pytest.mark.parametrize("recipe", RECIPES)
def test_wide_data(recipe):
    wide = np.random.default_rng(0).standard_normal((90, 300))
    with pytest.warns(DiffGBMWarning, match="X has 90 rows and 300 columns"):
        model = fitted(recipe, wide, Y)
    assert_sensible(model.sample(wide, 20, seed=0), Y)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("scale", [1e-9, 1e12])
def test_small_and_large_units(recipe, scale):
    assert_sensible(fitted(recipe, X, scale * Y).sample(X, 20, seed=0), scale * Y)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(
    "x",
    [np.full((90, 2), np.nan), np.ones((90, 2)), np.where(X > 0.5, np.inf, X), 1e300 * X, np.zeros((90, 1), bool)],
    ids=["all missing", "constant", "infinite", "huge", "false"],
)
def test_features_with_little_information(recipe, x):
    assert_sensible(fitted(recipe, x, Y).sample(x, 20, seed=0), Y)


@pytest.mark.parametrize("recipe", RECIPES)
def test_heavy_tails_and_integers(recipe):
    rng = np.random.default_rng(0)
    for y in (rng.standard_cauchy(90), rng.poisson(2.0, 90), rng.choice([0.0, 1.0], 90)):
        assert np.isfinite(fitted(recipe, X, y).sample(X, 20, seed=0)).all()


def assert_sensible(samples, y):
    """Assert that samples are finite and their median is near the responses."""
    assert np.isfinite(samples).all()
    width = np.ptp(y)
    middle = np.median(samples)
    assert y.min() - 2.0 * width <= middle <= y.max() + 2.0 * width
    assert np.ptp(np.quantile(samples, [0.1, 0.9])) <= 100.0 * width
