"""Members predict rows that they have not seen, or are left out with a reason."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from diffgbm.data.splits import bag_splits
from diffgbm.data.structure import Structure
from diffgbm.members.argument import NamedEstimator, read_members
from diffgbm.members.cross_fit import (
    MIN_HELD_OUT,
    TRIALS,
    MemberTable,
    Unfit,
    accepts_missing,
    cross_fit,
    seeded_clone,
)
from tests.members.stand_ins import ALL, BROKEN, CATBOOST, Crossing, Line, WithQuantiles
from tests.members.test_argument import Plain


def table(n=200, bags=4, structure=None, **options):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    y = 3.0 * X[:, 0] + 0.5 * rng.standard_normal(n)
    structure = structure or Structure()
    splits = bag_splits(n, bags, 0.2, 0, True, structure=structure)
    return MemberTable(X, y, None, (), splits, structure, **options)


def named(estimator) -> NamedEstimator:
    return read_members([("m", estimator)])[0]


@pytest.mark.parametrize("name", ALL)
def test_held_out_rows_are_predicted_well(name):
    rows = table()
    found = cross_fit(named(ALL[name]), rows, 89)
    assert len(found.points) == len(found.member.models) == 4
    points, held_out = np.concatenate(found.points)[:, :, 0], np.concatenate([out for _, out in rows.splits])
    assert points.shape == (200, 89)
    pit = np.mean(points <= rows.y[held_out, None], axis=1)
    assert abs(pit.mean() - 0.5) < 0.08
    assert 0.8 < np.mean((pit > 0.05) & (pit < 0.95)) < 0.98


class Remembers(WithQuantiles):
    """Predicts 1000 for rows that it was fitted to."""

    def fit(self, X, y):
        self.known_ = {row.tobytes() for row in np.ascontiguousarray(X)}
        return super().fit(X, y)

    def predict_quantiles(self, X, alpha):
        known = np.array([row.tobytes() in self.known_ for row in np.ascontiguousarray(X)])
        return np.where(known[:, None], 1000.0, self.quantiles(X, alpha))


@pytest.mark.parametrize(
    "structure",
    [
        Structure(),
        Structure(labels=np.repeat(np.arange(20), 10)),
        Structure(order=np.arange(200)),
        Structure(labels=np.repeat(np.arange(20), 10), order=np.arange(200)),
    ],
)
def test_no_row_is_predicted_by_a_model_that_knows_it(structure):
    rows = table(structure=structure)
    found = cross_fit(named(Remembers()), rows, 20)
    assert max(points.max() for points in found.points) < 100.0
    for train, held_out in rows.splits:
        if structure.labels is not None:
            assert not set(structure.labels[train]) & set(structure.labels[held_out])
        if structure.order is not None:
            assert structure.order[train].max() < structure.order[held_out].min()


def test_by_time_one_model_is_enough():
    found = cross_fit(named(WithQuantiles()), table(structure=Structure(order=np.arange(200))), 20)
    assert len(found.member.models) == 1
    assert len(found.points) == 4


@pytest.mark.parametrize("structure", [Structure(), Structure(order=np.arange(200))])
def test_residuals_are_those_of_other_rows(structure):
    """One wild response widens the distributions of the rows of other bags, not of its own."""
    rows = table(structure=structure)
    wild = rows.splits[0][1][0]
    other = replace(rows, y=np.where(np.arange(200) == wild, 1e6, rows.y))
    before, after = (cross_fit(named(DecisionTreeRegressor(max_depth=1)), t, 89).points for t in (rows, other))
    assert after[0][0].max() < 1e5
    assert max(part.max() for part in after) > 1e5 or structure.order is not None
    assert before[0].max() < 10.0


def test_an_estimator_without_scikit_learn():
    """It is copied, and its ``fit`` may return nothing."""
    plain = Plain()
    found = cross_fit(named(plain), table(), 20)
    assert len(found.member.models) == 4
    assert not vars(plain)
    assert found.member.dense is not None


def test_crossing_quantiles_do_not_matter():
    rows = table()
    a, b = (cross_fit(named(estimator), rows, 30).points for estimator in (WithQuantiles(), Crossing()))
    np.testing.assert_allclose(np.concatenate(a), np.concatenate(b))


@pytest.mark.parametrize("reason", BROKEN)
def test_broken_members_say_why(reason):
    with pytest.raises(Unfit, match=reason):
        cross_fit(named(BROKEN[reason]), table(), 20)


def test_too_few_rows_for_residuals():
    with pytest.raises(Unfit, match="too few"):
        cross_fit(named(Line()), table(n=20), 20)


def test_the_estimator_stays_as_it_is():
    estimator = CATBOOST["MultiQuantile"]
    cross_fit(named(estimator), table(), 20)
    fresh = seeded_clone(estimator, 0)
    assert not hasattr(fresh, "coef_")
    tree = DecisionTreeRegressor()
    assert seeded_clone(tree, 7).random_state == 7
    assert tree.random_state is None
    assert seeded_clone(DecisionTreeRegressor(random_state=1), 7).random_state == 1


def test_missing_values_and_categories_are_dense_for_those_that_need_it():
    rows = table()
    X = np.column_stack([rows.X, np.arange(200) % 3])
    X[::7, 0] = np.nan
    rows = replace(rows, X=X, categorical=(2,))
    assert not accepts_missing(LinearRegression())
    assert accepts_missing(DecisionTreeRegressor())
    found = cross_fit(named(LinearRegression()), rows, 20).member
    assert found.dense is not None
    assert found.models[0].n_features_in_ == 2 + 1 + 3  # numbers, a flag, three categories
    assert np.isfinite(found.points(X[:9], 10)).all()
    assert cross_fit(named(DecisionTreeRegressor(max_depth=2)), rows, 20).member.dense is None


class Weighted(WithQuantiles):
    def fit(self, X, y, sample_weight=None):
        self.weights_ = sample_weight
        return super().fit(X, y)


def test_weights_are_passed_on():
    rows = replace(table(), weights=np.arange(1.0, 201.0))
    model = cross_fit(named(Weighted()), rows, 20).member.models[0]
    np.testing.assert_array_equal(model.weights_, rows.weights[rows.splits[0][0]])
    assert cross_fit(named(WithQuantiles()), rows, 20).member.models  # takes none


class Clock:
    """Moves on by a second for each ``unit`` rows that an estimator is fitted to."""

    def __init__(self, unit):
        self.time, self.unit = 0.0, unit

    def __call__(self):
        return self.time


def slow(clock):
    class Slow(WithQuantiles):
        def fit(self, X, y):
            clock.time += len(X) / clock.unit
            return super().fit(X, y)

    return named(Slow())


def test_a_member_that_cannot_be_finished_is_not_begun():
    rows = table(n=4000)
    clock = Clock(100.0)
    with pytest.raises(Unfit, match="it takes about 30 s, and 20 s of time_limit are for it"):
        cross_fit(slow(clock), rows, 20, 20.0, clock)
    assert clock.time == pytest.approx(sum(TRIALS) / 100.0)


def test_fewer_bags_are_enough_on_many_rows():
    rows = table(n=4000)
    clock = Clock(100.0)
    found = cross_fit(slow(clock), rows, 20, 80.0, clock)
    assert 1 <= len(found.points) < 4
    assert sum(map(len, found.points)) >= MIN_HELD_OUT
    clock = Clock(1.0)
    with pytest.raises(Unfit, match="raise time_limit"):
        cross_fit(slow(clock), table(), 20, 200.0, clock)
