import datetime as dt
import math

import numpy as np
import pytest

from diffgbm.data.dates import Dates
from diffgbm.data.free_text import N_HASHES, FreeText
from diffgbm.data.kinds import Category, Dropped, Number
from diffgbm.data.level_statistics import LevelStatistics
from diffgbm.serving.cells import CellError, cell_reader

DAYS = Dates(("year",), 0, 10**15, None, False)
MOMENTS = Dates(("year",), 0, 10**15, "UTC", False)
TEXT = FreeText(np.zeros(N_HASHES), np.zeros((N_HASHES, 0)), np.zeros(0), (), 5.0)
MANY = LevelStatistics(("a", "b"), np.zeros((3, 1)), ("location",), 2, False)

READ = [
    (Number(), 3, 3.0),
    (Number(), True, 1.0),
    (Number(), "2.5", 2.5),
    (Number(), 10**400, math.inf),
    (Number(), -(10**400), -math.inf),
    (Number("duration"), 1.5, dt.timedelta(days=1.5)),
    (Number("time"), "13:45", "13:45"),
    (Category(("a", "b")), "a", "a"),
    (Category(("a", "b")), "new", "new"),
    (Category(("1", "2")), 1, "1"),
    (Category(("1", "2")), 1.0, "1"),
    (Category(("True", "False")), True, "True"),
    (Category(("TRUE", "FALSE")), False, "FALSE"),
    (Category((1, 2)), 2, 2.0),
    (Category((1, 2)), "2", 2.0),
    (Category((1, "a")), 1, 1),
    (Category((1, "a")), "a", "a"),
    (Category((1, "a")), 7, "7"),
    (Category(()), "a", "a"),
    (MANY, "a", "a"),
    (DAYS, "2020-04-21", "2020-04-21"),
    (DAYS, "2020-04-21T10:00", "2020-04-21T10:00"),
    (MOMENTS, "2020-04-21T10:00Z", "2020-04-21T10:00Z"),
    (MOMENTS, "2020-04-21T10:00-05:00", "2020-04-21T10:00-05:00"),
    (TEXT, "some words", "some words"),
    (TEXT, 12, "12"),
    (Dropped("holds lists"), [1], None),
]

REFUSED = [
    (Number(), "three", "a number.*'three'$"),
    (Number(), "1,234", "got '1,234'. Send a plain number, such as 1234.5: without thousands separators"),
    (Number(), [1], "a list"),
    (Number(), {"a": 1}, "an object"),
    (Number("duration"), "1 day", "days"),
    (Number("duration"), True, "days"),
    (Number("duration"), 1e300, "days"),
    (Number("time"), "25:00", "time of day"),
    (Number("time"), 5, "time of day"),
    (Category(("a", "b")), ["a"], "text"),
    (Category(("a", "b")), "\ud800", "not Unicode"),
    (Category(("a", "b")), 10**1000, "3322 bits"),
    (Category((1, 2)), "a", "categories are 1, 2"),
    (Category((1, "a")), [1], "text or a number"),
    (DAYS, "21.4.2020", "2020-04-21"),
    (DAYS, "2020-02-30", "2020-04-21"),
    (DAYS, 20200421, "2020-04-21"),
    (DAYS, "2020-04-21T10:00Z", "no time zones"),
    (MOMENTS, "2020-04-21", "has no time zone"),
    (MOMENTS, "2020-04-21T10:00", "has no time zone"),
    (TEXT, {}, "text"),
]


@pytest.mark.parametrize(("how", "value", "cell"), READ)
def test_values_become_cells(how, value, cell):
    found = cell_reader(how)(value)
    assert found == cell
    assert type(found) is type(cell)


@pytest.mark.parametrize(("how", "value", "words"), REFUSED)
def test_other_values_are_refused_with_a_remedy(how, value, words):
    with pytest.raises(CellError, match=words) as caught:
        cell_reader(how)(value)
    assert "or null if it is missing" in str(caught.value)


@pytest.mark.parametrize("how", [Number(), Number("duration"), Category(("a",)), Category((1,)), DAYS, MOMENTS, TEXT])
def test_null_and_nan_are_missing_everywhere(how):
    assert cell_reader(how)(None) is None
    assert cell_reader(how)(float("nan")) is None
