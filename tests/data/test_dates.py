"""Dates: parts of the wall clock, elapsed time within the training period, the same for every library."""

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from diffgbm.data.dates import PARTS, Dates, are_iso_dates
from diffgbm.data.features import FeatureTable

WHEN = ["2019-12-31 23:30:00", "2020-02-29 06:00:00", None, "2021-07-04 12:00:00"]
PLAIN = [None if w is None else dt.datetime.fromisoformat(w) for w in WHEN]
SAME = {
    "pandas": lambda v: pd.DataFrame({"t": pd.to_datetime(pd.Series(v))}),
    "pandas seconds": lambda v: pd.DataFrame({"t": pd.to_datetime(pd.Series(v)).astype("datetime64[s]")}),
    "arrow dtype": lambda v: pd.DataFrame({"t": pd.array(v, dtype=pd.ArrowDtype(pa.timestamp("us")))}),
    "objects": lambda v: pd.DataFrame({"t": pd.Series(v, dtype=object)}),
    "text": lambda v: pd.DataFrame({"t": [None if x is None else x.isoformat(" ") for x in v]}),
    "polars": lambda v: pl.DataFrame({"t": v}),
    "polars text": lambda v: pl.DataFrame({"t": [None if x is None else x.isoformat() for x in v]}),
    "arrow": lambda v: pa.table({"t": v}),
    "array": lambda v: np.array(v, dtype="datetime64[s]")[:, None],
}


def learn(X):
    return FeatureTable.learn(X, None, "DiffGBM")


@pytest.mark.parametrize("kind", SAME)
@pytest.mark.parametrize("later", SAME)
def test_parts_are_those_of_the_calendar(kind, later):
    table, matrix = learn(SAME[kind](PLAIN))
    assert table.columns[0].parts == PARTS
    for i, moment in enumerate(PLAIN):
        if moment is None:
            assert np.isnan(matrix[i]).all()
            continue
        angle = 2.0 * np.pi * (moment.timetuple().tm_yday - 1) / 365.25
        elapsed = (moment - PLAIN[0]).total_seconds() / 86400.0
        hour = moment.hour + moment.minute / 60.0
        expected = [elapsed, moment.year, moment.month, moment.weekday(), hour, np.sin(angle), np.cos(angle)]
        np.testing.assert_allclose(matrix[i], expected, atol=1e-9)
    np.testing.assert_array_equal(table.encode(SAME[later](PLAIN), ""), matrix)


@pytest.mark.parametrize(
    ("dates", "parts"),
    [
        (pd.date_range("2020-03-01", periods=5), ("elapsed days", "weekday", "sine of the day", "cosine of the day")),
        (pd.date_range("2020-03-01", periods=5, freq="h"), ("elapsed days", "hour")),
        (pd.to_datetime(["2018-05-01", "2020-05-01"]), ("elapsed days", "year", "weekday")),
        (pd.to_datetime(["2018-05-01", "2018-05-01"]), ()),
        (pd.to_datetime(["2018-05-01", None]), ()),
    ],
)
def test_only_parts_that_vary_are_used(dates, parts):
    frame = pd.DataFrame({"t": dates, "x": 1.0})
    table, matrix = learn(frame)
    kept = table.columns[0].parts
    assert kept == tuple(p for p in PARTS if p in kept)
    assert set(parts) - {"weekday", "sine of the day", "cosine of the day"} <= set(kept)
    assert set(kept) <= set(parts) | {"weekday", "sine of the day", "cosine of the day"}
    assert matrix.shape[1] == len(kept) + 1
    assert table.columns[0].detail.startswith("constant" if not parts else str(dates[0].date()))


def test_no_trend_beyond_the_training_period():
    table, matrix = learn(pd.DataFrame({"t": pd.date_range("2019-06-01", "2021-06-01")}))
    late = table.encode(pd.DataFrame({"t": pd.to_datetime(["2035-03-05", "1950-03-05"])}), "")
    years = table.columns[0].parts.index("year")
    np.testing.assert_array_equal(late[:, 0], [matrix[:, 0].max(), 0.0])
    np.testing.assert_array_equal(late[:, years], [2021.0, 2019.0])
    np.testing.assert_array_equal(late[:, years + 1], [3.0, 3.0])


def test_the_wall_clock_of_training_decides():
    noon = [dt.datetime(2020, month, 1, 12, tzinfo=ZoneInfo("Europe/Zurich")) for month in (1, 7)]
    for frame in (
        pd.DataFrame({"t": pd.DatetimeIndex(noon)}),
        pl.DataFrame({"t": noon}, schema={"t": pl.Datetime("us", "Europe/Zurich")}),
        pd.DataFrame({"t": pd.Series(noon, dtype=object)}),
    ):
        table, _ = learn(frame)
        assert table.columns[0].zone == "Europe/Zurich"
        assert "hour" not in table.columns[0].parts  # noon in winter and in summer
        utc = pd.DataFrame({"t": pd.DatetimeIndex(noon).tz_convert("UTC")})
        np.testing.assert_array_equal(table.encode(utc, ""), table.encode(frame, ""))
    text = pd.DataFrame({"t": ["2020-01-01T12:00:00+01:00", "2020-07-01T10:00:00Z", "2020-07-01T10:00:00.5+0000"]})
    column = learn(text)[0].columns[0]
    assert (column.zone, "hour" in column.parts) == ("UTC", True)


def test_zones_are_not_mixed_with_plain_dates():
    plain, aware = SAME["pandas"](PLAIN), pd.DataFrame({"t": pd.to_datetime(pd.Series(WHEN), utc=True)})
    with pytest.raises(ValueError, match="column 't' had no time zone in training and has the zone UTC now"):
        learn(plain)[0].encode(aware, "")
    with pytest.raises(ValueError, match=r"had the zone UTC in training and has none now. Convert it .*tz_localize"):
        learn(aware)[0].encode(plain, "")
    with pytest.raises(ValueError, match="with and without a time zone"):
        learn(pd.DataFrame({"t": ["2020-01-01T10:00", "2020-01-02T10:00Z"]}))


def test_other_values_at_prediction_are_named():
    table, _ = learn(SAME["text"](PLAIN))
    with pytest.raises(ValueError, match=r"column 't' held dates in training, .* now it holds 'soon'"):
        table.encode(pd.DataFrame({"t": ["soon"]}), "")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2020-01-01", "2021-12-31"], True),
        (["2020-01-01T10:00", "2020-01-01 10:00:30.25"], True),
        (["2020-01-01T10:00:00Z"], True),
        (["2020-13-01"], False),
        (["2020-01-01", "soon"], False),
        (["21/04/2020"], False),
        (["2020"], False),
        ([], False),
    ],
)
def test_iso_dates(values, expected):
    assert are_iso_dates(values) is expected


def test_text_of_a_date():
    column = Dates(("elapsed days",), 0, 1, None, False)
    assert column.text(18262.0) == "2020-01-01"
    assert column.text(18262.5) == "2020-01-01 12:00"
