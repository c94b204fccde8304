"""``python -m reliability threads``: states that are compared, and a short burst of it."""

import os
import warnings

import numpy as np
import pytest
from reliability import threads


def test_a_changed_process_is_noticed(monkeypatch):
    before = threads.process_state()
    assert threads.changed(before, threads.process_state()) == []
    monkeypatch.setenv("DIFFGBM_OF_A_TEST", "1")
    np.random.rand()  # noqa: NPY002
    mask = os.umask(0o77)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        after = threads.process_state()
    os.umask(mask)
    assert threads.changed(before, after) == ["warning filters", "numpy's random state", "environment", "umask"]


@pytest.mark.filterwarnings("ignore::diffgbm._util.errors.DiffGBMWarning")
def test_overlapping_calls_answer_as_alone_and_leave_the_process_as_it_was(monkeypatch):
    quick = ("fit flow", "fit atoms", "sample", "predict", "save", "load", "load version1_mean_scale")
    calls = threads.calls

    def quick_calls(folder):
        named = calls(folder)
        return {name: named[name] for name in quick}

    monkeypatch.setattr(threads, "calls", quick_calls)
    figures = threads.run(0.0, workers=4)
    assert figures["findings"] == 0, figures["reasons"]
    assert sum(figures["calls"].values()) == 12
