"""Which preset's work a limit buys."""

from dataclasses import replace

import pytest

from diffgbm.auto import planning
from diffgbm.auto.planning import COSTS, measured_speed, planned
from diffgbm.auto.presets import PRESETS
from tests.auto.tiny_auto import TINY, auto, small_trees  # noqa: F401
from tests.conftest import toy

NAMES = list(COSTS)


def never():
    raise AssertionError("the speed was measured")


def test_every_preset_has_a_cost_and_larger_ones_cost_more():
    assert list(PRESETS) == NAMES
    for rows in (10, 1000, 100_000):
        seconds = [cost.seconds(rows, 5) for cost in COSTS.values()]
        assert seconds == sorted(set(seconds))


@pytest.mark.parametrize("name", NAMES)
def test_ample_time_and_other_presets_do_not_depend_on_the_clock(name):
    preset = PRESETS[name]
    assert planned(preset, None, 10**7, 100, never) is preset
    assert planned(preset, 4.0 * COSTS[name].seconds(5000, 10), 5000, 10, never) is preset
    assert planned(PRESETS["fast"], 0.1, 10**6, 100, never) is PRESETS["fast"]
    custom = replace(preset, bags=17)
    assert planned(custom, 0.1, 10**6, 100, never) is custom


def test_more_time_buys_larger_presets_up_to_the_one_asked_for():
    limits = [0.1, 1.01 * COSTS["balanced"].seconds(5000, 10), 1.01 * COSTS["best"].seconds(5000, 10)]
    bought = [planned(PRESETS["best"], limit, 5000, 10, lambda: 1.0) for limit in limits]
    assert bought == [PRESETS[name] for name in NAMES]
    assert planned(PRESETS["balanced"], limits[-1], 5000, 10, lambda: 1.0) is PRESETS["balanced"]


def test_a_slow_machine_and_a_wide_table_buy_less():
    limit = 1.01 * COSTS["best"].seconds(5000, 10)
    assert planned(PRESETS["best"], limit, 5000, 10, lambda: 0.6) is PRESETS["balanced"]
    assert planned(PRESETS["best"], limit, 5000, 100, lambda: 1.0) is PRESETS["fast"]


def test_speed_is_counted_by_the_clock():
    ticks = iter([10.0, 10.0 + 2.0 * planning.PROBE_SECONDS])
    assert measured_speed(1, lambda: next(ticks)) == pytest.approx(0.5)


def test_a_smaller_plan_is_a_fit_that_was_cut_short(monkeypatch):
    """TINY is the large preset here, and a smaller one of the catalogue is what the limit buys."""
    smaller = replace(TINY, bags=1)
    monkeypatch.setattr(planning, "PRESETS", {"fast": smaller, "best": TINY})
    monkeypatch.setattr(planning, "COSTS", {"fast": planning.Cost(0.0, 0.0), "best": planning.Cost(1e9, 0.0)})
    X, y = toy(120)
    model = auto(TINY, time_limit=1000.0).fit(X, y)
    assert model.cut_short_
    assert "cut the fit short" in model.explain()
    assert len(model.pool_.members[0].bags) == 1
