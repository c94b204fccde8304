"""Arguments of estimators: plain values, tuples, presets and regressors round trip; others are refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from diffgbm import load
from diffgbm.auto.presets import PRESETS
from diffgbm.first_stage.gaussian_process import GaussianProcessMean
from diffgbm.first_stage.regressors import AnyRegressor
from diffgbm.persistence.arguments import read_arguments, write_arguments
from diffgbm.persistence.store import Reader, Writer
from tests.conftest import tiny, toy
from tests.persistence.altered_files import refused, set_at, wrong_values
from tests.persistence.saved_models import FEW_FOLDS


def test_regressors_among_the_arguments_round_trip(tmp_path):
    X, y = toy()
    stage = AnyRegressor(Ridge(2.0))
    model = tiny(
        "flow", residualize=[stage, "gp"], first_stage_features=(GaussianProcessMean("rbf"),), **FEW_FOLDS
    ).fit(X, y)
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    assert repr(loaded.residualize) == repr(model.residualize)
    assert loaded.first_stage_features == model.first_stage_features
    np.testing.assert_array_equal(loaded.fit(X, y).predict(X[:5]), model.predict(X[:5]))


WRONG = {
    "first_stage": [
        ("diffgbm:params", [None, [], 3, "x"]),
        ("diffgbm:tuples", [None, ["seed"], ["nothing"], [3]]),
        ("diffgbm:regressors", [None, {"seed": "x"}, {"residualize": "arrays/0.npy"}, {"residualize": 3}]),
    ],
    "auto": [("auto:params.preset", [None, {}, {"rounds": []}])],
}


@wrong_values(WRONG)
def test_wrong_fields_are_refused(name, where, value, tmp_path):
    refused(name, lambda manifest, entries: set_at(manifest, where, value), tmp_path)


@pytest.mark.parametrize(
    "params",
    [
        {"seed": 3, "learning_rate": 0.1, "flow_path": "vp", "pf_ode": None, "nested": {"a": [1, 2.5, "x"]}},
        {"first_stage_features": ("mean", "cdf"), "residualize": ["mean", "gp"]},
        {"preset": PRESETS["fast"]},
        {"preset": replace(PRESETS["best"], bags=7)},
    ],
    ids=["plain", "tuple", "preset", "changed preset"],
)
def test_arguments_round_trip(params):
    writer = Writer({})
    stored = json.loads(json.dumps(write_arguments(params, writer)))
    found = read_arguments(stored, Reader(writer.entries, {}, ()))
    assert found == params
    assert {name: type(value) for name, value in found.items()} == {name: type(v) for name, v in params.items()}


def test_an_argument_that_cannot_be_stored_is_named():
    with pytest.raises(TypeError, match=r"params\.seed is a function"):
        write_arguments({"seed": lambda: 3}, Writer({}))
