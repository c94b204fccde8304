"""Members from outside join the pool of an automatic fit, or are left out with a warning that names them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import BayesianRidge

from diffgbm import AutoDiffGBM, DiffGBM
from diffgbm._util.errors import DiffGBMWarning
from diffgbm.auto.budget import BUDGET
from diffgbm.auto.outside import fit_outside
from diffgbm.data.splits import bag_splits
from diffgbm.members.argument import read_members
from tests.auto.tiny_auto import LEAST, TINY, auto, progress_of, small_trees, trainer_of  # noqa: F401
from tests.members.stand_ins import BROKEN, LikeNGBoost, Line, NoneForFarRows, WithQuantiles


def line(n=200, seed=0):
    """A straight line with normal errors, of which few small trees know little."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, 100.0 + 10.0 * X[:, 0] - 7.0 * X[:, 1] + 0.3 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def models(small_trees):  # noqa: F811
    X, y = line()
    members = [("line", LikeNGBoost()), ("residuals", Line())]
    return auto(LEAST).fit(X, y), auto(LEAST, members=members).fit(X, y)


def test_a_better_member_makes_a_better_pool(models):
    plain, pooled = models
    X, y = line(500, 1)
    assert pooled.predict_distribution(X).crps(y).mean() < 0.7 * plain.predict_distribution(X).crps(y).mean()
    # 0.234 sigma is the CRPS of the truth
    assert pooled.predict_distribution(X).crps(y).mean() < 1.1 * 0.3 * 0.5642


def test_members_are_on_the_leaderboard_and_in_the_summary(models):
    plain, pooled = models
    board = pooled.leaderboard_.set_index("model")
    label = "line (your member: the distribution of pred_dist)"
    assert board.loc[label, "outcome"] == "in the pool"
    assert board.loc[label, "weight"] == pytest.approx(pooled.weights_[label], abs=0.006)
    assert board.loc[label, "seconds"] >= 0.0
    assert f"% {label}" in pooled.explain()
    assert sum(pooled.weights_.values()) == pytest.approx(1.0)
    assert not any("member" in name for name in plain.weights_)


def test_everything_can_be_asked_of_the_pool(models):
    _, pooled = models
    X, _ = line(6, 2)
    distribution = pooled.predict_distribution(X)
    samples = pooled.sample(X, 4000, seed=0)
    assert samples.shape == (4000, 6)
    np.testing.assert_allclose(samples.mean(axis=0), distribution.mean(), atol=0.1)
    uncertainty = pooled.predict_uncertainty(X)
    assert np.all(uncertainty.epistemic < uncertainty.total)
    alone, together = pooled.predict_distribution(X[3:4]).values, pooled.predict_distribution(X).values[3:4]
    np.testing.assert_allclose(alone, together, rtol=1e-12)


def test_held_out_intervals_attain_nominal_coverage(models):
    _, pooled = models
    X, y = line(1000, 3)
    low, high = pooled.predict_interval(X, 0.9).T
    assert 0.83 < np.mean((low <= y) & (y <= high)) < 0.97


@pytest.mark.parametrize("reason", BROKEN)
def test_broken_members_are_left_out(reason):
    X, y = line(100)
    with pytest.warns(DiffGBMWarning, match=f"members: the bad one was left out: .*{reason}"):
        model = auto(LEAST, members=[("the bad one", BROKEN[reason])]).fit(X, y)
    assert not any("member" in name for name in model.weights_)
    plain = auto(LEAST).fit(X, y)
    np.testing.assert_array_equal(model.predict_distribution(X[:5]).values, plain.predict_distribution(X[:5]).values)


def test_rows_without_an_answer_are_predicted_by_the_rest():
    X, y = line(150)
    model = auto(LEAST, members=[("shy", NoneForFarRows())]).fit(X, y)
    assert model.pool_.outside
    far = np.vstack([X[:2], [[6.0, 0.5, 0.5]]])
    with pytest.warns(DiffGBMWarning, match="members: shy returned NaN or infinity for 1 of 3 rows"):
        found = model.predict_distribution(far)
    assert np.isfinite(found.values).all()
    np.testing.assert_allclose(found.values[:2], model.predict_distribution(X[:2]).values, rtol=1e-12)
    rest = replace(model.pool_.without_outside(), correction=None)
    free = replace(model.pool_, correction=None)
    with pytest.warns(DiffGBMWarning, match="shy"):
        np.testing.assert_array_equal(free.distribution(far, 50).values[2], rest.distribution(far[2:], 50).values[0])


def test_a_poor_member_changes_nothing():
    """A member that is far behind has no weight, and the pool is that of a fit without it."""
    X, y = line(100)
    plain, other = (auto(LEAST, members=m).fit(X, y) for m in (None, [("poor", Poor())]))
    np.testing.assert_array_equal(plain.predict_distribution(X).values, other.predict_distribution(X).values)
    board = other.leaderboard_.set_index("model")
    assert board.loc["poor (your member: quantiles)", "outcome"] == "final model without weight"


class Poor(WithQuantiles):
    def predict_quantiles(self, X, alpha):
        return 50.0 + self.quantiles(X, alpha)


def test_groups_time_and_weights():
    X, y = line(150)
    members = [("line", LikeNGBoost()), ("residuals", Line())]
    groups = np.repeat(np.arange(15), 10)
    assert auto(LEAST, members=members).fit(X, y, groups=groups).pool_.outside
    X, y = line(300)
    ordered = auto(LEAST, members=members).fit(X, y, time=np.arange(300))
    assert ordered.pool_.outside
    assert ordered.pool_.outside[0].models[0].rows_ < 300 * 0.85
    X, y = line(150)
    assert auto(LEAST, members=members).fit(X, y, sample_weight=np.linspace(1.0, 2.0, 150)).pool_.outside


def test_members_see_the_encoded_table():
    pandas = pytest.importorskip("pandas")
    X, y = line(150)
    frame = pandas.DataFrame(X, columns=list("abc"))
    frame["kind"] = np.where(np.arange(150) % 2, "cheap", "dear")
    frame["when"] = pandas.date_range("2024-01-01", periods=150)
    frame.loc[3, "a"] = np.nan
    model = auto(LEAST, members=[("line", LikeNGBoost())]).fit(frame, y + 5.0 * (np.arange(150) % 2))
    assert model.pool_.outside[0].dense is not None
    assert np.isfinite(model.predict(frame[:7])).all()


def test_scikit_learn_manners():
    """The arguments stay as they are, clones are equal, and one object is member and first-stage model."""
    X, y = line(120)
    both = BayesianRidge()
    model = auto(LEAST, members=[both, ("trees", ExtraTreesRegressor(10))])
    copy = clone(model)
    assert copy.members[0] is not both
    assert [type(copy.members[0]), copy.members[1][0]] == [BayesianRidge, "trees"]
    assert model.get_params()["members"][0] is both
    model.fit(X, y)
    assert not hasattr(both, "coef_")
    first_stage = DiffGBM.flow(residualize=both, n_estimators=5, n_repeats=2, seed=0, n_jobs=1).fit(X, y)
    assert first_stage.model_.first_stage is not None
    assert not hasattr(both, "coef_")
    assert AutoDiffGBM().members is None


def test_one_response():
    X, y = line(100)
    with pytest.raises(ValueError, match="members work with one response"):
        auto(members=[Line()]).fit(X, np.column_stack([y, y]))
    with pytest.raises(TypeError, match="members must be a list"):
        auto(members=Line()).fit(X, y)


def test_a_constant_response_needs_no_member():
    X, _ = line(50)
    model = auto(LEAST, members=[("bad", BROKEN["never learns"])]).fit(X, np.full(50, 3.0))
    assert model.predict(X[:2]).tolist() == [3.0, 3.0]


def test_preprocess_and_members():
    from sklearn.preprocessing import StandardScaler

    X, y = line(160)
    model = auto(LEAST, members=[("line", LikeNGBoost())], preprocess=StandardScaler()).fit(X, y)
    assert any(name.startswith("line") for name in model.weights_)


def test_the_time_of_members_is_set_aside(small_trees):  # noqa: F811
    X, y = line(100)
    trainer, scorer = trainer_of(X, y, TINY)
    progress = progress_of(100.0)
    clock = progress.clock
    times = iter(np.arange(0.0, 1e4, 1.0))
    clock.now = lambda: float(next(times))
    clock.start = clock.now()
    splits = bag_splits(100, 2, 0.2, 0, True)
    found = fit_outside(read_members([("line", LikeNGBoost())]), trainer.problem, splits, scorer, progress)
    assert len(found) == 1
    assert 50.0 < clock.limit < 100.0
    assert clock.start > 1.0
    assert clock.limit + clock.start == pytest.approx(100.0)
    assert 0.2 < BUDGET.members < 0.5
    assert fit_outside((), trainer.problem, splits, scorer, progress) == []
