"""DaskDiffGBM: conversion, files, recipes and mistakes; predictions survive a worker that dies."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import TimeSeriesSplit

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd

from diffgbm import DiffGBM, load
from diffgbm.dask import DaskDiffGBM
from tests.conftest import tiny, toy
from tests.dask.tables import SMALL
from tests.dask.test_lazy import CUTS, ROWS, cut, named
from tests.dask.test_worker_group import kill_one


@pytest.fixture(scope="module")
def framed():
    X, y = toy()
    return tiny("flow").fit(named(X), pd.Series(y, name="price"))


def test_conversion_both_ways_files_and_pickles(flow_model, tmp_path):
    X = toy(ROWS, seed=1)[0]
    on_cluster = DaskDiffGBM.from_local(flow_model)
    back = on_cluster.to_local()
    assert type(back) is DiffGBM
    assert back.get_params() == flow_model.get_params()
    assert back.model_ is flow_model.model_
    flow_model.save(tmp_path / "local.dgbm")
    on_cluster.save(tmp_path / "cluster.dgbm")
    assert (tmp_path / "local.dgbm").read_bytes() == (tmp_path / "cluster.dgbm").read_bytes()
    loaded = load(tmp_path / "cluster.dgbm")
    assert type(loaded) is DiffGBM
    rows = cut(X, CUTS[1])
    for model in (DaskDiffGBM.from_local(loaded), pickle.loads(pickle.dumps(on_cluster))):
        np.testing.assert_array_equal(model.predict(rows).compute(), flow_model.predict(X))


def test_named_recipes_make_the_class_itself():
    assert type(DaskDiffGBM.flow(seed=1)) is DaskDiffGBM
    assert DaskDiffGBM.score_plus().get_params() == DiffGBM.score_plus().get_params()


def test_mistakes_are_reported_at_once(flow_model, framed):
    X = cut(toy(ROWS, seed=1)[0], CUTS[1])
    with pytest.raises(NotFittedError):
        DaskDiffGBM().predict(X)
    with pytest.raises(NotFittedError):
        DaskDiffGBM().save("nowhere")
    model = DaskDiffGBM.from_local(flow_model)
    with pytest.raises(TypeError, match=r"reads Dask arrays and frames; got X of type numpy.ndarray"):
        model.predict(toy(ROWS)[0])
    with pytest.raises(TypeError, match="got X of type list"):
        model.sample([[1.0]], 3)
    with pytest.raises(ValueError, match="X has 2 features, but DiffGBM is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="n_samples must be an integer >= 1"):
        model.sample(X, 0)
    with pytest.raises(ValueError, match="unseen at fit time"):
        DaskDiffGBM.from_local(framed).predict_std(dd.from_pandas(named(toy(5)[0]).rename(columns={"a": "z"})))


def test_limits_and_counts(client):
    X, y = toy(240)
    counts = np.rint(3.0 * np.abs(y))
    lazy = da.from_array(X, chunks=(80, 3))
    model = DaskDiffGBM.flow(**SMALL, support=(0, None), discrete=True).fit(lazy, da.from_array(counts, chunks=80))
    samples = model.sample(lazy, 20, seed=0).compute()
    np.testing.assert_array_equal(samples, np.abs(np.rint(samples)))
    assert model.predict_interval(lazy).compute().min() >= 0.0


def drifting(n):
    """A table sorted by time, whose response moves on: a model that has seen later days would know where to."""
    rng = np.random.default_rng(0)
    day = np.arange(n) // 12
    walk = np.cumsum(rng.normal(scale=0.3, size=day[-1] + 1))
    X = pd.DataFrame({"mark": walk[day] + 0.01 * rng.normal(size=n), "x": rng.normal(size=n)})
    X["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(day, unit="D")
    return X, X["x"] + rng.normal(size=day[-1] + 1)[day] + 0.1 * rng.normal(size=n)


def test_with_time_no_model_has_seen_the_day_that_it_predicts(client):
    X, y = drifting(1200)
    # sorted by time: a worker has no row of the first windows, and another none of the last
    lazy, response = dd.from_pandas(X, npartitions=4), dd.from_pandas(y, npartitions=4)
    settings = {**SMALL, "extra_residualizer_params": {"n_estimators": 60, "min_child_samples": 3}}
    settings["early_stopping_rounds"] = 5
    with_time = DaskDiffGBM.flow(**settings).fit(lazy, response, time="day")
    assert with_time.feature_names_in_.tolist() == ["mark", "x", "day"]
    without = DaskDiffGBM.flow(**settings).fit(lazy, response)
    assert (with_time.division_[:25], without.division_) == ("Rows are divided by time:", "")
    # each day has an effect that only its own rows tell
    widths = [model.to_local().predict_std(X).mean() for model in (with_time, without)]
    assert widths[0] > 1.2 * widths[1]
    shuffled = X.sample(frac=1.0, random_state=0)
    unsorted = [dd.from_pandas(part.loc[shuffled.index], npartitions=2, sort=False) for part in (X, y)]
    again = DaskDiffGBM.flow(**settings).fit(*unsorted, time=unsorted[0]["day"])
    assert again.to_local().predict_std(X).mean() > 1.2 * widths[1]


def test_one_partition_with_time_and_groups_is_the_local_fit(client):
    X, y = drifting(240)
    X["who"] = np.arange(240) % 30
    lazy, response = dd.from_pandas(X, npartitions=1), dd.from_pandas(y, npartitions=1)
    model = DaskDiffGBM.flow(**SMALL).fit(lazy, response, groups="who", time="day")
    local = DiffGBM.flow(**SMALL).fit(X, y, groups="who", time="day")
    np.testing.assert_array_equal(model.to_local().sample(X, 3, seed=0), local.sample(X, 3, seed=0))
    said = model.to_local().division_
    assert said.startswith("No split divides a group")
    assert "Rows are divided by time" in said
    assert DaskDiffGBM.from_local(local).division_ == local.division_


def test_mistakes_in_time_are_named(client):
    X, y = drifting(240)
    lazy, response = dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3)
    with pytest.raises(ValueError, match=r"time must have a value for each row; \d+ are missing"):
        DaskDiffGBM.flow(**SMALL).fit(lazy, response, time=lazy["day"].where(lazy["x"] > 0.0))
    with pytest.raises(ValueError, match="X and time must have the same partitions; got X with 3 of them, time with 2"):
        DaskDiffGBM.flow(**SMALL).fit(lazy, response, time=dd.from_pandas(X["day"], npartitions=2))
    with pytest.raises(ValueError, match="residualize_k_folds must be a number of folds"):
        DaskDiffGBM.flow(**{**SMALL, "residualize_k_folds": TimeSeriesSplit(3)}).fit(lazy, response, time="day")


def entities(count, rows):
    """Rows of entities, each in all partitions, with an effect that no feature explains; one tells them apart."""
    rng = np.random.default_rng(0)
    entity = np.tile(np.arange(count), rows)
    mark, effect = rng.normal(size=(2, count))
    X = pd.DataFrame({"mark": mark[entity], "x": rng.normal(size=count * rows), "who": [f"e{i}" for i in entity]})
    return X, X["x"] + effect[entity] + 0.1 * rng.normal(size=len(X))


def test_groups_stay_whole_in_all_partitions(client):
    X, y = entities(150, 8)
    lazy, response = dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3)
    settings = {**SMALL, "extra_residualizer_params": {"n_estimators": 60, "min_child_samples": 3}}
    with_groups = DaskDiffGBM.flow(**settings).fit(lazy, response, groups="who")
    assert with_groups.feature_names_in_.tolist() == ["mark", "x"]
    assert with_groups.division_ == "No split divides a group, so that scores are those of new groups."
    # the first-stage model cannot remember the effect of an entity that it has not seen: residuals have it
    without = DaskDiffGBM.flow(**settings).fit(lazy.drop(columns="who"), response)
    widths = [model.to_local().predict_std(X.drop(columns="who")).mean() for model in (with_groups, without)]
    assert widths[0] > 1.2 * widths[1]
    kept = with_groups.predict(lazy).compute()  # the column may stay in the frame
    np.testing.assert_array_equal(kept, with_groups.predict(lazy.drop(columns="who")).compute())
    few = lazy["who"].map(_few, meta=("who", "object"))
    with pytest.raises(ValueError, match=r"at least 100 groups with eval_percent=0.1; got 99"):
        DaskDiffGBM.flow(early_stopping_rounds=5).fit(lazy[["mark", "x"]], response, groups=few)


def _few(name):
    return "e0" if int(name[1:]) > 98 else name


def test_predictions_survive_a_worker_that_dies(client, flow_model):
    X = toy(4000, seed=1)[0]
    lazy = DaskDiffGBM.from_local(flow_model).sample(da.from_array(X, chunks=(100, 3)), 100, seed=0)
    future = client.compute(lazy.mean(axis=0))
    kill_one(client, lambda: any(client.has_what().values()))
    assert future.status == "pending"
    np.testing.assert_allclose(future.result(timeout=300), flow_model.sample(X, 100, seed=0).mean(axis=0), rtol=1e-12)
