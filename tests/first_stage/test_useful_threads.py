"""LightGBM gets as many threads as help while other work holds cores."""

import numpy as np
import pytest

from diffgbm import DiffGBM
from diffgbm.first_stage import useful_threads as module
from diffgbm.first_stage.useful_threads import LASTS, REPETITIONS, Load, boosting_seconds


def load_of(seconds):
    """Return a load with seconds for each number of threads, the calls so far, and the time in a list."""
    calls, now = [], [100.0]
    table = dict(seconds)

    def measured(threads):
        calls.append(threads)
        return table[threads]

    return Load(measured, lambda: now[0]), calls, now, table


@pytest.mark.parametrize(
    ("seconds", "most", "expected"),
    [
        ({1: 8.0, 2: 5.0}, 2, 2),
        ({1: 8.0, 2: 9.0}, 2, 2),  # a small difference is chance
        ({1: 8.0, 2: 40.0}, 2, 1),
        ({1: 8.0, 2: 5.0, 4: 60.0, 8: 90.0}, 8, 2),
        ({1: 8.0, 2: 12.0, 4: 60.0, 8: 90.0}, 8, 1),
        ({1: 8.0, 3: 60.0}, 3, 1),
    ],
)
def test_threads_are_halved_while_one_alone_is_faster(seconds, most, expected):
    load, calls, _, _ = load_of(seconds)
    assert load.threads(most) == expected
    assert calls.count(1) == REPETITIONS


def test_one_thread_is_not_measured():
    load, calls, _, _ = load_of({})
    assert load.threads(1) == 1
    assert calls == []


def test_the_load_is_measured_again_after_a_while():
    load, calls, now, table = load_of({1: 8.0, 2: 40.0})
    assert load.threads(2) == 1
    table[2] = 5.0
    now[0] += 0.9 * LASTS
    before = len(calls)
    assert load.threads(2) == 1
    assert len(calls) == before
    now[0] += 0.2 * LASTS
    assert load.threads(2) == 2


def test_nobody_waits_for_a_measurement():
    """As in a process that was forked while another thread measured: that thread does not exist there."""
    load, calls, now, _ = load_of({1: 8.0, 2: 40.0})
    assert load._lock.acquire(blocking=False)
    assert load.threads(2) == 2
    assert calls == []
    load._lock.release()
    assert load.threads(2) == 1
    now[0] += 2.0 * LASTS
    assert load._lock.acquire(blocking=False)
    assert load.threads(2) == 1  # what was found last


def test_the_clock_counts_the_rounds():
    ticks = iter([3.0, 5.5])
    assert boosting_seconds(1, 1, lambda: next(ticks)) == 2.5


def test_a_busy_machine_changes_no_model(monkeypatch):
    """Also where fewer threads than asked for are used in the middle of a fit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X[:, 0] + rng.standard_normal(200)
    answers, used = iter([2, 1] * 1000), []

    class Busy:
        def threads(self, most):
            used.append(next(answers) if most > 1 else 1)
            return used[-1]

    small = {"n_estimators": 10, "n_repeats": 4, "residualize": "mean", "seed": 0}
    alone = DiffGBM(**small, n_jobs=1).fit(X, y).predict_quantiles(X[:9], [0.1, 0.5, 0.9])
    monkeypatch.setattr(module, "_LOAD", Busy())
    busy = DiffGBM(**small, n_jobs=2).fit(X, y).predict_quantiles(X[:9], [0.1, 0.5, 0.9])
    assert {1, 2} <= set(used)
    np.testing.assert_array_equal(alone, busy)
