"""The measurement of short limits on simulated tables."""

import time

import numpy as np
from benchmarks.__main__ import main

from benchmarks import short_limits
from diffgbm.auto import fitting
from diffgbm.auto.budget import Clock


def test_each_case_is_a_row_and_the_clock_is_restored(monkeypatch, capsys):
    seen = []

    def line(rows, columns, limit, preset):
        seen.append((rows, columns, limit, preset, fitting.Clock(limit).now is time.process_time))
        return f"| {rows} |"

    monkeypatch.setattr(short_limits, "line", line)
    monkeypatch.setattr(short_limits, "CASES", ((10, 2, 1.0),))
    monkeypatch.setattr(short_limits, "warmup", lambda: None)
    assert main(["short-limits", "--preset", "fast"]) == 0
    assert seen == [(10, 2, 1.0, "fast", True)]
    assert fitting.Clock is Clock
    assert "| 10 |" in capsys.readouterr().out


def test_the_simulated_table_is_the_same_every_time():
    (X, y), (again, _) = short_limits.simulated(50, 6, 0), short_limits.simulated(50, 6, 0)
    assert np.array_equal(X, again)
    assert len(y) == 50
