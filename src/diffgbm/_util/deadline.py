"""Deadlines: by when work ends, handed down to whatever takes time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


class OutOfTime(Exception):
    """Raised by work that cannot be finished by its deadline."""


@dataclass(frozen=True)
class Deadline:
    """A moment on a clock; the default never comes.

    Attributes
    ----------
    end : float
        The moment, in seconds of ``now``.
    now : callable
        Returns the time in seconds.
    """

    end: float = float("inf")
    now: Callable[[], float] = time.monotonic

    @property
    def is_set(self) -> bool:
        """Whether there is one."""
        return self.end < float("inf")

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.end - self.now() if self.is_set else self.end

    @property
    def over(self) -> bool:
        """Whether it has passed."""
        return self.left <= 0.0

    def part(self, pieces: int) -> Deadline:
        """Return the deadline of the next of ``pieces`` equal pieces of work."""
        return Deadline(self.now() + self.left / pieces, self.now) if self.is_set else self

    def check(self, seconds: float = 0.0) -> None:
        """Raise ``OutOfTime`` if work of ``seconds`` does not fit."""
        if self.left <= seconds:
            raise OutOfTime


NEVER = Deadline()
"""No deadline."""
