"""Optuna studies in journal files: shared by processes, picked up again after any interruption.

A trial belongs to a worker, which holds the lock of a file of its own for as long as it lives. Whoever wants a trial
first looks through those that are running: one whose worker's lock is free was left behind by a process that died. It
is closed, does not count, and its place in the study is tried again, with the same seed. A place at which
``MOST_DEATHS`` workers have died counts as failed: it is the trial that kills them.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.locks import held, is_held, lock
from diffgbm._util.optional import need

MOST_DEATHS = 3
"""Workers that may die at one place before it counts as a failed trial."""


@dataclass(frozen=True)
class StudyStatus:
    """What a study has spent: trials by outcome, trials at work now, and the seconds of those that ended."""

    finite: int = 0
    failed: int = 0
    running: int = 0
    seconds: float = 0.0

    def is_spent(self, target: int, minutes: float | None) -> bool:
        """Whether no trial is left: ``target`` finite ones, twice as many attempts, or the minutes after a finite one.

        A single finite trial is always sought, however short the time.
        """
        if self.finite >= target or self.finite + self.failed >= 2 * target:
            return True
        return minutes is not None and self.finite > 0 and self.seconds >= 60.0 * minutes

    def has_room(self, target: int, minutes: float | None) -> bool:
        """Whether another trial may begin while those at work may all turn out finite, or all fail."""
        if_finite = StudyStatus(self.finite + self.running, self.failed, 0, self.seconds)
        if_failed = StudyStatus(self.finite, self.failed + self.running, 0, self.seconds)
        return not if_finite.is_spent(target, minutes) and not if_failed.is_spent(target, minutes)


@dataclass(frozen=True)
class Study:
    """An Optuna study in a journal, seen by one worker.

    Attributes
    ----------
    optuna : optuna.Study
        The study itself.
    storage : optuna.storages.JournalStorage
        What it is kept in.
    journal : Path
        Its file.
    worker : str
        Name of this worker, whose lock is held.
    """

    optuna: Any
    storage: Any
    journal: Path
    worker: str

    def status(self) -> StudyStatus:
        """Count the trials; those that a dead worker left, and those that wait, are none."""
        states = need("optuna").trial.TrialState
        counted = [trial for trial in self.optuna.get_trials(deepcopy=False) if _counts(trial)]
        return StudyStatus(
            sum(trial.state == states.COMPLETE for trial in counted),
            sum(trial.state == states.FAIL for trial in counted),
            sum(trial.state == states.RUNNING for trial in counted),
            float(sum(trial.user_attrs.get("seconds", 0.0) for trial in counted)),
        )

    def claim(
        self, target: int, minutes: float | None, corners: Sequence[Mapping[str, Any]] = (), seed: Sequence[int] = (0,)
    ) -> Any | None:
        """Begin a trial if the budget has room for one, so that no number of workers exceeds it.

        ``corners`` are the first trials. The sampler's seed depends on ``seed`` and on the trial's place alone, so
        that a study that was interrupted goes on as if it had not been.
        """
        optuna = need("optuna")
        with held(self.journal.with_suffix(".claim.lock")):
            self._close_abandoned()
            status = self.status()
            if not status.has_room(target, minutes):
                return None
            self._enqueue(corners)
            place = status.finite + status.failed + status.running
            state = np.random.SeedSequence([*seed, place]).generate_state(1)[0]
            self.optuna.sampler = optuna.samplers.TPESampler(seed=int(state))
            trial = self.optuna.ask()
            trial.set_user_attr("place", place)
            trial.set_user_attr("worker", self.worker)
        return trial

    def finish(self, trial: Any, value: float | None, seconds: float, error: str | None = None) -> None:
        """End a trial: with its value, or as failed if that is ``None`` or not finite."""
        states = need("optuna").trial.TrialState
        finite = value is not None and bool(np.isfinite(value))
        trial.set_user_attr("seconds", seconds)
        if finite:
            self.optuna.tell(trial, float(value or 0.0))
        else:
            trial.set_user_attr("error", error or f"the score was {value}")
            self.optuna.tell(trial, state=states.FAIL)

    def abandon(self, trial: Any) -> None:
        """End a trial that was interrupted; it does not count."""
        self._close(trial.number, "abandoned", True)

    def best(self) -> tuple[dict[str, Any], float] | None:
        """Return hyperparameters and score of the best trial, the first of equals; ``None`` before a finite one."""
        states = need("optuna").trial.TrialState
        done = self.optuna.get_trials(deepcopy=False, states=(states.COMPLETE,))
        if not done:
            return None
        first = min(done, key=lambda trial: (trial.value, trial.number))
        return dict(first.user_attrs["params"]), float(first.value)

    def last_error(self) -> str:
        """Return what the last failed trial said."""
        errors = [trial.user_attrs["error"] for trial in self.optuna.get_trials() if "error" in trial.user_attrs]
        return errors[-1] if errors else "no trial has ended"

    def _enqueue(self, corners: Sequence[Mapping[str, Any]]) -> None:
        """Put the first corner that nobody has tried in front: one at a time, so that their order survives a death."""
        trials = [t for t in self.optuna.get_trials(deepcopy=False) if not t.user_attrs.get("abandoned")]
        tried = {trial.user_attrs.get("corner") for trial in trials}
        left = [number for number in range(len(corners)) if number not in tried]
        waiting = any(trial.state == need("optuna").trial.TrialState.WAITING for trial in trials)
        if left and not waiting:
            self.optuna.enqueue_trial(dict(corners[left[0]]), user_attrs={"corner": left[0]})

    def _close_abandoned(self) -> None:
        """Close running trials whose worker is dead; under the claim lock, a trial without a worker is dead too."""
        states = need("optuna").trial.TrialState
        for trial in self.optuna.get_trials(deepcopy=False, states=(states.RUNNING,)):
            worker = trial.user_attrs.get("worker")
            if worker == self.worker or (worker is not None and is_held(_worker_file(self.journal, worker))):
                continue
            if worker is not None:
                _worker_file(self.journal, worker).unlink(missing_ok=True)
            deaths = 1 + self._deaths(trial.user_attrs.get("place"))
            if deaths < MOST_DEATHS:
                self._close(trial.number, "abandoned", True)
            else:
                self._close(trial.number, "error", f"the process died in this trial {deaths} times")

    def _deaths(self, place: int | None) -> int:
        return sum(
            bool(trial.user_attrs.get("abandoned")) and trial.user_attrs.get("place") == place
            for trial in self.optuna.get_trials(deepcopy=False)
        )

    def _close(self, number: int, name: str, value: Any) -> None:
        # the trial may be another process's, so the storage takes the attribute instead of a trial object
        study_id = self.storage.get_study_id_from_name(self.optuna.study_name)
        trial_id = self.storage.get_trial_id_from_study_id_trial_number(study_id, number)
        self.storage.set_trial_user_attr(trial_id, name, value)
        self.optuna.tell(number, state=need("optuna").trial.TrialState.FAIL)


@contextmanager
def open_study(journal: Path) -> Iterator[Study]:
    """Open a study, or make it, as a worker that is alive for as long as the block lasts."""
    optuna = need("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    worker = uuid.uuid4().hex
    own = _worker_file(journal, worker)
    with held(own):
        try:
            backend = optuna.storages.journal.JournalFileBackend(str(journal), lock_obj=JournalLock(journal))
            storage = optuna.storages.JournalStorage(backend)
            study = optuna.create_study(storage=storage, study_name=journal.stem, load_if_exists=True)
            yield Study(study, storage, journal, worker)
        finally:
            own.unlink(missing_ok=True)


class JournalLock:
    """Optuna's interface of a lock around each addition to the journal, kept by the system.

    Optuna's own locks are files that a killed process leaves behind, for which all others then wait half a minute. A
    killed process may also leave half a line, which would spoil the next one: it is cut off first.
    """

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Wait for the lock and mend the end of the journal."""
        descriptor = os.open(self._journal, os.O_CREAT | os.O_RDWR, 0o666)
        lock(descriptor)
        self._descriptor = descriptor
        content_end = _end_of_lines(descriptor)
        if content_end < os.fstat(descriptor).st_size:
            os.ftruncate(descriptor, content_end)
        return True

    def release(self) -> None:
        """Give the lock back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _end_of_lines(descriptor: int, block: int = 1 << 16) -> int:
    """Return the number of bytes up to and with the last line end."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - block)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _worker_file(journal: Path, worker: str) -> Path:
    return journal.with_name(f"{journal.stem}.{worker}.worker")


def _counts(trial: Any) -> bool:
    states = need("optuna").trial.TrialState
    return trial.state != states.WAITING and not trial.user_attrs.get("abandoned")
