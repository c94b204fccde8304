"""What fits promise of later rows: tables are divided in time, and pages say what was kept."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
from benchmarks.__main__ import main
from benchmarks.later_promises import page, past_and_future, time_of

RNG = np.random.default_rng(0)
N = 240
DAYS = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), unit="D")
WALK = pd.DataFrame({"day": DAYS, "a": RNG.normal(size=N).round(1), "y": np.cumsum(RNG.normal(size=N))})


def line(table, with_time, observed, coverage, warned=False):
    found = {"promised": 1.0, "observed": observed, "coverage": coverage, "warned": warned, "ratio": 2.0}
    return {"table": table, "with_time": with_time, "target": "y", "time_column": "day", "rows": 180, **found}


def test_the_future_follows_the_past_and_no_time_is_divided():
    when = RNG.permutation(np.repeat(np.arange(100.0), 3))
    past, future = past_and_future(when)
    assert len(past) + len(future) == 300
    assert when[past].max() < when[future].min()
    assert abs(len(future) - 75) <= 2


def test_the_column_of_times_is_found():
    column, when, ratio = time_of(WALK, "y")
    assert column == "day"
    np.testing.assert_array_equal(when, np.arange(N))
    assert ratio > 1.4
    assert time_of(WALK[["a", "y"]], "y") is None


def test_the_page_tells_tables_that_are_warned_of_from_others():
    lines = [line("walk", False, 4.0, 0.2, True), line("walk", True, 1.5, 0.8)]
    lines += [line("calm", False, 1.1, 0.9), line("calm", True, 1.0, 0.9), line("half", False, 9.0, 0.0)]
    text = page(lines)
    assert "On the 1 tables whose fit is warned of, later rows have 4.00 times" in text
    assert "cover 20% (mean); with `time=` these are 1.50 and 80%" in text
    assert "On the 1 tables whose fit is not, later rows have 1.10 times" in text
    assert "| walk, y by day | 180 | 2.00 | yes | 4.00 | 1.50 | 0.20 | 0.80 | 0.38 |" in text
    assert "half" not in text


def test_the_command_fits_pairs(tmp_path, monkeypatch):
    index = pd.DataFrame({"dataset_id": ["walk", "plain"]})
    frames = {"walk": WALK, "plain": WALK[["a", "y"]].assign(b=1.0)}
    data = lambda name=None: index if name is None else frames[name]  # noqa: E731
    monkeypatch.setitem(sys.modules, "pydataset", SimpleNamespace(data=data))
    monkeypatch.setitem(sys.modules, "vega_datasets", SimpleNamespace(data=SimpleNamespace()))
    words = ["later-promises", "--time-limit", "1", "--results-dir", str(tmp_path), "--tables", "walk", "plain"]
    assert main(words) == 0
    assert len((tmp_path / "later_promises.jsonl").read_text().splitlines()) == 2
    text = (tmp_path / "later_promises.md").read_text()
    assert "| walk, y by day | 180 |" in text
    assert "| yes |" in text
    assert "plain" not in text
