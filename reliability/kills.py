"""Processes killed while they write: finished results are kept, unfinished ones are absent, and the next run continues.

A case runs in a forked process that ends itself by SIGKILL at a random file operation, or is killed from outside when
its folder reaches a random size. After each kill the results are checked. Then the same command runs again, and may be
killed again, until it ends by itself. The final results must equal those of a run without kills.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffgbm.tuning.studies import MOST_DEATHS
from reliability.records import record

OPERATIONS = frozenset(
    {"open", "write", "flush", "fsync", "close", "replace", "rename", "unlink", "link", "symlink", "truncate", "mkdir"}
    | {"execute", "commit", "dumps", "touch", "flock", "lockf"}
)
"""C functions at whose start or end a process may die."""
MOST_KILLS = MOST_DEATHS - 1
"""Kills of one run, which is then left to end; after one more at the same trial a study marks that trial as failed."""


@dataclass(frozen=True)
class Case:
    """Something that writes files.

    Attributes
    ----------
    name : str
    run : callable
        Does all work in a folder, or the remaining part of it.
    finished : callable
        Returns the finished results of a folder by name; raises if a file cannot be read.
    before : callable
        Prepares a folder.
    """

    name: str
    run: Callable[[Path], None]
    finished: Callable[[Path], dict[str, Any]]
    before: Callable[[Path], None] = lambda folder: None


def forked(work: Callable[[], None], at: int | None = None, seen: Path | None = None) -> int:
    """Run ``work`` in a fork; return its process. It dies at operation ``at``, or writes the number of operations."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # for as long as the process lives
        counted = _count_operations(at)
        work()
        sys.setprofile(None)
        if seen is not None:
            seen.write_text(str(counted[0]))
        code = 0
    except BaseException:
        sys.setprofile(None)
        if seen is not None:
            seen.write_text(traceback.format_exc())
    finally:
        os._exit(code)


def _count_operations(at: int | None) -> list[int]:
    counted = [0]

    def hook(frame: Any, event: str, function: Any) -> None:
        if event in ("c_call", "c_return") and function.__name__ in OPERATIONS:
            counted[0] += 1
            if counted[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(hook)
    sys.setprofile(hook)
    return counted


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder, ignoring files that disappear meanwhile."""
    return sum(_size(os.path.join(where, name)) for where, _, names in os.walk(folder) for name in names)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def killed_at_size(pid: int, folder: Path, size: int) -> int:
    """Kill a process when its folder reaches a size in bytes; return how it ended."""
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if size_of(folder) >= size:
            os.kill(pid, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        time.sleep(0.0005)


class Trial:
    """One case and the results of a run without kills."""

    def __init__(self, case: Case, scratch: Path) -> None:
        self.case, self.scratch = case, scratch
        folder = self._folder("reference")
        self.note = scratch / f"{case.name}.note"
        self.start = size_of(folder)
        code = os.waitstatus_to_exitcode(os.waitpid(forked(lambda: case.run(folder), None, self.note), 0)[1])
        if code:
            raise AssertionError(f"{case.name} fails without being killed: {self.note.read_text()}")
        self.operations = int(self.note.read_text())
        self.size = size_of(folder)
        self.expected = case.finished(folder)

    def _folder(self, name: str) -> Path:
        folder = self.scratch / f"{self.case.name}-{name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.case.before(folder)
        return folder

    def once(self, rng: random.Random, counts: Counter[str]) -> None:
        """Kill a run up to ``MOST_KILLS`` times, check the results after each, and let it end."""
        folder = self._folder("killed")
        known: set[str] = set()
        for _ in range(rng.randint(1, MOST_KILLS)):
            code = self._attempt(folder, rng)
            counts["kills"] += code == -signal.SIGKILL
            counts["too_late"] += code == 0
            if code not in (0, -signal.SIGKILL):
                raise AssertionError(f"{self.case.name}: a run after a kill failed: {self.note.read_text()}")
            known = self._look(folder, known, counts)
            if code == 0:
                return self._ended(folder)
        pid = forked(lambda: self.case.run(folder), None, self.note)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            raise AssertionError(f"{self.case.name}: the last run failed: {self.note.read_text()}")
        return self._ended(folder)

    def _attempt(self, folder: Path, rng: random.Random) -> int:
        if rng.random() < 0.3:
            pid = forked(lambda: self.case.run(folder), None, self.note)
            return killed_at_size(pid, folder, rng.randint(self.start, self.size))
        pid = forked(lambda: self.case.run(folder), rng.randint(1, self.operations), self.note)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def _look(self, folder: Path, known: set[str], counts: Counter[str]) -> set[str]:
        result = self.case.finished(folder)
        for name, value in result.items():
            if name not in self.expected or value != self.expected[name]:
                raise AssertionError(f"{self.case.name}: {name} is there after a kill, and is wrong")
        if not known <= set(result):
            raise AssertionError(f"{self.case.name}: {known - set(result)} was finished, and is gone")
        counts["looks"] += 1
        counts["finished_parts"] += len(result)
        counts["absent_parts"] += len(self.expected) - len(result)
        return set(result)

    def _ended(self, folder: Path) -> None:
        if self.case.finished(folder) != self.expected:
            raise AssertionError(f"{self.case.name}: the final results differ from those of a run without kills")


def run(
    kills: int, minutes: float, seed: int = 0, name: str | None = "kills", only: Sequence[str] | None = None
) -> dict[str, Any]:
    """Kill each case until there are ``kills`` of each, or time is over; return and record the figures."""
    from reliability.kill_cases import cases

    rng = random.Random(seed)
    started = time.monotonic()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        trials = [Trial(case, Path(scratch)) for case in cases(Path(scratch)) if not only or case.name in only]
        counts = {trial.case.name: Counter[str]() for trial in trials}
        while any(case_counts["kills"] < kills for case_counts in counts.values()):
            for trial in trials:
                if counts[trial.case.name]["kills"] < kills:
                    trial.once(rng, counts[trial.case.name])
            if time.monotonic() - started > 60.0 * minutes:
                break
        figures = {
            "minutes": round((time.monotonic() - started) / 60.0, 1),
            "kills": sum(case_counts["kills"] for case_counts in counts.values()),
            "cases": {trial.case.name: {"operations": trial.operations, **counts[trial.case.name]} for trial in trials},
        }
    if name:
        record(name, figures)
    return figures
