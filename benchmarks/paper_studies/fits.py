"""One unit of a study: fit its models on a fold, sample every arm, score it. Equal models are fitted once."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import configs
from benchmarks.evaluation import scores
from benchmarks.families import FAMILIES
from benchmarks.layout import PROTOCOL, Layout
from benchmarks.paper_studies.measures import cell_of
from benchmarks.paper_studies.schema import Arm, Model, Study
from benchmarks.protocol import REPEATS, Fold, Seeds, seeds
from diffgbm import DiffGBM
from diffgbm.diffusion.recipe import NAMED, OF_THE_PAPER

SAMPLER = ("sampler_method", "n_steps", "pf_ode", "velocity_stochasticity", "velocity_stochasticity_schedule")
"""Arguments that do not affect a fit."""

SURFACE = (
    "n_estimators",
    "learning_rate",
    "num_leaves",
    "max_depth",
    "min_child_samples",
    "subsample",
    "subsample_freq",
    "max_bin",
)
"""LightGBM parameters that the paper tunes; the other parameters define the family."""


def surface_of(data_set: str, family: str | None, root: Path = PROTOCOL) -> dict[str, Any] | None:
    """Return the tuned LightGBM parameters of a family for a data set; ``None`` if there are none."""
    config = None if family is None else configs.read(Layout(root).config(data_set, family))
    return None if config is None else {name: config.params[name] for name in SURFACE if name in config.params}


def params_of(study: Study, model: Model, surface: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a model's arguments, by increasing precedence: recipe, base, tuned, model, fixed."""
    if model.recipe is None:
        return dict(model.params)
    # the paper's rows know one noise and one way to stop, which are no settings of a study
    named = {name: value for name, value in NAMED[model.recipe].items() if name not in OF_THE_PAPER}
    return {**named, **study.base, **(surface or {}), **model.params, **study.fixed}


def sampler_of(arm: Arm, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``sample``: those of the recipe, overridden by those of the arm."""
    kept = {name: params[name] for name in SAMPLER if params.get(name) is not None}
    if arm.sampler.get("velocity_stochasticity"):
        kept.pop("pf_ode", None)
    return {**kept, **arm.sampler}


@dataclass(frozen=True)
class Plan:
    """Resolved settings of a unit: parameters of each model, whether they were tuned, and the sampler of each arm."""

    params: Mapping[str, Mapping[str, Any]]
    tuned: tuple[str, ...]
    samplers: Mapping[str, Mapping[str, Any]]

    def digest(self, **beside: Any) -> str:
        """Return a short hash of these settings and of everything else that affects the numbers."""
        content = json.dumps([self.params, self.samplers, beside], sort_keys=True, default=str)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def plan_of(study: Study, data_set: str, root: Path = PROTOCOL) -> Plan:
    """Resolve a study for a data set; models whose packages are not installed are skipped."""
    surfaces = {name: surface_of(data_set, model.tuned, root) for name, model in study.models.items()}
    there = {name: m for name, m in study.models.items() if m.family is None or FAMILIES[m.family].available()}
    params = {name: params_of(study, model, surfaces[name]) for name, model in there.items()}
    return Plan(
        params,
        tuple(name for name in params if surfaces[name] is not None),
        {arm.name: sampler_of(arm, params[arm.model]) for arm in study.arms if arm.model in params},
    )


@dataclass(frozen=True)
class Fitted:
    """A model and the cost of its fit."""

    model: Any
    seconds: float
    rounds: float


@dataclass
class Bench:
    """One fold of a table, and the models fitted on it so far."""

    part: Fold
    streams: Seeds
    threads: int = 1
    fitted: dict[str, Fitted] = field(default_factory=dict)

    @classmethod
    def at(cls, part: Fold, fold: int, threads: int = 1) -> Bench:
        """Return the bench of a fold, without models."""
        return cls(part, seeds(fold), threads)

    def fit(self, model: Model, params: Mapping[str, Any]) -> Fitted:
        """Fit a model unless an equal one exists; the sampler does not matter."""
        kept = {name: value for name, value in params.items() if name not in SAMPLER}
        built = self._build(model, kept)
        # an explicit default gives the same model as an omitted one
        full = built.get_params(deep=False) if isinstance(built, DiffGBM) else kept
        key = json.dumps([model.family, full], sort_keys=True, default=str)
        if key not in self.fitted:
            started = time.process_time()
            built.fit(self.part.X_train, self.part.y_train)
            built.sample(
                self.part.X_test[:1], 1
            )  # a first call prepares the engine, so that the sampling time does not include it
            rounds = float(np.mean(built.n_iterations_)) if isinstance(built, DiffGBM) else np.nan
            self.fitted[key] = Fitted(built, time.process_time() - started, rounds)
        return self.fitted[key]

    def _build(self, model: Model, params: Mapping[str, Any]) -> Any:
        if model.family is not None:
            return FAMILIES[model.family].build(params, self.streams, self.threads)
        return DiffGBM(**{**OF_THE_PAPER, **params}, seed=self.streams.model, n_jobs=self.threads, repeats=REPEATS)

    def measure(self, fitted: Fitted, sampler: Mapping[str, Any], n_samples: int) -> dict[str, float]:
        """Sample and score one arm, in the units of the response."""
        seed = {"seed": self.streams.sampler} if isinstance(fitted.model, DiffGBM) else {}
        started = time.process_time()
        samples = np.asarray(fitted.model.sample(self.part.X_test, n_samples, **seed, **sampler))
        seconds = time.process_time() - started
        if not np.all(np.isfinite(samples)):
            raise ValueError(f"{np.mean(~np.isfinite(samples)):.2%} of the samples are not finite.")
        result = scores(
            self.part.response.restore(samples), self.part.y_test, self.part.response.restore(self.part.y_train)
        )
        return cell_of(result, fitted.seconds, seconds, fitted.rounds)


def measure_arms(study: Study, plan: Plan, bench: Bench) -> dict[str, dict[str, float]]:
    """Return the numbers of every arm whose model is available."""
    return {
        arm.name: bench.measure(
            bench.fit(study.models[arm.model], plan.params[arm.model]), plan.samplers[arm.name], study.n_samples
        )
        for arm in study.arms
        if arm.name in plan.samplers
    }
