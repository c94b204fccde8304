"""Fits beside other work: processes that count, threads as asked for, and the page."""

import multiprocessing

import numpy as np
from benchmarks.__main__ import main
from benchmarks.busy_machine import KEY, busy, page, threads_as_asked
from benchmarks.rivals.problems import Problem

from benchmarks import busy_machine
from diffgbm.first_stage import useful_threads

KEYS = ("yacht", 4000, "fast", 1.0, 2)


def line(follow, crps, seconds, cut):
    return {**dict(zip(KEY, (*KEYS, 2, follow), strict=True)), "crps": crps, "seconds": seconds, "cut": cut}


def test_processes_run_for_a_block():
    with busy(1):
        assert len(multiprocessing.active_children()) == 1
    assert multiprocessing.active_children() == []


def test_threads_as_asked_for():
    usual = useful_threads._LOAD
    with threads_as_asked():
        assert useful_threads.useful_threads(7) == 7
    assert useful_threads._LOAD is usual


def test_the_page_has_both_fits_beside_each_other():
    text = page([line(True, 0.25, 12.0, False), line(False, 0.5, 30.0, True)])
    assert "| yacht | 2 | 0.25 | 0.5* | 12.0 | 30.0 |" in text
    assert "## fast, 2 threads, 1 s, 4000 rows at most" in text


def test_the_command_fits_what_is_missing(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=90)
    monkeypatch.setattr(busy_machine, "problem", lambda *rest: Problem(X[:60], y[:60], X[60:], y[60:]))
    words = ["busy-machine", "--tables", "yacht", "--busy", "0", "--time-limit", "1", "--threads", "1"]
    assert main([*words, "--results-dir", str(tmp_path)]) == 0
    before = (tmp_path / "busy_machine.jsonl").read_text()
    assert len(before.splitlines()) == 2
    assert main([*words, "--results-dir", str(tmp_path)]) == 0
    assert (tmp_path / "busy_machine.jsonl").read_text() == before
    assert "| yacht | 0 | 0." in (tmp_path / "busy_machine.md").read_text()
