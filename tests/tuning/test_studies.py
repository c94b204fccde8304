"""Studies: budgets, status, and trials of processes that live, die or were interrupted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgbm.tuning.studies import INDEX, MOST_DEATHS, Budget, ProcessWorker, StudyStatus, has_failed, open_study

STATUS = st.builds(StudyStatus, *(st.integers(0, 6),) * 3, st.floats(0.0, 300.0))
BUDGETS = st.builds(Budget, st.none() | st.integers(1, 5), st.none() | st.floats(0.0, 300.0), st.booleans())


@settings(deadline=None)
@given(STATUS, BUDGETS)
def test_room_never_leads_beyond_the_budget(status, budget):
    if status.has_room(budget):
        assert not status.is_spent(budget)
        if budget.n_trials is not None:
            assert status.finite + status.running < budget.n_trials
            assert status.next_index < 2 * budget.n_trials
        tried = status.finite if budget.until_finite else status.next_index
        assert budget.seconds is None or status.seconds < budget.seconds or tried == 0
    elif not status.running:
        assert status.is_spent(budget)


def test_time_ends_a_study_after_an_attempt_or_after_a_finite_trial():
    failed = StudyStatus(0, 1, 0, 9.0)
    assert failed.is_spent(Budget(5, 2.0))
    assert not failed.is_spent(Budget(5, 2.0, until_finite=True))
    assert StudyStatus(1, 1, 0, 9.0).is_spent(Budget(5, 2.0, until_finite=True))
    assert not StudyStatus(0, 0, 1, 0.0).is_spent(Budget(None, 0.0))


def finish(study, trial, value=1.0):
    trial.suggest_float("x", 0.0, 1.0)
    study.finish(trial, value, 1.0)
    return trial


def test_the_seed_of_a_trial_is_that_of_its_index():
    found = []
    for interruptions in (0, 2):
        with open_study(None, None) as study:
            for _ in range(3):
                for _ in range(interruptions):
                    study.abandon(study.claim(Budget(9), (), (4, 2)))
                finish(study, study.claim(Budget(9), (), (4, 2)))
            done = [t for t in study.optuna.trials if t.state.name == "COMPLETE"]
            found.append([(t.user_attrs[INDEX], t.params["x"]) for t in done])
            assert study.status() == StudyStatus(3, 0, 0, 3.0)
    assert found[0] == found[1]


def test_running_trials_take_room_only_where_all_workers_are_known():
    with open_study(None, None) as study:
        assert [study.claim(Budget(1), (), (0,)) is None for _ in range(2)] == [False, False]
        from dataclasses import replace

        assert replace(study, counts_running=True).claim(Budget(3), (), (0,)) is not None
        assert replace(study, counts_running=True).claim(Budget(3), (), (0,)) is None


def test_an_exception_counts_and_an_interruption_does_not():
    with open_study(None, None) as study:
        finish(study, study.claim(Budget(9), (), (0,)), None)
        study.abandon(study.claim(Budget(9), (), (0,)))
        assert study.status() == StudyStatus(0, 1, 0, 1.0)
        assert [has_failed(trial) for trial in study.optuna.trials] == [True, False]
        assert study.last_error() == "the score was None"


def test_a_closed_trial_of_an_earlier_version_without_marks_is_abandoned():
    with open_study(None, None) as study:
        trial = study.claim(Budget(9), (), (0,))
        study.optuna.tell(trial, state=optuna.trial.TrialState.FAIL)
        assert study.status() == StudyStatus()


def test_processes_are_known_by_host_and_number():
    worker = ProcessWorker()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    assert worker.is_alive(worker.marks)
    assert worker.is_alive({})
    assert worker.is_alive({"process": ["another host", dead.pid]})
    assert worker.is_alive({"process": [socket.gethostname(), os.getppid()]})
    assert worker.is_alive({"process": [socket.gethostname(), dead.pid]}) is (os.name != "posix")


@pytest.mark.skipif(os.name != "posix", reason="processes of other systems count as alive")
def test_an_index_at_which_processes_die_fails():
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with open_study(None, None) as study:
        for deaths in range(1, MOST_DEATHS + 1):
            trial = study.optuna.ask()
            trial.set_user_attr(INDEX, 0)
            trial.set_user_attr("process", [socket.gethostname(), dead.pid])
            study.close_abandoned()
            assert study.status() == StudyStatus(0, int(deaths == MOST_DEATHS), 0, 0.0)


def test_a_study_is_found_again_in_a_file(tmp_path):
    with open_study(tmp_path / "s.db", "name") as study:
        finish(study, study.claim(Budget(9), (), (0,)))
    with open_study(tmp_path / "s.db", "name") as study:
        assert study.status() == StudyStatus(1, 0, 0, 1.0)
    (tmp_path / "other.db").write_text("not a data base, but long enough to be taken for one " * 50)
    with (
        pytest.raises(ValueError, match=r"other\.db cannot be used to store a search"),
        open_study(tmp_path / "other.db", "name"),
    ):
        pass


def test_a_file_appears_with_all_its_tables_or_not_at_all(tmp_path, monkeypatch):
    from optuna.storages import RDBStorage

    class Interrupted(RDBStorage):
        def __init__(self, url):
            super().__init__(url)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("optuna.storages.RDBStorage", Interrupted)
        with pytest.raises(KeyboardInterrupt), open_study(tmp_path / "s.db", "name"):
            pass
    assert list(tmp_path.iterdir()) == []
    with open_study(tmp_path / "s.db", "name"), open_study(tmp_path / "s.db", "name"):
        assert [path.name for path in tmp_path.iterdir()] == ["s.db"]


def test_a_trial_is_marked_before_it_runs(monkeypatch):
    """A process that dies right after a trial began leaves it with its owner, so that it can be closed."""
    with open_study(None, None) as study:

        def die(*words):
            raise KeyboardInterrupt

        monkeypatch.setattr(optuna.trial.Trial, "set_user_attr", die)
        study.claim(Budget(9), (), (0,))
        (running,) = study.optuna.trials
        assert running.state.name == "RUNNING"
        assert running.user_attrs == {INDEX: 0, **study.worker.marks}


def test_optuna_is_quiet_and_then_as_before():
    before = optuna.logging.get_verbosity()
    with open_study(None, None):
        assert optuna.logging.get_verbosity() == optuna.logging.ERROR
    assert optuna.logging.get_verbosity() == before


@pytest.mark.parametrize("first_out", [0, 1])
def test_optunas_messages_come_back_with_the_last_of_overlapping_studies(first_out):
    before = optuna.logging.get_verbosity()
    studies = [open_study(None, None), open_study(None, None)]
    for study in studies:
        study.__enter__()
    assert optuna.logging.get_verbosity() == optuna.logging.ERROR
    studies[first_out].__exit__(None, None, None)
    assert optuna.logging.get_verbosity() == optuna.logging.ERROR
    studies[1 - first_out].__exit__(None, None, None)
    assert optuna.logging.get_verbosity() == before
