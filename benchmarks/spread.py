"""Spread work over processes: a queue in order of importance, whose results may bring more work."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

Unit = TypeVar("Unit")
Result = TypeVar("Result")

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(
    units: Sequence[Unit],
    work: Callable[[Unit], Result],
    done: Callable[[Unit, Result], Sequence[Unit]],
    *,
    lost: Callable[[Unit], None] = lambda unit: None,
    jobs: int = 1,
    threads: int = 1,
    stop: Callable[[], bool] = lambda: False,
) -> list[Unit]:
    """Do all units, ``jobs`` at a time, and return those that ``stop`` left undone.

    Parameters
    ----------
    units : sequence
        What is to be done, the most important first.
    work : callable
        Does one; must not raise. With several jobs it runs in another process, so it must be picklable.
    done : callable
        Told of every result, here; what it returns is done next.
    lost : callable
        Told of every unit under which a process died twice, the second time alone.
    jobs : int
        Processes; 1 does everything in this one.
    threads : int
        What the libraries inside a process are told to use.
    stop : callable
        Asked before a unit is begun; true leaves the rest undone.
    """
    queue = list(units)
    if jobs == 1:
        while queue and not stop():
            unit = queue.pop(0)
            queue[:0] = done(unit, work(unit))
        return queue
    with _environment(threads):
        while queue and not stop():
            for unit in _until_broken(queue, work, done, jobs, stop):
                # alone, so that the one that kills its process takes no other with it
                with _pool(1) as pool:
                    future = pool.submit(work, unit)
                if isinstance(future.exception(), BrokenProcessPool):
                    lost(unit)
                else:
                    queue[:0] = done(unit, future.result())
    return queue


def _until_broken(
    queue: list[Unit],
    work: Callable[[Unit], Result],
    done: Callable[[Unit, Result], Sequence[Unit]],
    jobs: int,
    stop: Callable[[], bool],
) -> list[Unit]:
    """Empty the queue with one pool; if a process dies, which breaks the pool, return the units that were at work."""
    at_work: dict[Future[Result], Unit] = {}
    with _pool(jobs) as pool:
        try:
            while True:
                while queue and len(at_work) < jobs and not stop():
                    at_work[pool.submit(work, queue[0])] = queue[0]
                    queue.pop(0)
                if not at_work:
                    return []
                finished, _ = wait(at_work, return_when=FIRST_COMPLETED)
                for future in finished:
                    result = future.result()
                    queue[:0] = done(at_work.pop(future), result)
        except BrokenProcessPool:
            return list(at_work.values())


def _pool(jobs: int) -> ProcessPoolExecutor:
    # fresh processes: forked ones inherit threads and locks of libraries that do not survive it
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_die_with_parent)


def _die_with_parent() -> None:
    """End this process when its parent ends, even by a signal that nobody can catch."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    """Tell the processes that are started in this block how many threads to use."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
