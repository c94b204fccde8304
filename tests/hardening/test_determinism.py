"""Same seed, same bits.

The predictive distribution of a row (``predict_*``, ``predict_distribution``) depends only on the model and the row. A
sample depends on the seed, the row, its position in the table (``first_row`` + i), the sample's number and the step.
Neither depends on the batch, the threads, the process, the library of the table, or on saving and loading.
"""

import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

import diffgbm
from tests.auto.tiny_auto import TINY, auto, small_trees  # noqa: F401
from tests.conftest import tiny, toy
from tests.persistence.fixture_models import FIXTURES

N = 150
X, Y = toy(N)
Y2 = toy(N, d=2)[1]
SAMPLES = 5
MODELS = {
    "flow": lambda **p: tiny("flow", **p).fit(X, Y),
    "sde": lambda **p: tiny("published", n_steps=10, **p).fit(X, Y),
    "joint": lambda **p: tiny("flow", **p).fit(X, Y2),
    "bags": lambda **p: tiny("flow", n_bags=3, bag_mix="mixture", **p).fit(X, Y),
}


@pytest.fixture(scope="module", params=sorted(MODELS))
def model(request):
    return MODELS[request.param]()


def bits(model, rows=X, **arguments):
    """Samples, means and quantiles: random and deterministic results."""
    return (
        model.sample(rows, SAMPLES, seed=11, **arguments).tobytes(),
        model.predict(rows).tobytes(),
        np.asarray(model.predict_quantiles(rows)).tobytes(),
    )


@pytest.mark.parametrize("threads", [2, 7])
def test_threads(model, threads):
    one = bits(model)
    try:
        model.set_params(n_jobs=threads)
        assert bits(model) == one
    finally:
        model.set_params(n_jobs=1)


@pytest.mark.parametrize("size", [33, 64])
def test_batches(model, size):
    starts = range(0, N, size)
    drawn = [model.sample(X[i : i + size], SAMPLES, seed=11, first_row=i) for i in starts]
    np.testing.assert_array_equal(np.concatenate(drawn, axis=1), model.sample(X, SAMPLES, seed=11))
    means = [model.predict(X[i : i + size]) for i in starts]
    np.testing.assert_array_equal(np.concatenate(means), model.predict(X))


def test_each_row_keeps_its_distribution_in_any_order(model):
    order = np.random.default_rng(0).permutation(N)
    np.testing.assert_array_equal(model.predict(X[order]), model.predict(X)[order])
    np.testing.assert_array_equal(model.predict_quantiles(X[order]), model.predict_quantiles(X)[order])
    np.testing.assert_array_equal(model.predict_interval(X[::-1]), model.predict_interval(X)[::-1])


def test_samples_depend_on_positions(model):
    """Random numbers depend on the position, the distribution on the row: a row alone at its position is the same."""
    other = X[::-1].copy()
    other[7] = X[7]
    samples, alone = model.sample(X, SAMPLES, seed=11), model.sample(X[7:8], SAMPLES, seed=11, first_row=7)
    np.testing.assert_array_equal(model.sample(other, SAMPLES, seed=11)[:, 7], samples[:, 7])
    np.testing.assert_array_equal(alone[:, 0], samples[:, 7])
    assert (model.sample(X[7:8], SAMPLES, seed=11) != alone).any()


@pytest.mark.parametrize(
    "same",
    [
        lambda X: X.tolist(),
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X.astype("longdouble"),
        pd.DataFrame,
        lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
        lambda X: pl.DataFrame(X, schema=["a", "b", "c"]).lazy(),
        lambda X: pa.table(dict(zip("abc", X.T, strict=True))),
    ],
    ids=["list", "Fortran", "strided", "long doubles", "pandas", "polars", "lazy", "Arrow"],
)
def test_libraries(model, same):
    rows = same(X)
    samples = model.sample(X, SAMPLES, seed=11)
    np.testing.assert_array_equal(model.sample(rows, SAMPLES, seed=11), samples)
    np.testing.assert_array_equal(model.predict(rows), model.predict(X))


@pytest.mark.parametrize("kind", ["pandas", "polars", "Arrow"])
def test_a_fit_to_a_frame_is_the_fit_to_its_numbers(kind):
    columns = dict(zip("abc", X.T, strict=True))
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "Arrow": pa.table}[kind](columns)
    result = tiny("flow").fit(frame, Y).sample(frame, SAMPLES, seed=11)
    np.testing.assert_array_equal(result, MODELS["flow"]().sample(X, SAMPLES, seed=11))


def test_pickling_saving_and_loading(model, tmp_path):
    model.save(tmp_path / "m.dgbm")
    loaded = diffgbm.load(tmp_path / "m.dgbm")
    loaded.save(tmp_path / "again.dgbm")
    for twin in (pickle.loads(pickle.dumps(model)), loaded, diffgbm.load(tmp_path / "again.dgbm")):
        assert bits(twin) == bits(model)


ELSEWHERE = """
import hashlib, sys, numpy as np, diffgbm
model, X = diffgbm.load(sys.argv[1]), np.load(sys.argv[2])
model.set_params(n_jobs=int(sys.argv[3]))
print(hashlib.sha256(model.sample(X, 5, seed=11).tobytes() + model.predict(X).tobytes()).hexdigest())
"""


def test_processes(tmp_path):
    """Another process, with another hash seed and more threads."""
    model = MODELS["joint"]()
    model.save(tmp_path / "m.dgbm")
    np.save(tmp_path / "X.npy", X)
    words = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "m.dgbm"), str(tmp_path / "X.npy"), "2"]
    env = {**os.environ, "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "1"}
    there = subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout
    here = sha256(model.sample(X, SAMPLES, seed=11).tobytes() + model.predict(X).tobytes()).hexdigest()
    assert there == here + "\n"


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_fitting_again_gives_the_same_trees(kind):
    first, second = MODELS[kind](), MODELS[kind]()
    assert [b.model_to_string() for b in first.boosters_] == [b.model_to_string() for b in second.boosters_]
    assert bits(first) == bits(second)


def test_fitting_does_not_depend_on_what_was_fitted_before():
    first = bits(MODELS["flow"]())
    np.random.seed(5)  # noqa: NPY002  # the global random state is neither used nor changed
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    MODELS["sde"]()
    assert bits(MODELS["flow"]()) == first
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("first_stage", ["off", "mean", "gp"])
def test_fitting_does_not_depend_on_threads(first_stage):
    """From 1,024 rows on LightGBM adds up in several threads; a few trees, because these wait for each other."""
    rows, y = toy(300)
    first = {"mean": {"n_estimators": 2}}.get(first_stage)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two, again = (
            tiny("flow", n_jobs=n, n_estimators=2, residualize=first_stage, extra_residualizer_params=first).fit(
                rows, y
            )
            for n in (1, 2, 2)
        )
    assert bits(one, rows) == bits(two, rows)
    assert bits(two, rows) == bits(again, rows)


@pytest.mark.parametrize("first_stage", ["gp", "stack", MLPRegressor(hidden_layer_sizes=(32, 32), max_iter=5)])
def test_nothing_depends_on_the_threads_of_linear_algebra(first_stage):
    """The number of threads depends on the machine and changes the order of additions in matrix products."""
    rows, y = toy(300)
    result = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result.append(
                bits(tiny("flow", residualize=first_stage, extra_residualizer_params=None).fit(rows, y), rows)
            )
    assert result[0] == result[1] == result[2]


def test_automatic_fits_do_not_depend_on_the_threads_of_linear_algebra():
    rows, y = toy(300)
    with_process = replace(TINY, first_stage_models=("lightgbm", "gp_matern"), gp_rows=300)
    result = []
    for threads in (1, 3):
        with threadpool_limits(threads, user_api="blas"):
            result.append(bits(auto(with_process).fit(rows, y), rows))
    assert result[0] == result[1]


@pytest.mark.parametrize("name", ["mean_scale", "conformal"])
def test_digests_of_stored_files_can_be_computed(name):
    """The files of the tests are where ``python -m reliability digests`` looks for them."""
    from reliability import digest_cases

    assert set(digest_cases.STORED) == {path.stem.removeprefix("version1_") for path in FIXTURES.glob("*.dgbm")}
    parts = digest_cases.CASES[f"stored_{name}"]()
    np.testing.assert_array_equal(parts["quantiles"], parts["loaded quantiles"])
