"""Limits and whole numbers of a table in partitions: what the partitions count, and what is refused."""

import numpy as np
import pytest

from diffgbm.dask.limits import check_limits, limit_counts, limits_of


def found(y, ends, discrete=False):
    return limits_of([limit_counts(part, ends) for part in np.array_split(y, 3)], ends, discrete, "it")


def test_limits_of_all_partitions():
    support = found(np.linspace(0.0, 5.0, 90), (0.0, np.inf))
    assert (support.low, support.high, support.integers) == (0.0, np.inf, False)
    assert found(np.arange(90.0) // 9, (0.0, np.inf), True).integers
    assert found(np.ones((90, 2)).cumsum(axis=0), (0.0, np.inf)).low == 0.0


def test_what_the_responses_contradict():
    y = np.linspace(-1.0, 5.0, 90)
    with pytest.raises(ValueError, match=r"support=\(0\.0, None\): 15 of 90 responses lie outside. Correct"):
        found(y, (0.0, np.inf))
    with pytest.raises(ValueError, match=r"whole numbers; .* of 90 are not"):
        found(y, (-np.inf, np.inf), True)
    with pytest.raises(ValueError, match=r"30 of 90 responses are exactly 0. Such a pile .* Use DiffGBM"):
        found(np.maximum(np.linspace(-1.0, 2.0, 91)[1:], 0.0), (0.0, np.inf))


def test_which_arguments_are_taken():
    assert check_limits(None, False, "it") is None
    assert check_limits(None, True, "it") == (-np.inf, np.inf)
    assert check_limits((0, None), False, "it") == (0.0, np.inf)
    for support in ("auto", [(0, None), None]):
        with pytest.raises(ValueError, match="Give the limits, or use DiffGBM"):
            check_limits(support, False, "it")
