"""First-stage models of a table in partitions: put together as those of a table in memory, which is one partition."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("distributed")

from diffgbm.dask.first_stage import PartitionedTable, check_plan
from diffgbm.dask.reading import Part
from diffgbm.data.structure import INDEPENDENT, Structure
from diffgbm.first_stage import MIN_ROWS, Task, assemble, fit_first_stage, plan_first_stage
from diffgbm.first_stage.assembly import residual_moments
from diffgbm.first_stage.cross_fitting import CrossFitted, combine
from diffgbm.fitting.training import seed_integer
from tests.conftest import toy
from tests.dask.tables import InlineGroup

N = 300
SMALL = {"n_estimators": 8, "num_leaves": 6, "min_child_samples": 5}


def partitioned(X, y, cuts, repeats=1, k=4, structure=INDEPENDENT):
    pieces = [np.arange(len(y))[slice(*ends)] for ends in pairwise(cuts)]
    parts = [Part(X[rows], y[rows], None, rows) for rows in pieces]
    sizes = [len(rows) for rows in pieces]
    seed = np.random.SeedSequence(5)
    return PartitionedTable(InlineGroup(len(parts)), parts, sizes, y.shape[1], [], seed, k, repeats, 1, structure)


def in_memory(X, y, repeats=1, k=4):
    return Task(X, y, [], None, k, repeats, 5, 1)


def scale_model(rows, targets):
    """A cross-fitted scale that needs no training: the targets, smoothed."""
    return CrossFitted(lambda X: np.zeros((len(X), 2)), rows.apply(lambda t: 0.5 * t, targets), np.zeros(2))


@pytest.mark.parametrize("has_scale", [False, True])
@pytest.mark.parametrize("has_mean", [False, True])
def test_one_partition_is_assembled_to_the_bits_of_a_table_in_memory(monkeypatch, has_mean, has_scale):
    X, y = toy(N, d=2)
    for kind in (Task, PartitionedTable):
        monkeypatch.setattr(kind, "cross_fit", lambda rows, stage, targets: scale_model(rows, targets))
    mean = 0.3 * y + 0.1 * X[:, :2]
    found = []
    for rows, columns in ((in_memory(X, y), mean), (partitioned(X, y, (0, N)), [mean])):
        fitted = CrossFitted(lambda X: X[:, :2], columns, 0.01 * y.var(axis=0))
        first_stage, values = assemble(
            rows, fitted if has_mean else None, [fitted], "any" if has_mean and has_scale else None
        )
        found.append((first_stage, rows.gather(values)[0]))
    (one, ours), (other, theirs) = found
    for name in ("centre", "residual_scale", "scale_floor", "shrink"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("features", "location", "scale"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert (one.log_scale is not None) == (has_mean and has_scale)


@pytest.mark.parametrize("cuts", [(0, 120, N), (0, 1, 7, 150, N)])
def test_moments_of_partitions_are_those_of_the_table(cuts):
    _, y = toy(N, d=2)
    y[:2] = 50.0
    rows = partitioned(np.empty((N, 0)), y, cuts)
    found, expected = residual_moments(rows, rows.responses), residual_moments(in_memory(np.empty((N, 0)), y), y)
    for name in ("centre", "residual_scale", "variance"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)


def test_predictions_of_partitions_are_combined_as_those_of_the_table():
    X, y = toy(N)
    clean = np.random.default_rng(0).normal(size=(3, N, 1))
    average, gained = combine(in_memory(X, y[:, None], 3), clean)
    parts, total = combine(partitioned(X, y[:, None], (0, 90, N), 3), [clean[:, :90], clean[:, 90:]])
    np.testing.assert_array_equal(np.concatenate(parts), average)
    np.testing.assert_allclose(total, gained, rtol=1e-12)


@pytest.mark.parametrize("residualize", ["mean", "mean_scale"])
def test_a_fit_in_partitions_is_close_to_one_in_memory(residualize):
    X, y = toy(N, d=2)
    plan = plan_first_stage(residualize, "mean", SMALL)
    parts = partitioned(X, y, (0, 120, N), repeats=2)
    ours, values = fit_first_stage(parts, plan)
    theirs, expected = fit_first_stage(in_memory(X, y, repeats=2), plan)
    assert [len(folds) for folds in ours.location.models] == [8, 8]
    np.testing.assert_allclose(ours.residual_scale, theirs.residual_scale, rtol=0.15)
    np.testing.assert_allclose(ours.shrink, theirs.shrink, rtol=0.15)
    for j in range(2):
        locations = np.concatenate([part.location[:, j] for part in values])
        assert np.corrcoef(locations, expected.location[:, j])[0, 1] > 0.9
        np.testing.assert_array_equal(np.concatenate([part.features for part in values]).shape, (N, 2))


@pytest.mark.parametrize("labels", [None, np.arange(N) % 40])
@pytest.mark.parametrize("cuts", [(0, 120, N), (0, 20, 250, N)])
def test_by_time_no_model_has_seen_the_future_of_a_row(labels, cuts):
    X, y = toy(N, d=2)
    order = np.random.default_rng(0).permutation(N) // 3
    structure = Structure(labels, order)
    rows = partitioned(X, y, cuts, structure=structure)
    task = replace(in_memory(X, y), structure=structure, seed=seed_integer(rows.seed))
    stage = plan_first_stage("mean", None, SMALL).subtracted
    fitted = rows.cross_fit(stage, rows.responses)
    found = np.concatenate(fitted.out_of_fold)
    # the same rows are predicted as in memory, and the model of new rows is the one of all rows
    np.testing.assert_array_equal(np.isnan(found).any(axis=1), ~np.isin(np.arange(N), task.held_out))
    assert [len(models) for models in fitted.predictor.models] == [1, 1]
    expected = stage.cross_fit(task)
    assert np.corrcoef(found[task.held_out, 0], expected.out_of_fold[task.held_out, 0])[0, 1] > 0.9
    # other responses from some time on change no prediction up to then
    late = order >= 60
    targets = [np.where(late[part.positions, None], -part.y, part.y) for part in rows.parts]
    changed = np.concatenate(rows.cross_fit(stage, targets).out_of_fold)
    early = order <= order[late].min()
    np.testing.assert_array_equal(changed[early], found[early])
    assert (changed[order > 80] != found[order > 80]).mean() > 0.9


def test_a_scale_by_time_is_fitted_where_the_mean_is_known():
    X, y = toy(N, d=2)
    rows = partitioned(X, y, (0, 40, 200, N), structure=Structure(None, np.arange(N)))
    first_stage, values = fit_first_stage(rows, plan_first_stage("mean_scale", None, SMALL))
    known = np.concatenate([np.isin(np.arange(len(v.location)), v.known(np.arange(len(v.location)))) for v in values])
    # 5 windows, of whose last 4 the first of 5 has no scale
    np.testing.assert_array_equal(known, np.arange(N) >= 108)
    assert np.isfinite(first_stage.residual_scale).all()


def test_few_rows_are_fitted_without_a_first_stage():
    X, y = toy(MIN_ROWS - 1)
    rows = partitioned(X, y[:, None], (0, 30, MIN_ROWS - 1))
    with pytest.warns(match=f"at least {MIN_ROWS} rows and got {MIN_ROWS - 1}"):
        first_stage, values = fit_first_stage(rows, plan_first_stage("mean", None, SMALL))
    assert first_stage is None
    residuals = [found.residuals(part.y) for found, part in zip(values, rows.parts, strict=True)]
    np.testing.assert_array_equal(np.concatenate(residuals)[:, 0], y)


def test_samples_take_their_share_of_each_partition():
    X, y = toy(N)
    rows = partitioned(X, y[:, None], (0, 100, N))
    assert rows.shares(30) == [10, 20]
    assert rows.shares(10**6, copies=4) == [400, 800]
    np.testing.assert_array_equal(rows.sample(rows.responses)[:, 0], y)


@pytest.mark.parametrize(
    ("residualize", "features", "params", "message"),
    [
        ("gp", None, None, "other first-stage models need it in memory"),
        ("mean", "cdf", None, "other first-stage models need it in memory"),
        ("mean", None, {"early_stopping_rounds": 3}, "leave early_stopping_rounds out"),
    ],
)
def test_plans_that_need_the_table_in_memory_are_refused(residualize, features, params, message):
    with pytest.raises(ValueError, match=message):
        check_plan(plan_first_stage(residualize, features, params), "it")
