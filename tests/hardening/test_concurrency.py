"""Concurrency: threads that sample while others fit, processes, event loops, and the number of threads."""

import asyncio
import io
import multiprocessing
import os
import re
import subprocess
import sys
import threading
import tokenize
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import diffgbm
from diffgbm import load
from tests.conftest import tiny, toy

X, Y = toy(130)
FEW = {"n_estimators": 5, "n_repeats": 2}


def samples_of(model, seed):
    """Samples and means; runs in workers."""
    return model.sample(X, 4, seed=seed), model.predict(X)


@pytest.fixture(scope="module")
def model():
    return tiny("flow", **FEW).fit(X, Y)


@pytest.fixture(scope="module")
def alone(model):
    """Predictions of the model without concurrency."""
    return [samples_of(model, seed) for seed in range(4)]


def assert_same(result, expected):
    for one, other in zip(result, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_sample_while_others_fit(model, alone):
    fitted = tiny("flow", **FEW, residualize="off").fit(X, Y).predict(X)
    begin = threading.Barrier(6)

    def sample(seed):
        begin.wait()
        return [samples_of(model, seed) for _ in range(5)]

    def fit(seed):
        begin.wait()
        return [tiny("flow", **FEW, residualize="off").fit(X, Y).predict(X) for _ in range(3)]

    with ThreadPoolExecutor(6) as pool:
        drawing = [pool.submit(sample, seed) for seed in range(4)]
        fitting = [pool.submit(fit, seed) for seed in range(2)]
        for seed, job in enumerate(drawing):
            for result in job.result():
                assert_same(result, alone[seed])
        for job in fitting:
            for result in job.result():
                np.testing.assert_array_equal(result, fitted)


def test_one_estimator_is_fitted_again_while_it_predicts(model):
    """A call uses the old model or the new one, never a mixture."""
    estimator = tiny("flow", **FEW, residualize="off")
    answers = {estimator.fit(X, response).predict(X).tobytes() for response in (Y, -Y)}
    assert len(answers) == 2
    stop, seen = threading.Event(), set()

    def ask():
        while not stop.is_set():
            seen.add(estimator.predict(X).tobytes())

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    for response in (Y, -Y, Y, -Y):
        estimator.fit(X, response)
    stop.set()
    for thread in asking:
        thread.join()
    assert seen
    assert seen <= answers


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib(model, alone, backend):
    result = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(samples_of)(model, seed) for seed in range(4))
    for one, expected in zip(result, alone, strict=True):
        assert_same(one, expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(model, alone, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method}")
    with multiprocessing.get_context(method).Pool(2) as pool:
        for result, expected in zip(pool.starmap(samples_of, [(model, s) for s in range(4)]), alone, strict=True):
            assert_same(result, expected)


def fit_and_predict(_):
    return tiny("flow", **FEW, residualize="off").fit(X, Y).predict(X)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fitting_after_a_fork(model):
    """The parent has fitted, with LightGBM's threads if it has any; its children fit as well."""
    expected = fit_and_predict(0)
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("there is no fork")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for result in pool.map_async(fit_and_predict, range(2)).get(timeout=300):
            np.testing.assert_array_equal(result, expected)


def test_asyncio(model, alone):
    async def main():
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(3) as pool:
            return await asyncio.gather(*(loop.run_in_executor(pool, samples_of, model, seed) for seed in range(4)))

    for result, expected in zip(asyncio.run(main()), alone, strict=True):
        assert_same(result, expected)


COUNT = """
import os, sys, threading
import numpy as np
from diffgbm import DiffGBM

rng = np.random.default_rng(0)
X = rng.uniform(size=(700, 4))
y = X[:, 0] + rng.standard_normal(700)
most, stop = [0], threading.Event()

def tasks():
    return len(os.listdir("/proc/self/task"))

def watch():
    while not stop.wait(0.001):
        most[0] = max(most[0], tasks())

before = tasks()
watcher = threading.Thread(target=watch)
watcher.start()
small = {"n_repeats": 2, "n_estimators": 3, "early_stopping_rounds": None, "seed": 0}
for jobs in map(int, sys.argv[1:]):
    model = DiffGBM.flow(**small, n_jobs=jobs, extra_residualizer_params={"n_estimators": 2}).fit(X, y)
    model.sample(X, 20, seed=0)
    model.predict(X)
    most[0] = max(most[0], tasks())
    # without the watcher
    print(most[0] - before - 1)
stop.set()
watcher.join()
"""


def threads_of(jobs, omp):
    """Largest number of threads that fitting and sampling with each number of jobs add to a process."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    env.pop("OMP_NUM_THREADS", None)
    if omp is not None:
        env["OMP_NUM_THREADS"] = str(omp)
    words = [sys.executable, "-c", COUNT, *map(str, jobs)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
def test_no_more_threads_than_requested():
    assert threads_of([-1], omp=1) == [0]
    one, two = threads_of([1, 2], omp=None)
    assert one == 0
    # two of LightGBM, two that sample, and two of the call before that may not have ended yet on a busy machine
    assert 1 <= two <= 6


PROCESS_WIDE = re.compile(
    r"catch_warnings|simplefilter|filterwarnings|showwarning|os\.environ\[[^]]*\] *=[^=]|"
    r"environ\.(setdefault|update|pop)|putenv|chdir|umask|signal\.signal|matplotlib\.use|"
    r"switch_backend|rcParams|np\.seterr\b|set_printoptions|setlocale|"
    r"setrecursionlimit|field_size_limit|set_cpu_count|threadpool_limits|random\.seed\("
)


def test_only_the_command_changes_what_belongs_to_the_process():
    """``warnings.catch_warnings`` included: where two blocks overlap in threads, it leaves its filters for good."""
    source = Path(diffgbm.__file__).parent
    files = [path for path in source.rglob("*.py") if PROCESS_WIDE.search(_code(path))]
    # the process of a command or of a server is its own; ContextVar and SharedChange are for all others
    ours = {"cli/entry.py", "cli/output.py", "serving/server.py"}
    assert {path.relative_to(source).as_posix() for path in files} <= ours


def _code(path):
    """Return a file without its comments and strings."""
    words = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return "".join(word.string for word in words if word.type not in (tokenize.COMMENT, tokenize.STRING))


def test_files_loaded_in_threads_leave_the_warnings_alone(model, tmp_path):
    model.save(tmp_path / "m.dgbm")
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: load(tmp_path / "m.dgbm"), range(40)))
    assert list(warnings.filters) == before


def test_overlapping_fits_leave_the_threads_of_linear_algebra_alone():
    with threadpool_limits(3, user_api="blas"):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: tiny("flow", seed=seed).fit(*toy()), range(8)))
        found = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    assert found == {3}
