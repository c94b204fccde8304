"""Out-of-fold distributions: every row by the model that did not see it, in the order of the rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, RepeatedKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from diffgbm import ConformalDiffGBM, PredictiveDistribution, cross_val_distribution
from diffgbm.distributions.support import Support
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.estimators.cross_validation import _joined
from tests.conftest import tiny, toy

X, Y = toy(90)
SMALL = tiny("flow", residualize="off")
FOLDS = KFold(3, shuffle=True, random_state=0)


class Memory(DistributionalRegressor):
    """Predicts the responses of its training rows for every row."""

    def __init__(self, repeats="auto"):
        self.repeats = repeats

    def fit(self, X, y, sample_weight=None):
        self.seen_, self.weights_ = np.asarray(y, dtype=float), sample_weight
        return self

    def fitted_models(self):
        return ()

    def sample(self, X, n_samples, *, seed=None, first_row=0):
        raise NotImplementedError

    def _distribution_blocks(self, X, grid="auto", verbose=0):
        yield PredictiveDistribution.from_points(np.tile(self.seen_, (len(X), 1)))


def test_each_row_is_predicted_by_the_model_that_did_not_see_it():
    model = SMALL
    dist = cross_val_distribution(model, X, Y, cv=FOLDS)
    assert not hasattr(model, "model_")
    for train, test in FOLDS.split(X):
        expected = clone(model).fit(X[train], Y[train]).predict_distribution(X[test])
        np.testing.assert_array_equal(dist[test].values, expected.values)


def test_no_row_is_known_to_its_model():
    y = np.arange(60.0)
    dist = cross_val_distribution(Memory(), np.arange(60.0)[:, None], y, cv=4)
    assert not (dist.values == y[:, None]).any()
    assert all(np.isin(row, y).all() for row in dist.values)


def test_rows_that_repeat_are_held_out_together():
    once = np.random.default_rng(0).uniform(size=(30, 2))
    rows, y = np.repeat(once, 3, axis=0), np.repeat(np.arange(30.0), 3)
    assert not (cross_val_distribution(Memory(), rows, y, cv=3).values == y[:, None]).any()
    assert (cross_val_distribution(Memory("independent"), rows, y, cv=3).values == y[:, None]).any()


def test_groups_are_held_out_together():
    groups, y = np.arange(60) % 12, (np.arange(60) % 12).astype(float)
    for cv in (3, None, GroupKFold(4), LeaveOneGroupOut()):
        dist = cross_val_distribution(Memory(), np.arange(60.0)[:, None], y, cv=cv, groups=groups)
        assert not (dist.values == y[:, None]).any()


def test_groups_reach_the_estimator_and_may_be_a_column():
    class Grouped(Memory):
        def fit(self, X, y, groups=None):
            assert set(np.asarray(y)) == {float(g) for g in np.unique(groups)}
            return super().fit(X, y)

    frame = pd.DataFrame({"a": np.arange(60.0), "customer": np.arange(60) % 12})
    y = (np.arange(60) % 12).astype(float)
    by_name = cross_val_distribution(Grouped(), frame, y, cv=3, groups="customer")
    by_values = cross_val_distribution(Grouped(), frame[["a"]], y, cv=3, groups=frame["customer"])
    np.testing.assert_array_equal(by_name.values, by_values.values)
    fitted = cross_val_distribution(SMALL, frame, y, cv=3, groups="customer")
    assert len(fitted) == 60


def test_labels_and_order_of_frames():
    frame = pd.DataFrame(X, columns=list("abc"), index=[f"row{i}" for i in range(90)])
    dist = cross_val_distribution(SMALL, frame, pd.Series(Y, index=frame.index, name="price"), cv=FOLDS)
    assert list(dist.index) == list(frame.index)
    assert dist.name == "price"
    of_arrays = cross_val_distribution(SMALL, X, Y, cv=list(FOLDS.split(X)))
    np.testing.assert_array_equal(dist.values, of_arrays.values)
    polars = cross_val_distribution(SMALL, pl.DataFrame(X, schema=list("abc")), pl.Series(Y), cv=FOLDS)
    np.testing.assert_array_equal(polars.values, of_arrays.values)


def test_other_estimators_of_the_library():
    pipeline = make_pipeline(StandardScaler(), SMALL)
    assert len(cross_val_distribution(pipeline, X, Y, cv=2)) == 90
    conformal = ConformalDiffGBM(SMALL, recalibrate=True, seed=0)
    dist = cross_val_distribution(conformal, X, Y, cv=2)
    # the levels of recalibrated distributions differ between the folds
    assert len(dist.levels) == dist.values.shape[1]
    assert (np.diff(dist.values, axis=1) >= 0.0).all()


def test_several_responses():
    X2, Y2 = toy(90, d=2)
    model = tiny("flow", residualize="off", n_estimators=4)
    dist = cross_val_distribution(model, X2, Y2, cv=FOLDS)
    train, test = next(FOLDS.split(X2))
    expected = clone(model).fit(X2[train], Y2[train]).predict_distribution(X2[test])
    np.testing.assert_array_equal(dist[test].points, expected.points)


def test_weights_are_split_with_the_rows():
    class Checks(Memory):
        def fit(self, X, y, sample_weight=None):
            np.testing.assert_array_equal(sample_weight, np.asarray(y))
            return super().fit(X, y)

    cross_val_distribution(Checks(), X, Y, cv=3, sample_weight=Y)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (TimeSeriesSplit(3), r"it holds out 24 rows never\."),
        (RepeatedKFold(n_splits=3, n_repeats=2), r"it holds out 90 rows more than once\."),
        (ShuffleSplit(5, test_size=0.5, random_state=0), r"rows never and \d+ rows more than once\."),
        (1, "cv must be an integer >= 2"),
    ],
)
def test_splits_that_are_no_partition_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        cross_val_distribution(Memory(), X, Y, cv=cv)


def test_responses_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="one entry for each of the 90 rows of X; it has 89"):
        cross_val_distribution(Memory(), X, Y[:-1])


def test_folds_with_different_points_and_atoms():
    zero = Support(low=0.0, atoms=np.array([0.0]))
    first = PredictiveDistribution.from_points(np.maximum(np.arange(-4.0, 6.0)[None], 0.0), support=zero)
    second = PredictiveDistribution.from_points(np.arange(1.0, 21.0)[None])
    both = _joined([first, second])
    assert both.values.shape == (2, 20)
    np.testing.assert_allclose(both.pmf(0.0), [first.pmf(0.0)[0], 0.0], atol=1 / 20)
    np.testing.assert_allclose(both.mean(), [first.mean()[0], second.mean()[0]], atol=0.05)
    assert both.support.atoms.tolist() == [0.0]
