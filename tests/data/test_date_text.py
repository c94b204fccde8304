"""Dates as people write them: the order of day and month is found from the values, or decided and said."""

from datetime import datetime, timezone

import pyarrow as pa
import pytest

from diffgbm.data import date_text
from diffgbm.data.date_text import DateStyle
from diffgbm.data.file_format import COMPACT, DAY_FIRST, ISO, MONTH_FIRST


def column(values):
    return pa.chunked_array([pa.array(values, pa.string())])


@pytest.mark.parametrize(
    ("values", "order", "first"),
    [
        (["2020-04-21", None, "2020-1-5"], ISO, datetime(2020, 4, 21)),
        (["2020-04-21T13:30", "2020-04-22 14:00:05.5"], ISO, datetime(2020, 4, 21, 13, 30)),
        (["2020/04/21", "2020/05/21"], ISO, datetime(2020, 4, 21)),
        (["2020-04", "2020-05"], ISO, datetime(2020, 4, 1)),
        (["21/04/2020", "1/2/2020"], DAY_FIRST, datetime(2020, 4, 21)),
        (["21.4.2020 08:05", "1.2.2020 9:00"], DAY_FIRST, datetime(2020, 4, 21, 8, 5)),
        (["21-04-20", "01-12-69"], DAY_FIRST, datetime(2020, 4, 21)),
        (["04/21/2020 1:30 PM", "01/02/2020 12:15 am"], MONTH_FIRST, datetime(2020, 4, 21, 13, 30)),
        (["21 Apr 2020", "1 May 2021"], DAY_FIRST, datetime(2020, 4, 21)),
        (["April 21, 2020", "May 1, 2021"], DAY_FIRST, datetime(2020, 4, 21)),
        (["21-Apr-20", "01-May-20"], DAY_FIRST, datetime(2020, 4, 21)),
        ([f"20200{m}15" for m in range(1, 8)], COMPACT, datetime(2020, 1, 15)),
    ],
)
def test_dates_that_decide_their_order(values, order, first):
    found = date_text.evidence(column(values), None, False)
    assert (found.style, found.share, found.proven, found.note) == (DateStyle(order), 1.0, True, "")
    dates = date_text.parsed(column(values), found.style)
    assert dates[0].as_py() == first
    assert dates.null_count == values.count(None)


@pytest.mark.parametrize(
    ("values", "day_first", "order", "why"),
    [
        (["01/02/2020", "02/02/2020", "03/02/2020", "01/03/2020"], False, DAY_FIRST, "in order of time"),
        (["01/02/2020", "01/05/2020", "02/02/2020", "03/01/2020"], True, MONTH_FIRST, "in order of time"),
        (["03.02.2020", "01.02.2020"], False, DAY_FIRST, "dates with points"),
        (["03/02/2020", "01/02/2020"], False, MONTH_FIRST, "no value decides it"),
        (["03/02/2020", "01/02/2020"], True, DAY_FIRST, "files of this kind"),
    ],
)
def test_an_open_order_is_decided_and_said(values, day_first, order, why):
    found = date_text.evidence(column(values), None, day_first)
    assert found.style.order == order
    assert not found.proven
    assert why in found.note
    assert "--date-format" in found.note


@pytest.mark.parametrize(
    "values", [["12", "13"], ["Zug", "May"], ["1.2.13", "1.10.2"], ["20200115", "20200116"], ["99999999"] * 9, [None]]
)
def test_other_text_is_no_date(values):
    assert date_text.evidence(column(values), None, False) is None


def test_days_that_do_not_exist_are_missing():
    assert date_text.parsed(column(["30/02/2020", "29/02/2020"]), DateStyle(DAY_FIRST)).to_pylist() == [
        None,
        datetime(2020, 2, 29),
    ]
    assert date_text.parsed(column(["2020-04-21 25:00"]), DateStyle(ISO)).to_pylist() == [None]


def test_zones_are_read_as_utc_and_not_mixed_with_dates_without():
    values = ["2020-04-21T13:30:00+02:00", "2020-04-21T13:30:00Z"]
    found = date_text.evidence(column(values), None, False)
    assert found.style == DateStyle(ISO, zone=True)
    assert date_text.parsed(column(values), found.style).to_pylist() == [
        datetime(2020, 4, 21, hour, 30, tzinfo=timezone.utc) for hour in (11, 13)
    ]
    assert date_text.parsed(column([*values, "2020-04-21 10:00"]), found.style).null_count == 1


def test_the_users_format_comes_first():
    values = ["01|02|20", "03|04|20", None]
    assert date_text.evidence(column(values), None, False) is None
    found = date_text.evidence(column(values), "%d|%m|%y", False)
    assert date_text.parsed(column(values), found.style).to_pylist() == [
        datetime(2020, 2, 1),
        datetime(2020, 4, 3),
        None,
    ]
    assert date_text.evidence(column(["Zug", "Bern"]), "%d|%m|%y", False) is None


def test_times_of_the_day_are_hours():
    times = column(["12:30", "1:15:36 pm", "12:00 am", None])
    assert date_text.clock_hours(times).to_pylist() == pytest.approx([12.5, 13.26, 0.0, None])
    assert date_text.is_clock(times)
    assert not date_text.is_clock(column(["12:30", "25:30"]))
    assert not date_text.is_clock(column(["5", "6"]))
