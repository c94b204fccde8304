"""Monotone constraints: one for each column of X, or an error that names the argument before LightGBM is reached."""

import numpy as np
import pandas as pd
import pytest

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
