"""First-stage models: exact round trips, and refusal of invalid ones."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neural_network import MLPRegressor

from diffgbm import load
from diffgbm.first_stage.gaussian_process import GaussianProcess, GaussianProcessMean
from diffgbm.first_stage.leaf_forest import ExtraTreesMean, LeafForest
from diffgbm.first_stage.lightgbm_mean import LightGBMMean
from diffgbm.first_stage.stack import Weighted
from diffgbm.persistence.archive import unpack
from tests.conftest import tiny, toy
from tests.persistence.altered_files import array_at, changed, position, refused, set_at, wrong_values
from tests.persistence.saved_models import FEW_FOLDS, objects, same, table

FIRST_STAGES = {
    "process": {"residualize": "gp"},
    "rbf": {"residualize": GaussianProcessMean("rbf", max_rows=50)},
    "features": {"residualize": "off", "first_stage_features": ["mean", "gp"]},
    "forest": {"residualize": ExtraTreesMean(3), "first_stage_features": "mean"},
    "cdf": {"residualize": "mean", "first_stage_features": ("cdf", "mean")},
    "linear": {"residualize": [LinearRegression(), Ridge(0.5)]},
    "network": {"residualize": MLPRegressor(hidden_layer_sizes=(4, 3), max_iter=5, random_state=0)},
    "stack": {
        "residualize": ["mean", GaussianProcessMean("rbf"), ExtraTreesMean(3), Ridge()],
        "first_stage_features": "mean",
    },
    "linear trees": {"residualize": LightGBMMean({"n_estimators": 5, "linear_tree": True, "num_leaves": 4})},
    "scale": {"residualize": "mean_scale", "residualize_repeats": 2},
    "bags": {"residualize": "mean", "n_bags": 3},
    "mixture of bags": {"residualize": "off", "n_bags": 2, "bag_mix": "mixture"},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FIRST_STAGES)
def test_every_kind_of_first_stage_is_the_same_to_the_last_bit(name, tmp_path):
    X, y = table()
    model = tiny("flow", **FEW_FOLDS, **FIRST_STAGES[name]).fit(X, y, cat_idx=[2])
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    same(loaded, model, X[:20])
    assert loaded.model_.bag_mix == model.model_.bag_mix
    assert len(loaded.model_.bags) == len(model.model_.bags)
    assert repr(loaded.get_params()) == repr(model.get_params())
    loaded.save(tmp_path / "again.dgbm")
    same(load(tmp_path / "again.dgbm"), model, X[:20])


def test_a_split_between_numbers_and_missing_values_round_trips(tmp_path):
    """LightGBM writes its threshold as ``inf``."""
    X, y = toy()
    X[:, 1] = np.floor(3.0 * X[:, 1])
    X[::2, 1] = np.nan
    y = np.where(np.isnan(X[:, 1]), 5.0, 0.0) + 0.1 * y
    model = tiny("flow", residualize="off").fit(X, y)
    model.save(tmp_path / "m.dgbm")
    assert b"threshold=inf" in unpack((tmp_path / "m.dgbm").read_bytes())["boosters/0.txt"]
    loaded = load(tmp_path / "m.dgbm")
    same(loaded, model, X[:9])
    Z = np.column_stack([y[:9], X[:9], np.full(9, 0.5)])
    np.testing.assert_array_equal(loaded.boosters_[0].predict(Z), model.boosters_[0].predict(Z))


def test_several_responses_and_weights(tmp_path):
    X, y = toy(d=2)
    first_stages = {"residualize": ["mean", "gp", Ridge()], "first_stage_features": ["mean", "cdf"]}
    model = tiny("flow", **FEW_FOLDS, **first_stages).fit(X, y, sample_weight=np.arange(1.0, 1.0 + len(y)))
    model.save(tmp_path / "m.dgbm")
    same(load(tmp_path / "m.dgbm"), model, X[:9])


def test_a_model_that_is_subtracted_and_a_feature_stays_one_object(tmp_path):
    X, y = table()
    model = tiny("flow", **FEW_FOLDS, **FIRST_STAGES["stack"]).fit(X, y, cat_idx=[2])
    model.save(tmp_path / "m.dgbm")
    first_stage = load(tmp_path / "m.dgbm").model_.first_stage
    assert isinstance(first_stage.location, Weighted)
    assert first_stage.features[0] is first_stage.location
    kinds = [stored["kind"] for stored in objects(tmp_path / "m.dgbm")]
    assert kinds.count("weighted") == 1
    assert kinds.count("dense") == 1
    members = [m for m in first_stage.location.members if isinstance(m, (LeafForest, GaussianProcess))]
    assert len({id(member.dense) for member in members}) == 1


NAN = float("nan")
PROCESS, FEATURES, MODEL = (position("first_stage", kind) for kind in ("process", "features", "model"))
WRONG = {
    "first_stage": [
        ("dense:columns", [0, 2, 4, "3", None, True]),
        ("dense:numeric", [[], [0], [0, 0], [0, 2], [0, 9], [0, -1], ["0", 1], None]),
        ("dense:gaps", [[2], [9], [0, 0], None]),
        ("dense:fill", [[], [0.0], [0.0, NAN], None]),
        ("dense:scale", [[1.0, 0.0], [1.0, -1.0], [1.0], ["1", "1"]]),
        ("dense:levels", [[], [[2]], [[2, [NAN]]], [[0, [1.0]]], [[2, "ab"]], [3], None]),
        ("boosters:columns", [0, 2, 4, None, "3"]),
        (
            "boosters:models",
            [[], [[]], [["boosters/9.txt"]], [[3]], None, [["arrays/0.npy"]], [["boosters/0.txt"] * 2]],
        ),
        ("process:dense", [None, -1, PROCESS, 99, "3", True, FEATURES]),
        ("process:kernel", ["linear", None, 3]),
        ("process:offset", [[], [0.0, 0.0], [NAN], None]),
        *((f"process:{name}", ["arrays/99.npy", "boosters/0.txt", None, 3]) for name in ("points", "lengths", "alpha")),
        ("weighted:members", [[], [2], [2, 99], [2, -1], [2, MODEL], [2, 2, 2], [2, True], None]),
        ("weighted:weights", [[], [[1.0]], [[1.0], [NAN]], [[1.0], [1.0, 2.0]], [1.0, 1.0], None]),
    ],
}


@wrong_values(WRONG)
def test_wrong_fields_are_refused(name, where, value, tmp_path):
    refused(name, lambda manifest, entries: set_at(manifest, where, value), tmp_path)


@pytest.mark.parametrize(
    ("where", "make", "message"),
    [
        ("process:lengths", array_at(0, 0.0), "lengths > 0"),
        ("process:lengths", array_at(0, -1.0), "lengths > 0"),
        ("process:points", lambda v: v[:0], "instead of"),
    ],
)
def test_wrong_numbers_are_refused(where, make, message, tmp_path):
    refused("first_stage", changed(where, make), tmp_path, message)
