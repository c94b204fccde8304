"""Trials of a search and folds of the benchmarks on a cluster: the results are those of one process."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed")
from benchmarks.__main__ import main
from benchmarks.cluster_dispatch import dispatch_on
from benchmarks.evaluation import KEY
from benchmarks.layout import Layout
from benchmarks.selection import SYNTHETIC

from benchmarks import records
from diffgbm import DiffGBMCV
from tests.conftest import toy

LIGHT = {"n_estimators": 8, "n_repeats": 3, "early_stopping_rounds": None, "num_leaves": 7, "residualize": "off"}


def weak_space(trial):
    """A space in which some choices fail."""
    leaves = trial.suggest_int("num_leaves", 2, 31)
    if leaves % 3 == 0:
        raise ValueError("not today")
    return {"num_leaves": leaves, "n_repeats": 0 if leaves % 3 == 1 else 2, "n_estimators": 3, "residualize": "off"}


def test_trials_on_workers_are_those_of_one_process(client):
    X, y = toy(120)
    make = partial(DiffGBMCV, "flow", n_trials=5, n_samples=20, estimator_params=LIGHT, n_jobs=1, seed=0, cv=2)
    ours, here = make().fit(X, y, client=client), make().fit(X, y)
    # the first ten choices of the search are random, and do not depend on what is known by then
    assert ours.cv_results_["params"] == here.cv_results_["params"]
    for column in ("split0_crps", "split1_crps", "mean_crps"):
        np.testing.assert_array_equal(ours.cv_results_[column], here.cv_results_[column])
    assert (ours.cv_results_["seconds"] > 0.0).all()
    np.testing.assert_array_equal(ours.predict(X), here.predict(X))


def test_failures_on_workers_count_as_such(client):
    search = DiffGBMCV(weak_space, n_trials=3, n_samples=20, n_jobs=1, seed=0, refit=False)
    found = search.fit(*toy(60), client=client).cv_results_
    assert np.isfinite(found["mean_crps"]).sum() <= 3
    errors = {error.partition(":")[0] for error in found["error"] if error}
    assert errors == {"ValueError"}
    assert any("not today" in error for error in found["error"])
    assert any("n_repeats must be" in error for error in found["error"])
    assert len(found["error"]) <= 6


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """No network, and no data of this machine."""
    for name, value in (("OFFLINE", "1"), ("CACHE", str(tmp_path / "cache")), ("DATA", str(tmp_path / "data"))):
        monkeypatch.setenv(f"DIFFGBM_{name}", value)


def run(folder: Path, *words: str) -> int:
    fixed = [
        "--families",
        "point",
        "noise",
        "--registry",
        "tests.benchmarks.fake_families:ALL",
        "--results-dir",
        str(folder),
    ]
    return main(["run", "--data-sets", SYNTHETIC, "--trials", "2", "--folds", "1", "2", *fixed, *words])


def scores(folder: Path):
    return {key: line["metrics"] for key, line in records.latest(Layout(folder).evaluation, KEY).items()}


@pytest.mark.usefixtures("alone")
def test_the_protocol_on_a_cluster_gives_the_same_results(client, tmp_path):
    assert run(tmp_path / "here") == 0
    assert run(tmp_path / "there", "--dask", client.scheduler.address) == 0
    assert len(scores(tmp_path / "here")) == 4
    assert scores(tmp_path / "here") == scores(tmp_path / "there")


@pytest.mark.usefixtures("alone")
def test_an_unreachable_scheduler_is_reported(tmp_path, capsys):
    assert run(tmp_path / "nowhere", "--dask", "nonsense://x") == 1
    assert "no Dask scheduler could be reached at 'nonsense://x'" in capsys.readouterr().err


def twice(unit):
    return 2 * unit


def test_results_may_bring_more_work_and_time_may_end_it(client):
    received = {}

    def done(unit, result):
        received[unit] = result
        return [unit + 10] if unit < 5 else []

    assert dispatch_on(client, [1, 2, 7], twice, done) == []
    assert received == {1: 2, 2: 4, 7: 14, 11: 22, 12: 24}
    assert dispatch_on(client, [1, 2], twice, done, stop=lambda: True) == [1, 2]


def die(unit):
    os.kill(os.getpid(), 9)


def test_a_unit_that_takes_its_workers_with_it_is_lost(client, cluster, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    lost = []
    assert dispatch_on(client, ["bad"], die, lambda unit, result: [], lost=lost.append) == []
    assert lost == ["bad"]
