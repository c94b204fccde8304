"""DiffGBM on tables of every kind: frames, arrays, categories, missing values; one response and several."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from diffgbm._util.errors import DiffGBMWarning
from tests.conftest import tiny, toy

X, Y = toy()
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
RECIPES = ["published", "score_plus", "flow", "default"]


def draws(model, X, n=6, seed=4):
    return model.sample(X, n, seed=seed)


# tables


@pytest.mark.parametrize(
    "same",
    [
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        np.repeat(X, 2, axis=1)[:, ::2],
        X.tolist(),
        X.astype(object),
        FRAME,
        FRAME.astype("Float64"),
        FRAME.set_index(np.arange(len(X))[::-1]),
        pd.DataFrame(X),
        pl.DataFrame(X, schema=["a", "b", "c"]),
        pl.LazyFrame(X, schema=["a", "b", "c"]),
    ],
    ids=lambda X: f"{type(X).__module__.split('.')[0]}.{type(X).__name__}",
)
def test_the_kind_of_table_does_not_matter(flow_model, same):
    expected = draws(flow_model, X)
    np.testing.assert_array_equal(draws(flow_model, same), expected)
    np.testing.assert_array_equal(draws(tiny("flow").fit(same, Y), same), expected)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, bool, np.float32])
def test_numeric_dtypes(dtype):
    whole = np.round(4.0 * X).astype(dtype)
    np.testing.assert_array_equal(
        draws(tiny().fit(whole, Y), whole), draws(tiny().fit(whole.astype(float), Y), whole.astype(float))
    )


def test_columns_in_another_order():
    model = tiny().fit(FRAME, Y)
    expected = draws(model, FRAME)
    np.testing.assert_array_equal(draws(model, FRAME[["c", "a", "b"]]), expected)
    np.testing.assert_array_equal(draws(model, pl.from_pandas(FRAME).select("b", "c", "a")), expected)
    np.testing.assert_array_equal(draws(model, pl.from_pandas(FRAME).lazy().select("b", "c", "a")), expected)


def test_an_array_for_a_model_with_names_is_accepted_with_a_warning():
    model = tiny().fit(FRAME, Y)
    with pytest.warns(DiffGBMWarning, match="X does not have valid feature names"):
        samples = draws(model, X)
    np.testing.assert_array_equal(samples, draws(model, FRAME))


def test_fitted_attributes(two_responses):
    model = tiny().fit(FRAME, Y)
    assert model.n_features_in_ == 3
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.n_estimators_true == model.n_iterations_ == [15]
    assert len(model.boosters_) == 1
    assert model.recipe_ is model.recipe
    assert not hasattr(tiny().fit(X, Y), "feature_names_in_")
    assert two_responses.n_estimators_true == [15, 15]


CATEGORICAL = {
    "pandas": lambda c, v: pd.DataFrame({"c": pd.Categorical(c), "v": v}),
    "polars": lambda c, v: pl.DataFrame({"c": pl.Series(c, dtype=pl.Categorical), "v": v}),
    "enum": lambda c, v: pl.DataFrame({"c": pl.Series(c, dtype=pl.Enum(["q", "c", "b", "a"])), "v": v}),
    "array": lambda c, v: np.array([*zip(c, v, strict=True)], dtype=object),
    "numbers": lambda c, v: np.column_stack([[np.nan if x is None else ord(x) for x in c], v]),
}


@pytest.fixture(scope="module", params=CATEGORICAL)
def categorical(request):
    """A response that depends on a category alone, for each type of categorical column."""
    make = CATEGORICAL[request.param]
    rng = np.random.default_rng(0)
    c = [*"abc"] * 80
    y = np.array([{"a": 10.0, "b": -5.0, "c": 3.0}[x] for x in c]) + 0.1 * rng.standard_normal(240)
    cat_idx = [0] if request.param in ("array", "numbers") else None
    model = tiny("published", n_repeats=10, n_estimators=60, n_steps=20)
    return model.fit(make(c, rng.uniform(size=240)), y, cat_idx=cat_idx), make


def test_categories_are_fitted(categorical):
    model, make = categorical
    mean = model.predict(make([*"abc"], [0.5] * 3))
    np.testing.assert_allclose(mean, [10.0, -5.0, 3.0], atol=1.5)


def test_a_category_means_the_same_in_every_frame(categorical):
    model, make = categorical
    together = model.predict(make([*"abcab"], [0.5] * 5))
    alone = model.predict(make(["b"], [0.5]))
    np.testing.assert_array_equal(alone, together[[1]])
    np.testing.assert_array_equal(alone, together[[4]])


def test_an_unseen_category_is_missing(categorical):
    model, make = categorical
    with pytest.warns(DiffGBMWarning, match="100% of the rows have a category that training did not have"):
        unseen = model.predict(make(["q"], [0.5]))
    missing = model.predict(make([None, "a"], [0.5] * 2))
    assert unseen[0] == missing[0]
    assert np.isfinite(unseen).all()


def test_all_categorical():
    frame = pd.DataFrame({"u": pd.Categorical([*"ab"] * 60), "v": pd.Categorical([*"xyz"] * 40)})
    y = np.where(frame["u"] == "a", 5.0, -5.0) + 0.1 * np.random.default_rng(0).standard_normal(120)
    model = tiny("flow", n_estimators=40).fit(frame, y)
    mean = model.predict(frame)
    assert mean[::2].min() > 2.0
    assert mean[1::2].max() < -2.0


def test_missing_values_carry_information():
    rng = np.random.default_rng(0)
    gaps = rng.uniform(size=(200, 2))
    gaps[::2, 0] = np.nan
    y = np.where(np.isnan(gaps[:, 0]), 4.0, -4.0) + 0.1 * rng.standard_normal(200)
    model = tiny("flow", n_estimators=40).fit(gaps, y)
    mean = model.predict(np.array([[np.nan, 0.5], [0.5, 0.5], [np.nan, np.nan]]))
    assert mean[0] > 2.0
    assert mean[1] < -2.0
    assert np.isfinite(mean).all()
    polars = pl.DataFrame(gaps, schema=["a", "b"]).with_columns(pl.col("a").fill_nan(None))
    np.testing.assert_array_equal(draws(tiny().fit(polars, y), polars), draws(tiny().fit(gaps, y), gaps))


def test_values_missing_only_at_prediction():
    model = tiny().fit(X, Y)
    holes = X.copy()
    holes[:, 1] = np.nan
    assert np.isfinite(draws(model, holes)).all()
    assert np.isfinite(draws(model, np.full((2, 3), np.nan))).all()


# responses


@pytest.mark.parametrize("y", [Y.tolist(), pd.Series(Y, name="y"), pl.Series("y", Y), pd.Series(Y).astype("Float64")])
def test_the_kind_of_response_does_not_matter(flow_model, y):
    samples = draws(tiny().fit(X, y), X)
    assert samples.shape == (6, 120)
    np.testing.assert_array_equal(samples, draws(flow_model, X))


def test_shapes_follow_the_response(flow_model, two_responses):
    assert flow_model.predict(X).shape == (120,)
    column = tiny().fit(X, Y[:, None])
    assert draws(column, X).shape == (6, 120, 1)
    assert column.predict(X).shape == (120, 1)
    np.testing.assert_array_equal(draws(column, X)[..., 0], draws(flow_model, X))
    assert draws(two_responses, X).shape == (6, 120, 2)
    assert two_responses.predict(X).shape == (120, 2)


def test_frames_of_responses_keep_their_names():
    y = toy(d=2)[1]
    for frame in (pd.DataFrame(y, columns=["u", "v"]), pl.DataFrame(y, schema=["u", "v"])):
        model = tiny().fit(X, frame)
        assert model.model_.response.names == ("u", "v")
        np.testing.assert_array_equal(draws(model, X), draws(tiny().fit(X, y), X))


def test_responses_are_fitted_jointly():
    """Two responses that agree up to their sign: so do their samples."""
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], 600)
    y = np.column_stack([sign, sign]) + 0.05 * rng.standard_normal((600, 2))
    model = tiny("flow", n_repeats=20, n_estimators=80, residualize="off").fit(rng.uniform(size=600), y)
    samples = model.sample([[0.5]], 200, seed=0)[:, 0]
    assert np.mean(samples[:, 0] * samples[:, 1] > 0.0) > 0.9
    assert 0.3 < np.mean(samples[:, 0] > 0.0) < 0.7


# the input stays unchanged


@pytest.mark.parametrize("recipe", RECIPES)
def test_input_is_never_modified(recipe):
    x, y, w = X.copy(), Y.copy(), np.linspace(0.0, 1.0, 120)
    frame = FRAME.assign(d=pd.Categorical(["p", "q"] * 60))
    before = frame.copy(deep=True)
    params = {"n_estimators": 10}
    for array in (x, y, w):
        array.flags.writeable = False
    tiny(recipe, extra_residualizer_params=params).fit(x, y, sample_weight=w).sample(x, 2)
    tiny(recipe, extra_residualizer_params=params).fit(frame, y).predict(frame)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(w, np.linspace(0.0, 1.0, 120))
    pd.testing.assert_frame_equal(frame, before)
    assert params == {"n_estimators": 10}
