"""``fit(X, y, groups=..., time=...)``: what is promised of new groups, and of the future, is what comes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from diffgbm import (
    AdaptiveConformal,
    AutoDiffGBM,
    ConformalDiffGBM,
    DiffGBM,
    DiffGBMCV,
    cross_val_distribution,
    load,
)
from tests.auto.tiny_auto import LEAST
from tests.conftest import tiny, toy


def entities(n_entities, seed, rows=20):
    """Entities with an effect of their own; one feature tells them apart, though no two rows agree."""
    rng = np.random.default_rng(seed)
    entity = np.repeat(np.arange(n_entities), rows)
    known, effect = rng.normal(size=(2, n_entities))
    X = np.column_stack([known[entity] + 1e-4 * rng.normal(size=len(entity)), rng.normal(size=len(entity))])
    y = X[:, 1] + 0.5 * known[entity] + effect[entity] + 0.3 * rng.normal(size=len(entity))
    return X, y, entity


def judged(distribution, y, entity):
    """CRPS and coverage of 90% intervals, with the standard errors that entities of 20 rows have."""
    low, high = distribution.interval(0.9).T
    figures = np.column_stack([distribution.crps(y), (low <= y) & (y <= high)])
    means = np.array([figures[entity == e].mean(axis=0) for e in np.unique(entity)])
    return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(len(means))


@pytest.fixture(scope="module")
def promised():
    """What fits with and without groups promise out of bag, and what new entities get."""
    X, y, entity = entities(60, 1)
    new_X, new_y, new_entity = entities(120, 2)
    out = {}
    for name, groups in (("with", entity), ("without", None)):
        params = {"n_estimators": 40, "n_repeats": 6, "num_leaves": 15, "n_bags": 4}
        model = tiny("flow", **params, learning_rate=0.2).fit(X, y, groups=groups)
        new = judged(model.predict_distribution(new_X), new_y, new_entity)
        out[name] = judged(model.oob_distribution_, y, entity), new, str(model.division_)
    return out


def test_with_groups_new_entities_get_what_was_promised(promised):
    (before, error), (after, new_error), text = promised["with"]
    assert np.all(np.abs(before - after) < 3.0 * np.hypot(error, new_error))
    assert text.startswith("1,200 rows are of 60 groups: no split divides a group")


def test_without_groups_they_do_not(promised):
    (before, error), (after, new_error), text = promised["without"]
    crps, coverage = (after - before) / np.hypot(error, new_error)
    assert crps > 5.0
    assert coverage < -5.0
    assert after[0] > 1.5 * before[0]
    assert text.startswith("Hint: consecutive rows have similar residuals")


def test_a_column_of_groups_is_left_out_and_may_stay_in_the_frame(tmp_path):
    X, y = toy()
    frame = pd.DataFrame(X, columns=list("abc")[: X.shape[1]])
    with_groups = frame.assign(shop=np.arange(len(y)) % 7)
    model = tiny().fit(with_groups, y, groups="shop")
    assert list(model.feature_names_in_) == list(frame.columns)
    by_values = tiny().fit(frame, y, groups=with_groups["shop"])
    expected = by_values.predict(frame)
    np.testing.assert_array_equal(model.predict(frame), expected)
    np.testing.assert_array_equal(model.predict(with_groups), expected)
    model.save(tmp_path / "model.diffgbm")
    loaded = load(tmp_path / "model.diffgbm")
    np.testing.assert_array_equal(loaded.predict(with_groups), expected)
    assert loaded.division_ == model.division_ == loaded.describe()["division"]
    with pytest.raises(ValueError, match="unseen at fit time:\n- other"):
        model.predict(frame.assign(other=1.0))


def test_the_order_of_the_rows_does_not_matter_with_time():
    X, y = toy()
    order = np.random.default_rng(0).permutation(len(y))
    models = [tiny(n_bags=2).fit(X, y, time=np.arange(len(y))), tiny(n_bags=2).fit(X[order], y[order], time=order)]
    assert models[0].oob_rows_.tolist() == sorted(order[models[1].oob_rows_].tolist())
    assert "The rows were not sorted by time" in str(models[1].division_)
    assert "not sorted" not in str(models[0].division_)


@pytest.mark.parametrize("residualize", ["mean", "mean_scale", "gp"])
def test_first_stages_by_time_leave_no_gaps(residualize):
    X, y = toy()
    time = np.arange(len(y)) // 3
    model = tiny(residualize=residualize, first_stage_features="cdf", n_bags=2).fit(X, y, time=time)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.oob_distribution_.crps(y[model.oob_rows_])).all()


def test_groups_and_time_together():
    X, y = toy()
    model = tiny(n_bags=3).fit(X, y, groups=np.arange(len(y)) % 9, time=np.arange(len(y)))
    assert "of 9 groups" in str(model.division_)
    assert "divided by time" in str(model.division_)
    assert np.isfinite(model.oob_distribution_.values).all()


def test_fewer_groups_than_folds_or_bags_are_refused():
    X, y = toy()
    three = np.arange(len(y)) % 3
    with pytest.raises(ValueError, match=r"as many groups as residualize_k_folds=5.*got 3 groups"):
        tiny().fit(X, y, groups=three)
    with pytest.raises(ValueError, match=r"as many groups as n_bags=4.*got 3 groups"):
        tiny(residualize="off", n_bags=4).fit(X, y, groups=three)
    tiny(residualize_k_folds=3, n_bags=3).fit(X, y, groups=three)


def test_two_times_are_enough():
    X, y = toy()
    time = (np.arange(len(y)) >= 60).astype(int)
    model = tiny(n_bags=2).fit(X, y, time=time)
    np.testing.assert_array_equal(model.oob_rows_, np.arange(60, 120))


def test_nearly_all_rows_at_the_last_time_leave_nothing_to_learn_from():
    X, y = toy()
    time = np.minimum(np.arange(len(y)), 10)
    with pytest.raises(ValueError, match="time leaves no earlier rows for the noise model"):
        tiny(n_bags=2).fit(X, y, time=time)
    with pytest.raises(ValueError, match="time leaves no earlier rows for noise models"):
        AutoDiffGBM(preset=LEAST, time_limit=60, n_jobs=1, seed=0).fit(X, y, time=time)
    tiny(n_bags=2, residualize="off").fit(X, y, time=time)


def test_folds_of_a_splitter(tmp_path):
    X, y = toy()
    groups = np.arange(len(y)) % 10
    model = tiny(residualize_k_folds=GroupKFold(5)).fit(X, y, groups=groups)
    model.save(tmp_path / "model.diffgbm")
    np.testing.assert_array_equal(load(tmp_path / "model.diffgbm").predict(X), model.predict(X))
    tiny(residualize_k_folds=TimeSeriesSplit(4)).fit(X, y, time=np.arange(len(y)))
    with pytest.raises(ValueError, match="residualize_k_folds must hold out each row once at most"):
        tiny(residualize_k_folds=ShuffleSplit(5, random_state=0)).fit(X, y)
    with pytest.raises(ValueError, match="residualize_k_folds learns from rows that are not earlier"):
        tiny(residualize_k_folds=GroupKFold(5)).fit(X, y, groups=groups, time=np.arange(len(y)))


def test_a_pipeline_passes_groups_on():
    X, y = toy()
    groups = np.arange(len(y)) % 6
    pipe = make_pipeline(StandardScaler(), tiny()).fit(X, y, diffgbm__groups=groups)
    assert isinstance(pipe[-1], DiffGBM)
    assert pipe[-1].records_.kind == "groups"


def test_rows_of_no_weight_have_no_say():
    X, y = toy()
    weights = np.ones(len(y))
    weights[:40] = 0.0
    groups = np.arange(len(y)) % 6
    model = tiny(n_bags=2).fit(X, y, sample_weight=weights, groups=groups, time=np.arange(len(y)))
    assert model.records_.n_rows == 80
    assert np.isfinite(model.oob_distribution_.values).all()


# the other estimators


def entity_table(n=120):
    X, y = toy(n)
    return X, y, np.arange(n) // 10, np.arange(n)


class Spy(DiffGBM):
    """Remembers the rows, groups and times that each clone was fitted to."""

    seen: list = []  # noqa: RUF012  # shared by all clones on purpose

    def fit(self, X, y, cat_idx=None, sample_weight=None, groups=None, time=None):
        Spy.seen.append((X, groups, time))
        return super().fit(X, y, cat_idx, sample_weight, groups, time)


@pytest.fixture
def spy():
    Spy.seen.clear()
    return Spy(**tiny("flow", residualize="off").get_params())


@pytest.mark.parametrize("method", ["split", "cv"])
def test_conformal_folds_keep_groups_whole(spy, method):
    X, y, groups, _ = entity_table()
    model = ConformalDiffGBM(spy, method=method, cv=3, seed=0).fit(X, y, groups=groups)
    assert len(model.models_) == (1 if method == "split" else 3)
    for (rows, given, _), held_out in zip(Spy.seen, model.observed_, strict=True):
        assert len(rows) + len(held_out) == 120
        assert not set(given) & set(groups[np.isin(y, held_out)])


def test_conformal_windows_calibrate_a_model_of_all_rows(spy, tmp_path):
    X, y, _, time = entity_table()
    model = ConformalDiffGBM(spy, method="cv", cv=3, seed=0).fit(X, y, time=time)
    assert [len(rows) for rows, _, _ in Spy.seen] == [30, 60, 90, 120]
    assert [len(part) for part in model.observed_] == [30, 30, 30]
    assert len(model.models_) == 1
    low, high = model.predict_interval(X).T
    assert np.all(low < high)
    stored = ConformalDiffGBM(tiny("flow", residualize="off"), method="cv", cv=3, seed=0).fit(X, y, time=time)
    stored.save(tmp_path / "model.diffgbm")
    np.testing.assert_array_equal(load(tmp_path / "model.diffgbm").predict_interval(X), stored.predict_interval(X))


def test_conformal_calibrates_on_the_last_rows(spy):
    X, y, groups, time = entity_table()
    model = ConformalDiffGBM(spy, calibration_size=0.25, seed=0).fit(X, y, time=time)
    np.testing.assert_array_equal(model.observed_[0], y[90:])
    with pytest.raises(ValueError, match=r"as many groups as cv=20.*got 12 groups"):
        ConformalDiffGBM(spy, method="cv", cv=20).fit(X, y, groups=groups)
    splits = ConformalDiffGBM(spy, method="cv", cv=GroupKFold(4)).fit(X, y, groups=groups)
    assert len(splits.models_) == 4
    with pytest.raises(ValueError, match="cv learns from rows that are not earlier"):
        ConformalDiffGBM(spy, method="cv", cv=GroupKFold(4)).fit(X, y, groups=groups, time=time)


def test_a_part_of_the_rows_may_hold_one_group_or_one_time():
    X, y, _, _ = entity_table()
    named = pd.DataFrame(X, columns=["a", "b", "c"]).assign(half=np.arange(len(y)) >= 60)
    base = tiny("flow", residualize="off")
    split = ConformalDiffGBM(base, calibration_size=0.5, seed=0).fit(named, y, groups="half")
    assert len(split.predict_interval(named[:3])) == 3  # the column may stay in the frame
    online = AdaptiveConformal(base).fit(named, y, time="half")
    assert online.n_observed_ == 60


def test_out_of_fold_distributions_refuse_time():
    X, y, _, time = entity_table()
    with pytest.raises(ValueError, match=r"models of their future. Fit DiffGBM\(n_bags=5\)"):
        cross_val_distribution(tiny("flow"), X, y, time=time)


@pytest.mark.parametrize("cv", [None, 3, GroupKFold(3)])
def test_a_search_keeps_groups_whole(cv):
    X, y, groups, time = entity_table()
    small = {"n_estimators": 5, "n_repeats": 2, "residualize": "off"}
    search = DiffGBMCV("flow", n_trials=1, cv=cv, estimator_params=small, n_jobs=1, seed=0)
    for train, test in search.objective(X, y, groups=groups).splits:
        assert not set(groups[train]) & set(groups[test])
    if not isinstance(cv, GroupKFold):
        for train, test in search.objective(X, y, time=time).splits:
            assert train.max() < test.min()
    search.fit(X, y, groups=groups)
    assert search.best_estimator_.records_.kind == "groups"
    with pytest.raises(ValueError, match=r"as many groups as cv=20.*got 12"):
        DiffGBMCV("flow", cv=20).objective(X, y, groups=groups)


@pytest.mark.parametrize("given", ["groups", "time", "both"])
def test_an_automatic_fit_says_how_rows_were_divided(given):
    X, y, groups, time = entity_table()
    arguments = {"groups": groups, "time": time[::-1]}
    arguments = arguments if given == "both" else {given: arguments[given]}
    model = AutoDiffGBM(preset=LEAST, time_limit=60, n_jobs=1, seed=0).fit(X, y, **arguments)
    assert ("of 12 groups: no split divides a group" in model.explain()) == ("groups" in arguments)
    assert ("were not sorted by time" in model.explain()) == ("time" in arguments)
    assert np.isfinite(model.oob_distribution_.crps(y[model.oob_rows_])).all()
    assert len(np.unique(model.oob_rows_)) == len(model.oob_rows_) == len(model.oob_distribution_)
    if "time" in arguments:
        assert model.oob_rows_.max() < 40
    assert np.isfinite(model.predict(X)).all()
