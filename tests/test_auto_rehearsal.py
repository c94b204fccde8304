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
from diffgbm.automatic.rehearsal import rehearsed
from diffgbm.automatic.stages import fit_again, needed
from diffgbm.bags import splits
from diffgbm.distribution import PredictiveDistribution
from tiny_auto import TINY, auto, small_trees  # noqa: F401

REHEARSING = replace(TINY, rehearsals=3, guides=(("stack", ()), ("none", ("mean", "cdf"))))


def weights_of(y):
    return np.linspace(0.5, 1.5, len(y))


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
    law = rehearsed(contest, result, pool, 200, 3)
    _, others = splits(contest.n_rows, 3, 0.2, contest.seed, True)[0]
    y = contest.stages.task.y.copy()
    y[others] *= -1.0
    changed = rehearsed(with_responses(contest, y), result, pool, 200, 3)
    np.testing.assert_array_equal(changed.values[others], law.values[others])
    rest = np.setdiff1d(np.arange(len(y)), others)
    assert (changed.values[rest] != law.values[rest]).any(axis=1).all()


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


def test_a_small_table_is_recalibrated_by_rehearsals(monkeypatch):
    asked = []
    theta = np.zeros((16, 4))
    theta[1, 0] = -0.3

    def correction(law, *known):
        asked.append((law, *known))
        return Correction(theta, weighted_quantiles(spread(law), RANKS))

    monkeypatch.setattr(fitting, "helpful_correction", correction)
    X, y = toy()
    model = auto(REHEARSING).fit(X, y, sample_weight=weights_of(y))
    law, observed, weights, _ = asked[0]
    np.testing.assert_array_equal(observed, y)  # all rows, in their order
    np.testing.assert_allclose(weights / weights[0], weights_of(y) / weights_of(y)[0])
    assert len(law) == len(y)
    # which laws are narrow is told by laws of models of nearly all rows
    own = spread(model.oob_distribution_)
    expected = weighted_quantiles(own, RANKS, weights[model.oob_rows_])
    np.testing.assert_allclose(model.pool_.correction.spreads, expected)
    assert len(asked) == 1
    assert "recalibrated" in model.explain()


@pytest.mark.parametrize("reason", ["preset", "rows", "time"])
def test_otherwise_by_out_of_bag_laws(reason, monkeypatch):
    asked = []
    monkeypatch.setattr(fitting, "helpful_correction", lambda *known: asked.append(known))
    X, y = toy()
    preset = REHEARSING
    if reason == "preset":
        preset = replace(REHEARSING, rehearsals=0)
    elif reason == "rows":
        monkeypatch.setattr(fitting, "SMALL", len(y) - 1)
    else:
        monkeypatch.setattr("diffgbm.automatic.rehearsal.IN_TIME", 0.0)
    model = auto(preset).fit(X, y)
    ((law, observed, *_),) = asked
    np.testing.assert_array_equal(law.values, model.oob_distribution_.values)
    assert len(observed) == len(model.oob_rows_)
    assert model.cut_short_ is (reason == "time")


@pytest.mark.parametrize("limit", [60, 120, 180, 300, 400, 600])
def test_wherever_time_runs_out_a_rehearsal_is_whole_or_none(limit, finished):
    """A clock that moves by one second each time it is asked: models that are stopped early are no rehearsal."""
    contest, result, pool = finished
    seconds = count()
    clock = Clock(float(limit), lambda: float(next(seconds)))
    law = rehearsed(replace(contest, clock=clock), result, pool, 200, 3)
    assert (law is None) is (limit < 500)
    if law is not None:
        np.testing.assert_array_equal(law.values, rehearsed(contest, result, pool, 200, 3).values)
    else:
        assert clock.cut


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
    assert PRESETS["best"].rehearsals == 5
    assert PRESETS["fast"].rehearsals == PRESETS["balanced"].rehearsals == 0
