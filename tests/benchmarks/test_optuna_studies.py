"""Studies in journals: what counts, who has room, and what dead processes leave behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.locks import held, is_held
from benchmarks.optuna_studies import MOST_DEATHS, Study, StudyStatus, open_study
from hypothesis import given, settings
from hypothesis import strategies as st

CORNERS = ({"x": 0.25}, {"x": 0.75})


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "law__family.journal"


def attempt(study: Study, target: int = 9, value: float | None = 1.0, seconds: float = 1.0, **options) -> float | None:
    """Do one trial of one number; return that number."""
    trial = study.claim(target, None, **options)
    if trial is None:
        return None
    x = trial.suggest_float("x", 0.0, 1.0)
    trial.set_user_attr("params", {"x": x})
    study.finish(trial, value, seconds)
    return x


def numbers(study: Study) -> list[float]:
    """Return the numbers of the trials that count, in order of their places."""
    done = [t for t in study.optuna.get_trials() if "abandoned" not in t.user_attrs]
    return [t.params["x"] for t in sorted(done, key=lambda t: t.user_attrs["place"])]


def die_in_a_trial(journal: Path, **options) -> None:
    """Begin a trial and be gone: the lock is free, the trial says that it runs."""
    with open_study(journal) as study:
        study.claim(9, None, **options).suggest_float("x", 0.0, 1.0)


@settings(deadline=None)
@given(
    st.builds(StudyStatus, *(st.integers(0, 6),) * 3, st.floats(0.0, 300.0)),
    st.integers(1, 5),
    st.none() | st.floats(0.0, 5.0),
)
def test_room_never_leads_beyond_the_budget(status, target, minutes):
    if status.has_room(target, minutes):
        assert not status.is_spent(target, minutes)
        assert status.finite + status.running < target
        assert status.finite + status.failed + status.running < 2 * target
        assert minutes is None or status.seconds < 60.0 * minutes or status.finite + status.running == 0
    elif not status.running:
        assert status.is_spent(target, minutes)


def test_outcomes_are_counted(journal):
    with open_study(journal) as study:
        for value in (2.0, None, float("nan"), float("inf"), 1.0):
            attempt(study, value=value, seconds=3.0)
        assert study.status() == StudyStatus(2, 3, 0, 15.0)
        params, score = study.best()
        assert score == 1.0
        assert params == {"x": numbers(study)[-1]}


def test_no_more_trials_than_the_target_and_twice_as_many_attempts(journal):
    with open_study(journal) as study:
        for _ in range(10):
            attempt(study, target=3, value=None)
        assert study.status() == StudyStatus(0, 6, 0, 6.0)
        assert study.best() is None
        attempt(study, target=4)
        assert study.status() == StudyStatus(1, 6, 0, 7.0)


def test_workers_share_the_room(journal):
    with open_study(journal) as one, open_study(journal) as other:
        trials = [worker.claim(3, None) for worker in (one, other, one, other)]
        assert [trial is None for trial in trials] == [False, False, False, True]
        assert [trial.number for trial in trials[:3]] == [0, 1, 2]
        assert one.status() == other.status() == StudyStatus(0, 0, 3)


def test_a_trial_of_a_dead_worker_is_tried_again_as_if_nothing_had_happened(journal, tmp_path):
    with open_study(tmp_path / "calm.journal") as study:
        calm = [attempt(study, corners=CORNERS) for _ in range(5)]
    for place in range(5):
        die_in_a_trial(journal, corners=CORNERS)
        with open_study(journal) as study:
            assert study.status().running == 1
            assert attempt(study, corners=CORNERS) == calm[place]
            assert study.status() == StudyStatus(place + 1, 0, 0, place + 1.0)
    assert calm[:2] == [corner["x"] for corner in CORNERS]
    with open_study(journal) as study:
        assert numbers(study) == calm


def test_a_trial_that_kills_every_worker_fails(journal):
    for _ in range(MOST_DEATHS):
        die_in_a_trial(journal)
    with open_study(journal) as study:
        attempt(study)
        assert study.status() == StudyStatus(1, 1, 0, 1.0)
        assert "died" in study.last_error()


def test_the_trial_of_a_living_worker_is_left_alone(journal):
    with open_study(journal) as one:
        trial = one.claim(9, None)
        with open_study(journal) as other:
            attempt(other)
            assert other.status() == StudyStatus(1, 0, 1, 1.0)
        trial.set_user_attr("params", {})
        one.finish(trial, 0.5, 1.0)
        assert one.status() == StudyStatus(2, 0, 0, 2.0)


def test_a_journal_whose_last_line_is_torn_goes_on(journal):
    with open_study(journal) as study:
        attempt(study)
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"op_code": 4, "study_id": 0, "datet')
    with open_study(journal) as study:
        assert study.status() == StudyStatus(1, 0, 0, 1.0)
        attempt(study)
    with open_study(journal) as study:
        assert study.status() == StudyStatus(2, 0, 0, 2.0)
    assert journal.read_bytes().startswith(whole)


def test_locks_are_held_by_one(tmp_path):
    path = tmp_path / "lock"
    assert not is_held(path)
    with held(path) as mine:
        assert mine
        assert is_held(path)
        with held(path, wait=False) as also_mine:
            assert not also_mine
    assert not is_held(path)


def test_nothing_of_a_worker_stays_behind(journal):
    with open_study(journal) as study:
        attempt(study)
    assert not list(journal.parent.glob("*.worker"))
