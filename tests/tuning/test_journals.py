"""Studies in journal files: what counts, who may begin a trial, and what dead processes leave behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffgbm.tuning.journals import open_journal
from diffgbm.tuning.studies import INDEX, MOST_DEATHS, Budget, Study, StudyStatus

CORNERS = ({"x": 0.25}, {"x": 0.75})
STORED = Path(__file__).parent / "data" / "california__point.journal"
"""A journal of the benchmarks from before studies and journals were one engine, with an abandoned trial."""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "data__family.journal"


def claim(study: Study, n_trials: int = 9, corners=(), seed=(0,)):
    return study.claim(Budget(n_trials, None, until_finite=True), corners, seed)


def attempt(study: Study, n_trials: int = 9, value: float | None = 1.0, seconds: float = 1.0, **options):
    """Do one trial of one number; return that number."""
    trial = claim(study, n_trials, **options)
    if trial is None:
        return None
    x = trial.suggest_float("x", 0.0, 1.0)
    study.finish(trial, value, seconds)
    return x


def numbers(study: Study) -> list[float]:
    """Return the numbers of the trials that count, by trial index."""
    done = [t for t in study.optuna.get_trials() if "abandoned" not in t.user_attrs]
    return [t.params["x"] for t in sorted(done, key=lambda t: t.user_attrs[INDEX])]


def die_in_a_trial(journal: Path, **options) -> None:
    """Begin a trial and vanish: the lock is free, the trial is still running."""
    with open_journal(journal) as study:
        claim(study, **options).suggest_float("x", 0.0, 1.0)


def test_outcomes_are_counted(journal):
    with open_journal(journal) as study:
        for value in (2.0, None, float("nan"), float("inf"), 1.0):
            attempt(study, value=value, seconds=3.0)
        assert study.status() == StudyStatus(2, 3, 0, 15.0)
        assert study.best().value == 1.0
        assert study.best().params == {"x": numbers(study)[-1]}
        assert study.last_error() == "the score was inf"


def test_no_more_trials_than_asked_for_and_twice_as_many_attempts(journal):
    with open_journal(journal) as study:
        for _ in range(10):
            attempt(study, n_trials=3, value=None)
        assert study.status() == StudyStatus(0, 6, 0, 6.0)
        assert study.best() is None
        attempt(study, n_trials=4)
        assert study.status() == StudyStatus(1, 6, 0, 7.0)


def test_workers_share_the_budget(journal):
    with open_journal(journal) as one, open_journal(journal) as other:
        trials = [claim(worker, 3) for worker in (one, other, one, other)]
        assert [trial is None for trial in trials] == [False, False, False, True]
        assert [trial.number for trial in trials[:3]] == [0, 1, 2]
        assert one.status() == other.status() == StudyStatus(0, 0, 3)


def test_a_trial_of_a_dead_worker_is_tried_again_as_if_nothing_had_happened(journal, tmp_path):
    with open_journal(tmp_path / "calm.journal") as study:
        calm = [attempt(study, corners=CORNERS) for _ in range(5)]
    for index in range(5):
        die_in_a_trial(journal, corners=CORNERS)
        with open_journal(journal) as study:
            assert study.status().running == 1
            assert attempt(study, corners=CORNERS) == calm[index]
            assert study.status() == StudyStatus(index + 1, 0, 0, index + 1.0)
    assert calm[:2] == [corner["x"] for corner in CORNERS]
    with open_journal(journal) as study:
        assert numbers(study) == calm


def test_a_trial_that_kills_every_worker_fails(journal):
    for _ in range(MOST_DEATHS):
        die_in_a_trial(journal)
    with open_journal(journal) as study:
        attempt(study)
        assert study.status() == StudyStatus(1, 1, 0, 1.0)
        assert "died" in study.last_error()


def test_the_trial_of_a_living_worker_is_left_alone(journal):
    with open_journal(journal) as one:
        trial = claim(one)
        with open_journal(journal) as other:
            attempt(other)
            assert other.status() == StudyStatus(1, 0, 1, 1.0)
        one.finish(trial, 0.5, 1.0)
        assert one.status() == StudyStatus(2, 0, 0, 2.0)


def test_a_journal_whose_last_line_is_incomplete_goes_on(journal):
    with open_journal(journal) as study:
        attempt(study)
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"op_code": 4, "study_id": 0, "datet')
    with open_journal(journal) as study:
        assert study.status() == StudyStatus(1, 0, 0, 1.0)
        attempt(study)
    with open_journal(journal) as study:
        assert study.status() == StudyStatus(2, 0, 0, 2.0)
    assert journal.read_bytes().startswith(whole)


def test_nothing_of_a_worker_stays_behind(journal):
    with open_journal(journal) as study:
        attempt(study)
    assert not list(journal.parent.glob("*.worker"))


def test_a_journal_of_an_earlier_version_goes_on(tmp_path):
    """Two corners, an abandoned and a failed trial were written by the benchmarks' former engine."""
    journal = tmp_path / STORED.name
    journal.write_bytes(STORED.read_bytes())
    with open_journal(journal) as study:
        assert study.status() == StudyStatus(2, 1, 0, 3.5)
        assert study.best().user_attrs["params"] == {"x": 0.75}
        assert study.last_error() == "ValueError: x"
        went_on = attempt(study, corners=CORNERS, seed=(7, 8))
    with open_journal(tmp_path / "fresh.journal") as study:
        fresh = [attempt(study, corners=CORNERS, seed=(7, 8), value=value) for value in (1.0, 0.5, None, 1.0)]
    assert went_on == fresh[3]
