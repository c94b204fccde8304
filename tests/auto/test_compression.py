"""Compression: smaller pools whose distributions are within the tolerance, which keep their coverage."""

from dataclasses import replace

import numpy as np
import pytest

from diffgbm.auto import compression
from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.climatology import Climatology
from diffgbm.auto.compression import Compression, compressed, reference_rows
from diffgbm.auto.economy import Economy
from diffgbm.auto.operations import Operations
from diffgbm.auto.pooled_model import PooledModel
from tests.conftest import tiny, toy

X, Y = toy(300)
NEW = toy(200, seed=9)[0]


def pool_of(*models, weights=None, climatology=None, d=1):
    """Pool the fitted models of estimators."""
    members = tuple(model.model_ for model in models)
    weights = np.full(len(members), 1.0 / len(members)) if weights is None else np.array(weights)
    return PooledModel(members, weights, None, (ResponseShape(),) * d, None, climatology)


@pytest.fixture(scope="module")
def estimators():
    """Two models of four bags: by the ODE, and by the SDE behind a first stage."""
    bags = {"n_bags": 4, "bag_mix": "mixture", "early_stopping_rounds": 5}
    return tiny("flow", **bags).fit(X, Y), tiny("published", n_steps=8, residualize="mean", **bags).fit(X, Y)


@pytest.fixture(scope="module")
def pool(estimators):
    return pool_of(*estimators, weights=[0.7, 0.3])


def test_a_tolerance_is_kept_and_something_is_saved(pool):
    smaller, found = compressed(pool, X, 0.05)
    assert 0.0 <= found.crps_rise <= 0.05
    assert found.operations < 1.0
    assert found.bags[1] == sum(len(member.bags) for member in smaller.members) < found.bags[0] == 8
    assert smaller.weights.sum() == pytest.approx(1.0)
    whole, part = pool.distribution(NEW, 377), smaller.distribution(NEW, 377)

    def cdf(distribution):
        return distribution.cdf(np.tile(np.linspace(-4.0, 6.0, 2001), (len(NEW), 1)))

    distance = np.mean(np.sum((cdf(whole) - cdf(part)) ** 2, axis=1))
    expected = np.mean(np.sum(cdf(whole) * (1.0 - cdf(whole)), axis=1))
    assert distance / expected < 0.06


def test_more_tolerance_saves_more(pool):
    found = [compressed(pool, X, tolerance)[1].operations for tolerance in (1e-6, 0.01, 0.1)]
    assert found == sorted(found, reverse=True)
    assert found[2] < found[0]


def test_nothing_is_left_out_where_every_part_matters(pool):
    smaller, found = compressed(pool, X, 1e-9)
    assert smaller is pool
    assert found.operations == 1.0
    assert "Nothing was left out" in str(found)


def test_fewer_bags_are_recalibrated_to_the_whole_pool(pool):
    """Fewer bags differ less, so that their mixture is too narrow; the correction makes up for it."""
    one = replace(pool, members=tuple(replace(m, bags=m.bags[:1]) for m in pool.members))
    whole = pool.distribution(X, 377)
    (_, before), (corrected, after) = compression._as_it_is_and_recalibrated(one, X, whole, 1)
    error, left = (
        np.abs(compression._covered(whole, d) - compression._covered(whole, whole)).max() for d in (before, after)
    )
    assert left < 0.5 * error
    assert corrected.correction is not None


def test_coverage_limits_compression(pool, monkeypatch):
    monkeypatch.setattr(compression, "fit_correction", lambda *_: None)
    free = compressed(pool, X, 0.3)[1]
    monkeypatch.setattr(compression, "MAX_COVERAGE_CHANGE", 0.0005)
    strict = compressed(pool, X, 0.3)[1]
    assert strict.operations > free.operations


def test_equal_bags_are_left_out_for_nothing(pool):
    """Copies of a bag change no distribution, so that one of them is left whatever the tolerance."""
    member = pool.members[0]
    copies = replace(pool, members=(replace(member, bags=member.bags[:1] * 4),), weights=np.ones(1))
    smaller, found = compressed(copies, X, 0.01)
    assert found.bags == (4, 1)
    assert len(smaller.members[0].bags) == 1


def test_climatology_stays(estimators):
    climatology = Climatology(np.sort(Y)[::3, None], 0.3)
    smaller, _ = compressed(pool_of(estimators[0], weights=[0.7], climatology=climatology), X, 0.05)
    assert smaller.climatology is not None
    assert smaller.shares.sum() == pytest.approx(1.0)
    alone = pool_of(estimators[0], weights=[0.0], climatology=replace(climatology, weight=1.0))
    assert compressed(alone, X, 0.05)[0] is alone


def test_several_responses():
    X, Y = toy(200, d=2)
    model = tiny("flow", n_bags=3, bag_mix="mixture", early_stopping_rounds=5).fit(X, Y)
    smaller, found = compressed(pool_of(model, d=2), X, 0.1)
    assert found.bags[1] < 3
    assert smaller.distribution(X[:4], 64).mean().shape == (4, 2)


def test_reference_rows_are_training_rows(pool):
    rows = reference_rows(pool)
    assert rows.shape[1] == X.shape[1]
    assert np.abs(rows[:, None] - X[None]).max(axis=2).min(axis=1).max() < 1e-6
    with pytest.raises(ValueError, match="compress needs X"):
        reference_rows(replace(pool, members=tuple(replace(m, reference=None) for m in pool.members)))


def test_operations_count_shared_predictors_once(pool):
    operations = Operations.of(pool)
    everything = tuple(tuple(range(len(member.bags))) for member in pool.members)
    whole = operations.total(everything)
    assert operations.total(everything, Economy(trees=0.5)) < whole
    assert operations.total(everything, Economy(steps=0.5)) < whole
    assert operations.total(everything, Economy(points=21)) < operations.total(everything, Economy(points=34)) < whole
    assert operations.total((everything[0], ())) < whole
    twice = replace(pool, members=pool.members[1:] * 2)
    first_stage = sum(Operations.of(twice).predictors.values())
    one, two = (
        Operations.of(twice).total(kept, Economy(points=55)) for kept in ((everything[1], ()), (everything[1],) * 2)
    )
    assert two - one == pytest.approx(sum(work.total(55, 1.0) for work in operations.bags[1]))
    assert one > first_stage


def test_joined_compressions():
    one = Compression((2, 1), (4, 1), 0.5, 0.01, 0.9, 100, ((0,), ()))
    other = Compression((1, 1), (4, 2), 0.7, 0.03, 0.8, 50, ((0, 1),), Economy(0.5, 0.5, 34))
    both = Compression.joined([one, other])
    assert both.members == (3, 2)
    assert both.bags == (8, 3)
    assert both.crps_rise == pytest.approx(0.02)
    assert both.rows == 150
    assert both.economy == Economy(0.75, 0.75, 34)
    assert (
        "Compressed to 3 of 8 bags in 2 of 3 members, first-stage models to fewer trees and points, samplers to 75%"
        in str(both)
    )
