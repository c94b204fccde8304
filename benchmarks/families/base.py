"""A family: how to build a model from hyperparameters, and the search space of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from benchmarks.protocol import Seeds
from diffgbm._util.types import Array

DIFFUSION_TRIALS = 40
EXTERNAL_TRIALS = 25
"""Finite trials of a study in the paper."""

EXTRAS = {"catboost": "bench", "ngboost": "bench", "xgboost": "bench", "torch": "bench-neural"}
"""Optional dependency group that installs a module."""


class Model(Protocol):
    """Interface of a probabilistic regressor."""

    def fit(self, X: Array, y: Array) -> Any:
        """Learn from standardised rows ``X`` (n, p) and responses ``y`` (n,)."""
        ...

    def sample(self, X: Array, n_samples: int) -> Array:
        """Draw (n_samples, rows) in the units of the training responses."""
        ...


@dataclass(frozen=True)
class Family:
    """A row of the paper's tables.

    Attributes
    ----------
    name, label : str
        Key in results, and name in tables.
    build : callable
        ``(hyperparameters, seeds, n_jobs)`` to an unfitted model.
    suggest : callable
        Optuna trial to hyperparameters, in the paper's ranges.
    n_trials : int
        Finite trials of the paper's study.
    requires : tuple of str
        Modules that must be importable.
    packages : tuple of str
        Distributions whose versions are recorded.
    sampler : str
        How samples are drawn, in one line.
    corners : tuple of dict
        Trials tried first, as parameters for ``Study.enqueue_trial``.
    neural : bool
        Needs PyTorch.
    """

    name: str
    label: str
    build: Callable[[Mapping[str, Any], Seeds, int], Model]
    suggest: Callable[[Any], dict[str, Any]]
    n_trials: int
    requires: tuple[str, ...]
    packages: tuple[str, ...]
    sampler: str
    corners: tuple[Mapping[str, Any], ...] = ()
    neural: bool = False

    def available(self) -> bool:
        """Whether all its dependencies are installed; imports nothing."""
        return all(find_spec(module) is not None for module in self.requires)


def need(module: str) -> Any:
    """Import ``module`` or say which extra to install."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(
            f"This family needs {package}, which is not installed: pip install 'diffgbm[{EXTRAS[package]}]'."
        ) from None


def normal_samples(mean: Array, std: Array, n_samples: int, seed: int) -> Array:
    """Draw (n_samples, n) from normal distributions with means and standard deviations of shape (n,)."""
    noise = np.random.default_rng(seed).standard_normal((n_samples, len(mean)))
    return mean + std * noise
