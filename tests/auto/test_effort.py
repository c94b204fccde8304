"""What a time limit buys."""

from dataclasses import replace

import numpy as np
import pytest

from diffgbm.auto import effort
from diffgbm.auto.effort import FEW_SECONDS, HASTY_BUDGET, Effort, effort_for
from diffgbm.auto.presets import PRESETS
from diffgbm.data.structure import Structure
from tests.auto.tiny_auto import TINY, auto, small_trees  # noqa: F401
from tests.conftest import toy

BALANCED = PRESETS["balanced"]


@pytest.mark.parametrize("name", PRESETS)
def test_tables_that_are_not_large_for_their_limit_have_the_work_of_the_preset(name):
    preset = PRESETS[name]
    assert effort_for(preset, None, 10**8, 100) == Effort(preset)
    assert effort_for(preset, preset.time_limit, 45_000, 10) == Effort(preset)
    assert effort_for(preset, FEW_SECONDS, 500, 20) == Effort(preset)
    assert effort_for(preset, 0.01, 500, 20) == Effort(preset, HASTY_BUDGET)
    assert not Effort(preset).is_reduced


def test_a_short_limit_buys_one_candidate_on_some_of_the_rows():
    short = effort_for(BALANCED, 1.0, 50_000, 20)
    assert short.is_reduced
    assert short.preset.first_stage_models == ("lightgbm",)
    assert (short.preset.first_stages, short.preset.recipes) == ((("stack", ()),), ("flow",))
    assert (short.preset.rounds, short.preset.sizes, short.preset.final_models) == ((), ("usual",), 1)
    assert short.folds < Effort(BALANCED).folds
    assert short.rows < 50_000
    assert effort_for(PRESETS["best"], 1.0, 50_000, 20).preset.sizes == ("usual",)


def test_more_time_buys_more_rows():
    some = [effort_for(BALANCED, limit, 500_000, 20) for limit in (0.01, 1.0, 2.0, 5.0, 10.0)]
    rows, holdouts = [each.rows for each in some], [each.holdout for each in some]
    assert rows == sorted(set(rows))
    assert holdouts == sorted(holdouts)
    assert rows[0] == effort.LEAST_ROWS
    assert (holdouts[0], holdouts[-1]) == (effort.LEAST_HOLDOUT, effort.MAX_HOLDOUT)


def test_some_rows_are_in_order_and_keep_groups_together():
    rows = np.arange(100, 300)
    work = replace(effort_for(BALANCED, 1.0, 50_000, 20), rows=60)
    some = work.some(rows, 3)
    assert len(some) == 60
    np.testing.assert_array_equal(some, np.unique(some))
    assert np.isin(some, rows).all()
    np.testing.assert_array_equal(work.some(rows[:50], 3), rows[:50])
    labels = np.arange(300) // 4
    drawn = labels[work.some(rows, 3, Structure(labels))]
    assert (np.bincount(drawn)[np.unique(drawn)] == 4).all()


def test_a_reduced_fit_says_so_and_learns_from_fewer_rows(monkeypatch):
    X, y = toy(200)
    monkeypatch.setattr(effort, "FEW_CELLS", 0)
    monkeypatch.setattr(effort, "CELLS_PER_SECOND", 0)
    monkeypatch.setattr(effort, "LEAST_ROWS", 150)
    monkeypatch.setattr(effort, "TRAINING_CELLS_PER_SECOND", 0)
    model = auto(TINY, time_limit=1000.0).fit(X, y)
    assert model.cut_short_
    assert "cut the fit short" in model.explain()
    assert len(np.unique(model.oob_rows_)) <= 150
    assert set(model.first_stage_errors_) == {"lightgbm", "stack"}
    assert len(model.weights_) == 1


def test_a_search_needs_seconds_of_its_own():
    """Just above the limit of the reduced work the whole work must be as good: it needs time for a search."""
    for rows, seconds in ((3000, 5.0), (10_000, 7.4), (50_000, 20.7)):
        limits = np.array([0.7, 0.95, 1.05, 2.0]) * seconds
        assert [effort_for(PRESETS["fast"], limit, rows, 20).is_reduced for limit in limits] == [True] * 2 + [False] * 2
    assert not effort_for(PRESETS["fast"], 0.5, 1000, 20).is_reduced
