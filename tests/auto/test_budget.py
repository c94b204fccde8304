"""The shares of time and the clock."""

from dataclasses import asdict

import numpy as np
import pytest

from diffgbm.auto.budget import BUDGET, Budget, Clock
from diffgbm.auto.effort import HASTY_BUDGET


@pytest.mark.parametrize("budget", [BUDGET, HASTY_BUDGET])
def test_shares_are_in_the_order_of_the_work(budget):
    """Shares by which work ends are in order; others say how much of the time one kind of work may take."""
    amounts = {name: getattr(budget, name) for name in ("scale", "members", "binning", "scoring", "reserve")}
    assert all(value > 0.0 for value in amounts.values())
    shares = [value for name, value in asdict(budget).items() if name not in amounts]
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] < 1.0


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_rounds_end_between_the_first_and_the_last_share(count):
    budget = Budget(first_round=0.2, last_round=0.8)
    ends = budget.rounds(count)
    assert len(ends) == count
    assert ends == sorted(ends)
    assert ends[:1] == [0.2][:count]
    if count > 1:
        assert ends[-1] == 0.8


def test_the_clock_counts_down():
    now = [100.0]
    clock = Clock(10.0, lambda: now[0])
    assert (clock.spent, clock.left) == (0.0, 10.0)
    assert clock.fits(5.0, 0.5)
    assert not clock.over(0.5)
    assert not clock.cut
    now[0] = 104.0
    assert (clock.spent, clock.left) == (4.0, 6.0)
    assert clock.fits(6.0)
    assert not clock.cut
    assert not clock.fits(2.0, 0.5)
    assert clock.cut  # a no is remembered
    assert clock.fits(1.0)
    assert clock.cut


def test_an_exceeded_limit_is_recorded():
    now = [0.0]
    clock = Clock(1.0, lambda: now[0])
    assert not clock.over()
    now[0] = 1.5
    assert clock.over()
    assert clock.cut
    assert clock.left == -0.5


def test_without_a_limit_everything_fits():
    clock = Clock(None, lambda: 1e9)
    assert clock.fits(1e12, 1e-9)
    assert not clock.over()
    assert clock.left == np.inf
    assert not clock.cut


def test_a_clock_says_how_much_of_the_limit_is_used_and_can_be_stopped():
    now = [0.0]
    clock = Clock(30.0, lambda: now[0])
    now[0] = 9.0
    assert str(clock) == "9 of 30 s"
    with clock.stopped():
        now[0] = 100.0
    assert clock.spent == 9.0
    assert str(Clock(None, lambda: 1.0)) == "0 s"


def test_shares_of_the_limit_are_deadlines():
    now = [100.0]
    clock = Clock(10.0, lambda: now[0])
    deadline = clock.deadline(0.3)
    assert deadline.left == pytest.approx(3.0)
    now[0] = 103.5
    assert deadline.over
    assert not Clock(None).deadline(0.3).is_set


def test_training_ends_earlier_under_a_short_limit():
    assert Clock(None).training == Clock(600.0).training == BUDGET.training
    assert Clock(5.0).training == pytest.approx(0.7)
    assert Clock(0.1).training == pytest.approx(0.65)
