"""Model files: exact, small, written whole or not at all, and refused if they are of a later version."""

import copy
import json
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from diffgbm import DiffGBM, DiffGBMWarning, ModelFileError, load
from diffgbm.cli.entry import main
from diffgbm.data.file_format import ColumnReading, FileFormat, TableReading
from diffgbm.engine.stored import StoredBooster
from diffgbm.persistence.archive import unpack
from tests.conftest import tiny, toy
from tests.persistence.altered_files import altered
from tests.persistence.fixture_models import FIXTURES, NAMES, frame, path_of, predictions, rows_of

KINDS = (
    *("flow", "published", "score_plus", "mean_scale", "interpolant", "early stopping", "slow engine", "random forest"),
    *("two responses", "constant", "frame", "polars", "missing and categories", "weights"),
)


LINEAR = {"extra_lightgbm_params": {"linear_tree": True}}


def fitted(name: str) -> tuple[DiffGBM, object]:
    """A model of each kind, with rows to ask it about."""
    X, y = toy(d=2 if name == "two responses" else None)
    if name == "frame":
        X, y = frame()
        return tiny("flow").fit(X, y), X[:20]
    if name == "polars":
        X, y = (pl.from_pandas(part) for part in frame())
        return tiny("flow").fit(X, y["price"]), X[:20]
    if name == "missing and categories":
        X[::7, 1] = np.nan
        X[:, 2] = np.floor(5.0 * X[:, 2])
        return tiny("default").fit(X, y, cat_idx=[2]), X[:20]
    if name == "weights":
        return tiny("score_plus").fit(X, y, sample_weight=np.arange(len(y))), X[:20]
    options = {
        "flow": ("flow", {}),
        "published": ("published", {"n_steps": 10}),
        "score_plus": ("score_plus", {"sde_initialize_from_data": True}),
        "mean_scale": ("default", {"residualize": "mean_scale", "n_steps": 10}),
        "interpolant": ("flow", {"velocity_stochasticity": 0.5}),
        "early stopping": ("flow", {"early_stopping_rounds": 3, "n_estimators": 60, "learning_rate": 0.5}),
        "slow engine": ("flow", {"engine": "lightgbm"}),
        "random forest": (
            "flow",
            {"subsample": 0.5, "subsample_freq": 1, "extra_lightgbm_params": {"boosting": "rf"}},
        ),
        "two responses": ("flow", {}),
        "constant": ("flow", {}),
    }
    recipe, params = options[name]
    return tiny(recipe, **params).fit(X, np.ones(len(X)) if name == "constant" else y), X[:20]


def test_a_loaded_model_can_be_pickled_copied_and_refitted_and_its_threads_set(file, flow_model):
    X, y = toy()
    expected = flow_model.sample(X[:5], 3, seed=0)
    for again in (pickle.loads(pickle.dumps(load(file))), copy.deepcopy(load(file)), load(file).set_params(n_jobs=2)):
        np.testing.assert_array_equal(again.sample(X[:5], 3, seed=0), expected)
    np.testing.assert_array_equal(load(file).fit(X, y).sample(X[:5], 3, seed=0), expected)


@pytest.mark.parametrize("name", KINDS)
def test_a_loaded_model_is_the_same_to_the_last_bit(name, tmp_path):
    model, X = fitted(name)
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(loaded.sample(X, 7, seed=3), model.sample(X, 7, seed=3))
    distributions, expected = loaded.predict_distribution(X), model.predict_distribution(X)
    np.testing.assert_array_equal(distributions.quantile([0.05, 0.5, 0.95]), expected.quantile([0.05, 0.5, 0.95]))
    np.testing.assert_array_equal(distributions.mean(), expected.mean())
    assert loaded.get_params() == model.get_params()
    assert str(loaded.recipe_) == str(model.recipe_)
    assert loaded.recipe_ == model.recipe_
    assert loaded.n_iterations_ == model.n_iterations_
    assert loaded.n_features_in_ == model.n_features_in_
    assert loaded.model_.features == model.model_.features
    assert loaded.model_.response_names == model.model_.response_names
    assert type(loaded.predict_interval(X)) is type(model.predict_interval(X))
    loaded.save(tmp_path / "again.dgbm")
    assert (tmp_path / "again.dgbm").read_bytes() == (tmp_path / "m.dgbm").read_bytes()


def test_frames_are_read_by_name_and_unknown_categories_are_missing(tmp_path):
    model, X = fitted("frame")
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    assert list(loaded.feature_names_in_) == ["size", "town", "rooms"]
    np.testing.assert_array_equal(loaded.predict(X[["rooms", "size", "town"]]), model.predict(X))
    new = X.assign(town=pd.Categorical(["Nowhere"] * len(X)))
    with pytest.warns(DiffGBMWarning, match="'town': 100% of the rows"):
        np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    with pytest.raises(ValueError, match="town"):
        loaded.predict(X.drop(columns="town"))


def test_linear_trees_are_kept_and_predicted_by_lightgbm(tmp_path):
    X, y = toy()
    with pytest.warns(DiffGBMWarning, match="linear_tree"):
        model = tiny("flow", residualize="off", **LINEAR).fit(X, y)
    model.save(tmp_path / "m.dgbm")
    with pytest.warns(DiffGBMWarning, match="linear_tree"):
        loaded = load(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(loaded.sample(X[:5], 4, seed=0), model.sample(X[:5], 4, seed=0))


def test_boosters_become_lightgbm_boosters_on_request(file, flow_model):
    loaded = load(file)
    assert all(isinstance(booster, StoredBooster) for booster in loaded.model_.boosters)
    assert all(isinstance(booster, lgb.Booster) for booster in loaded.boosters_)
    Z = np.random.default_rng(0).uniform(size=(9, 5))
    np.testing.assert_array_equal(loaded.boosters_[0].predict(Z), flow_model.boosters_[0].predict(Z))
    importance = loaded.boosters_[0].feature_importance("gain")
    np.testing.assert_allclose(importance, flow_model.boosters_[0].feature_importance("gain"), rtol=1e-4)


def test_loading_another_process_gives_the_same_samples(file, flow_model, tmp_path):
    X, _ = toy(5)
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy as np, diffgbm; X = np.load(sys.argv[2]);"
        "print(diffgbm.load(sys.argv[1]).sample(X, 3, seed=9).tobytes().hex())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file), str(tmp_path / "X.npy")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == flow_model.sample(X, 3, seed=9).tobytes().hex()


def test_the_file_is_small_and_the_same_each_time(file, flow_model, tmp_path):
    flow_model.save(tmp_path / "again.dgbm")
    assert (tmp_path / "again.dgbm").read_bytes() == file.read_bytes()
    assert 2 * file.stat().st_size < len(pickle.dumps(flow_model))
    assert b"pickle" not in b"".join(unpack(file.read_bytes()).values())


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.dgbm")), ids=lambda path: path.stem)
def test_the_command_line_reads_every_kind(path, capsys):
    with pytest.raises(SystemExit) as done:
        main(["inspect", "--json", str(path)])
    assert done.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bytes"] == path.stat().st_size
    assert found["model"] == type(load(path)).__name__
    assert sum(found["trees"]) > 0


def test_unsupported_values_are_refused_before_anything_is_written(tmp_path):
    X, y = toy()
    model = tiny("flow", extra_lightgbm_params={"verbosity": -1, "callbacks": print}, n_estimators=1)
    with pytest.raises(Exception, match="fitted"):
        model.save(tmp_path / "m.dgbm")
    model = tiny("flow").fit(X, y).set_params(extra_lightgbm_params={"callbacks": print})
    with pytest.raises(TypeError, match=r"params\.extra_lightgbm_params\.callbacks is a builtin_function"):
        model.save(tmp_path / "m.dgbm")
    dates = pd.DataFrame({"x": X[:, 0], "day": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"] * 60))})
    with pytest.raises(TypeError, match=r"features\.levels\[1\]\[0\] is a Timestamp"):
        tiny("flow").fit(dates, y).save(tmp_path / "m.dgbm")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("old", [None, b"what was there"])
@pytest.mark.parametrize("where", ["write_bytes", "replace", "fsync"])
def test_an_interrupted_write_leaves_nothing_or_the_old_file(where, old, flow_model, tmp_path, monkeypatch):
    path = tmp_path / "m.dgbm"
    if old:
        path.write_bytes(old)

    def interrupted(*args):
        if where == "write_bytes":
            with open(args[0], "wb") as part:
                part.write(args[1][:100])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path if where == "write_bytes" else os, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        flow_model.save(path)
    monkeypatch.undo()
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([old] if old else [])


def test_a_process_killed_while_writing_leaves_the_old_file(file, tmp_path):
    before = file.read_bytes()
    code = (
        "import os, sys, diffgbm; from pathlib import Path\n"
        "m = diffgbm.load(sys.argv[1])\n"
        "Path.write_bytes = lambda self, b: (open(self, 'wb', 0).write(b[:500]), os.kill(os.getpid(), 9))\n"
        "m.save(sys.argv[1])"
    )
    assert subprocess.run([sys.executable, "-c", code, str(file)], check=False).returncode == -9
    assert file.read_bytes() == before


def test_the_file_is_readable_as_any_other_and_links_are_followed(flow_model, tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.dgbm"
    link.symlink_to(tmp_path / "real" / "m.dgbm")
    flow_model.save(link)
    assert link.is_symlink()
    plain = tmp_path / "plain"
    plain.write_text("")
    assert stat.S_IMODE((tmp_path / "real" / "m.dgbm").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_missing_folder_is_named(flow_model, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        flow_model.save(tmp_path / "nowhere" / "m.dgbm")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        flow_model.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no model file .*m\.dgbm"):
        load(tmp_path / "m.dgbm")


def test_damaged_text_never_reaches_lightgbm(file, monkeypatch):
    def forbidden(*args, **kwargs):
        raise AssertionError("LightGBM was asked")

    monkeypatch.setattr(lgb, "Booster", forbidden)
    X, _ = toy(3)
    assert np.isfinite(load(file).sample(X, 2, seed=0)).all()


@pytest.mark.parametrize("found", [2, 999, 0, -1, "1", 1.0, True, None])
def test_a_file_of_a_later_version_names_it(file, found):
    path = altered(file, lambda manifest, entries: manifest.update(version=found))
    with pytest.raises(ModelFileError, match=r"format version .*; this diffgbm \(.*\) reads versions up to 1"):
        load(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_version_1_still_loads(name):
    path = path_of(name)
    assert path.name.startswith("version1_")
    assert path.stat().st_size < 60_000
    expected = json.loads(path.with_suffix(".json").read_text())
    found = predictions(load(path), rows_of(name))
    assert found.pop("class") == expected.pop("class")
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-9, atol=1e-12)


def test_a_file_from_before_even_noise_says_how_it_was_fitted(flow_model, tmp_path):
    assert load(path_of("mean_scale")).noise_design == "independent"
    model = copy.deepcopy(flow_model).set_params(noise_design="even", n_repeats="auto")
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    assert (loaded.noise_design, loaded.n_repeats) == ("even", "auto")


def test_the_reading_of_the_training_file_is_kept_until_the_next_fit(flow_model, tmp_path):
    reading = TableReading(FileFormat("csv", separator=";"), (ColumnReading("a", "number", ","),))
    model = copy.deepcopy(flow_model)
    model.file_reading_ = reading
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    assert loaded.file_reading_ == reading
    loaded.save(tmp_path / "again.dgbm")
    assert (tmp_path / "again.dgbm").read_bytes() == (tmp_path / "m.dgbm").read_bytes()
    assert loaded.fit(*toy()).file_reading_ is None
