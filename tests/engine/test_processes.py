"""The same numbers however a request is divided, and wherever it runs."""

import multiprocessing
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from diffgbm.engine import Draws, TreeSum, make_engine

from . import models

SAMPLES = 300
"""More than are integrated together."""


@pytest.fixture(scope="module", params=[1, 2])
def request_(request):
    """An integrator, rows and the whole answer."""
    integrator = make_engine([models.group(request.param, 1, 1)], "collapse").prepare(models.step_table(1))
    X = models.rows(150, 0)
    return integrator, X, integrator(X, Draws(SAMPLES, 42))


def test_blocks_of_rows(request_):
    integrator, X, whole = request_
    for size in (1, 63, 64, 100):
        parts = [integrator(X[i : i + size], Draws(SAMPLES, 42, first_row=i)) for i in range(0, len(X), size)][:5]
        done = np.concatenate(parts)
        np.testing.assert_array_equal(done, whole[: len(done)])


def test_parts_of_samples(request_):
    integrator, X, whole = request_
    for size in (1, 7, 256):
        for first in (0, 3, 290):
            part = integrator(X[:9], Draws(min(size, SAMPLES - first), 42, first_sample=first))
            np.testing.assert_array_equal(part, whole[:9, first : first + size])


def test_rows_do_not_depend_on_their_company(request_):
    integrator, X, whole = request_
    other = X.copy()
    other[::2] = models.rows(75, 9, awkward=0.5)
    np.testing.assert_array_equal(integrator(other, Draws(SAMPLES, 42))[1::2], whole[1::2])


def test_shared_noise(request_):
    integrator, X, whole = request_
    twins = np.repeat(X[:1], 3, axis=0)
    np.testing.assert_array_equal(
        integrator(twins, Draws(SAMPLES, 42, first_row=70, shared=True)), np.repeat(whole[:1], 3, axis=0)
    )


def test_input_may_be_read_only_or_strided(request_):
    integrator, X, whole = request_
    frozen = np.asfortranarray(X[:10])
    frozen.flags.writeable = False
    np.testing.assert_array_equal(integrator(frozen, Draws(SAMPLES, 42)), whole[:10])


def test_eight_threads_at_once(request_):
    integrator, X, whole = request_
    with ThreadPoolExecutor(8) as pool:
        for answer in pool.map(lambda _: integrator(X, Draws(SAMPLES, 42)), range(16)):
            np.testing.assert_array_equal(answer, whole)


def test_worker_processes(request_):
    integrator, X, whole = request_
    answers = joblib.Parallel(n_jobs=2)(joblib.delayed(integrator)(X, Draws(SAMPLES, 42)) for _ in range(2))
    for answer in answers:
        np.testing.assert_array_equal(answer, whole)


def sample_and_count(engine, X):
    """Samples, and for how many kinds of arguments the kernel was compiled; runs in a worker."""
    samples = engine.prepare(models.step_table(1))(X, Draws(3, 1))
    from diffgbm.engine import _prune_kernels, _scalar_kernels

    kernels = _prune_kernels.prune_trees, _scalar_kernels.integrate_block
    return samples, [len(kernel.signatures) for kernel in kernels]


def test_read_only_maps_are_not_compiled_for():
    engine, X = make_engine([models.group(1, 1, 1)], "collapse"), models.rows(9, 0)
    here, _ = sample_and_count(engine, X)
    with joblib.Parallel(n_jobs=2, max_nbytes=100) as parallel:
        for samples, compiled in parallel(joblib.delayed(sample_and_count)(engine, X) for _ in range(2)):
            np.testing.assert_array_equal(samples, here)
            assert compiled == [1, 1]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_fork(request_):
    integrator, X, whole = request_
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        for answer in pool.starmap(integrator, [(X, Draws(SAMPLES, 42))] * 2):
            np.testing.assert_array_equal(answer, whole)


@pytest.mark.parametrize("kind", ["collapse", "lightgbm"])
def test_engines_survive_pickling(kind):
    engine = make_engine([models.group(2, 1, 1)], kind)
    again = pickle.loads(pickle.dumps(engine))
    X, steps = models.rows(5, 0), models.step_table(1)
    np.testing.assert_array_equal(again.prepare(steps)(X, Draws(4, 1)), engine.prepare(steps)(X, Draws(4, 1)))


def test_tree_sum_survives_pickling():
    trees = TreeSum([models.booster(0, 0, 1)])
    X = models.rows(70, 0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(trees))(X), trees(X))


def test_no_rows_and_no_samples(request_):
    integrator, X, whole = request_
    assert integrator(X[:0], Draws(5, 1)).shape == (0, 5, whole.shape[2])
    assert integrator(X, Draws(0, 1)).shape == (len(X), 0, whole.shape[2])
