"""Successive halving: who survives a round, sizes, the large plain candidate, and time."""

from dataclasses import replace

import numpy as np
import pytest

from diffgbm.auto import search as searching
from diffgbm.auto.budget import Clock
from diffgbm.auto.candidates import LARGE_PLAIN, candidates_of
from diffgbm.auto.leaderboard import Leaderboard
from diffgbm.auto.presets import Round
from diffgbm.auto.progress import Progress
from diffgbm.auto.scorer import Scorer
from diffgbm.auto.search import ENOUGH_ROWS, SPLITS, part_folds, run_round, search, survivors
from tests.auto.tiny_auto import TINY, auto, progress_of, small_trees, trainer_of  # noqa: F401
from tests.conftest import toy


@pytest.fixture(scope="module")
def parts(small_trees):  # noqa: F811
    return trainer_of(*toy())


def test_candidates_survive_that_a_pool_would_hold():
    """A worse but different candidate is worth more to a pool than a near copy of the best."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(400, 1))
    first, second = rng.normal(size=(2, 400, 1, 1))
    grid = np.linspace(-0.5, 0.5, 21)[None, :, None]
    best, other = y[:, None] + 0.8 * first + grid, y[:, None] + 1.1 * second + grid
    distributions = dict(zip("abc", (best, best + 0.04 * first, other), strict=True))
    scorer, rows = Scorer(y, np.ones(1), None), np.arange(400)
    scores = [scorer.score(points, rows) for points in distributions.values()]
    assert scores[0] < scores[1] < scores[2]
    assert survivors(scorer, distributions, rows, 1) == ["a"]
    assert survivors(scorer, distributions, rows, 2) == ["a", "c"]
    assert survivors(scorer, distributions, rows, 3) == ["a", "b", "c"]


@pytest.mark.parametrize("n", [50, 100, ENOUGH_ROWS * SPLITS, 10_000])
def test_small_parts_are_scored_in_more_folds(n):
    folds = part_folds(20_000, n, 0)
    held_out = np.concatenate([rows for _, rows in folds])
    assert len(np.unique(held_out)) == len(held_out) >= min(n, ENOUGH_ROWS)
    part = {tuple(np.sort(np.concatenate(split))) for split in folds}
    assert len(part) == 1
    assert len(part.pop()) == n
    assert all(not set(train) & set(rows) for train, rows in folds)


def test_a_round_scores_every_candidate(parts):
    trainer, scorer = parts
    candidates = candidates_of(TINY, trainer.problem.first_stages)
    progress = progress_of()
    round_ = Round(rows=100, n_repeats=2, size="probe", keep=1)
    kept = run_round(trainer, scorer, progress, 0, round_, candidates, 0.5)
    lines = progress.leaderboard.lines
    assert [line.candidate for line in lines] == candidates
    assert {(line.stage, line.rows) for line in lines} == {("round 1", 100)}
    assert kept[0] == min(lines, key=lambda line: line.relative_crps).candidate


def test_without_time_the_first_candidate_is_scored(parts):
    trainer, scorer = parts
    candidates = candidates_of(TINY, trainer.problem.first_stages)
    progress = Progress(Clock(1.0, iter(np.arange(0.0, 1e6)).__next__), Leaderboard(1.0))
    assert run_round(trainer, scorer, progress, 0, TINY.rounds[0], candidates, 0.5) == candidates[:1]
    assert progress.clock.cut


def test_all_take_the_size_that_suits_the_best(parts):
    preset = replace(TINY, sizes=("probe", "usual"))
    progress = progress_of()
    kept = search(*parts, preset, progress)
    compared = [line for line in progress.leaderboard.lines if line.stage == "round 2"]
    assert {line.candidate.size for line in compared} == {"probe", "usual"}
    best = min(compared, key=lambda line: line.relative_crps).candidate
    assert {candidate.size for candidate in kept} == {best.size}
    assert kept[0] == best


def test_a_preset_without_rounds_takes_its_first_size(parts):
    kept = search(*parts, replace(TINY, rounds=(), sizes=("large", "probe")), progress_of())
    assert {candidate.size for candidate in kept} == {"large"}
    assert len(kept) == TINY.final_models


def test_small_tables_keep_more_candidates(parts):
    preset = replace(TINY, recipes=("flow", "edm"), final_models=1)
    assert len(search(*parts, preset, progress_of())) == 1
    assert len(search(*parts, replace(preset, small_factor=2), progress_of())) == 2


def test_the_large_plain_candidate_is_added_on_large_tables(monkeypatch):
    monkeypatch.setattr(searching, "LARGE_PLAIN_ROWS", 100)
    X, y = toy()
    name = str(LARGE_PLAIN)
    for wanted in (True, False):
        leaderboard = auto(replace(TINY, large_plain=wanted)).fit(X, y).leaderboard_
        assert (name in set(leaderboard["model"])) is wanted
        assert not ((leaderboard["model"] == name) & leaderboard["outcome"].str.contains("round")).any()
    small = auto(replace(TINY, large_plain=True)).fit(X[:99], y[:99]).leaderboard_
    assert name not in set(small["model"])


def test_the_large_plain_candidate_is_left_out_if_it_is_far_behind(parts, monkeypatch):
    monkeypatch.setattr(searching, "LARGE_PLAIN_ROWS", 100)
    preset = replace(TINY, large_plain=True)
    usual, other = replace(LARGE_PLAIN, size="usual"), replace(LARGE_PLAIN, recipe="flow")
    for score, added in ((2.1, False), (1.9, True)):
        progress = progress_of()
        progress.leaderboard.add(usual, "round 1", score, 0.0, 100)
        progress.leaderboard.add(other, "round 1", 1.0, 0.0, 100)
        monkeypatch.setattr(searching, "run_round", lambda *arguments: list(arguments[5]))
        assert (LARGE_PLAIN in search(*parts, preset, progress)) is added
