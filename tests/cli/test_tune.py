"""``diffgbm tune``, ``diffgbm fit`` with presets, and commands with every kind of model."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import diffgbm
from diffgbm import DiffGBM
from diffgbm.cli import commands, output
from diffgbm.tuning.studies import open_study
from tests.cli.houses import SETS, SMALL, houses, installed, read, rows

COMMON = ("--target", "price", "--drop", "id", "--drop", "days", "--jobs", 1)


TUNE = (*COMMON, *SETS, "--space", "flow", "--set", "residualize=off")


def test_the_installed_command_tunes(folder, tmp_path):
    done = installed("tune", folder / "houses.csv", *TUNE, "--trials", 2, "-o", "m.dgbm", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"2 trials\n|2 trials +\n", done.stdout)
    assert re.search(r"CRPS \(lower is better\) +│ [\d.]+ +│ [\d.]+ ", done.stdout)
    assert re.search(r"learning_rate +│ [\d.e-]+ +│ 0\.1 ", done.stdout)
    assert re.search(r"m\.dgbm: fitted price to 200 rows and 4 columns in .* s \(.* MB\)\.\n$", done.stdout)
    assert [p.name for p in tmp_path.iterdir()] == ["m.dgbm"]


def test_tune_gives_the_search_of_the_library(folder, tmp_path, run):
    words = ("--trials", 3, "--folds", 2, "--seed", 5, "--json", "-o", tmp_path / "m.dgbm")
    code, printed, errors = run("tune", folder / "houses.csv", *TUNE, *words)
    assert (code, errors) == (0, "")
    found = json.loads(printed)
    X, y = rows(houses()), houses()["price"]
    fixed = {**SMALL, "residualize": "off"}
    search = diffgbm.DiffGBMCV("flow", n_trials=3, cv=2, seed=5, n_jobs=1, estimator_params=fixed).fit(X, y)
    assert found["params"] == search.best_params_
    assert found["crps"] == search.best_score_
    default = {**DiffGBM.flow(**fixed).get_params(), "n_jobs": 1}
    del default["seed"]
    assert found["default_crps"] == search.objective(X, y).scores(default).mean()
    assert (found["trials"], found["failed"], found["rows"], found["space"]) == (3, 0, 200, "flow")
    assert found["columns"] == ["size", "rooms", "town", "garden"]
    assert found["bytes"] == (tmp_path / "m.dgbm").stat().st_size
    loaded = diffgbm.load(tmp_path / "m.dgbm")
    better = search if found["kept"] == "found" else DiffGBM(**default, seed=5).fit(X, y)
    assert (found["kept"] == "found") is (found["crps"] <= found["default_crps"])
    np.testing.assert_array_equal(loaded.sample(X[:9], 3, seed=0), better.sample(X[:9], 3, seed=0))


@pytest.mark.parametrize("score", [0.0, np.inf])
def test_the_better_of_search_and_default_is_written(folder, tmp_path, run, monkeypatch, score):
    monkeypatch.setattr("diffgbm.tuning.objective.Objective.scores", lambda self, params: np.array([score]))
    words = (*TUNE, "--trials", 1, "--json", "-o", tmp_path / "m.dgbm")
    monkeypatch.setattr(diffgbm.DiffGBMCV, "fit", search_with_score(0.5))
    code, printed, errors = run("tune", folder / "houses.csv", *words)
    assert (code, errors) == (0, "")
    assert json.loads(printed)["kept"] == ("default" if score < 0.5 else "found")
    assert diffgbm.load(tmp_path / "m.dgbm").num_leaves == (8 if score < 0.5 else 5)


def search_with_score(score):
    """A search that found a model of five leaves, with this score."""

    def fit(self, X, y):
        self.cv_results_ = {"mean_crps": np.array([score])}
        self.best_score_, self.best_params_ = score, {"num_leaves": 5}
        self.best_estimator_ = DiffGBM.flow(**{**SMALL, "num_leaves": 5}, residualize="off", n_jobs=1, seed=0).fit(X, y)
        return self

    return fit


def test_minutes_limit_a_search(folder, tmp_path, run, monkeypatch):
    seen = []

    def fitted(self, X, y):
        seen.append((self.n_trials, self.timeout))
        raise ValueError("enough")

    monkeypatch.setattr(commands.DiffGBMCV, "fit", fitted)
    for words in ((), ("--minutes", 1.5), ("--trials", 7), ("--minutes", 2, "--trials", 3)):
        assert run("tune", folder / "houses.csv", *TUNE, *words, "-o", tmp_path / "m.dgbm")[0] == 2
    assert seen == [(40, None), (None, 90.0), (7, None), (3, 120.0)]


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_tune_resumes(how, folder, tmp_path, run):
    """The process is stopped in its third trial, which waits for that."""
    code = (
        # a shell starts what runs in the background with interruptions ignored
        "import signal, sys, time, diffgbm.tuning.trials as trials\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "score, count = trials.Objective.__call__, iter(range(9))\n"
        "def wait(self, trial):\n"
        "    if next(count) < 2: return score(self, trial)\n"
        "    print('waiting', flush=True); time.sleep(600)\n"
        "trials.Objective.__call__ = wait\n"
        "from diffgbm.cli.entry import main; main()"
    )
    words = ["tune", folder / "houses.csv", *TUNE, "--trials", 4, "-q", "-o", tmp_path / "m.dgbm"]
    storage = ("--storage", tmp_path / "s.db")
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, (*words, *storage))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(how)
    _, errors = process.communicate()
    if how == signal.SIGINT:
        assert (process.returncode, errors) == (130, "diffgbm: interrupted\n")
    assert [p.name for p in tmp_path.iterdir()] == ["s.db"]
    assert run(*words, *storage) == (0, "", "")
    with open_study(tmp_path / "s.db", "diffgbm-flow") as study:
        assert study.status().finite == 4
        assert len(study.optuna.trials) == 5
    content = (tmp_path / "m.dgbm").read_bytes()
    assert run(*words) == (0, "", "")  # the same search, never interrupted
    assert (tmp_path / "m.dgbm").read_bytes() == content


@pytest.mark.filterwarnings("always::diffgbm._util.errors.DiffGBMWarning")
def test_a_warning_of_many_trials_is_one_line(tmp_path, run):
    houses(70).to_csv(tmp_path / "few.csv", index=False)
    words = (*COMMON, *SETS, "--space", "flow", "--trials", 3, "-o", tmp_path / "m.dgbm")
    code, _, errors = run("tune", tmp_path / "few.csv", *words)
    assert code == 0
    # the trials learn from 58 rows, the model from all
    assert re.fullmatch(r"diffgbm: warning: .* got 58: .*\ndiffgbm: warning: .* got 70: .*\n", errors)


@pytest.mark.parametrize("old", [None, b"what was there"])
def test_a_tuned_model_appears_whole_or_not_at_all(old, folder, tmp_path, run, monkeypatch):
    out = tmp_path / "m.dgbm"
    if old:
        out.write_bytes(old)

    def full(*words):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("diffgbm._util.atomic_files.os.replace", full)
    code, printed, errors = run("tune", folder / "houses.csv", *TUNE, "-q", "--trials", 1, "-o", out)
    assert (code, printed) == (2, "")
    assert re.fullmatch(r"diffgbm: .*No space left on device\n", errors)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([old] if old else [])


def test_a_search_of_another_table_is_not_resumed(folder, tmp_path, run):
    words = (*TUNE, "--trials", 1, "-q", "-o", tmp_path / "m.dgbm", "--storage", tmp_path / "s.db")
    assert run("tune", folder / "houses.csv", *words) == (0, "", "")
    code, _, errors = run("tune", folder / "test.csv", *words)
    assert code == 2
    assert re.search(r"^diffgbm: The study 'diffgbm-flow' was begun with another table: .*\n$", errors)


def test_without_optuna_the_error_says_what_to_install(folder, tmp_path):
    code = "import sys; sys.modules['optuna'] = None; from diffgbm.cli.entry import main; main()"
    words = ["tune", folder / "houses.csv", *TUNE, "-o", tmp_path / "m.dgbm"]
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "diffgbm: This needs optuna, which is not installed: pip install optuna (or 'diffgbm[tune]').\n"
    )


@pytest.fixture(scope="module")
def automatic(tmp_path_factory):
    """A model that ``fit --preset`` wrote, through the installed command, and what it printed."""
    path = tmp_path_factory.mktemp("automatic")
    houses().to_csv(path / "houses.csv", index=False)
    words = ("fit", "houses.csv", *COMMON, "--preset", "fast", "--time-limit", 3, "-o", "auto.dgbm", "--json")
    done = installed(*words, cwd=path)
    assert (done.returncode, done.stderr) == (0, "")
    return path / "auto.dgbm", json.loads(done.stdout)


def test_a_preset_fits_an_automatic_model(automatic):
    path, found = automatic
    loaded = diffgbm.load(path)
    assert isinstance(loaded, diffgbm.AutoDiffGBM)
    assert (loaded.preset, loaded.time_limit, loaded.seed, loaded.verbose) == ("fast", 3.0, 0, 0)
    assert found["model"] == "AutoDiffGBM"
    assert found["chosen"] == loaded.explain()
    assert (found["targets"], found["rows"]) == (["price"], 200)
    assert found["columns"] == ["size", "rooms", "town", "garden"]
    assert found["categories"] == ["town", "garden"]


def conformal(path) -> None:
    """Write a calibrated model whose intervals are not those of its distributions."""
    base = DiffGBM.flow(**{**SMALL, "n_estimators": 60}, residualize="off", seed=0, n_jobs=1)
    diffgbm.ConformalDiffGBM(base, calibration_size=0.4, seed=0).fit(rows(houses()), houses()["price"]).save(path)


@pytest.fixture(params=["AutoDiffGBM", "ConformalDiffGBM"])
def other(request, automatic, tmp_path):
    """The file of a model of another kind, and the model."""
    path = automatic[0]
    if request.param == "ConformalDiffGBM":
        path = tmp_path / "conformal.in"
        conformal(path)
    model = diffgbm.load(path)
    assert type(model).__name__ == request.param
    return path, model


def test_every_kind_of_model_predicts(other, folder, tmp_path, run, monkeypatch):
    path, model = other
    words = ("--mean", "--interval", 0.9, "--quantiles", ".2,.8", "--prob-below", 500, "--keep", "id", "--jobs", 1)
    X = rows(houses(40, 1))
    distribution = model.predict_distribution(X)
    for numbers in (4_000_000, 256 * 7):
        monkeypatch.setattr(output, "NUMBERS_AT_ONCE", numbers)
        code, _, errors = run("predict", path, folder / "tomorrow.csv", "-o", tmp_path / "o.parquet", *words)
        assert (code, errors) == (0, "")
        found = read(tmp_path / "o.parquet")
        np.testing.assert_array_equal(found["mean"], distribution.mean())
        np.testing.assert_array_equal(found[["lower", "upper"]], model.predict_interval(X, 0.9))
        np.testing.assert_array_equal(found[["q0.2", "q0.8"]], distribution.quantile([0.2, 0.8]))
        np.testing.assert_array_equal(found["prob_below"], distribution.cdf(500.0))
    if isinstance(model, diffgbm.ConformalDiffGBM):
        assert not np.allclose(found[["lower", "upper"]], distribution.interval(0.9))


def test_every_kind_of_model_is_sampled(other, folder, tmp_path, run, monkeypatch):
    path, model = other
    for name, numbers in (("whole", 4_000_000), ("pieces", 3 * 7)):
        monkeypatch.setattr(output, "NUMBERS_AT_ONCE", numbers)
        words = ("-n", 3, "--seed", 2, "--jobs", 1, "-o", tmp_path / f"{name}.parquet")
        assert run("sample", path, folder / "tomorrow.csv", *words)[0] == 0
    X = rows(houses(40, 1))
    automatic = isinstance(model, diffgbm.AutoDiffGBM)
    expected = model.sample(X, 3, seed=2) if automatic else model.predict_distribution(X).sample(3, 2)
    np.testing.assert_array_equal(read(tmp_path / "whole.parquet").T, expected)
    np.testing.assert_array_equal(read(tmp_path / "pieces.parquet").T, expected)


def test_every_kind_of_model_is_evaluated_and_inspected(other, folder, run):
    path, model = other
    code, printed, errors = run("evaluate", path, folder / "test.csv", "--json", "--jobs", 1)
    assert (code, errors) == (0, "")
    table = houses(60, 2)
    X, y = rows(table), table["price"].to_numpy()
    scores = json.loads(printed)["targets"]["price"]
    np.testing.assert_allclose(scores["crps"], model.crps(X, y).mean())
    ends = np.asarray(model.predict_interval(X, 0.9))
    np.testing.assert_allclose(scores["coverage_0.9"], np.mean((y >= ends[:, 0]) & (y <= ends[:, 1])))
    np.testing.assert_allclose(scores["width_0.9"], np.mean(ends[:, 1] - ends[:, 0]))
    found = json.loads(run("inspect", path, "--json")[1])
    assert found["model"] == type(model).__name__
    assert found["columns"] == ["size", "rooms", "town", "garden"]
    assert found["targets"] == ["price"]
    if isinstance(model, diffgbm.ConformalDiffGBM):
        assert found["calibrated"] == "split, on 80 rows"


def test_threads_are_set_in_every_kind_of_model(other):
    path, model = other
    loaded = commands.loaded_model(path, [], 2)
    parts = loaded.models_ if isinstance(model, diffgbm.ConformalDiffGBM) else [loaded]
    assert [part.n_jobs for part in parts] == [2] * len(parts)
