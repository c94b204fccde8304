"""Models against known truths: coverage and CRPS on fresh rows of tables with one difficulty each.

``python -m reliability statistics``. A line is one model fitted to one table; a run goes on where the last one ended.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from diffgbm import AutoDiffGBM, DiffGBM
from diffgbm.metrics.diagnostics import inside_central
from reliability.records import lines, record
from reliability.statistical_cases import CASES, Case

NAME = "statistics"
FRESH = 2000
"""Fresh rows: the standard error of a coverage is 0.011 at 50% and 0.007 at 90%."""
LEVELS = (0.5, 0.9)
SEEDS = 3
COMMON: dict[str, Any] = {"n_jobs": 1, "seed": 0}
MODELS: dict[str, Callable[[Case], Any]] = {
    "published": lambda case: DiffGBM.published(**COMMON, **atoms_of(case)),
    "score_plus": lambda case: DiffGBM.score_plus(**COMMON, **atoms_of(case)),
    "flow": lambda case: DiffGBM.flow(**COMMON, **atoms_of(case)),
    "auto": lambda case: AutoDiffGBM(preset="fast", time_limit=600.0, **COMMON),
}
"""The main recipes, which are told the atoms, and ``AutoDiffGBM``, which finds them and is in no hurry."""


def atoms_of(case: Case) -> dict[str, Any]:
    """Arguments of ``DiffGBM`` for the atoms of a case."""
    return {"atoms": list(case.atoms)} if case.atoms else {}


def run(name: str | None, only: Sequence[str] | None = None, minutes: float = np.inf) -> dict[str, Any]:
    """Fit what has no line yet, for some minutes; record a line for each fit. Without a name nothing is recorded."""
    started, done = time.monotonic(), {(line["case"], line["model"], line["seed"]) for line in lines(NAME)}
    fits = failures = 0
    for seed in range(SEEDS):
        for case in only or CASES:
            for model in MODELS:
                if name and (case, model, seed) in done:
                    continue
                if time.monotonic() - started > 60.0 * minutes:
                    return {"fits": fits, "findings": failures}
                figures = measure(case, model, seed)
                print(figures, flush=True)
                fits, failures = fits + 1, failures + int(not np.isfinite(figures["crps"]))
                if name:
                    record(name, figures)
    return {"fits": fits, "findings": failures}


def measure(name: str, model: str, seed: int, n_fresh: int = FRESH) -> dict[str, Any]:
    """Fit one model to one table; return its figures on fresh rows beside those of the truth."""
    case = CASES[name]
    X, y = case.table(seed)
    fresh, observed = case.fresh(n_fresh, seed)
    started = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a wild row, which is what the case is about
        fitted = MODELS[model](case).fit(X, y)
    seconds = time.monotonic() - started
    distribution, truth = fitted.predict_distribution(fresh), case.truth(fresh)
    inside, possible = (inside_central(d, observed, np.array(LEVELS)).mean(axis=0) for d in (distribution, truth))
    figures = {
        "case": name,
        "model": model,
        "seed": seed,
        "crps": float(distribution.crps(observed).mean()),
        "oracle": float(truth.crps(observed).mean()),
        **{f"coverage_{level:.0%}".rstrip("%"): float(share) for level, share in zip(LEVELS, inside, strict=True)},
        **{f"oracle_{level:.0%}".rstrip("%"): float(share) for level, share in zip(LEVELS, possible, strict=True)},
        "outside": float(np.mean(_beyond(distribution, case))),
        **_at_atoms(distribution, truth, case),
    }
    if model == "auto":
        losses = fitted.oob_distribution_.crps(y[fitted.oob_rows_])
        # a wild row is no observation of the truth
        figures["claimed"] = float(losses[np.abs(y[fitted.oob_rows_]) < 1e3 * np.abs(observed).max()].mean())
    return {key: round(v, 4) if isinstance(v, float) else v for key, v in figures.items()} | {
        "seconds": round(seconds, 1)
    }


def _beyond(distribution: Any, case: Case) -> Any:
    """Probability (n,) beyond the limits of a case."""
    below = distribution.cdf(np.nextafter(case.low, -np.inf)) if np.isfinite(case.low) else 0.0
    return below + (distribution.sf(case.high) if np.isfinite(case.high) else 0.0)


def _at_atoms(distribution: Any, truth: Any, case: Case) -> dict[str, float]:
    """Root mean squared error of the probabilities of a case's atoms, and of their mean."""
    if not case.atoms:
        return {}
    errors = np.array([distribution.pmf(atom) - truth.pmf(atom) for atom in case.atoms])
    return {"atom_rmse": float(np.sqrt(np.mean(errors**2))), "atom_bias": float(np.abs(errors.mean(axis=1)).max())}


def means() -> list[dict[str, Any]]:
    """Return the mean figures of each case and model that has lines, in order."""
    recorded = lines(NAME)
    out = []
    for case in CASES:
        for model in MODELS:
            of_both = [line for line in recorded if (line["case"], line["model"]) == (case, model)]
            if of_both:
                keys = [key for key, value in of_both[0].items() if isinstance(value, float)]
                mean = {key: fmean(float(line[key]) for line in of_both) for key in keys}
                ratio = fmean(line["crps"] / line["oracle"] for line in of_both)
                out.append({**mean, "case": case, "model": model, "seeds": len(of_both), "ratio": ratio})
    return out
