"""The plan for a billion rows follows from a measurement as its formula says."""

import pytest
from benchmarks.cluster_plan import BILLION, CORES, PLAN_ROUNDS, bytes_of_row, fit_seconds, plan, rates

from benchmarks import cluster_plan


def record(workers=2, without=40.0, whole=100.0):
    def cost(seconds):
        return {"seconds": 2.0 * seconds, "processor_seconds": seconds}

    told = {
        "workers": workers,
        "rows": 1000,
        "columns": 10,
        "rounds": 200,
        "mean_rounds": 100,
        "folds": 4,
        "samples": 9,
    }
    return {
        **told,
        "fit_without_mean": cost(without),
        "fit": cost(whole),
        "interval": cost(5.0),
        "sample": cost(8.0),
    }


def test_rates_are_what_one_row_takes_in_one_round():
    rate = rates(record())
    assert rate.noise == pytest.approx(40.0 / (1000 * 200))
    assert rate.mean == pytest.approx(60.0 / (1000 * 100 * 3))
    assert (rate.interval, rate.sample) == pytest.approx((0.005, 0.008))


def test_the_plan_returns_the_measurement_that_it_is_made_of(monkeypatch):
    monkeypatch.setattr(cluster_plan, "PLAN_ROUNDS", 200)
    work, exchange = fit_seconds(rates(record()), record(), 1000, workers=1)
    assert work * CORES == pytest.approx(100.0)
    assert exchange == 0.0


def test_work_is_divided_by_the_cores_and_exchange_is_not():
    rate = rates(record())
    (few, traffic), (many, same) = (fit_seconds(rate, record(), BILLION, workers) for workers in (4, 16))
    assert few == pytest.approx(4 * many)
    assert traffic == same == pytest.approx(16 * 12 * 255 * 30 * (PLAN_ROUNDS + 400) / 1.25e9)
    assert bytes_of_row(record()) == 80 + 12 + 36


def test_the_page_tells_all_of_it():
    text = plan([record(1), record(2)])
    assert "| 1 | 25 (12) | 10 (5) | 200 (100) | 125 (62) |" in text
    assert "at least 4 workers" in text
    work, exchange = fit_seconds(rates(record()), record(), BILLION, 8)
    assert f"| 8 | 128 | {(work + exchange) / 3600:.2f} | {exchange:.0f} |" in text
