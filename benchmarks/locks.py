"""File locks that the system itself gives back when their holder dies, however it dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock(descriptor: int, wait: bool = True) -> bool:
    """Lock an open file for this open description alone; ``False`` if another has it and ``wait`` is not set."""
    import fcntl  # not on Windows, where the other commands still work

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


@contextmanager
def held(path: Path, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a file for a block; yields whether it was had (always, if ``wait``)."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        yield lock(descriptor, wait)
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock of a file; nobody holds that of a file that is not there."""
    if not path.exists():
        return False
    with held(path, wait=False) as mine:
        return not mine
