"""Dispatch work to processes from a queue, the most important units first. A result may add more units."""

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


def dispatch(
    units: Sequence[Unit],
    work: Callable[[Unit], Result],
    done: Callable[[Unit, Result], Sequence[Unit]],
    *,
    lost: Callable[[Unit], None] = lambda unit: None,
    jobs: int = 1,
    threads: int = 1,
    stop: Callable[[], bool] = lambda: False,
) -> list[Unit]:
    """Do all units, ``jobs`` at a time, and return the units that were not started because of ``stop``.

    Parameters
    ----------
    units : sequence
        The work, the most important unit first.
    work : callable
        Does one unit and must not raise. With several jobs it runs in another process, so it must be picklable.
    done : callable
        Called in this process with every unit and its result. The units it returns come next in the queue.
    lost : callable
        Called with every unit whose process died twice. The second attempt ran alone.
    jobs : int
        Number of processes; 1 does all units in this process.
    threads : int
        Threads of the libraries in each process.
    stop : callable
        Called before each unit. If it returns true, the remaining units are not done.
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
                # one at a time: the unit that kills its process must not take others with it
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
    """Work on the queue with one pool. If a process dies, the pool breaks: return the units in progress."""
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
    # spawned, not forked: a fork inherits locks of library threads that do not exist in it
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_die_with_parent)


def _die_with_parent() -> None:
    """End this process when its parent ends, even by SIGKILL."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    """Set the number of threads for processes that start inside the block."""
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
