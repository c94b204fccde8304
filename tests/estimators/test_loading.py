"""Loading estimators: exact round trips, and refusal of files that no estimator wrote."""

import numpy as np
import pytest

import diffgbm
from diffgbm import AutoDiffGBM, ConformalDiffGBM, DiffGBM, ModelFileError, load
from diffgbm.auto.presets import Preset
from tests.conftest import TINY, tiny, toy
from tests.persistence.altered_files import (
    altered,
    array_at,
    changed,
    object_of,
    position,
    refused,
    set_at,
    wrong_values,
)
from tests.persistence.fixture_models import automatic, path_of, rows_of
from tests.persistence.saved_models import same, table

LEAST = Preset(
    time_limit=1e9,
    first_stage_models=("ridge",),
    gp_rows=10,
    first_stages=(("stack", ()),),
    recipes=("flow",),
    rounds=(),
    sizes=("probe",),
    final_models=1,
    bags=2,
    noisy_rows=100,
)


def automatic_model() -> AutoDiffGBM:
    """An automatic fit with nothing to choose."""
    return AutoDiffGBM(preset=LEAST, n_jobs=1, seed=0)


@pytest.fixture(scope="module")
def auto() -> AutoDiffGBM:
    return automatic(*table())


def test_an_automatic_model_round_trips_with_its_leaderboard(auto, tmp_path):
    X, _ = table()
    auto.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    same(loaded, auto, X[:20])
    assert loaded.explain() == auto.explain()
    assert loaded.weights_ == auto.weights_
    assert list(loaded.weights_) == list(auto.weights_)
    assert loaded.first_stage_errors_ == auto.first_stage_errors_
    assert loaded.cut_short_ == auto.cut_short_
    assert loaded.get_params() == auto.get_params()
    assert loaded.n_features_in_ == 3
    assert loaded.leaderboard_.equals(auto.leaderboard_)
    assert not hasattr(loaded, "oob_distribution_")
    loaded.save(tmp_path / "again.dgbm")
    assert (tmp_path / "again.dgbm").read_bytes() == (tmp_path / "m.dgbm").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "cv", "cv": 2},
        {"groups": "interquartile_range", "n_groups": 2},
        {"groups": 2},
        {"recalibrate": True},
    ],
    ids=str,
)
def test_a_calibrated_model_keeps_its_intervals(options, tmp_path):
    X, y = toy()
    X[:, 2] = np.floor(3.0 * X[:, 2])
    base = tiny("flow", residualize="off")
    model = ConformalDiffGBM(base, seed=0, **{"calibration_size": 0.5, **options}).fit(X, y)
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(loaded.predict_interval(X, 0.5), model.predict_interval(X, 0.5))
    np.testing.assert_array_equal(loaded.predict_interval(X, 0.8), model.predict_interval(X, 0.8))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert loaded.n_features_in_ == 3
    assert not hasattr(loaded.estimator, "model_")
    loaded.save(tmp_path / "again.dgbm")
    assert (tmp_path / "again.dgbm").read_bytes() == (tmp_path / "m.dgbm").read_bytes()


@pytest.mark.parametrize(("kind", "method"), [("counts", "split"), ("non-negative", "split"), ("atoms", "cv")])
def test_a_calibrated_model_keeps_the_support_of_its_response(kind, method, tmp_path):
    """Without the support the distributions of the calibration rows, and so the offsets, would be others."""
    X, y = toy(160)
    y = {"counts": np.round(np.abs(2.0 * y)), "non-negative": np.abs(y), "atoms": np.maximum(y, 0.0)}[kind]
    base = tiny("flow", residualize="off", atoms=[0.0]) if kind == "atoms" else automatic_model()
    model = ConformalDiffGBM(base, method=method, cv=2, calibration_size=0.5, recalibrate=True, seed=0).fit(X, y)
    assert all(distribution.support is not None for distribution in model.distributions_)
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    for ours, theirs in zip(loaded.distributions_, model.distributions_, strict=True):
        assert (ours.support.low, ours.support.high) == (theirs.support.low, theirs.support.high)
        np.testing.assert_array_equal(ours.support.atoms, theirs.support.atoms)
        np.testing.assert_array_equal(ours.quantile([0.0, 0.1, 0.9]), theirs.quantile([0.0, 0.1, 0.9]))
    for level in (0.5, 0.8, 0.9):
        np.testing.assert_array_equal(loaded.predict_interval(X, level), model.predict_interval(X, level))
    np.testing.assert_array_equal(loaded.sample(X, 5, seed=0), model.sample(X, 5, seed=0))


def test_a_prefitted_calibrated_model_is_stored_once(auto, tmp_path):
    X, y = table()
    model = ConformalDiffGBM(auto).calibrate(X, y)
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    assert loaded.models_[0] is loaded.estimator
    same(loaded, model, X[:9])


def test_other_estimators_are_refused_by_name(flow_model, tmp_path):
    class Mine(DiffGBM):
        pass

    X, y = toy()
    with pytest.raises(TypeError, match=r"a model file cannot hold a .*Mine"):
        ConformalDiffGBM(Mine(**TINY)).fit(X, y).save(tmp_path / "m.dgbm")
    with pytest.raises(Exception, match="fitted"):
        AutoDiffGBM().save(tmp_path / "m.dgbm")
    with pytest.raises(Exception, match="fitted"):
        ConformalDiffGBM().save(tmp_path / "m.dgbm")
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_an_estimator_is_refused(tmp_path):
    refused("first_stage", lambda manifest, entries: manifest["objects"].pop(), tmp_path, "not an estimator")


def test_version_is_exported():
    assert diffgbm.load is load
    assert issubclass(ModelFileError, ValueError)


NAN = float("nan")
FEATURES = position("first_stage", "features")
WRONG = {
    "first_stage": [
        ("diffgbm:params.engine", ["fast", None, 3]),
        ("diffgbm:params.n_jobs", [0, "all", 1.5]),
        ("diffgbm:params.n_steps", [0, "many", -3]),
        ("diffgbm:params.seed", [-1, "x"]),
        ("diffgbm:params.training_objective", ["nothing"]),
        ("diffgbm:params.extra_lightgbm_params", [[1]]),
        ("diffgbm:params.residualize", ["everything", 3, None, []]),
        ("diffgbm:params.first_stage_features", ["everything", 3]),
        ("diffgbm:params.unknown", [1]),
        ("diffgbm:model", [None, 99, FEATURES]),
    ],
    "auto": [
        ("auto:params.preset", ["quick"]),
        ("auto:params.metric", ["rmse", None]),
        ("auto:params.unknown", [1]),
        ("auto:leaderboard", [None, [3], [{"a": [1]}], [{"a": {}}]]),
        ("auto:weights", [None, {}, {"a": 1.0}, {"a": "x", "b": 1.0}]),
        ("auto:first_stage_errors", [None, {"a": "x"}, {"a": None}]),
        ("auto:cut_short", [None, 1, "no"]),
        ("auto:summary", [None, 3, ["x"]]),
        ("auto:pool", [None, 99, 0]),
    ],
    "conformal": [
        ("conformal:estimator", [99, 1, "0", 5.5]),
        ("conformal:models", [[], [0], [99], None]),
        ("conformal:distributions", [[], [{}], [3], None]),
        ("conformal:distributions.0.name", [None, 3]),
        ("conformal:distributions.0.support", [3, [], {}, {"atoms": [2.0, 1.0], "low": None, "high": None}]),
        ("conformal:distributions.0.support", [{"atoms": [], "low": 2.0, "high": 1.0}, {"atoms": ["x"], "low": 0.0}]),
        ("conformal:observed", [[], ["arrays/99.npy"], ["arrays/0.npy"], [3], None]),
        ("conformal:group", [[], ["arrays/99.npy"], ["arrays/0.npy"], None]),
        ("conformal:pit", [None, "arrays/0.npy", "arrays/99.npy"]),
        ("conformal:edges", [[2.0, 1.0], [NAN], "ab", 3]),
        ("conformal:values", [None, [1, 1], [[1]], 3]),
        ("conformal:params.method", ["magic", None]),
        ("conformal:params.n_groups", [0, "5"]),
        ("conformal:params.groups", [[1], {}, True, False]),
        ("conformal:params.estimator", [1]),
    ],
}


def test_a_file_that_is_older_than_an_argument_gets_its_default(tmp_path):
    def change(manifest, entries):
        del object_of(manifest, "diffgbm")["params"]["repeats"]

    older, model = load(altered(path_of("first_stage"), change, tmp_path)), load(path_of("first_stage"))
    assert older.get_params() == model.get_params()
    same(older, model, rows_of("first_stage"))


@wrong_values(WRONG)
def test_wrong_fields_are_refused(name, where, value, tmp_path):
    refused(name, lambda manifest, entries: set_at(manifest, where, value), tmp_path)


@pytest.mark.parametrize(
    ("where", "make", "message"),
    [
        ("conformal:distributions.0.values", lambda v: v[:, ::-1].copy(), "must be sorted"),
        ("conformal:distributions.0.levels", lambda v: v[::-1].copy(), "levels"),
        ("conformal:distributions.0.levels", array_at(-1, 1.5), "levels"),
        ("conformal:distributions.0.levels", array_at(0, -0.5), "levels"),
        ("conformal:pit", array_at(0, -0.1), "from 0 to 1"),
        ("conformal:pit", array_at(-1, 1.1), "from 0 to 1"),
        ("conformal:pit", lambda v: v[::-1].copy(), "from 0 to 1"),
        ("conformal:pit", lambda v: v[:0], "from 0 to 1"),
    ],
)
def test_wrong_numbers_are_refused(where, make, message, tmp_path):
    refused("conformal", changed(where, make), tmp_path, message)
