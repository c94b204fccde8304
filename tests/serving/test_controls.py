import numpy as np
import pytest

from diffgbm.data.dates import Dates
from diffgbm.data.free_text import N_HASHES, FreeText
from diffgbm.data.kinds import Category, Dropped, Number
from diffgbm.data.level_statistics import LevelStatistics
from diffgbm.serving.cells import cell_reader
from diffgbm.serving.controls import FAN_LEVELS, MOST_LEVELS, control_of, fan_values, typical_value

DAY = 86_400_000_000
NONE = np.empty(0)
DAYS = Dates(("year",), 0, 100 * DAY, None, False)
MOMENTS = Dates(("hour",), 0, 100 * DAY, "UTC", False)
TEXT = FreeText(np.zeros(N_HASHES), np.zeros((N_HASHES, 1)), np.zeros(1), ("prediction 0",), 5.0)
KINDS = [
    (Number(), np.array([1.5, 2.5, np.nan, 9.0])),
    (Number(), np.array([0.0, 1.0])),
    (Number("duration"), np.array([0.5, 3.0])),
    (Number("time"), np.array([5.5, 7.0])),
    (Category(("a", "b")), np.array([1.0, 1.0, 0.0])),
    (Category((1, 2)), np.array([0.0])),
    (DAYS, np.array([3.0, 20.0])),
    (MOMENTS, np.array([3.25, 20.0])),
    (TEXT, np.array([5.0])),
]


@pytest.mark.parametrize(("how", "seen"), KINDS)
def test_every_value_of_a_control_is_one_that_the_model_reads(how, seen):
    control, read = control_of("x", how, seen), cell_reader(how)
    for value in (control.value, typical_value(control, float(seen[0])), *fan_values(control, control.value)):
        read(value)


def test_a_number_has_round_steps_that_reach_its_ends():
    control = control_of("x", Number(), np.array([0.13, 4.0, 9.87]))
    assert (control.kind, control.value, control.low, control.high, control.step) == ("number", 4.0, 0.12, 9.88, 0.02)
    control = control_of("x", Number(), np.array([1.0, 3.0, 8.0]))
    assert (control.low, control.high, control.step, control.integer) == (1.0, 8.0, 1.0, True)
    assert fan_values(control, 3.0) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    control = control_of("x", Number(), np.array([1e9, 2e9]))
    assert control.step == 5e6
    control = control_of("x", Number(), np.array([5.0, 5.0]))
    assert control.low < 5.0 < control.high


def test_numbers_without_known_values_have_a_box_alone():
    control = control_of("x", Number(), NONE)
    assert (control.low, control.value) == (None, None)
    assert fan_values(control, None) == []


def test_truth_values_are_yes_or_no():
    control = control_of("x", Number(), np.array([0.0, 1.0, 1.0]))
    assert (control.kind, control.value, fan_values(control, 1.0)) == ("flag", 1.0, [0.0, 1.0])


def test_categories_start_with_the_most_frequent():
    control = control_of("x", Category(("a", "b")), np.array([1.0, 1.0, 0.0]))
    assert (control.value, control.levels) == ("b", ("a", "b"))
    assert fan_values(control, "new") == ["a", "b", "new"]
    for value in (None, float("nan"), float("inf"), "a"):
        assert fan_values(control, value) == ["a", "b"]


def test_of_many_categories_the_frequent_ones_are_listed():
    names = tuple(f"{i:05}" for i in range(3000))
    how = LevelStatistics(names, np.zeros((3001, 1)), ("location",), 3500, False)
    control = control_of("x", how, np.array([2999.0, 2999.0]))
    assert (len(control.levels), control.more_levels, control.value) == (MOST_LEVELS, 2500, "02999")
    assert "02999" in control.levels
    assert len(fan_values(control, "02999")) == FAN_LEVELS + 1
    assert typical_value(control, 3.0) is None


def test_dates_have_the_period_of_training_and_more_if_more_is_seen():
    control = control_of("x", DAYS, np.array([3.0, 120.5]))
    assert (control.kind, control.low, control.high, control.value) == ("date", 0.0, 121.0, "1970-01-04")
    control = control_of("x", MOMENTS, np.array([3.25]))
    assert (control.kind, control.value, control.suffix) == ("moment", "1970-01-04T06:00+00:00", "+00:00")


def test_times_and_columns_that_are_not_used():
    assert control_of("x", Number("time"), np.array([5.5])).value == "05:30"
    assert control_of("x", Dropped("holds lists"), NONE).kind == "unused"
