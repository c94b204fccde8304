"""Shapes that the arguments ask for; recalibration of whole fits is in test_fitting and test_acceptance."""

import numpy as np
import pytest

from diffgbm.auto.finishing import Shaping

COUNTS = np.arange(60.0)[:, None] % 25


def shaping(discrete, support, y=COUNTS):
    return Shaping.of(discrete, support, np.zeros((len(y), 1)), y[:, 0])


def test_a_response_that_is_not_discrete_has_limits_only():
    (shape,) = shaping(False, (0.0, 30.0)).of_responses(COUNTS + 0.5)
    assert shape.atoms is None
    assert (shape.limits.low, shape.limits.high) == (0.0, 30.0)


@pytest.mark.parametrize("said", [True, np.True_])
def test_whole_numbers_of_many_values_are_counts(said):
    many = np.arange(400.0)[:, None]
    (shape,) = shaping(said, "auto", many).of_responses(many)
    assert shape.limits.integers
    assert shape.limits.low == 0.0


def test_no_limits_of_our_own_if_the_caller_wants_none():
    (shape,) = shaping("auto", None).of_responses(COUNTS + 0.25 * np.sin(np.arange(60.0))[:, None] ** 2)
    assert shape.limits is None


def test_support_is_checked_before_any_work():
    with pytest.raises(ValueError, match="support"):
        shaping("auto", (3.0, 1.0))
    with pytest.raises(ValueError, match="support"):
        shaping("auto", (5.0, None))
