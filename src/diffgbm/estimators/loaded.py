"""What the commands ask of a model, whichever kind the file holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.parallel import n_threads
from diffgbm._util.types import Array
from diffgbm.distributions import Distribution, PredictiveDistribution
from diffgbm.estimators.auto import AutoDiffGBM
from diffgbm.estimators.conformal import ConformalDiffGBM
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.fitting.model import FittedModel

Model = DiffGBM | AutoDiffGBM | ConformalDiffGBM


def members(model: Model) -> tuple[FittedModel, ...]:
    """Return the fitted models inside, all of the same table."""
    if isinstance(model, ConformalDiffGBM):
        return tuple(member for part in model.models_ for member in members(part))
    return model.pool_.members if isinstance(model, AutoDiffGBM) else (model.model_,)


def set_jobs(model: Model, jobs: int) -> None:
    """Let a model use ``jobs`` threads."""
    n_threads(jobs)
    for part in model.models_ if isinstance(model, ConformalDiffGBM) else [model]:
        part.set_params(n_jobs=jobs)


def draw(model: Model, X: Any, n_samples: int, seed: int, first_row: int, **sampler: Any) -> Array:
    """Draw samples (n_samples, n) or (n_samples, n, d) of a piece that begins at ``first_row`` of a table."""
    if isinstance(model, ConformalDiffGBM):  # which calibrates one response
        if sampler:
            raise TypeError(f"A calibrated model is sampled from its laws; it takes no {', '.join(sampler)}.")
        distribution = model.predict_distribution(X)
        assert isinstance(distribution, PredictiveDistribution)
        return distribution.sample(n_samples, seed, first_row)
    return model.sample(X, n_samples, seed=seed, first_row=first_row, **sampler)


def interval_of(model: Model, distribution: Distribution, X: Any, coverage: float) -> Array:
    """Return the intervals (n, 2) or (n, d, 2) that the model promises, which need not be those of its laws."""
    if not isinstance(model, ConformalDiffGBM):
        return distribution.interval(coverage)
    ends = model.predict_interval(X, coverage)
    if isinstance(ends, np.ndarray):
        return ends
    return np.column_stack([np.asarray(ends["lower"]), np.asarray(ends["upper"])])


def facts(model: Model) -> dict[str, Any]:
    """Say what is worth knowing of a model."""
    parts = members(model)
    first = parts[0]
    names = first.features.names or tuple(str(j) for j in range(first.features.n_features))
    found = {
        "model": type(model).__name__,
        "targets": list(first.response_names),
        "columns": list(names),
        "categories": [names[j] for j in first.features.categorical],
    }
    if isinstance(model, ConformalDiffGBM):
        rows = sum(len(observed) for observed in model.observed_)
        found["calibrated"] = f"{model.method}, on {rows:,} rows"
    inside = model.models_[0] if isinstance(model, ConformalDiffGBM) else model
    recipes = dict.fromkeys(str(part.recipe) for part in parts)
    return {
        **found,
        "recipe": " & ".join(recipes),
        **({"chosen": inside.explain()} if isinstance(inside, AutoDiffGBM) else {}),
        "trees": [rounds for part in parts for rounds in part.n_iterations],
    }
