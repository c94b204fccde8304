"""Conformal intervals attain nominal coverage over repeated draws; recalibrated distributions have uniform PITs."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from diffgbm import ConformalDiffGBM, PredictiveDistribution, metrics
from diffgbm.estimators.calibration import conformal_offset
from tests.conftest import tiny, toy
from tests.estimators.wrong_model import Wrong, Z, draw, plain

COVERAGES = (0.5, 0.8, 0.9, 0.95)


REPEATS = 200


N_TEST = 20


def band(coverage, n_calibration, repeats=REPEATS, n_test=N_TEST):
    """Four standard errors of the coverage over the repetitions.

    Given the calibration rows a coverage is a beta variable of variance about c(1-c)/n; the test rows add theirs.
    """
    variance = coverage * (1.0 - coverage)
    return 4.0 * np.sqrt(variance * (1.0 / n_calibration + 1.0 / n_test) / repeats)


def repeat(make, sample, n, by=None, factor=0.5, **params):
    """Mean coverage of new rows over the repetitions at each level; by group with ``by``."""
    rng = np.random.default_rng(0)
    hits = {c: [] for c in COVERAGES}
    groups = []
    for seed in range(REPEATS):
        X, y = sample(n, rng)
        X_new, y_new = sample(N_TEST, rng)
        model = make(ConformalDiffGBM(Wrong(factor), seed=seed, **params), X, y)
        groups.append(np.zeros(N_TEST) if by is None else by(model, X_new))
        for c in COVERAGES:
            low, high = model.predict_interval(X_new, c).T
            hits[c].append((low <= y_new) & (y_new <= high))
    which = np.concatenate(groups)
    return {c: {g: np.concatenate(h)[which == g] for g in np.unique(which)} for c, h in hits.items()}


def fitted(model, X, y):
    return model.fit(X, y)


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_split_covers(factor):
    covered = repeat(fitted, plain, 80, factor=factor, calibration_size=0.5)
    for c, by_group in covered.items():
        n = 40
        # exactly ceil((n + 1) c) / (n + 1), for scores without ties
        expected = np.ceil((n + 1) * c) / (n + 1)
        assert expected >= c
        assert by_group[0].mean() == pytest.approx(expected, abs=band(c, n))


def test_a_held_out_set_covers():
    rng = np.random.default_rng(1)

    def prefit(model, X, y):
        model.estimator.fit(*plain(30, rng))
        return model.calibrate(X, y)

    covered = repeat(prefit, plain, 60)
    for c, by_group in covered.items():
        expected = np.ceil(61 * c) / 61
        assert by_group[0].mean() == pytest.approx(expected, abs=band(c, 60))


def test_highest_density_intervals_cover():
    rng = np.random.default_rng(0)
    hits = []
    for seed in range(REPEATS):
        model = ConformalDiffGBM(Wrong(0.4), calibration_size=0.5, seed=seed).fit(*plain(80, rng))
        X_new, y_new = plain(N_TEST, rng)
        low, high = model.predict_interval(X_new, 0.8, kind="highest_density").T
        hits.append((low <= y_new) & (y_new <= high))
    assert np.mean(hits) == pytest.approx(np.ceil(41 * 0.8) / 41, abs=band(0.8, 40))


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_cross_validation_covers(factor):
    covered = repeat(fitted, plain, 60, factor=factor, method="cv", cv=4)
    for c, by_group in covered.items():
        assert by_group[0].mean() >= 2.0 * c - 1.0
        assert by_group[0].mean() == pytest.approx(c, abs=band(c, 60) + 1.5 / 60)


def test_a_category_is_covered_in_each_of_its_groups():
    covered = repeat(fitted, draw, 240, by=lambda model, X: X[:, 1], groups=1, calibration_size=0.75)
    for c, by_group in covered.items():
        assert set(by_group) == {0.0, 1.0, 2.0}
        for hits in by_group.values():
            # about 60 calibration rows in a group; the number varies, and so does the step to the next rank
            low = c - band(c, 60, n_test=len(hits) / REPEATS)
            assert low <= hits.mean() <= c + 1.0 / 45 + band(c, 60, n_test=len(hits) / REPEATS)


def test_without_groups_a_category_is_not():
    covered = repeat(fitted, draw, 240, by=lambda model, X: X[:, 1], calibration_size=0.75)
    assert covered[0.8][0.0].mean() > 0.9
    assert covered[0.8][2.0].mean() < 0.7


@pytest.mark.parametrize("column", ["interquartile_range", 0])
def test_a_number_is_covered_in_each_of_its_groups(column):
    """The predicted scale does not follow the noise here: it must be corrected by group."""

    def steep(n, rng):
        x = rng.uniform(size=n)
        return x[:, None], x + (0.1 + 3.0 * x**2) * rng.standard_normal(n)

    def by(model, X):
        distribution = model.models_[0].predict_distribution(X)
        return model.groups_.of(X, distribution)

    covered = repeat(fitted, steep, 240, by=by, groups=column, n_groups=3, calibration_size=0.75)
    for c, by_group in covered.items():
        assert set(by_group) == {0, 1, 2}
        for hits in by_group.values():
            width = band(c, 60, n_test=len(hits) / REPEATS)
            assert c - width <= hits.mean() <= c + 1.0 / 60 + width


def test_too_few_rows_in_a_group():
    X, y = draw(60, np.random.default_rng(0))
    model = ConformalDiffGBM(Wrong(), groups=1, calibration_size=0.5, seed=0).fit(X, y)
    assert model.predict_interval(X, 0.5).shape == (60, 2)
    with pytest.raises(ValueError, match=r"needs at least 99 calibration rows in group 0 of 1"):
        model.predict_interval(X, 0.99)


def test_split_interval_is_the_distribution_widened_by_the_offset():
    rng = np.random.default_rng(0)
    X, y = plain(50, rng)
    model = ConformalDiffGBM(Wrong(0.5).fit(X, y)).calibrate(X, y)
    distribution = model.estimator.predict_distribution(X)
    low, high = distribution.interval(0.8).T
    offset = conformal_offset(np.maximum(low - y, y - high), 0.8)
    np.testing.assert_allclose(model.predict_interval(X, 0.8), np.column_stack([low - offset, high + offset]))


def test_cv_plus_by_brute_force():
    X, y = plain(23, np.random.default_rng(0))
    model = ConformalDiffGBM(Wrong(0.5), method="cv", cv=4, seed=3).fit(X, y)
    X_new = plain(5, np.random.default_rng(1))[0]
    lows, highs = [[] for _ in X_new], [[] for _ in X_new]
    for fold, distribution, observed in zip(model.models_, model.distributions_, model.observed_, strict=True):
        low, high = distribution.interval(0.8).T
        ends = fold.predict_distribution(X_new).interval(0.8)
        for score in np.maximum(low - observed, observed - high):
            for i in range(5):
                lows[i].append(ends[i, 0] - score)
                highs[i].append(ends[i, 1] + score)
    # the floor((n + 1)(1 - c))-th and the ceil((n + 1) c)-th smallest of n = 23
    expected = [(np.sort(a)[4 - 1], np.sort(b)[20 - 1]) for a, b in zip(lows, highs, strict=True)]
    assert sum(len(o) for o in model.observed_) == 23
    np.testing.assert_allclose(model.predict_interval(X_new, 0.8), expected)


@pytest.mark.parametrize("method", ["split", "cv"])
def test_the_ends_of_a_narrowed_interval_never_swap(method):
    """A distribution far too wide is narrowed by more than the width of its narrowest rows."""
    rng = np.random.default_rng(0)
    x = np.where(rng.uniform(size=200) < 0.1, 0.0, 1.0)
    X, y = x[:, None], x + 0.01 * rng.standard_normal(200)

    class Wide(Wrong):
        def predict_distribution(self, X, **options):
            points = self._first(X)[:, None] + np.where(self._first(X) > 0.0, 5.0, 0.1)[:, None] * Z
            return PredictiveDistribution.from_points(points)

    model = ConformalDiffGBM(Wide(), method=method, seed=0).fit(X, y)
    low, high = model.predict_interval(X, 0.8).T
    assert np.all(low <= high)
    np.testing.assert_allclose(0.5 * (low + high)[x == 0.0], 0.0, atol=0.05)


def test_intervals_are_nested_and_repeat():
    X, y = plain(200, np.random.default_rng(0))
    for method in ("split", "cv"):
        make = ConformalDiffGBM(Wrong(0.6), method=method, seed=5)
        wide, narrow = make.fit(X, y).predict_interval(X, 0.95), make.predict_interval(X, 0.5)
        assert np.all(wide[:, 0] <= narrow[:, 0])
        assert np.all(narrow[:, 1] <= wide[:, 1])
        np.testing.assert_array_equal(clone(make).fit(X, y).predict_interval(X, 0.95), wide)
        np.testing.assert_array_equal(make.predict_interval(X, [0.5, 0.95]), np.stack([narrow, wide], axis=1))


def test_recalibration_makes_the_pit_uniform():
    rng = np.random.default_rng(0)
    X, y = plain(2000, rng)
    X_new, y_new = plain(2000, rng)
    for factor, bias in ((2.5, 0.0), (0.7, 0.0), (1.5, 0.8)):
        wrong = Wrong(factor, bias).fit(X, y)
        model = ConformalDiffGBM(wrong, recalibrate=True).calibrate(X, y)
        before, after = wrong.predict_distribution(X_new), model.predict_distribution(X_new)
        assert metrics.pit_ks(before, y_new).statistic > 0.08
        # as uniform as two samples of 2000 allow, and what lies beyond the points of a distribution that is too narrow
        beyond = max(np.mean(before.pit(y_new) == 0.0), np.mean(before.pit(y_new) == 1.0))
        assert metrics.pit_ks(after, y_new).statistic < 1.63 * np.sqrt(2.0 / 2000) + beyond
        assert metrics.coverage_error(after, y_new, 0.8) < metrics.coverage_error(before, y_new, 0.8)
        assert after.crps(y_new).mean() < before.crps(y_new).mean()


def test_all_predictions_follow_the_recalibrated_distribution():
    X, y = plain(500, np.random.default_rng(0))
    for method in ("split", "cv"):
        model = ConformalDiffGBM(Wrong(2.0), method=method, recalibrate=True, seed=0).fit(X, y)
        distribution = model.predict_distribution(X)
        np.testing.assert_array_equal(model.predict(X), distribution.mean())
        np.testing.assert_array_equal(model.predict_quantiles(X, [0.1, 0.9]), distribution.quantile([0.1, 0.9]))
        np.testing.assert_array_equal(model.crps(X, y), distribution.crps(y))
        assert model.compute_nll(X, y) == pytest.approx(-distribution.logpdf(y).sum())
        assert metrics.coverage_error(distribution, y, 0.8) < 0.05
        assert metrics.coverage_error(distribution, y, 0.8) < metrics.coverage_error(
            model.set_params(recalibrate=False).predict_distribution(X), y, 0.8
        )


def test_the_distribution_of_folds_is_their_mixture():
    X, y = plain(40, np.random.default_rng(0))
    model = ConformalDiffGBM(Wrong(), method="cv", cv=3, seed=0).fit(X, y)
    folds = [fold.predict_distribution(X) for fold in model.models_]
    distribution = model.predict_distribution(X)
    np.testing.assert_allclose(distribution.cdf(0.3), np.mean([f.cdf(0.3) for f in folds], axis=0), atol=0.02)
    np.testing.assert_allclose(distribution.mean(), np.mean([f.mean() for f in folds], axis=0), atol=0.02)


@pytest.fixture
def tables():
    """Rows with labels, a category and a number, in pandas and polars."""
    X, y = draw(300, np.random.default_rng(0))
    shop = np.array(["east", "north", "west"])[X[:, 1].astype(int)]
    pandas = pd.DataFrame({"x": X[:, 0], "shop": shop}, index=pd.Index(range(1000, 1300), name="id"))
    return pandas, pl.DataFrame({"x": X[:, 0], "shop": shop}), y


@pytest.mark.parametrize("groups", [None, "interquartile_range", "shop", "x", 1])
@pytest.mark.parametrize("method", ["split", "cv"])
def test_pandas_and_polars(tables, method, groups):
    pandas, polars, y = tables
    make = ConformalDiffGBM(Wrong(0.5), method=method, groups=groups, n_groups=3, seed=0)
    one = make.fit(pandas, pd.Series(y, index=pandas.index)).predict_interval(pandas, 0.8)
    two = clone(make).fit(polars, pl.Series(y)).predict_interval(polars, 0.8)
    assert isinstance(one, pd.DataFrame)
    assert isinstance(two, pl.DataFrame)
    assert list(one.columns) == two.columns == ["lower", "upper"]
    pd.testing.assert_index_equal(one.index, pandas.index)
    np.testing.assert_allclose(one.to_numpy(), two.to_numpy())
    inside = (one["lower"] <= y) & (y <= one["upper"])
    assert inside.mean() == pytest.approx(0.8, abs=0.12)
    assert isinstance(make.predict_quantiles(pandas), pd.DataFrame)
    assert make.predict_distribution(pandas).name == "price"


def test_a_categorical_column_of_pandas(tables):
    pandas, _, y = tables
    text = ConformalDiffGBM(Wrong(), groups="shop", seed=0).fit(pandas, y).predict_interval(pandas)
    category = pandas.assign(shop=pandas["shop"].astype("category"))
    same = ConformalDiffGBM(Wrong(), groups="shop", seed=0).fit(category, y).predict_interval(category)
    pd.testing.assert_frame_equal(text, same)


def test_a_rare_category_is_known_if_any_fold_has_seen_it(tables):
    pandas, _, y = tables
    pandas = pandas.assign(shop=["rare"] * 2 + list(pandas["shop"][2:]))
    for seed in range(5):
        model = ConformalDiffGBM(Wrong(), method="cv", cv=5, groups="shop", seed=seed).fit(pandas, y)
        assert model.predict_interval(pandas, 0.6).shape == (300, 2)


def test_missing_values_are_a_group(tables):
    pandas, polars, y = tables
    missing = np.arange(300) % 4 == 0
    shop = pandas["shop"].mask(missing)
    for column in (shop, shop.astype("category"), shop.astype("string"), shop.where(~missing, None).astype(object)):
        frame = pandas.assign(shop=column)
        model = ConformalDiffGBM(Wrong(), groups="shop", seed=0).fit(frame, y)
        assert len(np.unique(np.concatenate(model.group_))) == 4
        again = pickle.loads(pickle.dumps(model))
        assert np.isfinite(again.predict_interval(frame, 0.8).to_numpy()).all()
    number = pandas.assign(extra=np.where(missing, np.nan, np.arange(300.0)))
    model = ConformalDiffGBM(Wrong(), groups="extra", n_groups=3, seed=0).fit(number, y)
    assert len(np.unique(np.concatenate(model.group_))) == 4
    assert np.isfinite(model.predict_interval(number, 0.8).to_numpy()).all()
    gaps = polars.with_columns(
        pl.Series("shop", [None if absent else s for s, absent in zip(polars["shop"], missing, strict=True)])
    )
    model = ConformalDiffGBM(Wrong(), groups="shop", seed=0).fit(gaps, y)
    assert len(np.unique(np.concatenate(model.group_))) == 4


def test_an_unknown_category_is_refused(tables):
    pandas, _, y = tables
    model = ConformalDiffGBM(Wrong(), groups="shop", seed=0).fit(pandas, y)
    with pytest.raises(ValueError, match="'shop' has values that no calibration row has"):
        model.predict_interval(pandas.assign(shop="south"))


def test_weights_stay_with_their_rows():
    X, y = plain(80, np.random.default_rng(0))
    weight = np.where(np.arange(80) < 40, 1.0, 0.0)
    for method in ("split", "cv"):
        model = ConformalDiffGBM(Wrong(), method=method, seed=0).fit(X, y, sample_weight=weight)
        assert model.predict_interval(X, 0.5).shape == (80, 2)
        unweighted = ConformalDiffGBM(Wrong(), method=method, seed=0).fit(X, y)
        assert model.models_[0].shift_ != unweighted.models_[0].shift_


def test_parameters():
    model = ConformalDiffGBM(
        Wrong(0.5), method="cv", cv=3, groups="interquartile_range", n_groups=2, recalibrate=True, seed=1
    )
    params = model.get_params()
    assert (params["method"], params["cv"], params["estimator__factor"]) == ("cv", 3, 0.5)
    copy = clone(model)
    assert copy is not model
    assert copy.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert copy.set_params(estimator__factor=2.0).estimator.factor == 2.0
    assert model.estimator.factor == 0.5
    X, y = plain(60, np.random.default_rng(0))
    model.fit(X, y)
    assert not hasattr(model.estimator, "shift_")  # a clone is fitted, not the argument


def test_errors():
    rng = np.random.default_rng(0)
    X, y = plain(60, rng)
    with pytest.raises(ValueError, match="method must be one of 'split', 'cv'"):
        ConformalDiffGBM(Wrong(), method="jackknife").fit(X, y)
    with pytest.raises(ValueError, match="cv must be an integer >= 2"):
        ConformalDiffGBM(Wrong(), method="cv", cv=1).fit(X, y)
    with pytest.raises(ValueError, match="n_groups"):
        ConformalDiffGBM(Wrong(), groups=0, n_groups=0).fit(X, y)
    for column in ("nowhere", 7):
        with pytest.raises(ValueError, match="is not a column of X"):
            ConformalDiffGBM(Wrong(), groups=column).fit(X, y)
    for method in ("predict_interval", "predict", "predict_distribution"):
        with pytest.raises(Exception, match="not fitted"):
            getattr(ConformalDiffGBM(Wrong()), method)(X)
    with pytest.raises(Exception, match="not fitted"):
        ConformalDiffGBM(Wrong()).calibrate(X, y)
    with pytest.raises(ValueError, match="coverage"):
        ConformalDiffGBM(Wrong()).fit(X, y).predict_interval(X, 1.0)


def test_several_responses_are_refused(two_responses):
    X, y = toy(120, d=2)
    with pytest.raises(ValueError, match="calibrates one response"):
        ConformalDiffGBM(two_responses).calibrate(X, y)
    with pytest.raises(ValueError, match="calibrates one response"):
        ConformalDiffGBM(tiny()).fit(X, y)


@pytest.mark.parametrize(("method", "recipe"), [("split", "flow"), ("cv", "default")])
def test_diffgbm_end_to_end(method, recipe):
    X, y = toy(600)
    X_new, y_new = toy(600, seed=1)
    params = {"n_steps": 10} if recipe == "default" else {}
    estimator = tiny(recipe, **params)
    model = ConformalDiffGBM(
        estimator, method=method, cv=3, groups="interquartile_range", n_groups=2, recalibrate=True, seed=0
    )
    frame = pd.DataFrame(X_new, columns=["a", "b", "c"], index=np.arange(600) + 7)
    model.fit(pd.DataFrame(X, columns=["a", "b", "c"]), pd.Series(y, name="price"))
    interval = model.predict_interval(frame, 0.9)
    assert list(interval.index) == list(frame.index)
    inside = (interval["lower"] <= y_new) & (y_new <= interval["upper"])
    n_calibration = 150 if method == "split" else 600
    assert inside.mean() == pytest.approx(0.9, abs=4.0 * np.sqrt(0.09 * (1.0 / n_calibration + 1.0 / 600)) + 0.02)
    distribution = model.predict_distribution(frame)
    assert distribution.name == "price"
    assert metrics.pit_ks(distribution, y_new).statistic < 0.15
    assert np.all(np.diff(model.predict_quantiles(frame, np.linspace(0.01, 0.99, 25)).to_numpy(), axis=1) >= 0.0)
    np.testing.assert_array_equal(model.predict_interval(frame, 0.9).to_numpy(), interval.to_numpy())
    assert -1.0 < model.score(frame, y_new) <= 1.0


# what all estimators have


@pytest.mark.parametrize("method", ["split", "cv"])
def test_samples_are_drawn_from_the_predictive_distribution(method):
    X, y = plain(60, np.random.default_rng(0))
    model = ConformalDiffGBM(Wrong(), method=method, recalibrate=True, seed=0).fit(X, y)
    samples = model.sample(X, 7, seed=3)
    assert samples.shape == (7, 60)
    np.testing.assert_array_equal(samples, model.predict_distribution(X).sample(7, seed=3))
    np.testing.assert_array_equal(model.sample(X[20:], 7, seed=3, first_row=20), samples[:, 20:])
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(X, 0)


def test_columns_are_those_of_the_calibrated_model():
    X, y = toy()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ConformalDiffGBM(tiny(), seed=0).fit(frame, y)
    assert model.n_features_in_ == 3
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    model.fit(X, y)
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(ConformalDiffGBM(Wrong(), seed=0).fit(X, y), "n_features_in_")


def test_facts_of_a_calibrated_model():
    X, y = toy()
    model = ConformalDiffGBM(tiny(residualize="off"), method="cv", cv=2, seed=0).fit(X, y)
    assert len(model.fitted_models()) == 2
    assert model.response_names() == ("y",)
    np.testing.assert_array_equal(np.sort(model.calibration_responses()), np.sort(y))
    facts = model.describe()
    assert facts["model"] == "ConformalDiffGBM"
    assert facts["calibrated"] == "cv, on 120 rows"
    assert facts["trees"] == [15, 15]
    assert [part.n_jobs for part in model.set_threads(2).models_] == [2, 2]
    distribution = model.predict_distribution(X)
    np.testing.assert_array_equal(model.interval_of(distribution, X, 0.8), model.predict_interval(X, 0.8))
    assert not np.allclose(model.interval_of(distribution, X, 0.8), distribution.interval(0.8))
