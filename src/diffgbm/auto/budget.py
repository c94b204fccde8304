"""Time: how much there is, how much is left, and what still fits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Clock:
    """Counts down from ``limit`` seconds; ``None`` never ends.

    Nothing but the decision to leave work out depends on it, so that two fits that both had enough time are equal.
    """

    limit: float | None
    now: Callable[[], float] = time.monotonic
    start: float = field(init=False)
    cut: bool = field(init=False, default=False)
    """Whether anything was left out for lack of time."""

    def __post_init__(self) -> None:
        self.start = self.now()

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return self.now() - self.start

    @property
    def left(self) -> float:
        """Seconds left."""
        return float("inf") if self.limit is None else self.limit - self.spent

    def fits(self, seconds: float, share: float = 1.0) -> bool:
        """Whether work of so many seconds fits into a share of the limit; remembers a no."""
        if self.limit is None:
            return True
        ok = self.spent + seconds <= share * self.limit
        self.cut = self.cut or not ok
        return ok

    def over(self, share: float = 1.0) -> bool:
        """Whether a share of the limit is used up; remembers a yes."""
        return not self.fits(0.0, share)
