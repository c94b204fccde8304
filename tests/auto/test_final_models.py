"""The final models: bags in turn, those that are far behind, and the pool."""

from dataclasses import replace

import numpy as np
import pytest

from diffgbm.auto import final_models
from diffgbm.auto.candidates import CLIMATOLOGY, candidates_of, outside_candidate
from diffgbm.auto.final_models import (
    POINTS,
    POOL_POINTS,
    FinalModel,
    pooled,
    repeats_for,
    train_final_models,
)
from diffgbm.auto.scorer import Scorer
from tests.auto.tiny_auto import TINY, progress_of, small_trees, trainer_of  # noqa: F401
from tests.conftest import toy


@pytest.fixture(scope="module")
def parts(small_trees):  # noqa: F811
    return trainer_of(*toy())


def trained(parts, preset=TINY, progress=None):
    trainer, scorer = parts
    candidates = candidates_of(preset, trainer.problem.first_stages)
    progress = progress or progress_of()
    return train_final_models(trainer, scorer, candidates, preset, progress), progress.leaderboard


def test_every_row_is_predicted_by_the_bag_that_holds_it_out(parts):
    pool, leaderboard = trained(parts, replace(TINY, bags=3, samplers=False))
    np.testing.assert_array_equal(np.sort(pool.rows), np.arange(120))
    assert {len(member.bags) for member in pool.members} == {3}
    assert pool.weights.sum() == pytest.approx(1.0)
    assert len(pool.members) == len(pool.candidates) == len(pool.weights)
    assert pool.points.shape == (120, POINTS if len(pool.members) == 1 else POOL_POINTS, 1)
    assert (np.diff(pool.points, axis=1) >= 0.0).all()
    stages = {line.stage.split(",")[0] for line in leaderboard.lines}
    assert stages == {"bag 1", "bag 2", "bag 3", "final"}


def test_a_model_that_is_far_behind_gets_no_second_bag(parts, monkeypatch):
    _, scorer = parts
    monkeypatch.setattr(final_models, "MAX_SCORE_RATIO", 1.0)
    _, leaderboard = trained(parts)
    first = [line for line in leaderboard.lines if line.stage == "bag 1"]
    second = [line.candidate for line in leaderboard.lines if line.stage == "bag 2"]
    assert second == [min(first, key=lambda line: line.relative_crps).candidate]
    assert scorer.weights is None


def test_without_time_there_is_one_bag_of_the_first_candidate(parts):
    trainer, _ = parts
    pool, leaderboard = trained(parts, progress=progress_of(1e-9))
    assert pool.candidates == (candidates_of(TINY, trainer.problem.first_stages)[0],)
    assert [len(member.bags) for member in pool.members] == [1]
    assert len(pool.rows) == 60
    assert [line.stage for line in leaderboard.lines] == ["bag 1", "final, weight 1.00", "final, weight 0.00"]
    assert leaderboard.lines[-1].candidate == CLIMATOLOGY


def test_models_are_pooled_on_the_rows_that_all_of_them_predict():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(30, 1))
    splits = [(np.arange(15, 30), np.arange(15)), (np.arange(15), np.arange(15, 30))]
    near = np.sort(y[:, None] + 0.1 * rng.normal(size=(30, POINTS, 1)), axis=1)
    models = [
        FinalModel("two bags", object(), (near[:15], near[15:])),
        FinalModel("one bag", object(), (near[:15] + 50.0,)),
    ]
    pool = pooled(Scorer(y, np.ones(1), None), models, splits)
    np.testing.assert_array_equal(pool.rows, np.arange(15))
    assert pool.candidates == ("two bags",)
    np.testing.assert_array_equal(pool.points, near[:15])


def test_noisy_copies_of_small_and_large_tables():
    assert [repeats_for(160_000, n) for n in (100, 8000, 10_000_000)] == [30, 20, 8]


def test_a_short_limit_leaves_fewer_copies_and_rows():
    rows = np.arange(50_000)
    splits = [(rows[:40_000], rows[40_000:]), (rows[10_000:], rows[:10_000])]
    assert final_models.affordable(splits, 8, 23, 1e9, 0) == (8, splits)
    copies, limited = final_models.affordable(splits, 8, 23, 5.0, 0)
    assert copies < 8
    for (train, held_out), (some, scored) in zip(splits, limited, strict=True):
        assert set(some) <= set(train)
        assert set(scored) <= set(held_out)
        assert copies * len(some) * 23 <= 0.21 * 5.0 * final_models.CELLS_PER_SECOND
        assert len(scored) < len(held_out)
    copies, limited = final_models.affordable(splits, 8, 23, 1e-9, 0)
    assert copies == final_models.MIN_REPEATS
    assert [len(part) for part in limited[0]] == [final_models.MIN_TRAINING_ROWS, final_models.MIN_SCORED_ROWS]


def test_a_member_that_lacks_bags_and_is_far_behind_changes_nothing(parts):
    """It is on the leaderboard, with its CRPS on the rows that it predicts."""
    trainer, scorer = parts
    preset, progress = replace(TINY, bags=3, samplers=False), progress_of()
    candidates = candidates_of(preset, trainer.problem.first_stages)
    plan = final_models.bag_plan(trainer.problem, preset, None)
    held_out = plan[1][0][1]
    far = np.tile((scorer.observed[held_out, None] + 50.0) * scorer.units, (1, POINTS, 1))
    late = FinalModel(outside_candidate("late", "quantiles"), None, (far,), 0.0, object())
    alone = train_final_models(trainer, scorer, candidates, preset, progress_of(), plan)
    pool = train_final_models(trainer, scorer, candidates, preset, progress, plan, [late])
    np.testing.assert_array_equal(pool.points, alone.points)
    (line,) = [line for line in progress.leaderboard.lines if line.candidate == late.candidate]
    assert line.stage == "final, weight 0.00"
    assert line.relative_crps == pytest.approx(50.0)
