"""File locks that the operating system releases when their holder dies, for whatever reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock(descriptor: int, wait: bool = True) -> bool:
    """Lock an open file for this open description alone; ``False`` if another has it and ``wait`` is not set."""
    import fcntl  # not on Windows, where everything but journals works

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


@contextmanager
def held(path: Path, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a file for a block; yield whether it was acquired (always, if ``wait``)."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        yield lock(descriptor, wait)
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock of a file; ``False`` if the file does not exist."""
    if not path.exists():
        return False
    with held(path, wait=False) as mine:
        return not mine
