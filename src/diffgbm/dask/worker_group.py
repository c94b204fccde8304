"""The workers that train together, seen from the client: which worker holds which partition, and are all still there.

LightGBM's learners wait for each other forever when one of them dies, and Dask waits for the worker that held the
rows to come back. So the client watches: if a worker leaves, it cancels the tasks of the others, restarts those
that are stuck inside LightGBM, and raises ``ClusterError``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn
from urllib.parse import urlparse

import lightgbm as lgb

from diffgbm._util.errors import ClusterError
from diffgbm._util.optional import need
from diffgbm.dask.network import TIME_OUT, Link, free_port, is_at_work

Future = Any

POLL = 0.5
"""Seconds between two checks of the workers."""
TRANSFER = 60.0
"""Seconds that a result may take from a worker to here before the workers are checked again."""
GRACE = 5.0
"""Seconds in which the scheduler notices that a worker is gone, or a worker that its peer is."""
LEAST_ROWS = 100
"""A worker with fewer rows costs more in messages than it contributes, and may have no row of a fold."""


def assign(rows: Sequence[int], n_workers: int) -> list[int]:
    """Assign consecutive partitions to workers: about as many rows to each, and to none fewer than ``LEAST_ROWS``.

    Returns the worker of each partition; workers that get none come last.
    """
    total = max(1, sum(rows))
    share = total / max(1, min(n_workers, total // LEAST_ROWS))
    groups: list[list[int]] = []
    before, last = 0, -1
    for n in rows:
        group = int((before + n / 2) / share)
        before += n
        if group > last:
            groups.append([])
            last = group
        groups[-1].append(n)
    for i in reversed(range(1, len(groups))):
        if sum(groups[i]) < LEAST_ROWS:
            groups[i - 1 : i + 1] = [groups[i - 1] + groups[i]]
    if len(groups) > 1 and sum(groups[0]) < LEAST_ROWS:
        groups[:2] = [groups[0] + groups[1]]
    return [i for i, group in enumerate(groups) for _ in group]


@dataclass(frozen=True)
class WorkerGroup:
    """Workers and the partitions that they hold.

    Attributes
    ----------
    client : distributed.Client
        The connection to them.
    assigned : tuple of str
        Address of the worker of each partition.
    threads : dict of int
        Threads of each worker.
    born : dict of str
        Identifies the process of each worker: another one may come back at the same address.
    made : list of Future
        Tasks submitted to them, to be released.
    """

    client: Any
    assigned: tuple[str, ...]
    threads: dict[str, int]
    born: dict[str, str]
    made: list[Future] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, client: Any, rows: Sequence[int], threads: dict[str, int]) -> WorkerGroup:
        """Assign partitions of ``rows`` rows each to the workers."""
        addresses = list(threads)
        assigned = tuple(addresses[i] for i in assign(rows, len(addresses)))
        present = _present(client)
        return cls(client, assigned, threads, {address: present.get(address, "") for address in assigned})

    def regrouped(self, rows: Sequence[int]) -> WorkerGroup:
        """Assign other partitions, of ``rows`` rows each, to the same workers; one that was lost before is lost."""
        other = WorkerGroup.of(self.client, rows, self.threads)
        return replace(other, born={at: self.born.get(at, born) for at, born in other.born.items()})

    @property
    def workers(self) -> list[str]:
        """Addresses of the workers that hold partitions, in order."""
        return list(dict.fromkeys(self.assigned))

    def per_part(self, function: Callable[..., Any], *columns: Sequence[Any], **common: Any) -> list[Future]:
        """Call ``function`` for each partition, with its entries of ``columns``, where it is held."""
        return [self.at(at, function, *row, **common) for at, *row in zip(self.assigned, *columns, strict=True)]

    def per_worker(
        self, function: Callable[..., Any], *columns: Sequence[Any], time_out: int = TIME_OUT, **common: Any
    ) -> list[Future]:
        """Call ``function`` once on each worker, with lists of its entries of ``columns``, its ``link`` and threads."""
        links = self._links(time_out)
        futures = []
        for at in self.workers:
            held = [[v for v, holder in zip(column, self.assigned, strict=True) if holder == at] for column in columns]
            here = {"link": links.get(at), "threads": self.threads[at], "is_first": at == self.assigned[0]}
            futures.append(self.at(at, function, *held, **here, **common))
        return futures

    def at(self, address: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        """Call ``function`` on one worker."""
        where = {"workers": [address], "allow_other_workers": False, "pure": False}
        self.made.append(self.client.submit(function, *arguments, **options, **where))
        return self.made[-1]

    def keep_only(self, *kept: Sequence[Future]) -> None:
        """Release all other tasks, so that the workers free their results."""
        keys = {future.key for futures in kept for future in futures}
        for future in self.made:
            if future.key not in keys:
                future.release()
        self.made[:] = [future for future in self.made if future.key in keys]

    def split(self, futures: Sequence[Future], pick: Callable[[Any, int], Any]) -> list[Future]:
        """Return for each partition ``pick(result of its worker, number among that worker's partitions)``."""
        by_worker = dict(zip(self.workers, futures, strict=True))
        number = [self.assigned[:i].count(at) for i, at in enumerate(self.assigned)]
        return self.per_part(pick, [by_worker[at] for at in self.assigned], number)

    def results(self, futures: Sequence[Future]) -> list[Any]:
        """Wait for results and bring them here."""
        self.wait(futures)
        return [self._result(future, futures) for future in futures]

    def wait(self, futures: Sequence[Future]) -> None:
        """Wait for results; raise the first error, or ``ClusterError`` if a worker is lost."""
        distributed = need("distributed")
        ended = False
        while not ended:
            with suppress(distributed.TimeoutError):
                distributed.wait(list(futures), timeout=POLL)
                ended = True
            failed = [future for future in futures if future.status in ("error", "cancelled", "lost")]
            if failed or self.lost():
                self._fail(futures, failed)

    def lost(self) -> list[str]:
        """Addresses of workers that are gone or were restarted."""
        present = _present(self.client)
        return [address for address, born in self.born.items() if present.get(address) != born]

    def _result(self, future: Future, futures: Sequence[Future]) -> Any:
        timed_out = need("distributed").TimeoutError
        while True:
            with suppress(timed_out):
                return future.result(timeout=TRANSFER)
            if self.lost():
                self._fail(futures, [])

    def _links(self, time_out: int) -> dict[str, Link]:
        workers = self.workers
        if len(workers) == 1:
            return {}
        if busy := [at for at, answer in self._at_work().items() if answer is True]:
            raise ClusterError(
                f"Another fit is training on {', '.join(busy)}: LightGBM has one network for each process. Wait for "
                "it, or give the two fits different workers=."
            )
        ports = self.client.run(free_port, workers=workers, on_error="return")
        if any(not isinstance(ports.get(at), int) for at in workers):
            self._fail([], [])
        machines = tuple(f"{urlparse(at).hostname}:{ports[at]}" for at in workers)
        return {at: Link(machines, ports[at], time_out) for at in workers}

    def _fail(self, futures: Sequence[Future], failed: Sequence[Future]) -> NoReturn:
        """Cancel everything, make the workers usable again and raise."""
        error = next((future.exception() for future in failed if future.status == "error"), None)
        is_death = isinstance(error, need("distributed").KilledWorker)
        lost = self._lost_by_now(error is None or is_death or isinstance(error, lgb.basic.LightGBMError))
        self.client.cancel(list(futures), force=True)
        # the other workers may be waiting for the one that failed
        stuck = self._restart_stuck()
        if error is not None and not lost and not is_death and "ocket" not in str(error):
            raise error
        raise ClusterError(_message(lost, stuck, error)) from error

    def _lost_by_now(self, suspected: bool) -> list[str]:
        """Lost workers. A peer may notice before the scheduler does: if a loss is ``suspected``, wait for it."""
        deadline = time.monotonic() + GRACE * suspected
        while not (lost := self.lost()) and time.monotonic() < deadline:
            time.sleep(POLL / 5)
        return lost

    def _restart_stuck(self) -> list[str]:
        """End workers that stay inside LightGBM, for their nannies to restart; return those that have no nanny."""
        deadline = time.monotonic() + GRACE
        # a worker that does not answer is asked again
        while not _all_free(answers := self._at_work()) and time.monotonic() < deadline:
            time.sleep(POLL / 5)
        stuck = [at for at, answer in answers.items() if answer is True]
        nannies = {at: worker["nanny"] for at, worker in _workers(self.client).items()}
        watched = [at for at in stuck if nannies.get(at)]
        if watched:
            # only the system can end a thread that waits in LightGBM
            self.client.run(os._exit, 1, workers=watched, on_error="ignore")
        deadline = time.monotonic() + GRACE
        while set(watched) - set(self.lost()) and time.monotonic() < deadline:
            time.sleep(POLL / 5)
        return [at for at in stuck if at not in watched]

    def _at_work(self) -> dict[str, Any]:
        """Ask each worker that is there whether it is inside LightGBM's network; return its answer or its error."""
        present = [at for at in self.workers if at not in self.lost()]
        answers: dict[str, Any] = {}
        if present:
            answers = self.client.run(is_at_work, workers=present, on_error="return")
        return {at: answers.get(at) for at in present}


def _all_free(answers: dict[str, Any]) -> bool:
    return all(answer is False for answer in answers.values())


def _present(client: Any) -> dict[str, str]:
    """Return the directory, which is new for each process, of each worker by its address."""
    return {address: str(worker["local_directory"]) for address, worker in _workers(client).items()}


def _workers(client: Any) -> dict[str, Any]:
    """Return what the scheduler knows of each worker, by its address."""
    workers: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    return workers


def _message(lost: Sequence[str], stuck: Sequence[str], error: BaseException | None) -> str:
    if lost:
        who = f"Worker{'s' if len(lost) > 1 else ''} {', '.join(lost)} left the cluster during the fit"
    else:
        who = f"The workers lost each other during the fit ({error})" if error else "The fit was cancelled"
    rest = f" {', '.join(stuck)} still wait inside LightGBM and have no nanny: restart them." if stuck else ""
    return f"{who}. LightGBM cannot go on without the rows that they held; nothing was fitted, fit again.{rest}"
