"""Rehearsals of the pool: rows that nothing has seen, guides included, and what is made of them."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from conftest import toy
from diffgbm.automatic import fitting
from diffgbm.automatic.clock import Clock
from diffgbm.automatic.correction import RANKS, Correction, spread, weighted_quantiles
from diffgbm.automatic.finals import trained
from diffgbm.automatic.presets import PRESETS
from diffgbm.automatic.rehearsal import PARTS, rehearsed
from diffgbm.automatic.stages import fit_again, needed
from diffgbm.bags import splits
from diffgbm.distribution import PredictiveDistribution
from tiny_auto import TINY, auto, small_trees  # noqa: F401

REHEARSING = replace(TINY, rehearsals=2, guides=(("stack", ()), ("none", ("mean", "cdf"))))


def weights_of(y):
    return np.linspace(0.5, 1.5, len(y))


@pytest.fixture
def thousands(monkeypatch):
    """Let a table of a few hundred rows pass for one of thousands."""
    monkeypatch.setattr(fitting, "SMALL", 100)


@pytest.fixture(scope="module")
def finished(small_trees):  # noqa: F811
    """A contest, its result and the pool, as they are when recalibration begins."""
    known = {}

    def spy(contest, result, *others):
        known.update(contest=contest, result=result)
        return conclude(contest, result, *others)

    conclude = fitting._conclude
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "_conclude", spy)
        model = auto(replace(REHEARSING, rehearsals=0), recalibrate=False).fit(*toy())
    return known["contest"], known["result"], model.pool_


def with_responses(contest, y):
    return replace(contest, stages=replace(contest.stages, task=replace(contest.stages.task, y=y)))


def test_no_law_knows_anything_of_its_row(finished):
    contest, result, pool = finished
    law, rows = rehearsed(contest, result, pool, 200, 2)
    first, second = (others for _, others in splits(contest.n_rows, PARTS, 1 / PARTS, contest.seed, True)[:2])
    np.testing.assert_array_equal(rows, np.concatenate([first, second]))
    y = contest.stages.task.y.copy()
    y[first] *= -1.0
    changed, _ = rehearsed(with_responses(contest, y), result, pool, 200, 2)
    n = len(first)
    np.testing.assert_array_equal(changed.values[:n], law.values[:n])
    assert (changed.values[n:] != law.values[n:]).any(axis=1).all()


def test_laws_are_those_of_a_pool_that_is_told_less(finished):
    """The rows of a rehearsal's laws are not in its guides, its noise models or its shapes, but the weights stay."""
    contest, result, pool = finished
    once, rows = rehearsed(contest, result, pool, 200, 1)
    twice, more = rehearsed(contest, result, pool, 200, 2)
    np.testing.assert_array_equal(more[: len(rows)], rows)
    np.testing.assert_array_equal(twice.values[: len(rows)], once.values)
    assert len(set(more.tolist())) == len(more)
    y = contest.response.location[0] + contest.response.scale[0] * contest.stages.task.y[more, 0]
    seen = pool.law(contest.stages.task.X[more], 500, threads=1)
    # models that have seen a row say more of it than models that have not
    assert seen.crps(y).mean() < twice.crps(y).mean() < np.abs(y - np.median(y)).mean()


def test_a_rehearsal_is_the_same_work_as_the_finals(finished):
    contest, result, _ = finished
    X = contest.stages.task.X
    for candidate, member in zip(result.candidates, result.members, strict=True):
        again = trained(contest, candidate, len(member.bags))
        points = [model.points(X, member.recipe.sampler, 20, 1) for model in (again, member)]
        np.testing.assert_array_equal(*points)


def test_only_what_is_needed_is_fitted_again(finished):
    contest, *_ = finished
    stages = contest.stages
    part = stages.task.part(np.arange(0, contest.n_rows, 2))
    stacked = {name for name in stages.fitted if name not in ("stack", "cdf") and stages.in_stack(name)}
    assert stacked
    assert set(fit_again(stages, part, needed("none", ()), 200).fitted) == set()
    assert set(fit_again(stages, part, needed("none", ("cdf",)), 200).fitted) == {"cdf"}
    assert set(fit_again(stages, part, needed("stack", ("mean",)), 200).fitted) == {*stacked, "stack"}
    alone = fit_again(stages, part, needed("lightgbm", ()), 200)
    assert set(alone.fitted) == {"lightgbm"}
    assert len(alone.fitted["lightgbm"].out_of_fold) == len(part.y)
    # to the same rows, the same models
    same = fit_again(stages, stages.task, needed("stack", ()), 200).fitted["stack"]
    np.testing.assert_allclose(same.out_of_fold, stages.fitted["stack"].out_of_fold)


def test_a_table_of_thousands_of_rows_is_recalibrated_by_rehearsals(thousands, monkeypatch):
    asked = []
    theta = np.zeros((16, 4))
    theta[1, 0] = -0.3

    def correction(law, *known):
        asked.append((law, *known))
        return Correction(theta, weighted_quantiles(spread(law), RANKS))

    monkeypatch.setattr(fitting, "helpful_correction", correction)
    X, y = toy()
    model = auto(REHEARSING).fit(X, y, sample_weight=weights_of(y))
    ((law, observed, weights, seed),) = asked
    rows = np.concatenate([others for _, others in splits(len(y), PARTS, 1 / PARTS, seed, True)[:2]])
    np.testing.assert_array_equal(observed, y[rows])
    np.testing.assert_allclose(weights / weights[0], weights_of(y)[rows] / weights_of(y)[rows[0]])
    assert len(law) == len(rows)
    # which laws are narrow is told by laws of models of nearly all rows
    heavy = weights_of(y)[model.oob_rows_]
    expected = weighted_quantiles(spread(model.oob_distribution_), RANKS, heavy)
    np.testing.assert_allclose(model.pool_.correction.spreads, expected)
    assert "recalibrated" in model.explain()


@pytest.mark.parametrize("reason", ["preset", "rows", "time"])
def test_otherwise_by_out_of_bag_laws(reason, thousands, monkeypatch):
    asked = []
    monkeypatch.setattr(fitting, "helpful_correction", lambda *known: asked.append(known))
    X, y = toy()
    preset = REHEARSING
    if reason == "preset":
        preset = replace(REHEARSING, rehearsals=0)
    elif reason == "rows":
        monkeypatch.setattr(fitting, "SMALL", len(y))
    else:
        monkeypatch.setattr("diffgbm.automatic.rehearsal.IN_TIME", 0.0)
    model = auto(preset).fit(X, y)
    ((law, observed, *_),) = asked
    np.testing.assert_array_equal(law.values, model.oob_distribution_.values)
    assert len(observed) == len(model.oob_rows_)
    assert model.cut_short_ is (reason == "time")


@pytest.mark.parametrize(("limit", "times"), [(60, 0), (120, 0), (210, 1), (400, 2), (600, 2)])
def test_wherever_time_runs_out_a_rehearsal_is_whole_or_none(limit, times, finished):
    """A clock that moves by one second each time it is asked: models that are stopped early are no rehearsal."""
    contest, result, pool = finished
    seconds = count()
    clock = Clock(float(limit), lambda: float(next(seconds)))
    told = rehearsed(replace(contest, clock=clock), result, pool, 200, 2)
    law, _ = rehearsed(contest, result, pool, 200, 2)
    known = 0 if told is None else len(told[1])
    assert known == times * contest.n_rows // PARTS
    assert clock.cut is (times < 2)
    if told is not None:
        np.testing.assert_array_equal(told[0].values, law.values[:known])


def test_laws_of_other_widths_are_ranked_among_their_own():
    """A correction of laws that are three times as wide is that of the laws themselves."""
    rng = np.random.default_rng(0)
    width = np.exp(rng.normal(size=300))
    law = PredictiveDistribution.from_points(np.sort(width[:, None] * rng.normal(size=(300, 60)), axis=1))
    wide = PredictiveDistribution.from_points(3.0 * law.values)
    theta = np.zeros((16, 4))
    theta[1] = [-0.2, 0.15, -0.1, 0.05]
    own, others = (Correction(theta, weighted_quantiles(spread(laws), RANKS)) for laws in (law, wide))
    assert not np.allclose(others(law).values, own(law).values)
    np.testing.assert_allclose(others.ranked_by(law)(law).values, own(law).values)


def test_the_best_preset_rehearses():
    assert PRESETS["best"].rehearsals == 2
    assert PRESETS["fast"].rehearsals == PRESETS["balanced"].rehearsals == 0
