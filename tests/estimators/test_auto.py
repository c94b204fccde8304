"""AutoDiffGBM: every kind of table, every decision, and what it says of itself."""

import copy
import pickle
from dataclasses import replace
from types import SimpleNamespace

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

from diffgbm import AutoDiffGBM, DiffGBMWarning, JointDistribution, PredictiveDistribution
from diffgbm.auto import first_stages as stages
from diffgbm.auto import fitting
from diffgbm.auto.budget import Clock
from diffgbm.auto.presets import PRESETS, RECIPES
from diffgbm.auto.recalibration import Correction
from diffgbm.auto.search import Contest
from diffgbm.diffusion.recipe import resolve
from diffgbm.first_stage import Task
from diffgbm.first_stage.catalogue import build
from diffgbm.fitting.sizes import SIZES
from diffgbm.metrics import crps_scorer
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
def test_scikit_learns_own_checks(estimator, check):
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
    # the signal is learned: better than the best constant law
    assert model.crps(X, y).mean() < 0.8 * np.abs(y[:, None] - y[None, :]).mean() / 2.0
    assert (model.n_features_in_, hasattr(model, "feature_names_in_")) == (3, False)
    np.testing.assert_array_equal(distribution.mean(), model.predict(X)[:7])


def test_out_of_bag_distributions_are_of_all_rows_and_agree_with_the_story(model):
    _, y = toy()
    np.testing.assert_array_equal(np.sort(model.oob_rows_), np.arange(len(y)))
    assert len(model.oob_distribution_) == len(y)
    crps = model.oob_distribution_.crps(y[model.oob_rows_]).mean()
    told = float(model.explain().split("its CRPS is ")[1].split(",")[0])
    # a law's line through its points against the points themselves
    assert crps == pytest.approx(told, rel=0.01)


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
    with pytest.warns(DiffGBMWarning, match="does not have valid feature names, but AutoDiffGBM"):
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


def test_rows_of_no_weight_are_not_there():
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
    assert model.stages_ == {}
    assert all("nothing subtracted" in name for name in model.weights_)
    assert np.isfinite(model.sample(X, 10, seed=0)).all()


def test_two_rows_are_enough_and_one_is_not():
    X, y = toy(5)
    assert np.isfinite(auto().fit(X[:2], y[:2]).predict(X)).all()
    with pytest.raises(ValueError, match="AutoDiffGBM needs at least 2 rows"):
        auto().fit(X[:1], y[:1])


@pytest.mark.parametrize("n", [30, 120])
def test_a_constant_response_is_predicted_exactly(n):
    X, _ = toy(n)
    model = auto(replace(TINY, stages=("lightgbm", "ridge", "extra_trees", "gp_rbf"))).fit(X, np.full(n, 0.1))
    np.testing.assert_array_equal(model.sample(X, 4, seed=0), np.full((4, n), 0.1))
    np.testing.assert_allclose(model.predict(X), 0.1, rtol=1e-12)
    assert "CRPS is" in model.explain()


def grades(n=240):
    """Three values that no binary fraction holds exactly, drawn with a probability that depends on x."""
    X, latent = toy(n)
    return X, np.digitize(latent, [0.6, 1.4]) * 0.1 + 0.1


def test_few_values_are_noticed_and_kept_to_the_last_bit():
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


def test_what_gains_nothing_is_left_alone_unless_demanded():
    X, y = toy(240)
    capped = np.minimum(y, np.sort(y)[-4])  # four rows at the cap: too few to gain much
    assert auto(discrete=True).fit(X, capped).pool_.shapes[0].high == capped.max()
    assert not auto(discrete="auto").fit(X, capped).pool_.shapes[0]


def test_a_cap_is_noticed():
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


def test_recalibration_is_told_and_can_be_turned_off(monkeypatch):
    theta = np.zeros((16, 4))
    theta[1, 0] = -0.3  # PIT values are near the middle: laws are too wide
    correction = Correction(theta, np.linspace(0.0, 1.0, 101))
    monkeypatch.setattr(fitting, "helpful_correction", lambda *known: correction)
    X, y = toy()
    told, plain = auto(LEAST).fit(X, y), auto(LEAST, recalibrate=False).fit(X, y)
    assert "recalibrated" in told.explain()
    assert told.pool_.correction is correction
    assert "recalibrated" not in plain.explain()
    assert plain.pool_.correction is None
    narrow, wide = (np.diff(model.predict_interval(X, coverage=0.5)) for model in (told, plain))
    assert (narrow < 0.9 * wide).all()


def test_large_tables_are_recalibrated_by_rows_that_nothing_has_seen(monkeypatch):
    asked = []
    monkeypatch.setattr(fitting, "helpful_correction", lambda *known: asked.append(known))
    monkeypatch.setattr(fitting, "LARGE", 100)
    X, y = toy()
    weights = np.linspace(0.5, 1.5, len(y))
    model = auto(LEAST).fit(X, y, sample_weight=weights)
    aside = np.setdiff1d(np.arange(len(y)), model.oob_rows_)
    assert len(aside) == len(y) // 20
    assert len(model.oob_distribution_) == len(y) - len(aside)
    distribution, seen_y, seen_weights, *_ = asked[0]
    np.testing.assert_array_equal(seen_y, y[aside])
    np.testing.assert_allclose(seen_weights / seen_weights[0], weights[aside] / weights[aside][0])
    # what is corrected is the pool itself, not its out-of-bag laws
    pool = model.pool_.distribution(model._encode(X[aside]), fitting.ASIDE_POINTS)
    np.testing.assert_array_equal(distribution.values, pool.values)
    # rows are set aside only for what they are needed for
    asked.clear()
    two = auto(LEAST).fit(X, np.column_stack([y, -y]))
    off = auto(LEAST, recalibrate=False).fit(X, y)
    for whole in (two, off):
        np.testing.assert_array_equal(np.sort(whole.oob_rows_), np.arange(len(y)))
    assert not asked


@pytest.mark.parametrize(("n", "aside"), [(20_000, 0), (20_020, 1001), (40_000, 2000), (300_000, 2000)])
def test_how_many_rows_are_set_aside(n, aside):
    kept, out = fitting._divided(n, 7, True)
    assert len(out) == aside
    np.testing.assert_array_equal(np.sort(np.concatenate([kept, out])), np.arange(n))
    np.testing.assert_array_equal(fitting._divided(n, 7, True)[1], out)


def test_first_stages_worth_most_come_first(monkeypatch):
    """Where time runs out, it runs out for those that the table needs least."""
    monkeypatch.setattr(stages, "PROBE_ROWS", 60)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    task = Task(X, (X @ [1.0, 2.0])[:, None], (), None, 3, 1, 0, 1)
    reported = []
    made = stages.fit_stages(task, ("lightgbm", "extra_trees", "ridge"), 200, False, Clock(None), reported.append)
    fitted = [text.removeprefix("first stage: ") for text in reported if text.startswith("first stage: ")]
    assert fitted[0] == "ridge"
    assert "lightgbm" in fitted
    # but what comes of it does not depend on their order
    assert list(made.fitted) == [*(name for name in ("lightgbm", "extra_trees", "ridge") if name in fitted), "stack"]


def test_hardly_any_time_still_gives_a_model():
    X, y = toy()
    model = auto(replace(PRESETS["balanced"], bags=2), time_limit=0.01).fit(X, y)
    assert model.cut_short_
    assert "the time limit left something out" in model.explain()
    assert np.isfinite(model.sample(X, 10, seed=0)).all()


@pytest.mark.parametrize("limit", [5.0, 20.0, 60.0, 150.0, 1e6])
def test_wherever_time_runs_out_there_is_a_model(limit, monkeypatch):
    """A clock that moves by one second each time it is asked."""
    asked = iter(range(10**9))
    monkeypatch.setattr(fitting, "Clock", lambda seconds: Clock(seconds, lambda: float(next(asked))))
    monkeypatch.setattr(stages, "PROBE_ROWS", 40)  # so that first stages are tried on a part of the rows
    X, y = toy()
    full = replace(TINY, first_stages=(*TINY.first_stages, ("none", ("cdf",))), capacities=("probe", "usual"))
    model = auto(full, time_limit=limit).fit(X, y)
    assert model.cut_short_ is (limit < 1e6)
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    assert np.isfinite(model.predict(X)).all()
    assert len(model.oob_distribution_) == len(model.oob_rows_)


def test_nothing_is_cut_without_need(model):
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


def test_the_wild_card_enters_the_finals_of_large_tables(monkeypatch):
    monkeypatch.setattr(fitting, "WILD_ROWS", 100)
    X, y = toy()
    name = str(fitting.WILD_CARD)
    for wild in (True, False):
        board = auto(replace(TINY, wild_card=wild)).fit(X, y).leaderboard_
        assert (name in set(board["model"])) is wild
        assert not ((board["model"] == name) & board["stage"].str.startswith("round")).any()
    small = auto(replace(TINY, wild_card=True)).fit(X[:99], y[:99]).leaderboard_
    assert name not in set(small["model"])


def test_those_go_on_that_a_pool_would_hold():
    """What is worse but different is worth more to a pool than a near copy of the best."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(400, 1))
    first, second = rng.normal(size=(2, 400, 1, 1))
    spread = np.linspace(-0.5, 0.5, 21)[None, :, None]
    best, other = y[:, None] + 0.8 * first + spread, y[:, None] + 1.1 * second + spread
    distributions = dict(zip("abc", (best, best + 0.04 * first, other), strict=True))
    contest = Contest(
        features=None,
        response=SimpleNamespace(location=np.zeros(1), scale=np.ones(1)),
        stages=SimpleNamespace(task=SimpleNamespace(y=y, weights=None)),
        params={},
        seed=0,
        n_jobs=1,
        clock=None,
        noisy_rows=0,
        report=print,
    )
    rows = np.arange(400)
    scores = [contest.score(points, rows) for points in distributions.values()]
    assert scores[0] < scores[1] < scores[2]
    assert contest.chosen(distributions, rows, 1) == ["a"]
    assert contest.chosen(distributions, rows, 2) == ["a", "c"]
    assert contest.chosen(distributions, rows, 3) == ["a", "b", "c"]


def test_leaderboard_has_a_line_for_whatever_was_tried(model):
    board = model.leaderboard_
    assert list(board.columns) == ["model", "stage", "crps", "relative_crps", "rows", "seconds"]
    assert set(board["stage"].str.split(",").str[0]) == {"round 1", "bag 1", "bag 2", "final"}
    assert (board["crps"] > 0.0).all()
    np.testing.assert_allclose(board["crps"], board["relative_crps"] * toy()[1].std())
    final = board[board["stage"].str.startswith("final")]
    assert set(model.weights_) <= set(final["model"])
    assert (final["rows"] == 120).all()
    assert set(model.stages_) == {"lightgbm", "ridge", "stack"}
    # the stack is no worse than its best member
    assert model.stages_["stack"] <= min(model.stages_.values()) + 1e-9


def test_two_sentences(model):
    story = model.explain()
    assert story.startswith("Of 2 candidates the pool holds ")
    assert story.endswith("of the response's standard deviation.")
    assert story.count(". ") == 1
    assert all(name in story for name in model.weights_)


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
def test_nothing_is_said_before_fitting(ask):
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


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets_are_complete(name):
    """Every name in a preset means something."""
    preset = PRESETS[name]
    for stage in (*preset.stages, "cdf"):
        assert hasattr(build(stage, stages.size_for(5000, preset.gp_rows)), "cross_fit")
    assert set(preset.recipes) <= set(RECIPES)
    capacities = {*preset.capacities, *(rung.capacity for rung in preset.rungs)} - {None}
    assert capacities <= set(SIZES)
    for recipe in preset.recipes:
        resolve({**fitting._fixed_arguments(1), **RECIPES[recipe]})
    assert all(later.rows >= earlier.rows for earlier, later in zip(preset.rungs, preset.rungs[1:], strict=False))
