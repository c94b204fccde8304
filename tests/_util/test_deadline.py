"""Deadlines, on a clock of their own."""

import pytest

from diffgbm._util.deadline import NEVER, Deadline, OutOfTime


def test_a_deadline_counts_down_and_is_divided():
    now = [0.0]
    deadline = Deadline(10.0, lambda: now[0])
    assert deadline.part(5).end == 2.0
    now[0] = 4.0
    assert deadline.left == 6.0
    assert deadline.part(3).end == 6.0
    deadline.check(5.0)
    with pytest.raises(OutOfTime):
        deadline.check(6.0)
    now[0] = 10.0
    assert deadline.over
    with pytest.raises(OutOfTime):
        deadline.check()


def test_without_a_deadline_there_is_always_time():
    assert not NEVER.is_set
    assert not NEVER.over
    assert NEVER.part(3) is NEVER
    NEVER.check(1e300)
