"""The progress of a fit."""

from diffgbm.auto.budget import Clock
from diffgbm.auto.leaderboard import Leaderboard
from diffgbm.auto.progress import Progress


def test_messages_go_to_the_reporter():
    messages = []
    progress = Progress(Clock(None), Leaderboard(1.0), messages.append)
    progress.report("round 1: 1 of 6")
    assert messages == ["round 1: 1 of 6"]
    assert Progress(Clock(None), Leaderboard(1.0)).report("nowhere") is None


def test_asking_for_the_time_shows_it():
    ticks = []
    progress = Progress(Clock(10.0, lambda: 0.0), Leaderboard(1.0), tick=lambda: ticks.append(1))
    assert not progress.over(0.5)
    assert ticks == [1]
