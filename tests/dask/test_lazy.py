"""Lazy predictions are those of the local model, partition by partition, computed by Dask's synchronous scheduler."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd

import dask
from diffgbm.dask import DaskDiffGBM
from tests.conftest import tiny, toy

pytestmark = pytest.mark.usefixtures("synchronous")
ROWS = 40


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def named(X):
    return pd.DataFrame(X, columns=["a", "b", "c"], index=pd.Index(np.arange(len(X)) * 2, name="id"))


@pytest.fixture(scope="module")
def framed():
    X, y = toy()
    return tiny("flow").fit(named(X), pd.Series(y, name="price"))


@pytest.fixture(scope="module")
def framed_two():
    X, y = toy(d=2)
    return tiny("flow").fit(named(X), pd.DataFrame(y, columns=["u", "v"]))


def cut(X, sizes):
    """Cut an array; a size of zero is an empty partition."""
    return da.from_array(X, chunks=(tuple(sizes), X.shape[1]))


def forget_sizes(array):
    """Return an array whose chunk sizes are not known."""
    return array[da.ones(len(array), chunks=array.chunks[0], dtype=bool)]


CUTS = [(ROWS,), (13, 20, 7), (0, 25, 0, 15)]
ASKED = [
    ("predict", {}),
    ("predict_median", {}),
    ("predict_std", {}),
    ("predict_quantiles", {"alpha": [0.1, 0.9]}),
    ("predict_interval", {"coverage": 0.8}),
    ("predict_cdf", {"y": 0.3}),
]


@pytest.mark.parametrize("sizes", CUTS)
@pytest.mark.parametrize("responses", ["flow_model", "two_responses"])
def test_arrays_get_the_local_answers_in_the_same_chunks(request, responses, sizes):
    local = request.getfixturevalue(responses)
    X = toy(ROWS, seed=1)[0]
    model, rows = DaskDiffGBM.from_local(local), cut(X, sizes)
    for method, options in ASKED:
        lazy = getattr(model, method)(rows, **options)
        assert lazy.chunks[0] == sizes
        expected = getattr(local, method)(X, **options)
        assert lazy.shape == expected.shape
        np.testing.assert_array_equal(lazy.compute(), expected)


@pytest.mark.parametrize("model", ["framed", "framed_two"])
def test_frames_get_frames_with_their_labels_and_divisions(request, model):
    local = request.getfixturevalue(model)
    X = named(toy(ROWS, seed=1)[0])
    rows = dd.from_pandas(X, npartitions=3)
    for method, options in ASKED[1:]:
        lazy, expected = (
            getattr(DaskDiffGBM.from_local(local), method)(rows, **options),
            getattr(local, method)(X, **options),
        )
        assert lazy.divisions == rows.divisions
        compare = pd.testing.assert_series_equal if expected.ndim == 1 else pd.testing.assert_frame_equal
        compare(lazy.compute(), expected)
        compare(lazy._meta, expected.iloc[:0])
    np.testing.assert_array_equal(DaskDiffGBM.from_local(local).predict(rows).compute(), local.predict(X))


def test_frames_may_have_empty_partitions_and_other_orders_of_columns(framed):
    X = named(toy(ROWS, seed=1)[0])
    rows = dd.from_pandas(X[["c", "a", "b"]], npartitions=4)
    some = rows.map_partitions(lambda part: part[part.index >= 60])
    assert (some.map_partitions(len).compute() == 0).any()
    found = DaskDiffGBM.from_local(framed).predict_interval(some).compute()
    pd.testing.assert_frame_equal(found, framed.predict_interval(X[X.index >= 60]))
    none = rows.map_partitions(lambda part: part[:0])
    assert len(DaskDiffGBM.from_local(framed).predict_interval(none).compute()) == 0


@pytest.mark.parametrize("local", ["sde_model", "two_responses"])
@pytest.mark.parametrize("sizes", CUTS)
def test_samples_are_those_of_the_whole_table_for_any_partitions(request, local, sizes):
    local = request.getfixturevalue(local)
    X = toy(ROWS, seed=1)[0]
    expected = local.sample(X, 6, seed=3, n_steps=4)
    model = DaskDiffGBM.from_local(local)
    lazy = model.sample(cut(X, sizes), 6, seed=3, n_steps=4)
    assert lazy.chunks[1] == sizes
    np.testing.assert_array_equal(lazy.compute(), expected)
    unknown = model.sample(forget_sizes(cut(X, sizes)), 6, seed=3, n_steps=4)
    assert np.isnan(unknown.shape[1])
    np.testing.assert_array_equal(unknown.compute(), expected)
    later = model.sample(cut(X[10:], (5, 25)), 6, seed=3, n_steps=4, first_row=10)
    np.testing.assert_array_equal(later.compute(), expected[:, 10:])


def test_samples_of_a_frame_count_its_rows_when_they_are_computed(framed):
    X = named(toy(ROWS, seed=1)[0])
    lazy = DaskDiffGBM.from_local(framed).sample(dd.from_pandas(X, npartitions=3), 4, seed=0)
    assert lazy.numblocks == (1, 3)
    np.testing.assert_array_equal(lazy.compute(), framed.sample(X, 4, seed=0))


def test_samples_without_a_seed_differ_between_calls_and_not_within(flow_model):
    X = cut(toy(ROWS, seed=1)[0], CUTS[1])
    model = DaskDiffGBM.from_local(flow_model)
    first, second = model.sample(X, 3), model.sample(X, 3)
    np.testing.assert_array_equal(first.compute(), first.compute())
    assert (first.compute() != second.compute()).any()


@pytest.mark.parametrize("local", ["flow_model", "two_responses"])
def test_lazy_distributions_are_the_local_ones(request, local):
    local = request.getfixturevalue(local)
    X = toy(ROWS, seed=1)[0]
    expected = local.predict_distribution(X, grid=16)
    distributions = DaskDiffGBM.from_local(local).predict_distribution(cut(X, CUTS[2]), grid=16)
    at = 0.2 if local.model_.n_responses == 1 else [0.2, 0.4]
    for name, arguments in (
        ("mean", ()),
        ("median", ()),
        ("std", ()),
        ("quantile", ([0.2, 0.5],)),
        ("quantile", (0.3,)),
        ("interval", (0.7, "highest_density")),
        ("cdf", (at,)),
    ):
        lazy, right = getattr(distributions, name)(*arguments), getattr(expected, name)(*arguments)
        assert lazy.shape == right.shape
        np.testing.assert_array_equal(lazy.compute(), right)
    whole = distributions.compute()
    assert type(whole) is type(expected)
    np.testing.assert_array_equal(whole.mean(), expected.mean())


@pytest.mark.parametrize("d", [None, 2])
def test_scores_need_the_responses_in_the_same_partitions(flow_model, two_responses, d):
    local = flow_model if d is None else two_responses
    X, y = toy(ROWS, d=d, seed=1)
    model = DaskDiffGBM.from_local(local)
    rows, truth = cut(X, CUTS[2]), da.from_array(y, chunks=(ROWS // 2, *y.shape[1:]))
    np.testing.assert_array_equal(model.crps(rows, truth).compute(), local.crps(X, y))
    np.testing.assert_allclose(model.compute_nll(rows, truth).compute(), local.compute_nll(X, y), rtol=1e-12)
    assert model.score(rows, truth) == pytest.approx(local.score(X, y))
    if d is None:
        np.testing.assert_array_equal(model.predict_cdf(rows, truth).compute(), local.predict_cdf(X, y))
    with pytest.raises(TypeError, match="must be a Dask collection"):
        model.predict_cdf(rows, np.zeros(ROWS))


def test_scores_of_frames_have_their_labels(framed):
    X, y = toy(ROWS, seed=1)
    X = named(X)
    y = pd.Series(y, index=X.index, name="price")
    found = DaskDiffGBM.from_local(framed).crps(dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3))
    pd.testing.assert_series_equal(found.compute(), framed.crps(X, y))
