"""Trials of ``DiffGBMCV`` on a Dask cluster: one on each worker, recorded in the order in which they began.

Trial ``k`` begins after trial ``k - n_workers`` was recorded. What Optuna knows when it chooses therefore depends on
the number of workers and not on their speed: the same seed gives the same trials.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from diffgbm._util.dask_client import the_client, workers_of
from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.tuning.objective import Objective
from diffgbm.tuning.studies import Budget, Study
from diffgbm.tuning.trials import message_of


def search_on(client: Any, study: Study, objective: Objective, budget: Budget, bar: Any) -> None:
    """Run trials on the workers until the budget is spent; an exception in a trial makes it a failed one."""
    client = the_client(client)
    n_workers = len(workers_of(client))
    study = replace(study, counts_running=True)
    shared = client.scatter(objective, broadcast=True, hash=False)
    running: deque[tuple[Any, Any, float]] = deque()
    done = study.status()
    bar.update(done.finite)
    try:
        while True:
            while len(running) < n_workers:
                trial = study.claim(budget, objective.corners(), (objective.seed,))
                if trial is None:
                    break
                running.append((trial, _submit(client, shared, objective, study, trial), time.perf_counter()))
            if not running:
                return
            _record(study, *running[0])
            running.popleft()
            now = study.status()
            bar.update(now.finite - done.finite)
            done = now
    except BaseException:
        for trial, future, _ in running:
            if future is not None:
                future.cancel()
                study.abandon(trial)
        raise


def _submit(client: Any, shared: Any, objective: Objective, study: Study, trial: Any) -> Any:
    """Choose the arguments here and send them to a worker; ``None`` if choosing them failed."""
    started = time.perf_counter()
    try:
        params = objective.arguments(trial)
    except Exception as error:
        study.finish(trial, None, time.perf_counter() - started, message_of(error))
        return None
    return client.submit(_scores, shared, params, pure=False)


def _scores(objective: Objective, params: Mapping[str, Any]) -> tuple[Array, float]:
    """Score arguments on a worker with its threads; return the scores of the splits and the seconds."""
    started = time.perf_counter()
    threads = need("distributed").get_worker().state.nthreads
    return replace(objective, n_jobs=threads).scores(params), time.perf_counter() - started


def _record(study: Study, trial: Any, future: Any, began: float) -> None:
    """Wait for a trial and record how it ended."""
    if future is None:
        return
    try:
        scores, seconds = future.result()
    except Exception as error:
        study.finish(trial, None, time.perf_counter() - began, message_of(error))
    else:
        study.finish(trial, Objective.record(trial, scores), seconds)
