"""The same numbers however a request is divided, and wherever it runs."""

import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from diffgbm.engine import Draws, make_engine

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


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_fork(request_):
    integrator, X, whole = request_
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        for answer in pool.starmap(integrator, [(X, Draws(SAMPLES, 42))] * 2):
            np.testing.assert_array_equal(answer, whole)
