"""Regressors of scikit-learn: linear models and networks as arrays, others by skops."""

from pathlib import Path

import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR

from diffgbm import ModelFileError, load
from tests.conftest import tiny, toy
from tests.persistence.altered_files import altered, changed, object_of, refused, set_at, wrong_values
from tests.persistence.saved_models import FEW_FOLDS, objects, same


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


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("hello", "not lists"),
        ([], "not lists"),
        ([[]], "not lists"),
        ([SVR()], "not lists"),
        ([["hello"]], "no method predict"),
        ([[SVR()], [SVR()]], "must predict 1 response"),
    ],
)
def test_skops_entries_without_regressors_are_refused(value, message, foreign, tmp_path):
    skops = pytest.importorskip("skops.io")
    skops_refused(foreign, skops.dumps(value), tmp_path, message)


WRONG = {
    "auto": [
        ("regressors:form", ["skops", "network", "other", None]),
        ("regressors:class", ["SVR", "os.system", None]),
        ("regressors:units", [None, [], [1], [3, 2, 1], "x"]),
        ("regressors:activation", ["relu", 3]),
        ("regressors:weights", ["arrays/99.npy", "boosters/0.txt", None]),
        ("regressors:dense", [None, 0]),
    ],
}


@wrong_values(WRONG)
def test_wrong_fields_are_refused(name, where, value, tmp_path):
    refused(name, lambda manifest, entries: set_at(manifest, where, value), tmp_path)


def test_an_average_of_no_regressors_is_refused(tmp_path):
    refused("auto", changed("regressors:weights", lambda v: v[:, :0]), tmp_path, "no regressors")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("regressor", "form"),
    [
        (LinearRegression(), "linear"),
        (Ridge(0.5), "linear"),
        (MLPRegressor(hidden_layer_sizes=(4, 3), activation="tanh", max_iter=5, random_state=0), "network"),
        (SVR(), "skops"),
    ],
    ids=["linear", "ridge", "network", "svr"],
)
def test_regressors_are_stored_as_arrays_if_arrays_describe_them(regressor, form, tmp_path):
    X, y = toy()
    model = tiny("flow", residualize=regressor, **FEW_FOLDS).fit(X, y)
    model.save(tmp_path / "m.dgbm")
    (stored,) = (each for each in objects(tmp_path / "m.dgbm") if each["kind"] == "regressors")
    assert stored["form"] == form
    same(load(tmp_path / "m.dgbm"), model, X[:9])
