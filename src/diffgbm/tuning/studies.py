"""Optuna studies that several processes share and that go on after any interruption.

The seed of trial ``k`` depends on the study's seed and on ``k`` alone, so that an interrupted study continues as if it
had not been interrupted. A trial whose process died is *abandoned*: it does not count, and its index is tried again. An
index at which ``MOST_DEATHS`` processes died counts as a failed trial, because the trial may be what kills them.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from diffgbm._util.optional import need
from diffgbm._util.shared_change import SharedChange

MOST_DEATHS = 3
"""Processes that may die at one trial index before it counts as a failed trial."""
INDEX = "place"
"""Name of the trial index in stored studies; studies of earlier versions have it."""


@dataclass(frozen=True)
class Budget:
    """Limits of a whole study, whichever comes first.

    Attributes
    ----------
    n_trials : int or None
        Finite trials; at most twice as many attempts are made.
    seconds : float or None
        Sum of the trials' durations after which no other trial begins.
    until_finite : bool
        Whether time ends the study only after a finite trial. Otherwise one attempt is enough.
    """

    n_trials: int | None
    seconds: float | None = None
    until_finite: bool = False


@dataclass(frozen=True)
class StudyStatus:
    """What a study has spent: finite, failed and running trials, the seconds of those that ended, pruned trials.

    A pruned trial was judged on a part of the data. It takes room of the budget like a finite one.
    """

    finite: int = 0
    failed: int = 0
    running: int = 0
    seconds: float = 0.0
    pruned: int = 0

    @property
    def next_index(self) -> int:
        """Index of the next trial."""
        return self.finite + self.failed + self.running + self.pruned

    def is_spent(self, budget: Budget) -> bool:
        """Whether no trial may begin any more."""
        judged = self.finite + self.pruned
        ended = judged + self.failed
        if budget.n_trials is not None and (judged >= budget.n_trials or ended >= 2 * budget.n_trials):
            return True
        tried = self.finite if budget.until_finite else ended
        return budget.seconds is not None and tried > 0 and self.seconds >= budget.seconds

    def has_room(self, budget: Budget) -> bool:
        """Whether another trial may begin even if all running trials turn out finite, or all fail."""
        if_finite = replace(self, finite=self.finite + self.running, running=0)
        if_failed = replace(self, failed=self.failed + self.running, running=0)
        return not if_finite.is_spent(budget) and not if_failed.is_spent(budget)


class Worker(Protocol):
    """How a study knows whether the process of a running trial is still alive."""

    @property
    def marks(self) -> dict[str, Any]:
        """Attributes by which a trial names its worker."""
        ...

    def is_alive(self, marks: Mapping[str, Any]) -> bool:
        """Whether the worker of a running trial with these attributes lives."""
        ...

    def alone(self) -> AbstractContextManager[Any]:
        """Keep other workers from beginning a trial for a block, where that is possible."""
        ...


@dataclass(frozen=True)
class ProcessWorker:
    """A worker known by its host and process id. Processes of other hosts count as alive."""

    @property
    def marks(self) -> dict[str, Any]:
        """Host and process id."""
        return {"process": [socket.gethostname(), os.getpid()]}

    def is_alive(self, marks: Mapping[str, Any]) -> bool:
        """Whether the process exists, as far as this host can tell."""
        host, process = marks.get("process", (None, None))
        return host != socket.gethostname() or _exists(process)

    def alone(self) -> AbstractContextManager[Any]:
        """Processes that share a storage cannot exclude each other."""
        return nullcontext()


def _exists(process: int) -> bool:
    if os.name != "posix":  # on Windows signal 0 ends the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@dataclass(frozen=True)
class Study:
    """An Optuna study, as one worker sees it.

    Attributes
    ----------
    optuna : optuna.Study
        The study itself.
    storage : optuna.storages.BaseStorage
        Where it is stored.
    worker : Worker
        This worker.
    counts_running : bool
        Whether running trials take room of the budget: yes if the study knows all its workers.
    """

    optuna: Any
    storage: Any
    worker: Worker
    counts_running: bool

    def status(self) -> StudyStatus:
        """Count the trials; abandoned and waiting ones do not count."""
        states = need("optuna").trial.TrialState
        trials = self.optuna.get_trials(deepcopy=False)
        return StudyStatus(
            finite=sum(trial.state == states.COMPLETE for trial in trials),
            failed=sum(has_failed(trial) for trial in trials),
            running=sum(trial.state == states.RUNNING for trial in trials),
            seconds=float(sum(trial.user_attrs.get("seconds", 0.0) for trial in trials)),
            pruned=sum(trial.state == states.PRUNED for trial in trials),
        )

    def claim(self, budget: Budget, corners: Sequence[Mapping[str, Any]], seed: Sequence[int]) -> Any | None:
        """Begin a trial if the budget has room for one; return it, or ``None``.

        ``corners`` are the choices of the first trials. The sampler's seed is ``(*seed, trial index)``.
        """
        optuna = need("optuna")
        with self.worker.alone():
            self.close_abandoned()
            status = self.status()
            if status.is_spent(budget) or (self.counts_running and not status.has_room(budget)):
                return None
            index = status.next_index
            marks = {INDEX: index, **self.worker.marks}
            if not self.optuna.get_trials(deepcopy=False, states=(optuna.trial.TrialState.WAITING,)):
                # a trial is marked before it runs: a process that dies in between leaves none without an owner
                corner, number = (dict(corners[index]), {"corner": index}) if index < len(corners) else ({}, {})
                self.optuna.enqueue_trial(corner, user_attrs={**marks, **number})
            state = np.random.SeedSequence([*seed, index]).generate_state(1)[0]
            self.optuna.sampler = optuna.samplers.TPESampler(seed=int(state))
            trial = self.optuna.ask()
            # one that waited already may have been marked by another process
            for name in [name for name in marks if trial.user_attrs.get(name) != marks[name]]:
                trial.set_user_attr(name, marks[name])
        return trial

    def finish(self, trial: Any, value: float | None, seconds: float, error: str | None = None) -> None:
        """End a trial: with its value, or as failed if that is ``None`` or not finite."""
        trial.set_user_attr("seconds", seconds)
        if value is not None and np.isfinite(value):
            self.optuna.tell(trial, float(value))
        else:
            trial.set_user_attr("error", error or f"the score was {value}")
            self.optuna.tell(trial, state=need("optuna").trial.TrialState.FAIL)

    def prune(self, trial: Any, seconds: float) -> None:
        """End a trial that is worse than others on a part of the data; it counts, and is never the best one."""
        trial.set_user_attr("seconds", seconds)
        self.optuna.tell(trial, state=need("optuna").trial.TrialState.PRUNED)

    def abandon(self, trial: Any) -> None:
        """End a trial that was interrupted; it does not count."""
        self._close(trial.number, "abandoned", True)

    def close_abandoned(self) -> None:
        """Close running trials whose worker is dead."""
        states = need("optuna").trial.TrialState
        for trial in self.optuna.get_trials(deepcopy=False, states=(states.RUNNING,)):
            if self.worker.is_alive(trial.user_attrs):
                continue
            deaths = 1 + self._deaths(trial.user_attrs.get(INDEX))
            if deaths < MOST_DEATHS:
                self._close(trial.number, "abandoned", True)
            else:
                self._close(trial.number, "error", f"the process died in this trial {deaths} times")

    def best(self) -> Any | None:
        """Return the trial with the lowest value, the first of equals; ``None`` before a finite one."""
        states = need("optuna").trial.TrialState
        done = self.optuna.get_trials(deepcopy=False, states=(states.COMPLETE,))
        return min(done, key=lambda trial: (trial.value, trial.number), default=None)

    def last_error(self) -> str:
        """Return the message of the last failed trial."""
        errors = [t.user_attrs["error"] for t in self.optuna.get_trials(deepcopy=False) if "error" in t.user_attrs]
        return errors[-1] if errors else "no trial has ended"

    def _deaths(self, index: int | None) -> int:
        trials = self.optuna.get_trials(deepcopy=False)
        return sum(_is_abandoned(trial) and trial.user_attrs.get(INDEX) == index for trial in trials)

    def _close(self, number: int, name: str, value: Any) -> None:
        # the trial may be another process's, so the storage takes the attribute instead of a trial object
        study_id = self.storage.get_study_id_from_name(self.optuna.study_name)
        trial_id = self.storage.get_trial_id_from_study_id_trial_number(study_id, number)
        self.storage.set_trial_user_attr(trial_id, name, value)
        self.optuna.tell(number, state=need("optuna").trial.TrialState.FAIL)


def has_failed(trial: Any) -> bool:
    """Whether a stored trial failed; an abandoned one did not."""
    return trial.state == need("optuna").trial.TrialState.FAIL and not _is_abandoned(trial)


def _is_abandoned(trial: Any) -> bool:
    marks = trial.user_attrs
    is_closed = trial.state == need("optuna").trial.TrialState.FAIL
    # earlier versions left an abandoned trial without any mark
    return is_closed and (bool(marks.get("abandoned")) or not ("seconds" in marks or "error" in marks))


@contextmanager
def open_study(storage: Any, name: str | None) -> Iterator[Study]:
    """Open a study, or make it: in Optuna's storage, its address, an SQLite file, or memory (``None``).

    Optuna's own messages are switched off for the block.
    """
    optuna = need("optuna")
    with quiet_optuna():
        try:
            is_kept = storage is not None
            storage = sqlite_storage(Path(storage)) if isinstance(storage, os.PathLike) else storage
            storage = optuna.storages.get_storage(storage)
            study = optuna.create_study(storage=storage, study_name=name, load_if_exists=is_kept)
            yield Study(study, storage, ProcessWorker(), counts_running=False)
        except optuna.exceptions.StorageInternalError as error:
            raise OSError(f"The trials cannot be stored: {error.__cause__ or error}") from error


def _create_tables(path: Path) -> None:
    # Optuna creates its tables one by one: without the last index, a study of one name may be there twice
    temporary = path.with_name(f".{secrets.token_hex(8)}.{path.name}")
    try:
        need("optuna").storages.RDBStorage(f"sqlite:///{temporary}").engine.dispose()
        try:
            os.link(temporary, path)
        except FileExistsError:  # another process was faster
            pass
        except OSError:  # a file system without links
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def sqlite_storage(path: Path) -> Any:
    """Return Optuna's storage in an SQLite file, which appears with all its tables or not at all."""
    try:
        if not path.exists():
            _create_tables(path)
        return need("optuna").storages.RDBStorage(f"sqlite:///{path}")
    except need("sqlalchemy.exc").SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error)
        raise ValueError(f"{path} cannot be used to store a search: {reason.splitlines()[0]}.") from None


@contextmanager
def _only_errors() -> Iterator[None]:
    logging = need("optuna").logging
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)


quiet_optuna = SharedChange(_only_errors)
"""Switch Optuna's messages, which are the process's, off for a block."""
