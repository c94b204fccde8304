"""Tuning: budgets, failures, interruptions, and the configuration that comes out."""

from __future__ import annotations

import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.configs import Budget, Config
from benchmarks.datasets import Table
from benchmarks.layout import Layout
from benchmarks.protocol import prepare
from benchmarks.selection import SYNTHETIC, load_table
from benchmarks.tuning import tune, validation_crps

from benchmarks import configs
from diffgbm.tuning.journals import open_journal
from diffgbm.tuning.studies import Budget as StudyBudget
from tests.benchmarks import fake_families as fake


@pytest.fixture
def table() -> Table:
    return load_table(SYNTHETIC, None)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "results").prepare()


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where every fit leaves a file."""
    folder = tmp_path / "log"
    folder.mkdir()
    monkeypatch.setenv("FAKE_LOG", str(folder))
    return folder


class Clock:
    """Every other reading is half a minute later: that is how long each trial takes."""

    def __init__(self) -> None:
        self.readings = 0

    def __call__(self) -> float:
        self.readings += 1
        return 30.0 * (self.readings // 2)


def shifts(layout: Layout, family: str, data_set: str = SYNTHETIC) -> list[float]:
    """Return what the finite trials tried, in the order of their places."""
    with open_journal(layout.journal(data_set, family)) as study:
        done = [t for t in study.optuna.get_trials() if t.value is not None]
    return [t.params["shift"] for t in sorted(done, key=lambda t: t.user_attrs["place"])]


def config_of(layout: Layout, family: str) -> Config:
    config = configs.read(layout.config(SYNTHETIC, family))
    assert config is not None
    return config


def test_the_score_is_the_crps_on_fold_0_in_original_units(table):
    fold = prepare(table, 0)
    value = 0.3 * fold.response.scale + fold.response.mean
    expected = np.mean(np.abs(fold.y_test - value))
    assert validation_crps(fake.POINT, {"shift": 0.3}, fold, 1) == pytest.approx(expected, rel=1e-12)


def test_the_best_trial_becomes_the_configuration(table, layout):
    outcome = tune(fake.POINT, table, SYNTHETIC, layout, Budget())
    config, fold = config_of(layout, "point"), prepare(table, 0)
    scores = {x: validation_crps(fake.POINT, {"shift": x}, fold, 1) for x in shifts(layout, "point")}
    assert outcome.state == "tuned"
    assert outcome.config == config
    assert len(scores) == config.n_trials_finite == config.n_trials_target == fake.POINT.n_trials
    assert config.params == {"shift": min(scores, key=scores.__getitem__), "fixed": "word"}
    assert config.validation_crps == min(scores.values())
    assert config.n_trials_failed == 0
    assert config.budget == {"trials": None, "minutes": None, "prune": False}
    assert set(config.versions) == {"diffgbm", "numpy", "optuna", "scikit-learn", "scipy"}
    assert len(config.source_hash) == 64


def test_trials_that_raise_or_have_no_finite_score_fail_alone(table, layout):
    config = tune(fake.WIDE, table, SYNTHETIC, layout, Budget(trials=5)).config
    assert config is not None
    assert config.n_trials_finite == 5
    assert config.n_trials_failed > 0
    with open_journal(layout.journal(SYNTHETIC, "wide")) as study:
        errors = [t.user_attrs["error"] for t in study.optuna.get_trials() if "error" in t.user_attrs]
    assert len(errors) == config.n_trials_failed
    assert {error.split()[0] for error in errors} == {"RuntimeError:", "the"}
    assert all(-2.0 <= x <= 2.0 for x in shifts(layout, "wide"))


def test_a_study_without_a_finite_trial_ends_after_twice_the_target(table, layout, log):
    for _ in range(2):
        outcome = tune(fake.FAR, table, SYNTHETIC, layout, Budget(trials=3))
        assert outcome.state == "failed"
        assert "too far" in outcome.text
        assert fake.n_fits(log) == 6
    assert not layout.config(SYNTHETIC, "far").exists()


def test_a_spent_budget_is_not_reopened_and_a_larger_one_goes_on(table, layout, log, tmp_path):
    at_once = Layout(tmp_path / "at_once").prepare()
    tune(fake.POINT, table, SYNTHETIC, at_once, Budget(trials=7))
    before = fake.n_fits(log)
    assert tune(fake.POINT, table, SYNTHETIC, layout, Budget(trials=3)).state == "tuned"
    for smaller in (Budget(trials=3), Budget(trials=2), Budget(trials=3, minutes=5.0)):
        assert tune(fake.POINT, table, SYNTHETIC, layout, smaller).state == "kept"
    assert fake.n_fits(log) - before == 3
    assert tune(fake.POINT, table, SYNTHETIC, layout, Budget(trials=7)).state == "tuned"
    assert fake.n_fits(log) - before == 7
    assert shifts(layout, "point") == shifts(at_once, "point")
    assert config_of(layout, "point").params == config_of(at_once, "point").params


def test_corners_are_tried_first(table, layout):
    tune(fake.CORNERED, table, SYNTHETIC, layout, Budget(trials=3))
    assert shifts(layout, "cornered")[:2] == [0.25, -0.5]


def test_data_sets_have_their_own_first_trials_and_families_of_one_space_share_them(table, layout):
    for family, name in ((fake.POINT, "a"), (fake.NOISE, "a"), (fake.POINT, "b")):
        tune(family, table, name, layout, Budget(trials=2))
    assert shifts(layout, "point", "a") == shifts(layout, "noise", "a")
    assert not set(shifts(layout, "point", "a")) & set(shifts(layout, "point", "b"))


@pytest.mark.parametrize(("minutes", "trials"), [(1e-9, 1), (0.5, 1), (0.6, 2), (2.0, 4)])
def test_minutes_are_the_sum_of_the_trials(table, layout, minutes, trials):
    family = replace(fake.POINT, n_trials=40)
    config = tune(family, table, SYNTHETIC, layout, Budget(minutes=minutes), clock=Clock()).config
    assert config is not None
    assert (config.n_trials_finite, config.n_trials_target) == (trials, 40)
    assert config.seconds == 30.0 * trials
    assert config.budget == {"trials": None, "minutes": minutes, "prune": False}


def test_minutes_of_earlier_runs_count(table, layout, log):
    family = replace(fake.POINT, n_trials=40)
    tune(family, table, SYNTHETIC, layout, Budget(minutes=1.0), clock=Clock())
    assert fake.n_fits(log) == 2
    assert tune(family, table, SYNTHETIC, layout, Budget(minutes=1.0), clock=Clock()).state == "kept"
    tune(family, table, SYNTHETIC, layout, Budget(minutes=2.5), clock=Clock())
    assert fake.n_fits(log) == 5
    assert config_of(layout, "point").seconds == 150.0


def test_whichever_limit_comes_first(table, layout):
    config = tune(fake.POINT, table, SYNTHETIC, layout, Budget(3, 100.0), clock=Clock()).config
    assert config is not None
    assert config.n_trials_finite == 3


def test_a_finite_trial_is_sought_beyond_the_minutes(table, layout, log):
    outcome = tune(fake.FAR, table, SYNTHETIC, layout, Budget(3, 1e-9), clock=Clock())
    assert outcome.state == "failed"
    assert fake.n_fits(log) == 6


def test_the_file_alone_says_that_a_study_is_done(table, layout, log):
    tune(fake.POINT, table, SYNTHETIC, layout, Budget())
    layout.journal(SYNTHETIC, "point").unlink()
    assert tune(fake.POINT, table, SYNTHETIC, layout, Budget()).state == "kept"
    assert fake.n_fits(log) == 4


def test_a_lost_file_is_written_from_the_study(table, layout, log):
    first = tune(fake.POINT, table, SYNTHETIC, layout, Budget()).config
    layout.config(SYNTHETIC, "point").unlink()
    assert tune(fake.POINT, table, SYNTHETIC, layout, Budget()).config == first
    assert fake.n_fits(log) == 4


def test_a_stopped_study_selects_nothing_and_goes_on(table, layout, log):
    outcome = tune(fake.POINT, table, SYNTHETIC, layout, Budget(), stop=lambda: fake.n_fits(log) == 2)
    assert outcome.state == "stopped"
    assert outcome.config is None
    assert not layout.config(SYNTHETIC, "point").exists()
    assert tune(fake.POINT, table, SYNTHETIC, layout, Budget()).state == "tuned"
    assert fake.n_fits(log) == 4


def test_nothing_is_selected_while_another_process_is_at_the_last_trial(table, layout):
    with open_journal(layout.journal(SYNTHETIC, "point")) as other:
        other.claim(StudyBudget(4), (), (0,))
        outcome = tune(fake.POINT, table, SYNTHETIC, layout, Budget())
    assert outcome.state == "shared"
    assert len(shifts(layout, "point")) == 3
    assert not layout.config(SYNTHETIC, "point").exists()


def test_an_interrupted_trial_does_not_count(table, layout):
    def interrupt(trial):
        trial.suggest_float("shift", -1.0, 1.0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(replace(fake.POINT, suggest=interrupt), table, SYNTHETIC, layout, Budget())
    config = tune(fake.POINT, table, SYNTHETIC, layout, Budget()).config
    assert config is not None
    assert (config.n_trials_finite, config.n_trials_failed) == (4, 0)


def test_a_killed_study_goes_on_as_if_it_had_not_been(table, layout, log, tmp_path):
    calm = Layout(tmp_path / "calm").prepare()
    tune(fake.CORNERED, table, SYNTHETIC, calm, Budget(trials=6))
    before = fake.n_fits(log)
    work = partial(tune, fake.CORNERED, table, SYNTHETIC, layout, Budget(trials=6))
    process = fake.begin(work, FAKE_HANG=str(before + 4))
    fake.wait_until((log / "hanging").exists)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not layout.config(SYNTHETIC, "cornered").exists()
    assert len(shifts(layout, "cornered")) == 3

    config = tune(fake.CORNERED, table, SYNTHETIC, layout, Budget(trials=6)).config
    assert config is not None
    assert (config.n_trials_finite, config.n_trials_failed) == (6, 0)
    # three that ended, one that was killed, three more: nothing lost, nothing double
    assert fake.n_fits(log) - before == 7
    assert shifts(layout, "cornered") == shifts(calm, "cornered")
    assert config.params == config_of(calm, "cornered").params


def test_two_processes_share_one_study(table, layout, log):
    work = partial(tune, fake.CORNERED, table, SYNTHETIC, layout, Budget(trials=9))
    processes = [fake.begin(work, FAKE_MEET="2") for _ in range(2)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(fake.fitting_processes(log)) == 2
    assert fake.n_fits(log) == 9
    with open_journal(layout.journal(SYNTHETIC, "cornered")) as study:
        trials = study.optuna.get_trials()
    assert sorted(t.number for t in trials) == list(range(9))
    assert sorted(t.user_attrs["place"] for t in trials) == list(range(9))
    assert all(t.value is not None for t in trials)
    assert sorted(t.user_attrs["corner"] for t in trials if "corner" in t.user_attrs) == [0, 1]
    assert config_of(layout, "cornered").n_trials_finite == 9
