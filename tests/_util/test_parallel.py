import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from diffgbm._util.parallel import ROWS, block_rows, map_blocks, n_threads, one_blas_thread


class Bar:
    def __init__(self):
        self.n = 0

    def update(self, n):
        self.n += n


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("rows", "size"), [(1, 64), (64, 64), (65, 64), (1000, 64)])
def test_every_row_is_done_once(rows, size, threads):
    done, lock, bar = np.zeros(rows, int), threading.Lock(), Bar()

    def work(first, last):
        with lock:
            done[first:last] += 1

    map_blocks(work, rows, size, threads, bar)
    assert (done == 1).all()
    assert bar.n == rows


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_block_is_an_error_of_the_call(threads):
    def work(first, last):
        raise RuntimeError("lost a row")

    with pytest.raises(RuntimeError, match="lost a row"):
        map_blocks(work, 1000, 64, threads, Bar())


@given(st.integers(1, 10**7), st.integers(1, 10**6), st.integers(1, 64))
def test_blocks_are_multiples_of_64_of_bounded_size(per_row, rows, threads):
    size = block_rows(per_row, rows, threads)
    assert size % ROWS == 0
    assert size >= ROWS
    assert size == ROWS or size * per_row <= 1_000_000


def test_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert n_threads(1) == 1
    assert n_threads(3) == 3
    assert n_threads(None) == 1
    assert n_threads(-1) >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_threads(-1) == 1
    assert n_threads(3) == 3


@pytest.mark.parametrize("bad", [0, 1.5, "all", True])
def test_bad_n_jobs(bad):
    with pytest.raises(ValueError, match=f"n_jobs must be a non-zero integer or None; got {bad!r}"):
        n_threads(bad)


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_linear_algebra_has_one_thread_and_then_as_many_as_before():
    with threadpool_limits(3, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() == {1}
            with one_blas_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {3}


def test_an_error_lifts_the_limit():
    @one_blas_thread()
    def fail():
        assert blas_threads() == {1}
        raise RuntimeError("singular")

    with threadpool_limits(3, user_api="blas"):
        with pytest.raises(RuntimeError, match="singular"):
            fail()
        assert blas_threads() == {3}


def test_the_limit_holds_for_threads_that_help():
    found = []
    with threadpool_limits(3, user_api="blas"), one_blas_thread():
        map_blocks(lambda first, last: found.append(blas_threads()), 1000, 64, 3, Bar())
    assert found == [{1}] * len(range(0, 1000, 64))


@pytest.mark.parametrize("first_out", [0, 1])
def test_the_limit_ends_with_the_last_of_overlapping_blocks(first_out):
    with threadpool_limits(3, user_api="blas"):
        blocks = [one_blas_thread(), one_blas_thread()]
        for block in blocks:
            block.__enter__()
        blocks[first_out].__exit__(None, None, None)
        assert blas_threads() == {1}
        blocks[1 - first_out].__exit__(None, None, None)
        assert blas_threads() == {3}
