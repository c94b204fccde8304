"""Guides, pools and calibrated models that no estimator could have written: each is refused in words."""

import io
import json
import os
import pickle
import zipfile
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sklearn.svm import SVR

from diffgbm import ModelFileError, load
from tests.conftest import tiny, toy
from tests.persistence.altered_files import DATA, Trap, altered, object_of, refused, set_at

NAN = float("nan")


def position(name: str, kind: str) -> int:
    """Position of the first object of a kind in a fixture."""
    found = []
    with zipfile.ZipFile(DATA / f"version2_{name}.dgbm") as archive:
        found = json.loads(archive.read("manifest.json"))["objects"]
    return [stored["kind"] for stored in found].index(kind)


MODEL, PROCESS, FEATURES = (position("with_first_stage", kind) for kind in ("model", "process", "features"))

WRONG = {
    "with_first_stage": [
        ("objects", [{}, 3, None, "x", [], [3], [{}], [{"kind": "x"}], [{"kind": 3}], [{"kind": "features"}]]),
        ("features:n_features", [0, 2, 4, 10**12, "3", 3.0, None, True]),
        ("features:levels", [None, [], [None], [None, None, 3], [[[]], None, None]]),
        ("features:names", [[], ["a", "b"], ["a", "a", "b"], [1, 2, 3], "abc"]),
        ("response:scale", [[], [-1.0], ["1"], [NAN], [1.0, 1.0], None]),
        ("response:is_1d", [None, 1, "true"]),
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
        ("forest:outputs", [0, 1, 99, None, "8"]),
        ("forest:coded", [[], [0, 0], [99], [-1], None]),
        *((f"forest:{name}", ["arrays/99.npy", "arrays/0.npy", None]) for name in ("feature", "threshold", "codes")),
        ("guide:location", [99, -1, FEATURES, MODEL, "2", 2.0]),
        ("guide:log_scale", [99, FEATURES]),
        ("guide:given", [None, [99], [FEATURES], [[2]], []]),
        *((f"guide:{name}", [[], [1.0, 1.0], [NAN], None]) for name in ("centre", "spread", "scale_floor", "shrink")),
        ("model:guide", [None, 99, FEATURES]),
        ("model:features", [None, 99, 1, MODEL]),
        ("model:response", [None, 0]),
        ("model:bags", [[], [[]], [["boosters/2.txt", "boosters/3.txt"]], [["boosters/0.txt"]], None, [[3]]]),
        ("model:bag_mix", ["median", None]),
        ("model:engine", ["fast", None]),
        ("model:n_jobs", [0, "all", 1.5]),
        ("model:recipe", [None, {}, []]),
        ("model:recipe.path", [None, {"name": "nowhere"}]),
        ("model:recipe.noise_features", ["nothing", "raw_time_log_std"]),
        ("model:recipe.sampler.n_steps", [0, "5", None]),
        ("diffgbm:params.engine", ["fast", None]),
        ("diffgbm:params.n_jobs", [0, "all"]),
        ("diffgbm:params.residualize", ["everything", 3, None, []]),
        ("diffgbm:params.first_stage_features", ["everything", 3]),
        ("diffgbm:params.unknown", [1]),
        ("diffgbm:tuples", [None, ["seed"], ["nothing"], [3]]),
        ("diffgbm:regressors", [None, {"seed": "x"}, {"residualize": "arrays/0.npy"}, {"residualize": 3}]),
        ("diffgbm:model", [None, 99, FEATURES]),
    ],
    "auto": [
        ("regressors:form", ["skops", "network", "other", None]),
        ("regressors:class", ["SVR", "os.system", None]),
        ("regressors:units", [None, [], [1], [3, 2, 1], "x"]),
        ("regressors:activation", ["relu", 3]),
        ("regressors:weights", ["arrays/99.npy", "boosters/0.txt", None]),
        ("regressors:dense", [None, 0]),
        ("pool:members", [[], None, [0, 1], [99, 99]]),
        ("pool:weights", [[], [1.0], [0.5, 0.6], [0.0, 1.0], [-0.5, 1.5], [NAN, 1.0], None]),
        ("pool:pit", ["arrays/99.npy", "arrays/0.npy", 3]),
        ("pool:correction", ["arrays/0.npy", 3, [], {}, {"theta": "arrays/0.npy"}]),
        ("pool:correction", [{"theta": "arrays/99.npy", "iqr_quantiles": "arrays/99.npy"}]),
        ("pool:shapes", [[], [3], None]),
        ("pool:shapes.0", [{}, {"atoms": [2.0, 1.0], "low": None, "high": None}]),
        (
            "pool:shapes.0",
            [{"atoms": [1.0, 2.0], "low": None, "high": None, "atom_width": width} for width in (1.0, "x")],
        ),
        ("pool:shapes.0.atom_width", [0.1, -0.1, NAN, None]),
        ("pool:shapes.0.atoms", [[1.0], [1.0, NAN], "ab"]),
        ("pool:shapes.0.low", ["0", NAN]),
        ("auto:params.preset", ["quick", None, {}, {"rounds": []}]),
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
        ("conformal:laws", [[], [{}], [3], None]),
        ("conformal:laws.0.name", [None, 3]),
        ("conformal:observed", [[], ["arrays/99.npy"], ["arrays/0.npy"], [3], None]),
        ("conformal:group", [[], ["arrays/99.npy"], ["arrays/0.npy"], None]),
        ("conformal:pit", [None, "arrays/0.npy", "arrays/99.npy"]),
        ("conformal:edges", [[2.0, 1.0], [NAN], "ab", 3]),
        ("conformal:values", [None, [1, 1], [[1]], 3]),
        ("conformal:params.method", ["magic", None]),
        ("conformal:params.n_groups", [0, "5"]),
        ("conformal:params.groups", [[1], {}]),
        ("conformal:params.estimator", [1]),
    ],
}


@pytest.mark.parametrize(
    ("name", "where", "value"),
    [(name, where, value) for name, cases in WRONG.items() for where, values in cases for value in values],
    ids=lambda value: str(value)[:30],
)
def test_objects_that_describe_no_model_are_refused(name, where, value, tmp_path):
    refused(name, lambda manifest, entries: set_at(manifest, where, value), tmp_path)


@pytest.mark.parametrize("name", ["with_first_stage", "auto", "conformal"])
def test_objects_that_lack_anything_are_refused(name, tmp_path):
    with zipfile.ZipFile(DATA / f"version2_{name}.dgbm") as archive:
        objects = json.loads(archive.read("manifest.json"))["objects"]
    for number, stored in enumerate(objects):
        for field in stored:
            refused(name, lambda manifest, _, n=number, f=field: manifest["objects"][n].pop(f), tmp_path)


def change_reference(number, field, new, manifest, entries):
    manifest["objects"][number][field] = new


@pytest.mark.parametrize("name", ["with_first_stage", "auto", "conformal"])
def test_references_that_lead_nowhere_or_round_in_circles_are_refused(name, tmp_path):
    """An object refers to earlier ones only, so that one that refers to itself is not there yet."""
    with zipfile.ZipFile(DATA / f"version2_{name}.dgbm") as archive:
        objects = json.loads(archive.read("manifest.json"))["objects"]
    fields = ("dense", "members", "location", "given", "features", "response", "first_stage", "model", "pool", "models")
    tried = 0
    for number, stored in enumerate(objects):
        if stored["kind"] in ("boosters", "response"):  # whose models are entries, and whose location is a number
            continue
        for field in set(fields) & set(stored):
            several = isinstance(stored[field], list)
            for target in (number, number + 1, len(objects), -1):
                new = [target] * len(stored[field]) if several else target
                if several and not new:
                    continue
                tried += 1
                change = partial(change_reference, number, field, new)
                refused(name, change, tmp_path, "before it is there")
    assert tried >= 16


def test_objects_that_nothing_refers_to_are_refused(tmp_path):
    def change(manifest, entries):
        manifest["objects"].insert(0, manifest["objects"][0])
        for stored in manifest["objects"]:
            for field in ("dense", "location", "features", "response", "first_stage", "model"):
                if isinstance(stored.get(field), int):
                    stored[field] += 1
            for field in ("members", "given"):
                if field in stored:
                    stored[field] = [i + 1 for i in stored[field]]

    refused("with_first_stage", change, tmp_path, "nothing refers to object 0")


def test_a_file_that_ends_in_no_estimator_is_refused(tmp_path):
    refused("with_first_stage", lambda manifest, entries: manifest["objects"].pop(), tmp_path, "is no estimator")


def test_members_of_different_tables_and_weights_beside_one_are_refused(tmp_path):
    auto = load(DATA / "version2_auto.dgbm")
    pool, path = auto.pool_, tmp_path / "altered.dgbm"
    first, second = pool.members
    other = replace(second.features, levels=(None, None, (0.0, 1.0, 9.0)))
    scale = replace(second.response, scale=2.0 * second.response.scale)
    pools = {
        "models of the same table": replace(pool, members=(first, replace(second, features=other))),
        "of the same table": replace(pool, members=(first, replace(second, response=scale))),
        "sum to one": replace(pool, weights=1.1 * pool.weights),
    }
    for message, wrong in pools.items():
        model = copy(auto)
        model.pool_ = wrong
        model.save(path)
        with pytest.raises(ModelFileError, match=message):
            load(path)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory) -> Path:
    """A file with a regressor that skops holds."""
    X, y = toy()
    path = tmp_path_factory.mktemp("foreign") / "m.dgbm"
    tiny("flow", residualize=SVR(), residualize_k_folds=2).fit(X, y).save(path)
    return path


def skops_refused(foreign: Path, content: bytes, tmp_path: Path, message: str, trusted=()) -> None:
    """The guide's regressors replaced by other content must be refused."""

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
        except Exception:  # skops has no words for it
            continue
        skops_refused(foreign, content, tmp_path, rf"not known to be harmless: .*{name}")
    assert not (tmp_path / "trapped").exists()


def test_what_is_not_skops_is_refused_and_runs_nothing(foreign, tmp_path, monkeypatch):
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


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("hello", "not the lists"),
        ([], "not the lists"),
        ([[]], "not the lists"),
        ([SVR()], "not the lists"),
        ([["hello"]], "does not predict"),
        ([[SVR()], [SVR()]], "must predict 1 response"),
    ],
)
def test_skops_entries_that_hold_no_regressors_are_refused(value, message, foreign, tmp_path):
    skops = pytest.importorskip("skops.io")
    skops_refused(foreign, skops.dumps(value), tmp_path, message)
