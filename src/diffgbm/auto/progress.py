"""The progress of a fit: the time that is left, what was tried, and where messages go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from diffgbm.auto.budget import Clock
from diffgbm.auto.leaderboard import Leaderboard


@dataclass(frozen=True)
class Progress:
    """What the steps of a fit write to.

    Attributes
    ----------
    clock : Clock
        Time.
    leaderboard : Leaderboard
        What was tried.
    report : callable
        Takes what is being done, for the user.
    tick : callable
        Called now and then, so that the time that the user sees moves on.
    """

    clock: Clock
    leaderboard: Leaderboard
    report: Callable[[str], None] = lambda message: None
    tick: Callable[[], None] = lambda: None

    def over(self, share: float) -> bool:
        """Whether a share of the time limit is used up; shows the time."""
        self.tick()
        return self.clock.over(share)
