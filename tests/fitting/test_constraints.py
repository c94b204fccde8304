"""Monotone constraints: one for each column of X, or an error that names the argument before LightGBM is reached."""

import numpy as np
import pandas as pd
import pytest

import diffgbm
from diffgbm import DiffGBM
from diffgbm.fitting.constraints import noise_model_params
from tests.conftest import TINY, tiny, toy

X, Y = toy(100)


@pytest.mark.parametrize("argument", ["extra_lightgbm_params", "extra_residualizer_params"])
@pytest.mark.parametrize("name", ["monotone_constraints", "mc", "monotonic_cst"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 0], r"{name} in {argument} must have one value for each of the 3 columns of X; got 2: \[1, 0\]"),
        ("1,0,-1,0", r"{name} in {argument} must have one value for each of the 3 columns of X; got 4"),
        ([1, 0, 2], r"{name} in {argument} must be a list of -1, 0 or 1; got \[1, 0, 2\]"),
        ([0.5, 0, 0], r"{name} in {argument} must be a list of -1, 0 or 1"),
        ("up", r"{name} in {argument} must be a list of -1, 0 or 1; got 'up'"),
        (1, r"{name} in {argument} must be a list of -1, 0 or 1; got 1"),
    ],
)
def test_constraints_of_other_columns_are_refused(argument, name, value, message, capfd):
    model = DiffGBM.flow(**TINY, **{argument: {name: value}})
    with pytest.raises(ValueError, match=message.format(name=name, argument=argument)):
        model.fit(X, Y)
    assert "LightGBM" not in "".join(capfd.readouterr())


def test_a_category_has_no_direction():
    frame = pd.DataFrame({"a": X[:, 0], "kind": pd.Categorical(np.arange(100) % 3)})
    with pytest.raises(ValueError, match="must be 0 for column 1 of X, which is a category"):
        tiny("flow", extra_lightgbm_params={"monotone_constraints": [0, 1]}).fit(frame, Y)


@pytest.mark.parametrize("first_stage_features", [None, "mean"])
@pytest.mark.parametrize("d", [None, 2])
def test_constraints_reach_their_columns(d, first_stage_features):
    x, y = toy(100, d=d)
    params = {"extra_lightgbm_params": {"mc": [0, 1, -1]}, "first_stage_features": first_stage_features}
    model = DiffGBM.flow(**TINY, **params).fit(x, y)
    for booster in model.boosters_:
        text = booster.model_to_string()
        signs = text[text.index("monotone_constraints=") :].splitlines()[0].split("=")[1].split()
        assert [int(sign) for sign in signs][: (d or 1) + 3] == [0] * (d or 1) + [0, 1, -1]
        assert len(signs) == booster.num_feature()
        assert set(signs[(d or 1) + 3 :]) == {"0"}


def test_constraints_of_the_mean():
    """A mean that may not fall cannot follow a response that falls; the noise model has one tree."""
    x = np.linspace(0.0, 1.0, 200)[:, None]
    spread = []
    for sign in (-1, 0, 1):
        options = {"n_estimators": 30, "monotone_constraints": [sign]}
        few = {**TINY, "n_estimators": 1}
        spread.append(np.ptp(DiffGBM.flow(**few, extra_residualizer_params=options).fit(x, -10.0 * x[:, 0]).predict(x)))
    assert spread[0] == pytest.approx(spread[1], rel=0.1)
    assert spread[2] < 0.5 * spread[1]


def test_other_parameters_stay_as_they_are():
    params = {"num_leaves": 8}
    assert noise_model_params(params, 3, 1, 6) is params
    assert noise_model_params({"monotone_constraints": "1,0,0"}, 3, 1, 6) == {
        "monotone_constraints": [0, 1, 0, 0, 0, 0]
    }


def monotone_table() -> tuple[pd.DataFrame, np.ndarray]:
    """A response that decreases in the column where the constraint says that it increases: the hardest case."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"kind": rng.choice(["x", "y"], 300), "size": rng.uniform(size=300), "other": rng.normal(size=300)}
    )
    y = np.sin(9.0 * X["size"]) + X["other"] + (0.2 + X["size"]) * rng.standard_normal(300)
    return X, y.to_numpy()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("recipe", ["flow", "score_plus", "published"])
def test_monotone_holds_for_the_mean_and_every_quantile(sign, recipe):
    X, y = monotone_table()
    model = tiny(recipe, monotone={"size": sign}, residualize="mean", n_bags=2).fit(X, y)
    rows = pd.concat(
        [X.iloc[[i]].assign(size=np.linspace(-0.5, 1.5, 60)[:, None][k]) for i in (0, 1, 2) for k in range(60)]
    )
    distribution = model.predict_distribution(rows)
    steps = [np.diff(model.predict(rows).reshape(3, 60)), np.diff(distribution.quantile(0.05).reshape(3, 60))]
    steps += [np.diff(distribution.interval(0.9).reshape(3, 60, 2), axis=1)]
    samples = np.array([model.sample(rows[k : k + 1], 5, seed=1)[:, 0] for k in range(60)])
    steps += [np.diff(samples, axis=0)]
    for step in steps:
        assert np.all(sign * step >= -1e-9)
    assert np.ptp(distribution.std().reshape(3, 60), axis=1).max() < 1e-9
    splits = model.boosters_[0].feature_importance("split")
    assert splits[2] == 0  # after the state and the category
    assert splits.sum() > 0


def test_without_the_argument_the_order_is_broken():
    X, y = monotone_table()
    model = tiny("flow", residualize="mean").fit(X, y)
    rows = pd.concat([X.iloc[[0]].assign(size=v) for v in np.linspace(0.0, 1.0, 40)])
    assert np.diff(model.predict(rows)).min() < -0.1


def test_monotone_positions_of_an_array_are_stored(tmp_path):
    X, y = monotone_table()
    numbers = X[["size", "other"]].to_numpy()
    model = tiny("flow", monotone={0: 1}, residualize="mean").fit(numbers, y)
    model.save(tmp_path / "model.dgbm")
    loaded = diffgbm.load(tmp_path / "model.dgbm")
    assert loaded.monotone == {"0": 1}
    again = DiffGBM(**loaded.get_params()).fit(numbers, y)
    np.testing.assert_array_equal(again.predict(numbers[:5]), model.predict(numbers[:5]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"monotone": {"length": 1}}, "no column 'length'"),
        ({"monotone": {"kind": 1}}, "column 'kind' must be a number"),
        ({"monotone": {"size": 2}}, r"1 \(increasing\) or -1 \(decreasing\)"),
        ({"monotone": {"size": 1}, "residualize": "off"}, "needs residualize='mean'"),
        ({"monotone": {"size": 1}, "residualize": "mean_scale"}, "needs residualize='mean'"),
        ({"monotone": {"size": 1}, "first_stage_features": "mean"}, "first_stage_features='mean'"),
        ({"monotone": {"size": 1}, "support": (-9, None)}, "support="),
        (
            {"monotone": {"size": 1}, "extra_residualizer_params": {"mc": [0, 0, 0]}},
            "both constrain the mean",
        ),
    ],
)
def test_monotone_without_a_guarantee_is_refused(arguments, message):
    X, y = monotone_table()
    with pytest.raises(ValueError, match=message):
        tiny("flow", **{"residualize": "mean", **arguments}).fit(X, y)


def test_monotone_needs_rows_and_a_dict():
    X, y = monotone_table()
    with pytest.raises(ValueError, match="takes 80 rows; got 50"):
        tiny("flow", residualize="mean", monotone={"size": 1}).fit(X[:50], y[:50])
    with pytest.raises(TypeError, match="monotone must map columns"):
        tiny("flow", residualize="mean", monotone=[1, 0]).fit(X, y)
