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
        Takes a message for the user.
    """

    clock: Clock
    leaderboard: Leaderboard
    report: Callable[[str], None] = lambda message: None
