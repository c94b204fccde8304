"""Dispatch work to the workers of a Dask cluster, as ``dispatch`` does to processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from benchmarks.layout import ResultsError
from diffgbm._util.optional import need

Unit = TypeVar("Unit")
Result = TypeVar("Result")


def dispatch_at(address: str, *arguments: Any, **options: Any) -> list[Any]:
    """Connect to the scheduler at ``address`` and call ``dispatch_on``."""
    try:
        client = need("distributed").Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        raise ResultsError(f"no Dask scheduler could be reached at {address!r}: {error}") from None
    with client:
        return dispatch_on(client, *arguments, **options)


def dispatch_on(
    client: Any,
    units: Sequence[Unit],
    work: Callable[[Unit], Result],
    done: Callable[[Unit, Result], Sequence[Unit]],
    *,
    lost: Callable[[Unit], None] = lambda unit: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Unit]:
    """Do all units, one at a time on each worker, and return the units that were not started because of ``stop``.

    The arguments are those of ``dispatch``. If a worker dies, Dask moves its unit to another worker; ``lost`` is called
    for a unit that killed several workers. Every worker needs access to the directories of data and results and must be
    able to import ``benchmarks``.
    """
    distributed = need("distributed")
    queue = list(units)
    at_work: dict[Any, Unit] = {}
    while True:
        while queue and len(at_work) < max(1, len(client.nthreads())) and not stop():
            at_work[client.submit(work, queue[0], pure=False)] = queue[0]
            queue.pop(0)
        if not at_work:
            return queue
        finished = distributed.wait(list(at_work), return_when="FIRST_COMPLETED").done
        for future in finished:
            unit = at_work.pop(future)
            if isinstance(future.exception(), distributed.KilledWorker):
                lost(unit)
            else:
                queue[:0] = done(unit, future.result())
