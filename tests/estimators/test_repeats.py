"""Rows that occur several times: copies, entities and rows that agree by chance."""

import numpy as np
import pytest

from diffgbm import AutoDiffGBM, ConformalDiffGBM, DiffGBM, DiffGBMCV
from tests.auto.tiny_auto import TINY


def linear(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + rng.normal(size=n)


def coverage(model, X, y, level=0.9):
    low, high = np.asarray(model.predict_interval(X, coverage=level)).T
    return float(np.mean((low <= y) & (y <= high)))


RECIPES = {
    "flow": DiffGBM.flow,
    "published": DiffGBM.published,
    "score_plus": DiffGBM.score_plus,
}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("times", [2, 4])
def test_a_stacked_table_gives_the_model_of_the_table(recipe, times):
    X, y = linear(200, 1)
    model = RECIPES[recipe](n_estimators=40, n_repeats=5, n_jobs=1, seed=0)
    plain = model.fit(X, y).predict_quantiles(X[:20])
    stacked = model.fit(np.vstack([X] * times), np.tile(y, times))
    assert stacked.records_.kind == "stacked"
    assert stacked.records_.n_records == 200
    # sums of copies differ in the last bits, which may move a split
    np.testing.assert_allclose(stacked.predict_quantiles(X[:20]), plain, atol=0.2)
    assert np.median(np.abs(stacked.predict_quantiles(X[:20]) - plain)) < 1e-6


def test_early_stopping_is_not_fooled_by_copies():
    X, y = linear(400, 2)
    fresh = linear(2000, 3)
    arguments = {"residualize": "off", "n_estimators": 600, "n_repeats": 10, "n_jobs": 1, "seed": 0}
    plain = DiffGBM(**arguments).fit(X, y)
    twice = np.vstack([X, X]), np.tile(y, 2)
    stacked = DiffGBM(**arguments).fit(*twice)
    fooled = DiffGBM(**arguments, repeats="independent").fit(*twice)
    assert abs(coverage(stacked, *fresh) - coverage(plain, *fresh)) < 0.02
    assert coverage(fooled, *fresh) < coverage(plain, *fresh) - 0.1


def test_out_of_bag_distributions_are_of_all_rows():
    X, y = linear(150, 4)
    order = np.random.default_rng(0).permutation(300)
    rows, responses = np.vstack([X, X])[order], np.tile(y, 2)[order]
    model = DiffGBM.flow(n_bags=3, n_estimators=20, n_repeats=3, n_jobs=1, seed=0).fit(rows, responses)
    assert len(model.oob_distribution_) == 300
    median = model.oob_distribution_.median()
    where = np.argsort(order)
    np.testing.assert_array_equal(median[where[:150]], median[where[150:]])


def test_rows_of_an_entity_are_held_out_together():
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(size=(60, 2)), 8, axis=0)
    y = X[:, 0] + np.repeat(rng.normal(size=60), 8) + 0.1 * rng.normal(size=480)
    arguments = {"n_bags": 5, "n_estimators": 60, "n_repeats": 5, "n_jobs": 1, "seed": 0}
    together = DiffGBM.flow(**arguments).fit(X, y)
    apart = DiffGBM.flow(**arguments, repeats="independent").fit(X, y)
    assert together.records_.kind == "entities"
    honest, flattered = (m.oob_distribution_.crps(y).mean() for m in (together, apart))
    assert honest > 1.5 * flattered


def test_people_in_categories_give_what_they_gave():
    rng = np.random.default_rng(6)
    X = rng.integers(0, 4, size=(400, 3)).astype(float)
    y = X[:, 0] + rng.normal(size=400)
    arguments = {"n_estimators": 20, "n_repeats": 3, "n_jobs": 1, "seed": 0}
    auto, independent = (DiffGBM.flow(**arguments, repeats=r).fit(X, y) for r in ("auto", "independent"))
    assert auto.records_.kind == "independent"
    np.testing.assert_array_equal(auto.predict(X[:50]), independent.predict(X[:50]))


def test_automatic_fits_say_what_they_found():
    X, y = linear(120, 7)
    model = AutoDiffGBM(preset=TINY, time_limit=600, n_jobs=1, seed=0).fit(np.vstack([X, X]), np.tile(y, 2))
    assert "240 rows are 120 records" in model.explain()
    assert set(model.oob_rows_.tolist()) <= set(range(120))
    plain = AutoDiffGBM(preset=TINY, time_limit=600, n_jobs=1, seed=0).fit(X, y)
    assert "records" not in plain.explain()
    assert model.oob_distribution_.crps(np.tile(y, 2)[model.oob_rows_]).mean() == pytest.approx(
        plain.oob_distribution_.crps(y[plain.oob_rows_]).mean(), rel=0.05
    )


def test_a_search_holds_copies_together():
    pytest.importorskip("optuna")
    X, y = linear(80, 8)
    rows, responses = np.vstack([X, X]), np.tile(y, 2)
    search = DiffGBMCV(n_trials=1, estimator_params={"n_estimators": 10, "n_repeats": 2}, seed=0, n_jobs=1)
    both = search.fit(rows, responses).best_score_
    assert both > 0.3  # the noise has a CRPS of 0.56; a search that sees copies reports less


@pytest.mark.parametrize("method", ["split", "cv"])
def test_copies_do_not_calibrate_the_model_that_learned_from_them(method):
    X, y = linear(150, 10)
    rows, responses = np.vstack([X, X]), np.tile(y, 2)
    base = DiffGBM.flow(n_estimators=200, n_repeats=5, num_leaves=15, min_child_samples=3, n_jobs=1, seed=0)
    model = ConformalDiffGBM(base, method=method, cv=3, seed=0).fit(rows, responses)
    assert coverage(model, *linear(2000, 11)) > 0.85


@pytest.mark.parametrize("estimator", [DiffGBM, AutoDiffGBM])
def test_an_unknown_treatment_is_refused(estimator):
    with pytest.raises(ValueError, match="repeats must be one of 'auto', 'together', 'independent'; got 'never'"):
        estimator(repeats="never").fit(*linear(50, 9))
