"""Streaming: any blocks give the predictions of the whole table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from diffgbm import ConformalDiffGBM, stream
from diffgbm.data.parquet import from_parquet
from tests.conftest import tiny, toy

arrow = pytest.importorskip("pyarrow")
write_table = pytest.importorskip("pyarrow.parquet").write_table

METHODS = {
    "predict": {},
    "predict_interval": {"coverage": 0.8},
    "predict_quantiles": {"alpha": [0.1, 0.5]},
    "predict_std": {},
    "predict_cdf": {"y": 0.7},
    "sample": {"n_samples": 4, "seed": 3},
}


@pytest.fixture(scope="module")
def table():
    X, y = toy(100)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 0.4, "large", "small"))
    return frame, y


@pytest.fixture(scope="module")
def model(table):
    return tiny("published", n_steps=5).fit(*table)


def joined(parts, method):
    return np.concatenate([np.asarray(part) for part in parts], axis=1 if method == "sample" else 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", [7, 33, 1000])
def test_blocks_of_any_size_give_the_whole_table(method, rows, flow_model, sde_model):
    X = toy(70, seed=5)[0]
    for one in (flow_model, sde_model):
        whole = getattr(one, method)(X, **METHODS[method])
        parts = list(stream(one, X, method, rows=rows, **METHODS[method]))
        assert len(parts) == -(-70 // rows)
        np.testing.assert_array_equal(joined(parts, method), whole)


@pytest.mark.parametrize("method", METHODS)
def test_every_source_gives_the_same(method, table, model, tmp_path):
    frame, y = table
    folder = tmp_path / "parts"
    folder.mkdir()
    whole = arrow.Table.from_pandas(frame.astype({"kind": str}).assign(y=y), preserve_index=False)
    write_table(whole.slice(0, 45), folder / "0.parquet")
    write_table(whole.slice(45), folder / "1.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    sources = [
        frame,
        pl.DataFrame(frame),
        (frame[first : first + 30] for first in range(0, 100, 30)),
        [frame[:99], frame[99:]],
        folder,
        str(tmp_path / "t.csv"),
        from_parquet(folder, "y")[0],
    ]
    expected = np.asarray(getattr(model, method)(frame, **METHODS[method]))
    for source in sources:
        found = joined(stream(model, source, method, rows=17, **METHODS[method]), method)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
def test_dask_collections_are_computed_one_partition_after_another(method, table, model, flow_model):
    dask = pytest.importorskip("dask.dataframe")
    lazy = dask.from_pandas(table[0], npartitions=4)
    empty = lazy.partitions[0][lazy.partitions[0]["a"] > 9.0]
    lazy = dask.concat([lazy.partitions[:2], empty, lazy.partitions[2:]])
    expected = np.asarray(getattr(model, method)(table[0], **METHODS[method]))
    np.testing.assert_array_equal(joined(stream(model, lazy, method, rows=17, **METHODS[method]), method), expected)
    X = toy(70, seed=5)[0]
    chunked = pytest.importorskip("dask.array").from_array(X, chunks=(19, 2))
    expected = np.asarray(getattr(flow_model, method)(X, **METHODS[method]))
    np.testing.assert_array_equal(joined(stream(flow_model, chunked, method, **METHODS[method]), method), expected)


def test_dask_collections_are_never_held_whole(table, model):
    dask = pytest.importorskip("dask")
    seen = []

    @dask.delayed
    def partition(first):
        seen.append(first)
        return table[0][first : first + 25]

    frames = pytest.importorskip("dask.dataframe")
    lazy = frames.from_delayed([partition(first) for first in range(0, 100, 25)], meta=table[0][:0], verify_meta=False)
    parts = stream(model, lazy, "predict")
    for k in range(1, 5):
        next(parts)
        assert seen == list(range(0, 25 * k, 25))


def test_frames_keep_their_labels(table, model):
    frame = table[0].set_index(np.arange(100) * 3)
    parts = list(stream(model, frame, "predict_interval", rows=40))
    pd.testing.assert_frame_equal(pd.concat(parts), model.predict_interval(frame))


def test_distributions_of_a_map(flow_model, tmp_path):
    X = toy(50)[0]
    np.save(tmp_path / "X.npy", X)
    distributions = list(
        stream(flow_model, np.load(tmp_path / "X.npy", mmap_mode="r"), "predict_distribution", rows=20)
    )
    assert [len(distribution) for distribution in distributions] == [20, 20, 10]
    np.testing.assert_array_equal(
        np.concatenate([distribution.values for distribution in distributions]), flow_model.predict_dist(X).values
    )


def test_samples_without_a_seed_share_one(flow_model):
    """Equal rows in different blocks have different noise, as in one call."""
    X = np.repeat(toy(1)[0], 3, axis=0)
    first, second, third = stream(flow_model, X, "sample", rows=1, n_samples=5)
    assert len({first.tobytes(), second.tobytes(), third.tobytes()}) == 3
    again = np.concatenate(list(stream(flow_model, X, "sample", rows=2, n_samples=5)), axis=1)
    assert not np.array_equal(np.concatenate([first, second, third], axis=1), again)


def test_calibrated_models(flow_model):
    X, y = toy(200, seed=1)
    model = ConformalDiffGBM(flow_model, cv="prefit").fit(X, y)
    ends = np.concatenate([np.asarray(part) for part in stream(model, X, "predict_interval", rows=30, coverage=0.8)])
    np.testing.assert_array_equal(ends, np.asarray(model.predict_interval(X, coverage=0.8)))
    one, two = (np.concatenate(list(stream(model, X, "sample", rows=r, n_samples=3, seed=0)), axis=1) for r in (200, 7))
    np.testing.assert_array_equal(one, two)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        list(stream(model, X, "sample", n_samples=3, n_steps=2))


def test_sampler_arguments_are_passed_on(flow_model):
    X = toy(20)[0]
    whole = flow_model.sample(X, 3, seed=0, n_steps=2)
    np.testing.assert_array_equal(
        joined(stream(flow_model, X, "sample", rows=6, n_samples=3, seed=0, n_steps=2), "sample"), whole
    )


def test_one_block_is_read_at_a_time(flow_model):
    taken = []

    def source():
        for first in range(5):
            taken.append(first)
            yield toy(10)[0]

    results = stream(flow_model, source(), "predict")
    assert taken == []
    next(results)
    assert taken == [0]


def test_refusals(flow_model):
    with pytest.raises(ValueError, match=r"method must be one of .*Did you mean 'predict_interval'"):
        stream(flow_model, toy(5)[0], "predict_intervals")
    with pytest.raises(ValueError, match="rows must be an integer >= 1"):
        stream(flow_model, toy(5)[0], rows=0)
    with pytest.raises(TypeError, match="A lazy frame has no rows yet"):
        next(stream(flow_model, pl.LazyFrame({"a": [1.0]})))
