"""Studies in journal files on a shared disk: every worker holds a lock for as long as it lives.

A trial belongs to a worker, which holds the lock of its own file. If that lock is free while the trial is running, the
worker is dead. Trials begin under a lock that all workers share, so that no number of workers exceeds the budget.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffgbm._util.locks import held, is_held, lock
from diffgbm._util.optional import need
from diffgbm.tuning.studies import Study, quiet_optuna


@dataclass(frozen=True)
class JournalWorker:
    """A worker of a journal, known by the lock of its own file."""

    journal: Path
    name: str

    @property
    def file(self) -> Path:
        """The file whose lock says that the worker is alive."""
        return _worker_file(self.journal, self.name)

    @property
    def marks(self) -> dict[str, Any]:
        """The worker's name."""
        return {"worker": self.name}

    def is_alive(self, marks: Mapping[str, Any]) -> bool:
        """Whether the lock of the trial's worker is held; a trial without a worker was left while it began."""
        name = marks.get("worker")
        if name is None or name == self.name:
            return name is not None
        file = _worker_file(self.journal, name)
        if is_held(file):
            return True
        file.unlink(missing_ok=True)
        return False

    def alone(self) -> AbstractContextManager[Any]:
        """Hold the lock under which trials begin."""
        return held(self.journal.with_suffix(".claim.lock"))


@contextmanager
def open_journal(journal: Path) -> Iterator[Study]:
    """Open the study of a journal file, or make it, as a worker that is alive for the block."""
    optuna = need("optuna")
    worker = JournalWorker(journal, uuid.uuid4().hex)
    with quiet_optuna(), held(worker.file):
        try:
            backend = optuna.storages.journal.JournalFileBackend(str(journal), lock_obj=JournalLock(journal))
            storage = optuna.storages.JournalStorage(backend)
            study = optuna.create_study(storage=storage, study_name=journal.stem, load_if_exists=True)
            yield Study(study, storage, worker, counts_running=True)
        finally:
            worker.file.unlink(missing_ok=True)


class JournalLock:
    """Optuna's interface of a lock around each addition to the journal, held by the operating system.

    Optuna's own locks are files that a killed process leaves behind, and all others then wait half a minute. A killed
    process may also leave half a line, which would corrupt the next one: it is removed first.
    """

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Wait for the lock and remove an incomplete last line."""
        descriptor = os.open(self._journal, os.O_CREAT | os.O_RDWR, 0o666)
        lock(descriptor)
        self._descriptor = descriptor
        content_end = _end_of_lines(descriptor)
        if content_end < os.fstat(descriptor).st_size:
            os.ftruncate(descriptor, content_end)
        return True

    def release(self) -> None:
        """Release the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _end_of_lines(descriptor: int, block: int = 1 << 16) -> int:
    """Return the number of bytes up to and including the last line end."""
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
