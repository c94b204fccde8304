"""Changes of what belongs to the whole process, shared by the blocks that need them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock


class SharedChange:
    """A process-wide change that overlapping blocks share: the first makes it, the last undoes it.

    If each block remembered the setting that it found, two blocks in different threads could end in an order in which
    the change stays for good.

    Parameters
    ----------
    change : callable
        Returns a context manager that makes the change and undoes it. It may exit in another thread.
    """

    def __init__(self, change: Callable[[], AbstractContextManager[object]]) -> None:
        self._change, self._lock = change, Lock()
        self._blocks = 0
        self._made: AbstractContextManager[object]

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Keep the change for a block."""
        with self._lock:
            if self._blocks == 0:
                self._made = self._change()
                self._made.__enter__()
            self._blocks += 1
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1
                if self._blocks == 0:
                    self._made.__exit__(None, None, None)
