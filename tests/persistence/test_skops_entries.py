"""Regressors of other libraries: trusted by name, never constructed before, refused if they are anything else."""

import io
import json
import os
import pickle
import sys
import zipfile
from pathlib import Path

import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Ridge
from sklearn.svm import SVR

from diffgbm import ModelFileError, load
from diffgbm.first_stage import catalogue
from diffgbm.persistence.archive import unpack
from tests.conftest import tiny, toy
from tests.persistence.altered_files import Trap, altered, object_of
from tests.persistence.saved_models import FEW_FOLDS, same, table

TREE_PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"


def test_the_types_of_a_regressor_must_be_trusted_by_name(tmp_path):
    X, y = table()
    regressor = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=4)
    model = tiny("flow", residualize=regressor, first_stage_features=[SVR(), "mean"], **FEW_FOLDS).fit(
        X, y, cat_idx=[2]
    )
    path = tmp_path / "m.dgbm"
    model.save(path)
    # skops trusts some of scikit-learn's types by itself, and others in other versions
    types = json.loads(unpack(path.read_bytes())["manifest.json"])["types"]
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


def test_a_regressor_is_not_constructed_before_it_is_trusted(tmp_path):
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


def test_regressors_that_skops_cannot_hold_are_refused_before_anything_is_written(tmp_path):
    X, y = toy()
    regressor = GaussianProcessRegressor(optimizer=lambda *a: None)
    model = tiny("flow", **FEW_FOLDS).fit(X, y).set_params(residualize=regressor)
    with pytest.raises(TypeError, match=r"a model file cannot hold params\.residualize"):
        model.save(tmp_path / "m.dgbm")
    assert list(tmp_path.iterdir()) == []


def test_without_skops_the_error_says_what_to_install(tmp_path, monkeypatch):
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


@pytest.fixture(scope="module")
def foreign(tmp_path_factory) -> Path:
    """A file with a regressor that skops holds."""
    X, y = toy()
    path = tmp_path_factory.mktemp("foreign") / "m.dgbm"
    tiny("flow", residualize=SVR(), residualize_k_folds=2).fit(X, y).save(path)
    return path


def skops_refused(foreign: Path, content: bytes, tmp_path: Path, message: str, trusted=()) -> None:
    """Assert that other content in place of the regressors is refused."""

    def change(manifest, entries):
        entries[object_of(manifest, "regressors")["models"]] = content

    with pytest.raises(ModelFileError, match=message):
        load(altered(foreign, change, tmp_path), trusted)


def test_unknown_types_are_refused_and_run_nothing(foreign, tmp_path, monkeypatch):
    skops = pytest.importorskip("skops.io")
    monkeypatch.chdir(tmp_path)
    for value, name in ((os.mkdir, "mkdir"), ([[Trap()]], r"Trap")):
        try:
            content = skops.dumps(value)
        except Exception:  # skops cannot write it
            continue
        skops_refused(foreign, content, tmp_path, rf"not known to be harmless: .*{name}")
    assert not (tmp_path / "trapped").exists()


def test_entries_that_are_not_skops_are_refused_and_run_nothing(foreign, tmp_path, monkeypatch):
    skops = pytest.importorskip("skops.io")
    monkeypatch.chdir(tmp_path)
    good = skops.dumps([[SVR()], [SVR()]])
    trap = io.BytesIO()
    with zipfile.ZipFile(trap, "w") as archive:
        archive.writestr("schema.json", pickle.dumps(Trap()))
    for content in (b"", b"PK", pickle.dumps(Trap()), good[: len(good) // 2], trap.getvalue()):
        skops_refused(foreign, content, tmp_path, r"regressors/\d\.skops cannot be read")
    packed = skops.dumps([[SVR()], [SVR()]], compression=zipfile.ZIP_DEFLATED)
    skops_refused(foreign, packed, tmp_path, "compressed twice")
    assert not (tmp_path / "trapped").exists()


def test_first_stage_models_of_the_library_need_no_trust(tmp_path):
    X, y = toy()
    for name in catalogue.CATALOGUE:
        stage = catalogue.build(name)
        model = tiny("flow", residualize="off", n_estimators=1).fit(X, y).set_params(first_stage_features=[stage])
        model.save(tmp_path / "m.dgbm")
        assert type(load(tmp_path / "m.dgbm").first_stage_features[0]) is type(stage)
