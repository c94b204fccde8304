"""Tuning on fold 0: a seeded TPE study of the validation CRPS, within a budget of trials or minutes.

Fold 0 is the validation part and folds 1 to 5 the training part. The score is the mean CRPS of 100 samples for every
validation row, in original units.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from benchmarks import configs, provenance
from benchmarks.configs import Budget, Config
from benchmarks.families.base import Family
from benchmarks.layout import Layout
from benchmarks.protocol import MASTER_SEED, TUNING_FOLD, Fold, prepare, seeds
from benchmarks.pruning import Pruned, median_pruner, score_in_stages
from benchmarks.table_files import Table
from diffgbm.metrics.scores import crps
from diffgbm.tuning import studies
from diffgbm.tuning.journals import open_journal
from diffgbm.tuning.studies import Study, StudyStatus

N_SAMPLES = 100
"""Samples for each validation row."""

Clock = Callable[[], float]


@dataclass(frozen=True)
class Outcome:
    """How a call to ``tune`` ended.

    Attributes
    ----------
    state : str
        ``kept``: the budget was spent before; ``tuned``: it is spent now; ``shared``: other processes are at the last
        trials; ``stopped``: time was up; ``failed``: spent without a finite trial.
    config : Config or None
        The selected configuration, unless the study goes on or has none.
    text : str
        The same in words.
    """

    state: Literal["kept", "tuned", "shared", "stopped", "failed"]
    config: Config | None
    text: str


def tune(
    family: Family,
    table: Table,
    data_set: str,
    layout: Layout,
    budget: Budget,
    *,
    threads: int = 1,
    stop: Callable[[], bool] = lambda: False,
    clock: Clock = time.perf_counter,
) -> Outcome:
    """Spend a study's budget and write the configuration it selects.

    Parameters
    ----------
    family : Family
        What is tuned.
    table : Table
        The data set, named ``data_set`` in files.
    layout : Layout
        Where the study and the configuration are.
    budget : Budget
        Limits of the whole study; what earlier calls and other processes spent is taken off.
    threads : int
        Threads of each model.
    stop : callable
        Asked before every trial; true ends the call, and the next one goes on from there.
    clock : callable
        Seconds, for the durations of trials.
    """
    target = budget.trials if budget.trials is not None else family.n_trials
    path = layout.config(data_set, family.name)
    before = configs.read(path)
    limits = _limits(target, budget)
    if before is not None and _covers(before, limits):
        return Outcome("kept", before, _summary(before))
    fold = prepare(table, TUNING_FOLD)
    # of the data set and not of the family: rows with one space are given the same first trials, data sets are not
    seed = (MASTER_SEED, zlib.crc32(data_set.encode()))
    with open_journal(layout.journal(data_set, family.name)) as study:
        if budget.prune:
            study.optuna.pruner = median_pruner()
        # a study that is not spent is gone on with; one whose configuration was lost is only asked for it
        while not stop():
            trial = study.claim(limits, family.corners, seed)
            if trial is None:
                break
            _attempt(study, trial, family, fold, threads, clock, budget.prune)
        status = study.status()
        if not status.is_spent(limits):
            state: Literal["shared", "stopped"] = "stopped" if stop() else "shared"
            return Outcome(state, None, f"{status.finite} of {target} trials so far")
        best = study.best()
        if best is None:
            return Outcome("failed", None, f"all {status.failed} trials failed; the last: {study.last_error()}")
    config = _config(data_set, family, best, target, status, budget)
    configs.write(path, config)
    return Outcome("tuned", config, _summary(config))


def validation_crps(family: Family, params: Mapping[str, Any], fold: Fold, threads: int) -> float:
    """Fit on the training part and return the mean CRPS on the validation part, in original units."""
    model = family.build(params, seeds(TUNING_FOLD), threads)
    model.fit(fold.X_train, fold.y_train)
    samples = fold.response.restore(model.sample(fold.X_test, N_SAMPLES))
    return float(crps(samples, fold.y_test).mean())


def _attempt(study: Study, trial: Any, family: Family, fold: Fold, threads: int, clock: Clock, prune: bool) -> None:
    """Run one trial; whatever it raises is its own failure, except the wish to stop."""
    started = clock()
    try:
        params = configs.plain(family.suggest(trial))
        trial.set_user_attr("params", params)
        score = partial(validation_crps, family, params, threads=threads)
        # the choices of the first trials are the paper's: they are never pruned
        staged = prune and "corner" not in trial.user_attrs
        value = score_in_stages(trial, fold, score) if staged else score(fold)
    except Pruned:
        study.prune(trial, clock() - started)
    except Exception as error:
        study.finish(trial, None, clock() - started, f"{type(error).__name__}: {error}")
    except BaseException:
        study.abandon(trial)
        raise
    else:
        study.finish(trial, value, clock() - started)


def _limits(target: int, budget: Budget) -> studies.Budget:
    """Return the limits of a study; it has at least one finite trial, however short the time."""
    return studies.Budget(target, None if budget.minutes is None else 60.0 * budget.minutes, until_finite=True)


def _covers(config: Config, limits: studies.Budget) -> bool:
    """Whether a configuration was selected with at least this budget, as far as its file says."""
    status = StudyStatus(
        finite=config.n_trials_finite,
        failed=config.n_trials_failed,
        seconds=config.seconds,
        pruned=config.n_trials_pruned,
    )
    return status.is_spent(limits)


def _config(
    data_set: str,
    family: Family,
    best: Any,
    target: int,
    status: StudyStatus,
    budget: Budget,
) -> Config:
    return Config(
        data_set=data_set,
        family=family.name,
        params=dict(best.user_attrs["params"]),
        validation_crps=float(best.value),
        n_trials_target=target,
        n_trials_finite=status.finite,
        n_trials_failed=status.failed,
        budget=asdict(budget),
        seconds=round(status.seconds, 3),
        versions=provenance.versions((*family.packages, "optuna")),
        commit=provenance.commit(),
        source_hash=provenance.source_hash(),
        n_trials_pruned=status.pruned,
    )


def _summary(config: Config) -> str:
    pruned = f", {config.n_trials_pruned} pruned" if config.n_trials_pruned else ""
    failed = f", {config.n_trials_failed} failed" if config.n_trials_failed else ""
    return (
        f"{config.n_trials_finite} of {config.n_trials_target} trials{pruned}{failed}, "
        f"validation CRPS {config.validation_crps:.4g}"
    )
