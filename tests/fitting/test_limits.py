"""The argument ``support``: limits that hold, densities and probabilities inside, atoms at limits, counts, errors."""

import numpy as np
import pytest

from diffgbm import AutoDiffGBM, ConformalDiffGBM, DiffGBM, load
from diffgbm.distributions.support import Support
from diffgbm.fitting.limits import are_counts, check_support, find_support, given_limits, wanted_atoms
from tests.auto.tiny_auto import LEAST

OPTIONS = {"n_estimators": 30, "n_repeats": 5, "num_leaves": 8, "seed": 0, "n_jobs": 1}


def table(kind, n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    responses = {
        "exponential": rng.exponential(0.3 + 2.0 * X[:, 0]),
        "beta": rng.beta(0.5 + 2.0 * X[:, 0], 0.5 + 2.0 * X[:, 1]),
        "counts": rng.poisson(0.5 + 6.0 * X[:, 0]).astype(float),
        "zeros": np.where(rng.uniform(size=n) < 0.7, 0.0, rng.exponential(size=n)),
        "many zeros": np.where(rng.uniform(size=n) < 0.6, 0.0, 1.0 + rng.poisson(4.0, size=n)),
        "capped": np.clip(2.0 * X[:, 0] - 1.0 + 0.6 * rng.standard_normal(n), -0.8, 0.8),
    }
    return X, responses[kind]


@pytest.mark.parametrize(("kind", "support"), [("exponential", (0, None)), ("beta", (0, 1))])
def test_a_continuous_response_stays_inside_and_has_no_probability_at_its_limits(kind, support):
    X, y = table(kind)
    low, high = support[0], np.inf if support[1] is None else support[1]
    free = DiffGBM.flow(**OPTIONS).fit(X, y).predict_distribution(X)
    assert (free.quantile(0.0) < low).any()  # there is something to confine
    model = DiffGBM.flow(**OPTIONS, support=support, n_bags=2).fit(X, y)
    distribution = model.predict_distribution(X)
    for each in (distribution, model.oob_distribution_):
        ends = each.quantile([0.0, 0.05, 0.95, 1.0])
        assert ends.min() >= low
        assert ends.max() <= high
        assert (each.pmf(low) == 0.0).all()
        assert (each.quantile(0.05) > low).all()
    samples = model.sample(X, 40, seed=0)
    assert samples.min() > low
    assert samples.max() < high
    grid = np.concatenate([low + np.geomspace(1e-9, 0.01, 2000), np.linspace(low + 0.01, min(high, 40.0), 20_000)])
    density = distribution[:10].pdf(grid[None])
    np.testing.assert_allclose(np.trapezoid(density, grid, axis=1), 1.0, atol=0.002)
    assert (distribution[:10].pdf(low - 1e-9) == 0.0).all()
    assert np.isfinite(distribution.entropy()).all()
    assert distribution.crps(y).mean() <= free.crps(y).mean()


def test_samples_depend_on_the_row_alone_and_survive_files(tmp_path):
    X, y = table("exponential")
    model = DiffGBM.flow(**OPTIONS, support=(0.0, None)).fit(X, y)
    samples = model.sample(X[:50], 7, seed=1)
    np.testing.assert_array_equal(model.sample(X[20:30], 7, seed=1, first_row=20), samples[:, 20:30])
    assert (model.sample(X[:5], 7) != model.sample(X[:5], 7)).any()
    model.save(tmp_path / "m.diffgbm")
    loaded = load(tmp_path / "m.diffgbm")
    np.testing.assert_array_equal(loaded.sample(X[:50], 7, seed=1), samples)
    assert loaded.support == (0.0, None)
    assert loaded.describe()["support"] == "at least 0"


@pytest.mark.parametrize(("kind", "support", "at"), [("zeros", (0, None), 0.0), ("capped", (-0.8, 0.8), 0.8)])
def test_responses_that_pile_up_at_a_limit_keep_their_probability(kind, support, at):
    X, y = table(kind, 600)
    distribution = DiffGBM.flow(**OPTIONS, support=support).fit(X, y).predict_distribution(X)
    assert distribution.pmf(at).mean() == pytest.approx(np.mean(y == at), abs=0.04)
    assert distribution.quantile(0.0).min() >= support[0]


@pytest.mark.parametrize("options", [{"support": (0, None), "discrete": True}, {"support": "auto"}])
@pytest.mark.parametrize("kind", ["counts", "many zeros"])
def test_counts_are_whole_numbers_with_probabilities(options, kind, tmp_path):
    X, y = table(kind, 500)
    model = DiffGBM.flow(**OPTIONS, **options).fit(X, y)
    model.save(tmp_path / "m.diffgbm")
    for each in (model, load(tmp_path / "m.diffgbm")):
        distribution = each.predict_distribution(X)
        pmf = distribution.pmf(np.arange(60.0)[None])
        np.testing.assert_allclose(pmf.sum(axis=1), 1.0)
        np.testing.assert_allclose(pmf @ np.arange(60.0), distribution.mean())
        assert pmf[:, 0].mean() == pytest.approx(np.mean(y == 0.0), abs=0.06)
        values = [distribution.quantile([0.0, 0.05, 0.5, 0.95, 1.0]), each.sample(X, 20, seed=0)]
        for found in values:
            assert (found == np.rint(found)).all()
            assert found.min() >= 0.0
    assert "whole numbers" in model.describe()["support"]


def test_without_support_nothing_changes():
    X, y = table("exponential")
    plain, same = (DiffGBM.flow(**OPTIONS, **more).fit(X, y) for more in ({}, {"support": None, "discrete": False}))
    np.testing.assert_array_equal(plain.sample(X, 3, seed=0), same.sample(X, 3, seed=0))
    assert plain.predict_distribution(X).support is None
    assert (plain.predict_quantiles(X, [0.05]) < 0.0).any()


def test_conformal_intervals_stay_inside():
    X, y = table("exponential")
    fitted = DiffGBM.flow(**OPTIONS, support=(0, None)).fit(X, y)
    wide = ConformalDiffGBM(fitted).calibrate(X, y + 10.0).predict_interval(X, 0.9)  # both ends move outwards
    assert wide[:, 0].min() == wide[:, 0].max() == 0.0


@pytest.mark.parametrize("support", [(1, 0), (0, 0), (np.nan, 1), (0,), (0, 1, 2), 5, "none", ("a", None), [[0, 1]]])
def test_a_support_that_is_no_pair_is_refused(support):
    with pytest.raises(ValueError, match=r"support must be None, 'auto' or a pair"):
        check_support(support)
    with pytest.raises(ValueError, match="support must be"):
        DiffGBM.flow(**OPTIONS, support=support).fit(*table("beta"))


def test_responses_outside_are_counted_and_shown():
    import pandas as pd

    X, y = table("beta")
    series = pd.Series(y.copy(), index=[f"r{i}" for i in range(len(y))])
    series.iloc[[3, 8]] = [-999.0, 2.0]
    with pytest.raises(ValueError, match=r"support=\(0\.0, 1\.0\): 2 of 300 .* -999 in row r3, 2 in row r8\. Correct"):
        DiffGBM.flow(**OPTIONS, support=(0, 1)).fit(X, series)
    with pytest.raises(ValueError, match=r"discrete=True needs .* 300 of 300 are not"):
        DiffGBM.flow(**OPTIONS, discrete=True).fit(X, y)
    with pytest.raises(ValueError, match="discrete must be True or False; got 'yes'"):
        DiffGBM.flow(**OPTIONS, discrete="yes").fit(X, y)
    with pytest.raises(ValueError, match=r"one pair .* for one response"):
        DiffGBM.flow(**OPTIONS, support=[(0, 1), (0, 1)]).fit(X, y)
    with pytest.raises(ValueError, match="a list of one for each of 2 responses"):
        DiffGBM.flow(**OPTIONS, support=[(0, 1)]).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"Response 1: support=\(0\.0, 1\.0\): .* lie outside"):
        DiffGBM.flow(**OPTIONS, support=(0, 1)).fit(X, np.column_stack([y, y + 2.0]))


@pytest.mark.parametrize("make", [DiffGBM.flow, AutoDiffGBM])
def test_each_of_several_responses_has_its_limits(make, tmp_path):
    X, positive = table("exponential")
    zeros, free = table("zeros")[1], np.random.default_rng(1).normal(size=300)
    options = OPTIONS if make is not AutoDiffGBM else {"preset": LEAST, "time_limit": 3, "seed": 0, "n_jobs": 1}
    model = make(**options, support=[(0, None), (0, None), None]).fit(X, np.column_stack([positive, zeros, free]))
    joint, samples = model.predict_distribution(X), model.sample(X, 50, seed=0)
    for j in (0, 1):
        assert joint.points[:, :, j].min() >= 0.0
        assert samples[:, :, j].min() >= 0.0
        assert np.asarray(model.predict_interval(X))[:, j].min() >= 0.0
    assert (joint.points[:, :, 0] == 0.0).mean() == 0.0  # none is exactly zero
    assert (joint.points[:, :, 1] == 0.0).mean() > 0.1
    assert samples[:, :, 2].min() < 0.0
    np.testing.assert_allclose(samples.mean(axis=0).mean(axis=0), joint.mean().mean(axis=0), atol=0.1)
    np.testing.assert_array_equal(model.sample(X[20:30], 7, seed=0, first_row=20), model.sample(X, 7, seed=0)[:, 20:30])
    model.save(tmp_path / "m.diffgbm")
    np.testing.assert_array_equal(load(tmp_path / "m.diffgbm").predict_distribution(X).points, joint.points)


def test_what_is_said_of_each_response():
    X, y = np.zeros((4, 1)), np.arange(12.0).reshape(4, 3)
    assert given_limits("auto", X, y) == (("auto", None),) * 3
    assert given_limits(None, X, y[:, 0]) == ((None, None),)
    each = given_limits(["auto", (0, None), None], X, y)
    assert [one for one, _ in each] == ["auto", (0, None), None]
    assert [None if limits is None else limits.low for _, limits in each] == [None, 0.0, None]


def test_what_auto_finds():
    rows = np.arange(100)
    positive, any_sign = np.linspace(0.1, 5.0, 100), np.linspace(-1.0, 5.0, 100)
    assert str(find_support("auto", False, positive, rows)) == "at least 0"
    assert find_support("auto", False, any_sign, rows) is None
    assert str(find_support("auto", False, np.repeat(np.arange(10.0), 10), rows)) == "whole numbers at least 0"
    assert not are_counts(np.arange(100.0))  # identifiers or amounts: no number repeats
    zeros = np.append(np.zeros(50), np.linspace(1.0, 2.0, 50))
    assert wanted_atoms(None, (0, None), Support(0.0), zeros) == [0.0]
    assert wanted_atoms(None, (-1, None), Support(-1.0), zeros) is None
    assert wanted_atoms(None, "auto", Support(-1.0), zeros) == [0.0]
    assert wanted_atoms([1.0], (0, None), Support(0.0), zeros) == [1.0]
