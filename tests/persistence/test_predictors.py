"""Model files of guided and bagged models, pools and calibrated models: exact, and shared parts stored once."""

import io
import json
import sys
import zipfile
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR

from diffgbm import AutoDiffGBM, ConformalDiffGBM, DiffGBM, ModelFileError, load
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.presets import Preset
from diffgbm.auto.recalibration import Correction
from diffgbm.first_stage import catalogue
from diffgbm.first_stage.gaussian_process import GaussianProcess, GaussianProcessMean
from diffgbm.first_stage.leaf_forest import ExtraTreesMean, LeafForest
from diffgbm.first_stage.lightgbm_mean import LightGBMMean
from diffgbm.first_stage.regressors import AnyRegressor
from diffgbm.first_stage.stack import Weighted
from diffgbm.persistence import files as persistence
from diffgbm.persistence.npy import to_npy
from tests.conftest import TINY, tiny, toy

DATA = Path(__file__).parents[1] / "fixtures"
LEVELS = [0.05, 0.5, 0.95]
FEW_FOLDS = {"residualize_k_folds": 2}
TREE_PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
AUTO = Preset(
    time_limit=60.0,
    first_stage_models=("lightgbm", "ridge", "gp_rbf"),
    gp_rows=100,
    first_stages=(("stack", ()), ("none", ("mean",))),
    recipes=("flow", "edm"),
    rounds=(),
    sizes=("probe",),
    final_models=3,
    bags=2,
    noisy_rows=500,
)
"""Three final models that share a stack, without a search."""


def table() -> tuple[np.ndarray, np.ndarray]:
    """Rows with a category and missing values."""
    X, y = toy()
    X[:, 2] = np.floor(5.0 * X[:, 2])
    X[::7, 1] = np.nan
    return X, y


FIRST_STAGES = {
    "process": {"residualize": "gp"},
    "rbf": {"residualize": GaussianProcessMean("rbf", max_rows=50)},
    "given": {"residualize": "off", "first_stage_features": ["mean", "gp"]},
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


def same(loaded, model, X) -> None:
    """Laws and samples are equal to the last bit."""
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    distributions, expected = loaded.predict_distribution(X), model.predict_distribution(X)
    np.testing.assert_array_equal(distributions.quantile(LEVELS), expected.quantile(LEVELS))
    np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))
    if hasattr(model, "sample"):
        np.testing.assert_array_equal(loaded.sample(X, 5, seed=3), model.sample(X, 5, seed=3))


def objects(path: Path) -> list[dict]:
    return json.loads(persistence.unpack(path.read_bytes())["manifest.json"])["objects"]


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


def test_a_split_between_numbers_and_what_is_missing_survives(tmp_path):
    """LightGBM writes its threshold as ``inf``."""
    X, y = toy()
    X[:, 1] = np.floor(3.0 * X[:, 1])
    X[::2, 1] = np.nan
    y = np.where(np.isnan(X[:, 1]), 5.0, 0.0) + 0.1 * y
    model = tiny("flow", residualize="off").fit(X, y)
    model.save(tmp_path / "m.dgbm")
    assert b"threshold=inf" in persistence.unpack((tmp_path / "m.dgbm").read_bytes())["boosters/0.txt"]
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


def test_what_is_subtracted_and_given_is_one_object_again(tmp_path):
    X, y = table()
    model = tiny("flow", **FEW_FOLDS, **FIRST_STAGES["stack"]).fit(X, y, cat_idx=[2])
    model.save(tmp_path / "m.dgbm")
    first_stage = load(tmp_path / "m.dgbm").model_.first_stage
    assert isinstance(first_stage.location, Weighted)
    assert first_stage.given[0] is first_stage.location
    kinds = [stored["kind"] for stored in objects(tmp_path / "m.dgbm")]
    assert kinds.count("weighted") == 1
    assert kinds.count("dense") == 1
    members = [m for m in first_stage.location.members if isinstance(m, (LeafForest, GaussianProcess))]
    assert len({id(member.dense) for member in members}) == 1


def automatic(X, y, preset: Preset = AUTO) -> AutoDiffGBM:
    """An automatic fit whose first-stage boosters are small."""
    with pytest.MonkeyPatch.context() as patch:
        small = {"n_estimators": 4, "learning_rate": 0.3, "num_leaves": 4}
        patch.setattr(catalogue, "RESIDUALIZER_C", {**catalogue.RESIDUALIZER_C, **small})
        return AutoDiffGBM(preset=preset, n_jobs=1, seed=0).fit(X, y, cat_idx=[2])


@pytest.fixture(scope="module")
def auto() -> AutoDiffGBM:
    return automatic(*table())


def test_an_automatic_model_survives_with_all_that_it_tells(auto, tmp_path):
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


def test_members_of_a_pool_share_what_they_shared(auto, tmp_path):
    members = auto.pool_.members
    assert len(members) > 1
    auto.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm").pool_.members
    predictors = [[m.first_stage.location, *m.first_stage.given] for m in members]
    again = [[m.first_stage.location, *m.first_stage.given] for m in loaded]
    flat = [p for own in predictors for p in own if p is not None]
    twins = [p for own in again for p in own if p is not None]
    assert len({id(p) for p in twins}) == len({id(p) for p in flat}) < len(flat)
    assert sum(stored["kind"] == "weighted" for stored in objects(tmp_path / "m.dgbm")) == 1
    assert all(member.features is loaded[0].features for member in loaded)


@pytest.mark.parametrize(
    "shape",
    [
        ResponseShape(np.arange(-1.0, 3.0)),
        ResponseShape(np.arange(-1.0, 3.0)).with_atom_width(),
        ResponseShape(low=0.0),
        ResponseShape(),
    ],
    ids=str,
)
def test_recalibration_and_shapes_survive(auto, shape, tmp_path):
    X, _ = table()
    correction = Correction(0.05 * np.random.default_rng(0).normal(size=(16, 4)), np.linspace(0.1, 3.0, 101))
    model = copy(auto)
    model.pool_ = replace(auto.pool_, correction=correction, shapes=(shape,))
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    same(loaded, model, X[:9])
    np.testing.assert_array_equal(loaded.pool_.correction.theta, correction.theta)
    np.testing.assert_array_equal(loaded.pool_.correction.iqr_quantiles, correction.iqr_quantiles)
    assert str(loaded.pool_.shapes[0]) == str(shape)


def test_an_atom_width_for_a_column_of_responses_is_refused(auto, tmp_path):
    model, shape = copy(auto), ResponseShape(np.arange(-1.0, 3.0)).with_atom_width()
    column = replace(auto.pool_.first.response, is_1d=False)
    members = tuple(replace(member, response=column) for member in auto.pool_.members)
    for shapes in ((replace(shape, atom_width=0.0),), (shape,)):
        model.pool_ = replace(auto.pool_, members=members, shapes=shapes)
        model.save(tmp_path / f"{shapes[0].atom_width}.dgbm")
    load(tmp_path / "0.0.dgbm")
    with pytest.raises(ModelFileError, match="one-dimensional response"):
        load(tmp_path / f"{shape.atom_width}.dgbm")


@pytest.mark.parametrize(
    ("theta", "spreads"),
    [
        (np.zeros((16, 4)), np.array([2.0, 1.0])),
        (np.zeros((16, 4)), np.array([-1.0, 1.0])),
        (np.zeros((16, 4)), np.array([1.0])),
        (np.zeros((0, 4)), np.array([1.0, 2.0])),
        (np.zeros(16), np.array([1.0, 2.0])),
        (np.full((16, 4), np.nan), np.array([1.0, 2.0])),
    ],
    ids=["not in order", "below zero", "one", "no coefficients", "one axis", "not finite"],
)
def test_a_correction_that_is_none_is_refused(auto, theta, spreads, tmp_path):
    model = copy(auto)
    model.pool_ = replace(auto.pool_, correction=Correction(theta, spreads))
    model.save(tmp_path / "m.dgbm")
    with pytest.raises(ModelFileError):
        load(tmp_path / "m.dgbm")


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "cv", "cv": 2}, {"groups": "spread", "n_groups": 2}, {"groups": 2}, {"recalibrate": True}],
    ids=str,
)
def test_a_calibrated_model_keeps_its_promise(options, tmp_path):
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


def test_a_fitted_model_that_was_calibrated_is_stored_once(auto, tmp_path):
    X, y = table()
    model = ConformalDiffGBM(auto).calibrate(X, y)
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    assert loaded.models_[0] is loaded.estimator
    same(loaded, model, X[:9])


def test_other_estimators_and_predictors_are_refused_by_name(flow_model, tmp_path):
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


def test_a_users_regressor_must_be_trusted_by_name(tmp_path):
    X, y = table()
    regressor = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=4)
    model = tiny("flow", residualize=regressor, first_stage_features=[SVR(), "mean"], **FEW_FOLDS).fit(
        X, y, cat_idx=[2]
    )
    path = tmp_path / "m.dgbm"
    model.save(path)
    # skops trusts some of scikit-learn's types by itself, and others in other versions
    types = json.loads(persistence.unpack(path.read_bytes())["manifest.json"])["types"]
    assert TREE_PREDICTOR in types
    others = [name for name in types if name != TREE_PREDICTOR]
    with pytest.raises(ModelFileError, match=rf"types that are not known.*{TREE_PREDICTOR}.*load\(path, trusted="):
        load(path)
    with pytest.raises(ModelFileError, match=TREE_PREDICTOR):
        load(path, trusted=["mypackage.MyRegressor", *others])
    with pytest.raises(ModelFileError, match="must be a list of types"):
        load(path, trusted=TREE_PREDICTOR)
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    for trusted in ([TREE_PREDICTOR, *others], (TreePredictor, *others)):
        loaded = load(path, trusted=trusted)
        same(loaded, model, X[:9])
        assert repr(loaded.get_params()) == repr(model.get_params())


class Shout(Ridge):
    """A regressor of the user's own."""

    made = 0

    def __setstate__(self, state):
        type(self).made += 1
        super().__setstate__(state)


def test_nothing_of_a_users_regressor_is_made_before_it_is_trusted(tmp_path):
    X, y = toy()
    model = tiny("flow", residualize=Shout(), **FEW_FOLDS).fit(X, y)
    model.save(tmp_path / "m.dgbm")
    name = f"{Shout.__module__}.Shout"
    Shout.made = 0
    with pytest.raises(ModelFileError, match=name):
        load(tmp_path / "m.dgbm")
    assert Shout.made == 0
    same(load(tmp_path / "m.dgbm", trusted=[name]), model, X[:9])
    assert Shout.made > 0


def test_regressors_among_the_arguments_survive(tmp_path):
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


def test_what_skops_cannot_hold_is_refused_before_anything_is_written(tmp_path):
    X, y = toy()
    regressor = GaussianProcessRegressor(optimizer=lambda *a: None)
    model = tiny("flow", **FEW_FOLDS).fit(X, y).set_params(residualize=regressor)
    with pytest.raises(TypeError, match=r"params\.residualize cannot be held by a model file"):
        model.save(tmp_path / "m.dgbm")
    assert list(tmp_path.iterdir()) == []


def test_without_skops_the_message_says_what_to_install(tmp_path, monkeypatch):
    X, y = toy()
    plain = tiny("flow", residualize=["mean", "gp"], **FEW_FOLDS).fit(X, y)
    other = tiny("flow", residualize=SVR(), **FEW_FOLDS).fit(X, y)
    other.save(tmp_path / "other.dgbm")
    monkeypatch.setitem(sys.modules, "skops.io", None)
    plain.save(tmp_path / "plain.dgbm")
    same(load(tmp_path / "plain.dgbm"), plain, X[:5])
    for work in (lambda: load(tmp_path / "other.dgbm"), lambda: other.save(tmp_path / "more.dgbm")):
        with pytest.raises(ImportError, match=r"pip install skops \(or 'diffgbm\[skops\]'\)"):
            work()


def test_a_table_of_constants_is_not_taken_for_a_bomb():
    """It shrinks more than any text does: it is stored as it is."""
    entries = {"manifest.json": b"{}", "arrays/0.npy": to_npy(np.zeros((1000, 300)))}
    content = persistence.pack(entries)
    assert persistence.unpack(content) == entries
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


def fixture_table() -> tuple[np.ndarray, np.ndarray]:
    """A category, lines and a step: boosters, ridge regression and Gaussian processes all have something to say."""
    X, y = toy(110)
    X[:, 2] = np.floor(5.0 * X[:, 2])
    return X, y + 2.0 * X[:, 0] + 2.0 * (X[:, 1] > 0.6)


def fixtures() -> dict:
    """Models whose files are kept: they must load in all later versions."""
    X, y = fixture_table()
    mean = {"n_estimators": 8, "learning_rate": 0.3, "num_leaves": 4}
    small = {**TINY, "n_estimators": 3, "num_leaves": 4, "extra_residualizer_params": mean, **FEW_FOLDS}
    first_stages = {
        "residualize": ["mean", "gp"],
        "first_stage_features": ["mean", "cdf"],
        "n_bags": 2,
        "bag_mix": "mixture",
    }
    few = replace(AUTO, first_stage_models=("ridge", "gp_rbf"), gp_rows=60, noisy_rows=90)
    return {
        "with_first_stage": lambda: DiffGBM.flow(**{**small, **first_stages}).fit(X, y, cat_idx=[2]),
        "auto": lambda: automatic(X, y, few),
        "conformal": lambda: ConformalDiffGBM(
            DiffGBM.flow(**small), seed=0, groups=2, n_groups=2, calibration_size=0.2
        ).fit(X, y),
    }


def answers(model, X) -> dict:
    found = {
        "interval": model.predict_interval(X, 0.5).tolist(),
        "quantiles": model.predict_distribution(X).quantile(LEVELS).tolist(),
    }
    return found if not hasattr(model, "sample") else {**found, "samples": model.sample(X, 3, seed=1).tolist()}


@pytest.mark.parametrize("name", ["with_first_stage", "auto", "conformal"])
def test_a_file_of_the_second_version_still_loads(name):
    """The fixture was written by version 0.1.0; ``python tests/test_persistence_guides.py`` wrote it."""
    path = DATA / f"version2_{name}.dgbm"
    assert path.stat().st_size < 60_000
    stored = json.loads(path.with_suffix(".json").read_text())
    model = load(path)
    assert type(model).__name__ == stored.pop("class")
    X = np.array(stored.pop("X"))
    found = answers(model, X)
    assert found.keys() == stored.keys()
    for key, expected in stored.items():
        np.testing.assert_allclose(found[key], expected, rtol=1e-9, atol=1e-12)


def write_fixtures() -> None:
    """Write the files of ``test_a_file_of_the_second_version_still_loads``."""
    X = fixture_table()[0][:4]
    for name, make in fixtures().items():
        model = make()
        path = DATA / f"version2_{name}.dgbm"
        model.save(path)
        stored = {"class": type(model).__name__, "X": X.tolist(), **answers(model, X)}
        path.with_suffix(".json").write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    write_fixtures()
