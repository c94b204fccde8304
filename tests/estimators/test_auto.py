"""AutoDiffGBM: every kind of table, every decision, and its reports."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from diffgbm import AutoDiffGBM, DiffGBMWarning, JointDistribution, PredictiveDistribution, load
from diffgbm.auto import first_stages, fitting
from diffgbm.auto.budget import Clock
from diffgbm.auto.presets import PRESETS
from diffgbm.metrics import crps_scorer
from diffgbm.metrics.scores import climatology_crps
from tests.auto.tiny_auto import LEAST, TINY, auto, small_trees  # noqa: F401
from tests.conftest import toy

EXPECTED_FAILURES = {
    "check_fit1d": "a one-dimensional X is one column, by design",
    "check_sample_weight_equivalence_on_dense_data": "a weight is no repetition: each copy of a row has its own noise",
}


@pytest.fixture(scope="module")
def model(small_trees):  # noqa: F811
    return auto().fit(*toy())


@parametrize_with_checks([auto(LEAST)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
@pytest.mark.filterwarnings("ignore::diffgbm._util.errors.DiffGBMWarning")
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_numbers_in_distributions_out(model):
    X, y = toy()
    distribution = model.predict_distribution(X[:7])
    assert isinstance(distribution, PredictiveDistribution)
    assert model.sample(X[:7], 5, seed=0).shape == (5, 7)
    assert model.predict(X).shape == model.predict_std(X).shape == y.shape
    low, high = model.predict_interval(X, coverage=0.9).T
    inside = np.mean((low <= y) & (y <= high))
    assert 0.75 < inside <= 1.0
    # the signal is learned: better than the best constant distribution
    assert model.crps(X, y).mean() < 0.8 * np.abs(y[:, None] - y[None, :]).mean() / 2.0
    assert (model.n_features_in_, hasattr(model, "feature_names_in_")) == (3, False)
    np.testing.assert_array_equal(distribution.mean(), model.predict(X)[:7])


def test_out_of_bag_distributions_cover_all_rows_and_agree_with_the_summary(model):
    _, y = toy()
    np.testing.assert_array_equal(np.sort(model.oob_rows_), np.arange(len(y)))
    assert len(model.oob_distribution_) == len(y)
    crps = model.oob_distribution_.crps(y[model.oob_rows_]).mean()
    reported = float(model.explain().split("of a distribution, is ")[1].split(" instead")[0])
    # a distribution's line through its points against the points themselves
    assert crps == pytest.approx(reported, rel=0.01)


def frame(n=120):
    X, y = toy(n)
    rng = np.random.default_rng(1)
    kind = rng.choice(["a", "b", "c"], size=n)
    X[rng.uniform(size=n) < 0.2, 1] = np.nan
    return X, kind, y + 2.0 * (kind == "b")


def test_pandas_with_categories_and_missing_values():
    X, kind, y = frame()
    table = pd.DataFrame(X, columns=["u", "v", "w"]).assign(kind=pd.Categorical(kind))
    model = auto().fit(table, pd.Series(y, name="price"))
    assert list(model.feature_names_in_) == ["u", "v", "w", "kind"]
    interval = model.predict_interval(table.iloc[[5, 3]])
    assert list(interval.index) == [5, 3]
    shuffled = table[["kind", "w", "v", "u"]]
    np.testing.assert_array_equal(model.sample(shuffled, 3, seed=0), model.sample(table, 3, seed=0))
    # the category reaches the models: it moves the prediction by about what it moves the response
    as_b = model.predict(table.assign(kind=pd.Categorical(["b"] * 120, categories=["a", "b", "c"])))
    as_a = model.predict(table.assign(kind=pd.Categorical(["a"] * 120, categories=["a", "b", "c"])))
    assert 1.0 < np.mean(as_b - as_a) < 3.0
    with (
        pytest.warns(DiffGBMWarning, match="does not have valid feature names, but AutoDiffGBM"),
        pytest.warns(DiffGBMWarning, match="X column 'kind': 100% of the rows have a category that training did not"),
    ):
        model.predict(np.column_stack([X, np.zeros(120)]))


def test_polars_is_read_as_pandas_is():
    X, kind, y = frame()
    columns = {"u": X[:, 0], "v": X[:, 1], "w": X[:, 2]}
    in_pandas = pd.DataFrame({**columns, "kind": pd.Categorical(kind)})
    in_polars = pl.DataFrame({**columns, "kind": kind}).with_columns(
        pl.col("kind").cast(pl.Enum(["a", "b", "c"])), pl.col("v").fill_nan(None)
    )
    one, other = auto(LEAST).fit(in_pandas, y), auto(LEAST).fit(in_polars, pl.Series("y", y))
    np.testing.assert_array_equal(one.sample(in_pandas, 3, seed=0), other.sample(in_polars, 3, seed=0))


def test_two_responses():
    X, y = toy(d=2)
    model = auto().fit(X, y)
    assert isinstance(model.oob_distribution_, JointDistribution)
    assert isinstance(model.predict_distribution(X[:5]), JointDistribution)
    assert model.predict(X).shape == (120, 2)
    assert model.sample(X[:5], 4, seed=0).shape == (4, 5, 2)
    assert model.pool_.correction is None
    assert np.corrcoef(model.predict(X)[:, 1], y[:, 1])[0, 1] > 0.5


def test_rows_of_zero_weight_are_ignored():
    X, y = toy(140)
    weights = np.linspace(0.5, 1.5, 140)
    weights[120:] = 0.0
    wild = np.where(weights > 0.0, y, 1e6)
    one = auto().fit(X, wild, sample_weight=weights)
    other = auto().fit(X[:120], y[:120], sample_weight=weights[:120])
    np.testing.assert_array_equal(one.sample(X, 3, seed=0), other.sample(X, 3, seed=0))
    assert not np.array_equal(one.predict(X), auto().fit(X[:120], y[:120]).predict(X))


def test_pipeline_and_cross_validation():
    X, y = toy()
    pipeline = make_pipeline(StandardScaler(), auto(LEAST)).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(pipeline.predict(X), auto(LEAST).fit(scaled, y).predict(scaled))
    scores = cross_val_score(auto(LEAST), X, y, cv=2, scoring=crps_scorer)
    climatology = np.abs(y[:, None] - y[None, :]).mean() / 2.0
    assert scores.shape == (2,)
    assert (-climatology < scores).all()
    assert (scores < 0.0).all()


@pytest.mark.parametrize("n", [5, 40, 79])
def test_few_rows_need_no_first_stage_and_no_warning(n):
    X, y = toy(n)
    model = auto().fit(X, y)
    assert model.first_stage_errors_ == {}
    assert all("of the response" in name for name in model.weights_)
    assert np.isfinite(model.sample(X, 10, seed=0)).all()


def test_two_rows_are_enough_and_one_is_not():
    X, y = toy(5)
    X = X[:, :1]
    with pytest.warns(DiffGBMWarning, match="X has 2 rows, too few"):
        model = auto().fit(X[:2], y[:2])
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ValueError, match="AutoDiffGBM needs at least 2 rows"):
        auto().fit(X[:1], y[:1])


@pytest.mark.parametrize("n", [30, 120])
def test_a_constant_response_is_predicted_exactly(n):
    X, _ = toy(n)
    preset = replace(TINY, first_stage_models=("lightgbm", "ridge", "extra_trees", "gp_rbf"))
    with pytest.warns(DiffGBMWarning, match=f"y is 0.1 in all {n} rows"):
        model = auto(preset).fit(X, np.full(n, 0.1))
    np.testing.assert_array_equal(model.sample(X, 4, seed=0), np.full((4, n), 0.1))
    np.testing.assert_allclose(model.predict(X), 0.1, rtol=1e-12)
    assert "y is 0.1 in every training row" in model.explain()
    assert list(model.weights_.values()) == [0.0, 1.0]


def useless(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 3))
    y = {"normal": rng.normal(size=150), "exponential": rng.exponential(size=150), "a one": np.zeros(150)}[kind]
    y[17] += kind == "a one"
    return X, y


@pytest.mark.parametrize("kind", ["normal", "exponential", "a one"])
def test_no_model_is_worse_than_climatology(kind, tmp_path):
    """Columns of noise: the training responses take the weight, and the user reads what to do."""
    X, y = useless(kind)
    with pytest.warns(DiffGBMWarning, match="do not help to predict y"):
        model = auto().fit(X, y)
    own = model.oob_distribution_.crps(y[model.oob_rows_]).mean()
    others = np.array([climatology_crps(np.delete(y, i), y[[i]])[0] for i in model.oob_rows_])
    # folds leave more than one row out
    assert own <= 1.02 * others.mean()
    assert model.weights_["climatology (the training responses, without any columns)"] > 0.0
    assert "climatology" in model.explain()
    model.save(tmp_path / "m.dgbm")
    loaded = load(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(loaded.sample(X[:5], 20, seed=1), model.sample(X[:5], 20, seed=1))
    np.testing.assert_array_equal(loaded.predict(X[:5]), model.predict(X[:5]))
    assert loaded.weights_ == model.weights_


def test_climatology_has_no_weight_on_ordinary_tables():
    X, y = toy(300)
    model = auto().fit(X, y)
    assert model.pool_.climatology is None
    lines = model.leaderboard_[model.leaderboard_["model"].str.startswith("climatology")]
    assert lines["weight"].tolist() == [0.0]


def grades(n=240):
    """Three values that no binary fraction holds exactly, drawn with a probability that depends on x."""
    X, latent = toy(n)
    return X, np.digitize(latent, [0.6, 1.4]) * 0.1 + 0.1


def test_few_values_are_detected_and_kept_to_the_last_bit():
    X, y = grades()
    model = auto(discrete=True).fit(X, y)
    np.testing.assert_array_equal(model.pool_.shapes[0].atoms, np.unique(y))
    assert "kept to 3 values from 0.1 to 0.3" in model.explain()
    assert set(np.unique(model.sample(X, 20, seed=0))) <= set(np.unique(y))
    assert set(np.unique(model.predict_distribution(X).values)) <= set(np.unique(y))


def test_confining_can_be_turned_off():
    X, y = grades()
    free = auto(discrete=False).fit(X, y)
    assert not free.pool_.shapes[0]
    assert "kept to" not in free.explain()
    assert len(np.unique(free.sample(X, 20, seed=0))) > 1000
    kept = auto(discrete=True).fit(X, y)
    scores = [m.oob_distribution_.crps(y[m.oob_rows_]).mean() for m in (free, kept)]
    assert scores[1] < scores[0]


def test_confining_that_gains_nothing_happens_only_on_demand():
    X, y = toy(240)
    capped = np.minimum(y, np.sort(y)[-4])  # four rows at the cap: too few to gain much
    assert auto(discrete=True).fit(X, capped).pool_.shapes[0].high == capped.max()
    assert not auto(discrete="auto").fit(X, capped).pool_.shapes[0]


def test_a_cap_is_detected():
    X, y = toy(240)
    cap = np.quantile(y, 0.6)
    capped = np.minimum(y, cap)
    model = auto(discrete=True).fit(X, capped)
    assert model.pool_.shapes[0].high == cap
    assert model.pool_.shapes[0].low is None
    samples = model.sample(X, 20, seed=0)
    assert samples.max() == cap
    assert 0.1 < np.mean(samples == cap) < 0.6  # 0.4 of the rows; a tiny model smooths the step
    assert auto(discrete=False).fit(X, capped).sample(X, 20, seed=0).max() > cap


def test_hardly_any_time_still_gives_a_model():
    X, y = toy()
    model = auto(replace(PRESETS["balanced"], bags=2), time_limit=0.01).fit(X, y)
    assert model.cut_short_
    assert "The time limit cut the fit short" in model.explain()
    assert np.isfinite(model.sample(X, 10, seed=0)).all()


@pytest.mark.parametrize("limit", [5.0, 20.0, 60.0, 150.0, 1e6])
def test_wherever_time_runs_out_there_is_a_model(limit, monkeypatch):
    """A clock that moves by one second at each reading."""
    ticks = iter(range(10**9))
    monkeypatch.setattr(fitting, "Clock", lambda seconds: Clock(seconds, lambda: float(next(ticks))))
    monkeypatch.setattr(first_stages, "TRIAL_ROWS", 40)  # so that first stages are tried on a part of the rows
    X, y = toy()
    full = replace(TINY, first_stages=(*TINY.first_stages, ("none", ("cdf",))), sizes=("probe", "usual"))
    model = auto(full, time_limit=limit).fit(X, y)
    assert model.cut_short_ is (limit < 1e6)
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    assert np.isfinite(model.predict(X)).all()
    assert len(model.oob_distribution_) == len(model.oob_rows_)


def test_nothing_is_cut_short_without_need(model):
    assert model.cut_short_ is False
    assert "time limit" not in model.explain()


def test_a_seed_decides_everything():
    X, y = toy()
    one, same, other = auto().fit(X, y), auto().fit(X, y), auto(seed=1).fit(X, y)
    np.testing.assert_array_equal(one.sample(X, 5, seed=3), same.sample(X, 5, seed=3))
    assert one.explain() == same.explain()
    pd.testing.assert_frame_equal(one.leaderboard_.drop(columns="seconds"), same.leaderboard_.drop(columns="seconds"))
    assert not np.array_equal(one.predict(X), other.predict(X))


def test_samples_depend_on_seed_and_row_alone(model):
    X, _ = toy()
    whole = model.sample(X, 6, seed=3)
    pieces = [model.sample(X[rows], 6, seed=3, first_row=rows.start) for rows in (slice(0, 50), slice(50, 120))]
    np.testing.assert_array_equal(np.hstack(pieces), whole)
    two_threads = copy.deepcopy(model).set_params(n_jobs=2)
    np.testing.assert_array_equal(two_threads.sample(X, 6, seed=3), whole)
    np.testing.assert_array_equal(two_threads.predict(X[40:]), model.predict(X)[40:])
    assert not np.array_equal(model.sample(X, 6, seed=4), whole)
    assert not np.array_equal(model.sample(X, 6), model.sample(X, 6))


def test_the_leaderboard_has_a_line_for_each_candidate(model):
    leaderboard = model.leaderboard_
    columns = ["model", "crps", "relative_crps", "weight", "outcome", "rows", "seconds"]
    assert list(leaderboard.columns) == columns
    assert leaderboard["model"].is_unique
    assert (leaderboard["crps"] > 0.0).all()
    np.testing.assert_allclose(leaderboard["crps"], leaderboard["relative_crps"] * toy()[1].std())
    final = leaderboard[~leaderboard["outcome"].str.startswith("dropped")]
    assert final["crps"].is_monotonic_increasing
    pooled = final[final["outcome"] == "in the pool"]
    assert dict(zip(pooled["model"], pooled["weight"], strict=True)) == pytest.approx(model.weights_, abs=0.005)
    assert (final["rows"] == 120).all()
    assert set(model.first_stage_errors_) == {"lightgbm", "ridge", "stack"}
    # the stack is no worse than its best member
    assert model.first_stage_errors_["stack"] <= min(model.first_stage_errors_.values()) + 1e-9


def test_the_summary_starts_with_how_good_it_is(model):
    summary = model.explain()
    assert summary.startswith("On rows that it was not trained on, the model predicts y ")
    assert all(name in summary for name in model.weights_)


def test_copies_draw_the_same_bits(model):
    X, _ = toy()
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.sample(X[:9], 5, seed=2), model.sample(X[:9], 5, seed=2))
        assert twin.explain() == model.explain()


def test_clone_and_parameters():
    model = AutoDiffGBM(preset="fast", time_limit=3.0, seed=1)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.set_params(preset=TINY).preset == TINY
    assert repr(model) == "AutoDiffGBM(preset='fast', seed=1, time_limit=3.0)"
    assert is_regressor(model)


def test_fitting_again_starts_over():
    X, y = toy(d=2)
    named = pd.DataFrame(X, columns=["a", "b", "c"])
    model = auto(LEAST).fit(named, y)
    again = model.fit(X, y[:, 0])
    assert again is model
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.sample(X, 3, seed=0), auto(LEAST).fit(X, y[:, 0]).sample(X, 3, seed=0))


@pytest.mark.parametrize("ask", ["predict", "explain", "predict_distribution"])
def test_methods_need_a_fitted_model(ask):
    with pytest.raises(NotFittedError):
        getattr(auto(), ask)(*([] if ask == "explain" else [toy()[0]]))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"preset": "bset"}, "preset must be one of 'fast', 'balanced', 'best'; got 'bset'. Did you mean 'best'"),
        ({"preset": 3}, "preset must be one of"),
        ({"time_limit": -1.0}, "time_limit must be a number of seconds > 0 or None; got -1.0"),
        ({"time_limit": 0}, "time_limit must be a number of seconds > 0"),
        ({"time_limit": float("nan")}, "time_limit must be a number of seconds > 0"),
        ({"time_limit": "long"}, "time_limit must be a number of seconds > 0"),
        ({"discrete": "never"}, "discrete must be True, False or 'auto'; got 'never'"),
        ({"metric": "rmse"}, "metric must be one of 'crps'; got 'rmse'"),
        ({"seed": -1}, "seed must be an integer >= 0"),
        ({"seed": 1.5}, "seed must be an integer >= 0"),
    ],
)
def test_refusals_name_the_argument(params, message):
    with pytest.raises(ValueError, match=message):
        auto(**{"preset": LEAST, **params}).fit(*toy())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0,), "n_samples must be an integer >= 1"), ((3, -1), "seed must be an integer"), ((3, 0, -1), "first_row must")],
)
def test_refusals_of_sample(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        model.sample(toy()[0], *arguments)


def test_compress_saves_loads_and_says_what_it_saved(model, tmp_path):
    smaller = model.compress(tolerance=0.3)
    assert isinstance(smaller, AutoDiffGBM)
    assert str(smaller.compression_) in smaller.explain()
    assert str(smaller.compression_) not in model.explain()
    assert list(smaller.weights_.values()) == smaller.pool_.shares.tolist()
    assert set(smaller.weights_) <= set(model.weights_)
    assert smaller.compression_.operations < 1.0
    assert not hasattr(smaller, "oob_distribution_")
    X = toy()[0][:5]
    smaller.save(tmp_path / "small.dgbm")
    loaded = load(tmp_path / "small.dgbm")
    np.testing.assert_array_equal(loaded.predict_interval(X), smaller.predict_interval(X))
    assert loaded.explain() == smaller.explain()


def test_compress_checks_its_arguments(model):
    for wrong in (0.0, 1.0, -1, "much", None):
        with pytest.raises(ValueError, match="tolerance must be a number between 0 and 1"):
            model.compress(tolerance=wrong)
    with pytest.raises(NotFittedError):
        AutoDiffGBM().compress()
