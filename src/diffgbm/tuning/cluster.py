"""Trials of a search on a Dask cluster: one on each worker, told to the study in the order in which they began.

A trial is asked for once the one as many places before it as there are workers has been told. What Optuna knows when it
chooses then depends on the number of workers and not on which of them is fast: the same seed gives the same trials.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.dask.worker_group import the_client, workers_of
from diffgbm.tuning.objective import Objective
from diffgbm.tuning.trials import Budget, StudyStatus, begin, close_abandoned, end, end_failed, end_interrupted, status


def search_on(client: Any, study: Any, objective: Objective, budget: Budget, bar: Any) -> None:
    """Run trials on the workers until the budget is spent; what one raises is its own failure."""
    client = the_client(client)
    window = len(workers_of(client))
    close_abandoned(study)
    shared = client.scatter(objective, broadcast=True, hash=False)
    at_work: deque[tuple[Any, Any, float]] = deque()
    done = status(study)
    bar.update(done.finite)
    try:
        while True:
            while len(at_work) < window and _may_begin(status(study), budget):
                trial = begin(study, objective, status(study).place)
                at_work.append((trial, _submit(client, shared, objective, study, trial), time.perf_counter()))
            if not at_work:
                return
            _settle(study, *at_work[0])
            at_work.popleft()
            now = status(study)
            bar.update(now.finite - done.finite)
            done = now
    except BaseException:
        for trial, future, _ in at_work:
            if future is not None:
                future.cancel()
                end_interrupted(study, trial)
        raise


def _may_begin(now: StudyStatus, budget: Budget) -> bool:
    """Whether a trial may begin: not if those at work could spend the budget."""
    if now.is_spent(budget):
        return False
    if budget.n_trials is None:
        return True
    return now.finite + now.running < budget.n_trials and now.place < 2 * budget.n_trials


def _submit(client: Any, shared: Any, objective: Objective, study: Any, trial: Any) -> Any:
    """Choose the arguments here and send them to a worker; ``None`` if there is no choosing them."""
    started = time.perf_counter()
    try:
        params = objective.arguments(trial)
    except Exception as error:
        end_failed(study, trial, time.perf_counter() - started, error)
        return None
    return client.submit(_scores, shared, params, pure=False)


def _scores(objective: Objective, params: Mapping[str, Any]) -> tuple[Array, float]:
    """Score arguments on a worker with its threads; return the scores of the splits and the seconds."""
    started = time.perf_counter()
    threads = need("distributed").get_worker().state.nthreads
    return replace(objective, n_jobs=threads).scores(params), time.perf_counter() - started


def _settle(study: Any, trial: Any, future: Any, began: float) -> None:
    """Wait for a trial and tell the study how it ended."""
    if future is None:
        return
    try:
        scores, seconds = future.result()
    except Exception as error:
        end_failed(study, trial, time.perf_counter() - began, error)
    else:
        end(study, trial, seconds, Objective.noted(trial, scores))
