"""Trials of ``DiffGBMCV``: they run one after another until the budget is spent, and become ``cv_results_``."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

import numpy as np

from diffgbm._util.optional import need
from diffgbm.tuning.objective import Objective
from diffgbm.tuning.search_spaces import Params
from diffgbm.tuning.studies import Budget, Study, has_failed


def search(study: Study, objective: Objective, budget: Budget, bar: Any) -> None:
    """Run trials until the budget is spent. An exception in a trial makes it a failed one; an interruption ends all."""
    done = study.status()
    bar.update(done.finite)
    while (trial := study.claim(budget, objective.corners(), (objective.seed,))) is not None:
        _attempt(study, trial, objective)
        now = study.status()
        if now.finite:
            bar.set_postfix_str(f"CRPS {study.optuna.best_value:.4g}", refresh=False)
        bar.update(now.finite - done.finite)
        done = now


def _attempt(study: Study, trial: Any, objective: Objective) -> None:
    started = time.perf_counter()
    try:
        score = objective(trial)
    except Exception as error:
        study.finish(trial, None, time.perf_counter() - started, message_of(error))
    except BaseException:
        study.abandon(trial)
        raise
    else:
        study.finish(trial, score, time.perf_counter() - started)


def message_of(error: BaseException) -> str:
    """Return an exception as the ``error`` of a trial."""
    return f"{type(error).__name__}: {error}"


def settle_seed(study: Any, seed: int | None) -> int:
    """Return the seed of a search: ``seed``, the stored study's seed, or a fresh one."""
    stored = study.user_attrs.get("seed")
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0] >> 1) if stored is None else stored
    if stored is None:
        study.set_user_attr("seed", seed)
    elif stored != seed:
        raise ValueError(f"The study {study.study_name!r} was begun with seed={stored}; got seed={seed}.")
    return int(seed)


def check_comparable(study: Any, objective: Objective) -> None:
    """Refuse to continue a study of other data or of another space: scores of the two cannot be compared."""
    this = {
        "n_samples": objective.n_samples,
        "table": _digest(objective),
        "estimator_params": repr(sorted(objective.fixed.items())),
        "space": objective.space if isinstance(objective.space, str) else objective.space.__qualname__,
    }
    this = json.loads(json.dumps(this))
    stored = study.user_attrs.get("search")
    if stored is None:
        study.set_user_attr("search", this)
    elif other := [name for name in this if stored.get(name) != this[name]]:
        raise ValueError(
            f"The study {study.study_name!r} was begun with another {' and another '.join(other)}: "
            "use another storage or study_name for these trials."
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
    trials = [t for t in study.get_trials(deepcopy=False) if t.state == complete or has_failed(t)]
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
        "seconds": np.array([t.user_attrs.get("seconds", 0.0) for t in trials]),
        "error": np.array([t.user_attrs.get("error", "") for t in trials], dtype=object),
    }


def _arguments(trial: Any, objective: Objective) -> Params:
    """Return the arguments of an ended trial; one that failed may not have chosen all of them."""
    try:
        return objective.arguments(need("optuna").trial.FixedTrial(trial.params))
    except Exception:
        return dict(trial.params)
