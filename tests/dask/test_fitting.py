"""Fits on two processes: the same model as in memory within sampling error."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")
import dask.dataframe as dd
import distributed

from diffgbm import DiffGBM, DiffGBMWarning, load
from diffgbm.dask import ClusterError, DaskDiffGBM
from tests.conftest import tiny, toy
from tests.dask.tables import SMALL, cut


def test_uneven_and_empty_partitions_give_the_local_model_within_sampling_error(client):
    X, y = toy(1200)
    test_X, test_y = toy(1000, seed=1)
    lazy = cut(X, y, (0, 500, 100, 0, 350, 250))

    def scores(models):
        """CRPS, and the share that a 90% interval covers, of models that were fitted with several seeds."""
        ends = [model.predict_interval(test_X, 0.9).T for model in models]
        covered = [np.mean((low <= test_y) & (test_y <= high)) for low, high in ends]
        return np.array([model.crps(test_X, test_y).mean() for model in models]), np.array(covered)

    params = [{**SMALL, "n_estimators": 40, "early_stopping_rounds": 10, "seed": seed} for seed in range(8)]
    ours = [DaskDiffGBM.flow(**p).fit(*lazy, client=client).to_local() for p in params[:3]]
    local = [DiffGBM.flow(**p).fit(X, y) for p in params]
    for found, expected in zip(scores(ours), scores(local), strict=True):
        error = expected.std(ddof=1) * np.sqrt(1 / len(ours) + 1 / len(local))
        assert abs(found.mean() - expected.mean()) < 4.0 * error
    one, other = ours[0].model_, local[0].model_
    np.testing.assert_allclose(one.response.location, other.response.location, rtol=1e-12)
    np.testing.assert_allclose(one.response.scale, other.response.scale, rtol=1e-12)
    np.testing.assert_allclose(one.first_stage.residual_scale, other.first_stage.residual_scale, rtol=0.1)
    assert len(one.first_stage.location.models[0]) == len(other.first_stage.location.models[0]) == 5


def test_other_workers_change_rounding_errors_and_the_same_workers_nothing(client):
    X, y = cut(*toy(1000), (250, 250, 250, 250))
    params = {**SMALL, "residualize": "off"}
    both, again = (DaskDiffGBM.flow(**params).fit(X, y, client=client).to_local() for _ in range(2))
    one = DaskDiffGBM.flow(**params).fit(X, y, client=client, workers=sorted(client.nthreads())[:1]).to_local()
    rows = toy(50, seed=1)[0]
    np.testing.assert_array_equal(both.predict(rows), again.predict(rows))
    np.testing.assert_allclose(both.predict(rows), one.predict(rows), rtol=1e-6, atol=1e-9)


def test_one_partition_is_fitted_as_a_table_in_memory_to_the_last_bit(client):
    X, y = toy(150)
    params = {**SMALL, "first_stage_features": "cdf", "n_bags": 2}
    ours = DaskDiffGBM.flow(**params).fit(*cut(X, y, (0, 150)), client=client).to_local()
    local = DiffGBM.flow(**params).fit(X, y)
    np.testing.assert_array_equal(ours.sample(X, 5, seed=0), local.sample(X, 5, seed=0))


def framed(n, seed=0):
    rng = np.random.default_rng(seed)
    towns = np.array(["Bern", "Chur", "Thun", "Zug"])
    town = np.sort(rng.integers(0, 4, n))  # each partition has only a few of the towns
    x = rng.uniform(size=n)
    X = pd.DataFrame({"x": np.where(rng.random(n) < 0.1, np.nan, x), "town": pd.Categorical(towns[town])})
    y = pd.DataFrame({"u": town + x + 0.2 * rng.standard_normal(n), "v": -2.0 * town + 0.2 * rng.standard_normal(n)})
    return X, y, pd.Series(np.where(rng.random(n) < 0.3, 0.0, 1.0 + x), name="w")


def test_frames_with_categories_missing_values_weights_and_two_responses(client, tmp_path):
    X, y, w = framed(600)
    lazy = [dd.from_pandas(part, npartitions=3, sort=False) for part in (X, y, w)]
    lazy[0] = lazy[0].assign(town=lazy[0]["town"].cat.as_unknown())
    params = {**SMALL, "residualize": "mean_scale", "residualize_repeats": 2, "residualize_k_folds": 2}
    model = DaskDiffGBM.flow(**params, first_stage_features="mean").fit(*lazy[:2], sample_weight=lazy[2], client=client)
    assert model.model_.features.levels == (None, ("Bern", "Chur", "Thun", "Zug"))
    assert model.feature_names_in_.tolist() == ["x", "town"]
    assert model.model_.response_names == ("u", "v")
    fresh, truth, _ = framed(300, seed=5)
    answers = dd.from_pandas(fresh, npartitions=2)
    found = model.predict_median(answers).compute()
    assert found.columns.tolist() == ["u_median", "v_median"]
    errors = np.abs(found.to_numpy() - truth.to_numpy()).mean(axis=0)
    assert (errors < 0.25 * truth.std().to_numpy()).all()
    model.save(tmp_path / "model.dgbm")
    loaded = DaskDiffGBM.from_local(load(tmp_path / "model.dgbm"))
    samples = loaded.sample(answers, 3, seed=1)
    np.testing.assert_array_equal(samples.compute(), model.to_local().sample(fresh, 3, seed=1))


def test_few_rows_are_fitted_without_a_first_stage_and_its_path_to_the_data(client):
    X, y = toy(60, d=2)
    estimator = DaskDiffGBM(**SMALL, sde_initialize_from_data=True)
    with pytest.warns(DiffGBMWarning, match="at least 80 rows and got 60"):
        estimator.fit(*cut(X, y, (20, 40)), client=client)
    local = tiny("default", residualize="off", sde_initialize_from_data=True).fit(X, y)
    assert estimator.model_.first_stage is None
    assert estimator.recipe_.path.high == pytest.approx(local.recipe_.path.high)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"residualize": "stack"}, "fits residualize='off', 'mean' or 'mean_scale'"),
        ({"first_stage_features": "cdf"}, "first_stage_features=None or 'mean'"),
        ({"n_bags": 3}, "fits one bag"),
        ({"extra_residualizer_params": {"early_stopping_rounds": 5}}, "leave early_stopping_rounds out"),
        ({"extra_lightgbm_params": {"tree_learner": "serial"}}, "must be one of 'data', 'voting'"),
        ({"n_repeats": 0}, "n_repeats must be an integer >= 1"),
    ],
)
def test_options_that_need_the_table_in_memory_are_refused(client, params, message):
    with pytest.raises(ValueError, match=message):
        DaskDiffGBM.flow(**params).fit(*cut(*toy(300), (150, 150)), client=client)


def test_mistakes_in_the_data_come_back_as_they_are(client):
    X, y = toy(300)
    y[200] = np.nan
    with pytest.raises(ValueError, match="Partition 1: y must be finite"):
        DaskDiffGBM.flow(**SMALL).fit(*cut(X, y, (150, 150)), client=client)
    with pytest.raises(ClusterError, match="has no worker 'tcp://nobody'"):
        DaskDiffGBM.flow(**SMALL).fit(*cut(*toy(300), (150, 150)), client=client, workers=["tcp://nobody"])


def test_without_a_client_there_is_an_error():
    assert not distributed.client._global_clients
    with pytest.raises(ClusterError, match=r"There is no Dask client: make one first"):
        DaskDiffGBM.flow(**SMALL).fit(*cut(*toy(300), (150, 150)))
    with pytest.raises(TypeError, match=r"client must be a dask.distributed.Client"):
        DaskDiffGBM.flow(**SMALL).fit(*cut(*toy(300), (150, 150)), client="tcp://somewhere")
