"""Trials of a search in an Optuna study: within a budget, shared by processes, picked up after any interruption.

The sampler's seed depends on the study's seed and on the trial's place alone, so that a search that was interrupted
goes on as if it had not been. A trial that failed has its seconds on record. One that was interrupted has none: it does
not count, and its place is tried again; but a place that ended ``MOST_DEATHS`` processes counts as failed.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffgbm._util.optional import need
from diffgbm.tuning.objective import Objective
from diffgbm.tuning.search_spaces import Params

MOST_DEATHS = 3
"""Interruptions at one place that count as a failed trial: it may be the trial that causes them."""


@dataclass(frozen=True)
class Budget:
    """Limits of a whole study: finite trials (and twice as many attempts), and seconds spent in trials."""

    n_trials: int | None
    timeout: float | None


@dataclass(frozen=True)
class StudyStatus:
    """What a study has spent: trials by outcome, trials at work now, and the seconds of those that ended."""

    finite: int
    failed: int
    running: int
    seconds: float

    @property
    def place(self) -> int:
        """Place of the next trial."""
        return self.finite + self.failed + self.running

    def is_spent(self, budget: Budget) -> bool:
        """Whether no trial may begin any more; one attempt is made however short the time."""
        ended = self.finite + self.failed
        if budget.n_trials is not None and (self.finite >= budget.n_trials or ended >= 2 * budget.n_trials):
            return True
        return budget.timeout is not None and ended > 0 and self.seconds >= budget.timeout


def status(study: Any) -> StudyStatus:
    """Count a study's trials."""
    states = need("optuna").trial.TrialState
    trials = study.get_trials(deepcopy=False)
    deaths = Counter(t.user_attrs["place"] for t in trials if _was_interrupted(t) and "place" in t.user_attrs)
    return StudyStatus(
        finite=sum(t.state == states.COMPLETE for t in trials),
        failed=sum(_has_failed(t) for t in trials) + sum(n // MOST_DEATHS for n in deaths.values()),
        running=sum(t.state == states.RUNNING for t in trials),
        seconds=float(sum(t.user_attrs.get("seconds", 0.0) for t in trials)),
    )


def search(study: Any, objective: Objective, budget: Budget, bar: Any) -> None:
    """Run trials until the budget is spent; whatever one raises is its own failure, except the wish to stop."""
    close_abandoned(study)
    done = status(study)
    bar.update(done.finite)
    while not done.is_spent(budget):
        trial = begin(study, objective, done.place)
        _attempt(study, trial, objective)
        now = status(study)
        if now.finite:
            bar.set_postfix_str(f"CRPS {study.best_value:.4g}", refresh=False)
        bar.update(now.finite - done.finite)
        done = now


def begin(study: Any, objective: Objective, place: int) -> Any:
    """Ask for the trial of a place."""
    optuna = need("optuna")
    corners = objective.corners()
    if place < len(corners) and not study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.WAITING,)):
        study.enqueue_trial(corners[place])
    state = np.random.SeedSequence([objective.seed, place]).generate_state(1)[0]
    study.sampler = optuna.samplers.TPESampler(seed=int(state))
    trial = study.ask()
    trial.set_user_attr("place", place)
    trial.set_user_attr("process", [socket.gethostname(), os.getpid()])
    return trial


def _attempt(study: Any, trial: Any, objective: Objective) -> None:
    started = time.perf_counter()
    try:
        score = objective(trial)
    except Exception as error:
        end_failed(study, trial, time.perf_counter() - started, error)
    except BaseException:
        end_interrupted(study, trial)
        raise
    else:
        end(study, trial, time.perf_counter() - started, score)


def end(study: Any, trial: Any, seconds: float, score: float) -> None:
    """Record a trial that succeeded."""
    trial.set_user_attr("seconds", seconds)
    study.tell(trial, score)


def end_failed(study: Any, trial: Any, seconds: float, error: BaseException) -> None:
    """Record a trial that failed."""
    trial.set_user_attr("error", f"{type(error).__name__}: {error}")
    trial.set_user_attr("seconds", seconds)
    study.tell(trial, state=need("optuna").trial.TrialState.FAIL)


def end_interrupted(study: Any, trial: Any) -> None:
    """Record a trial that was not let end; it does not count."""
    study.tell(trial, state=need("optuna").trial.TrialState.FAIL)


def close_abandoned(study: Any) -> None:
    """Close the trials that a process of this machine left running when it was killed."""
    optuna = need("optuna")
    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        host, process = trial.user_attrs.get("process", (None, None))
        if host == socket.gethostname() and not _is_alive(process):
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # elsewhere to ask is to kill
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def open_study(storage: Any, name: str | None, default_name: str) -> Iterator[Any]:
    """Open a study, or make it, with Optuna's own messages switched off for as long as the block lasts.

    ``storage`` is Optuna's, its address, the path of an SQLite file, or ``None`` for memory.
    """
    optuna = need("optuna")
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        if isinstance(storage, os.PathLike):
            storage = sqlite_storage(Path(storage))
        if storage is not None and name is None:
            name = default_name
        yield optuna.create_study(storage=storage, study_name=name, load_if_exists=storage is not None)
    except optuna.exceptions.StorageInternalError as error:
        raise OSError(f"The trials cannot be kept: {error.__cause__ or error}") from error
    finally:
        optuna.logging.set_verbosity(verbosity)


def sqlite_storage(path: Path) -> Any:
    """Return Optuna's storage in an SQLite file."""
    try:
        return need("optuna").storages.RDBStorage(f"sqlite:///{path}")
    except need("sqlalchemy.exc").SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error)
        raise ValueError(f"{path} cannot be used to keep a search in: {reason.splitlines()[0]}.") from None


def settle_seed(study: Any, seed: int | None) -> int:
    """Return the seed of a search: the one that is given, the study's own, or a fresh one."""
    known = study.user_attrs.get("seed")
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0] >> 1) if known is None else known
    if known is None:
        study.set_user_attr("seed", seed)
    elif known != seed:
        raise ValueError(f"The study {study.study_name!r} was begun with seed={known}; got seed={seed}.")
    return int(seed)


def claim_study(study: Any, objective: Objective) -> None:
    """Refuse to go on with a study of other data or of another space, whose scores could not be compared."""
    told = {
        "n_samples": objective.n_samples,
        "table": _digest(objective),
        "estimator_params": repr(sorted(objective.fixed.items())),
    }
    told["space"] = objective.space if isinstance(objective.space, str) else objective.space.__qualname__
    told = json.loads(json.dumps(told))
    before = study.user_attrs.get("search")
    if before is None:
        study.set_user_attr("search", told)
    elif other := [name for name in told if before.get(name) != told[name]]:
        raise ValueError(
            f"The study {study.study_name!r} was begun with another {' and another '.join(other)}: "
            "give these trials a storage or a study_name of their own."
        )


def _digest(objective: Objective) -> str:
    digest = hashlib.sha256()
    weights = () if objective.weights is None else (objective.weights,)
    for part in (objective.X, objective.y, *weights, *(rows for split in objective.splits for rows in split)):
        digest.update(repr(part.shape).encode() + np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def results(study: Any, objective: Objective) -> dict[str, Any]:
    """Return the trials that ended as columns, in the order in which they began; lower CRPS is better."""
    complete = need("optuna").trial.TrialState.COMPLETE
    trials = [t for t in study.get_trials(deepcopy=False) if t.state == complete or _has_failed(t)]
    names = dict.fromkeys(name for trial in trials for name in trial.params)
    splits = np.array([t.user_attrs.get("splits", [np.nan] * len(objective.splits)) for t in trials])
    mean = np.array([np.nan if t.value is None else t.value for t in trials])
    order = np.argsort(mean, kind="stable")
    rank = np.empty(len(trials), dtype=np.intp)
    rank[order] = np.arange(1, len(trials) + 1)
    return {
        "trial": np.array([t.number for t in trials], dtype=np.intp),
        **{f"param_{name}": np.array([t.params.get(name) for t in trials], dtype=object) for name in names},
        "params": [_arguments(t, objective) for t in trials],
        **{f"split{k}_crps": values for k, values in enumerate(splits.T)},
        "mean_crps": mean,
        "std_crps": splits.std(axis=1) if len(trials) else mean,
        "rank_crps": rank,
        "seconds": np.array([t.user_attrs["seconds"] for t in trials]),
        "error": np.array([t.user_attrs.get("error", "") for t in trials], dtype=object),
    }


def _arguments(trial: Any, objective: Objective) -> Params:
    """Return the arguments of an ended trial; one that failed may not have got so far as to choose all of them."""
    try:
        return objective.arguments(need("optuna").trial.FixedTrial(trial.params))
    except Exception:
        return dict(trial.params)


def _has_failed(trial: Any) -> bool:
    return trial.state == need("optuna").trial.TrialState.FAIL and "seconds" in trial.user_attrs


def _was_interrupted(trial: Any) -> bool:
    return trial.state == need("optuna").trial.TrialState.FAIL and "seconds" not in trial.user_attrs
