"""The benchmark of large tables: its rule, its cells, its page, and one small fit of each source."""

import argparse
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.layout import ResultsError
from benchmarks.peers.recipes import OURS, RELEASED
from benchmarks.records import append, read
from benchmarks.scale_page import STAGES, figure, table

from benchmarks import scale


def record(part="versus", package=OURS, peak=400e6, before=200e6, seconds=10.0, **others):
    usual = {"data": "wide", "rows": 1000, "width": 5, "repeat": 0, "trees": 3, "n_repeats": 30, "crps": 0.5}
    measured = {"peak": peak, "before": before, "processor_seconds": seconds, "table_bytes": 100e6}
    return {"part": part, "package": package, **usual, **measured, "read_seconds": 1.0, "read_peak": 300e6, **others}


def test_copies_are_limited_in_total():
    assert [scale.repeats_for(n) for n in (10_000, 100_000, 300_000, 1_000_000, 10**8)] == [30, 30, 10, 3, 2]


def test_packages_take_turns_on_the_same_tables():
    cells = [cell for cell in scale.cells(3, quick=False) if cell.part == "versus"]
    assert [cell.package for cell in cells] == [OURS, RELEASED] * (3 + 3 * scale.SHORT)
    for ours, theirs in zip(cells[::2], cells[1::2], strict=True):
        assert ours.constructor == theirs.constructor
        assert (ours.data, ours.rows, ours.repeat) == (theirs.data, theirs.rows, theirs.repeat)
    grown = [cell for cell in scale.cells(1, quick=False) if cell.part == "growth"]
    assert (grown[0].rows, grown[-1].rows) == (10_000, 1_000_000)
    assert all(cell.rows * cell.n_repeats <= scale.NOISY_ROWS for cell in grown)


def test_the_page_compares_medians():
    records = [record(repeat=k, crps=0.5 + 0.1 * k, seconds=10.0 + k) for k in range(3)]
    records += [record(package=RELEASED, repeat=k, peak=1000e6, seconds=22.0, before=100e6) for k in range(3)]
    text = table(records)
    assert "| wide | 1,000 x 5 | 3 | this package | 400 | 200 | 11.0 | 0.6000 ± 0.0577 | 3 |" in text
    assert "- wide: 0.40 of the released package's memory in all, 0.22 above the start; 0.50 of its time" in text
    assert "(0.45 to 0.55)" in text
    assert "As tables grow" not in text


def test_growth_and_disk(tmp_path):
    records = [record("growth", rows=n, n_repeats=3, peak=200e6 + 10 * n) for n in (30_000, 10_000)]
    text = table([*records, record("disk", data="wide, map")])
    assert text.index("| 10,000 | 5 | 3 |") < text.index("| 30,000 | 5 | 3 | 3 | 100.0 | 0 | 10.0 | 1.00 |")
    assert "| wide, map | 1,000 x 5 | 100 | 300 | 200 | 2.00 | 10.0 |" in text
    figure(records, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").stat().st_size > 10_000


def test_stages_are_shares_of_the_whole():
    spent = dict.fromkeys(STAGES, 0.0) | {"first stage": 1.0, "binning": 0.5, "trees": 2.5}
    text = table([record("stages", stages=spent)])
    assert "| wide | 1,000 x 5 | 3 | 1.00 (25%) | 0.00 (0%) | 0.00 (0%) | 0.50 (12%) | 2.50 (62%) |" in text


def test_stages_of_a_fit_add_up():
    cell = next(cell for cell in scale.cells(1, quick=True) if (cell.part, cell.data) == ("stages", "wide"))
    result = scale.measure(replace(cell, rows=400, width=12), None)
    assert set(result["stages"]) == set(STAGES)
    assert all(seconds >= 0.0 for seconds in result["stages"].values())
    assert result["stages"]["trees"] > 0.0
    assert sum(result["stages"].values()) <= result["processor_seconds"]


def test_generated_tables():
    parts = list(scale.generated(120_000, 12))
    assert [len(X) for X, _ in parts] == [50_000, 50_000, 20_000]
    X, y = parts[1]
    assert X.dtype == np.float32
    assert not np.array_equal(X[:9], parts[0][0][:9])
    # the standard deviation follows the tenth column
    rest = np.abs(y - X[:, :8].sum(axis=1) - np.sin(3.0 * X[:, 8]))
    narrow, broad = np.abs(X[:, 9]) < 0.1, np.abs(X[:, 9]) > 2.0
    assert rest[broad].mean() > 3.0 * rest[narrow].mean()


def test_a_small_fit(tmp_path, monkeypatch):
    part = "disk"
    cell = scale.Cell(part, "made up", OURS, 300, 12, 0, "parquet", 4, 2)
    monkeypatch.setattr(scale, "cells", lambda repeats, quick: [cell])
    monkeypatch.setattr(scale, "RESULTS", tmp_path)
    args = argparse.Namespace(data_dir=None, parts=[part], repeats=1, quick=False, again=False, page_only=False)
    scale.run(args)
    (result,) = read(tmp_path / "scale.jsonl")
    assert result["table_bytes"] == 300 * 12 * 4 + 128
    assert result["n_iterations"] == [4]
    assert result["imports"] < result["before"] <= result["peak"]
    assert "crps" not in result
    before = (tmp_path / "scale.jsonl").read_bytes()
    scale.run(args)
    assert (tmp_path / "scale.jsonl").read_bytes() == before
    assert "made up" in (tmp_path / "scale.md").read_text()


def test_test_rows_are_of_the_same_distribution(tmp_path):
    cell = scale.Cell("versus", "made up", OURS, 2000, 12, 0, "memory", 4, 2)
    y_test = scale.write(cell, tmp_path, None)
    assert np.load(tmp_path / "X_test.npy").shape == (scale.TEST_ROWS, 12)
    X, y = np.load(tmp_path / "X.npy"), np.load(tmp_path / "y.npy")
    assert X.shape == (2000, 12)
    # eight columns of unit variance, half of a sine, and noise
    variance = 8.0 + 0.5 + np.mean((0.5 + np.abs(np.random.default_rng(0).standard_normal(10**6))) ** 2)
    for values in (y, y_test):
        assert abs(values.var() / variance - 1.0) < 5.0 * np.sqrt(2.0 / len(values))


def test_a_fit_that_fails_is_no_result(monkeypatch):
    monkeypatch.setattr(scale, "python_of", lambda package: "false")
    with pytest.raises(ResultsError, match="made up, ours: "):
        scale.measure(scale.Cell("growth", "made up", OURS, 40, 12, 0, "map", 1, 2), None)


def test_an_interrupted_file_is_continued(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "RESULTS", tmp_path)
    append(tmp_path / "scale.jsonl", record("growth", rows=10_000, data="narrow"))
    args = argparse.Namespace(data_dir=None, parts=["growth"], repeats=1, quick=False, again=False, page_only=True)
    scale.run(args)
    assert "| 10,000 | 5 | 30 |" in (tmp_path / "scale.md").read_text()
