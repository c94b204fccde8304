"""What the tests share. LightGBM gets one thread: tests are small, and threads that wait for each other are slow."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from diffgbm import DiffGBM

# a busy machine is not a failure: nothing is timed, the time to draw an example neither
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

TINY = {"n_repeats": 4, "n_estimators": 15, "early_stopping_rounds": None, "num_leaves": 8, "seed": 0, "n_jobs": 1}
"""Arguments of a model that takes a fraction of a second."""


def tiny(recipe: str = "flow", **params) -> DiffGBM:
    """Make a small estimator of a named recipe ("default" is the class itself)."""
    make = DiffGBM if recipe == "default" else getattr(DiffGBM, recipe)
    small = {} if recipe == "published" else {"extra_residualizer_params": {"n_estimators": 10}}
    return make(**{**TINY, **small, **params})


def toy(n: int = 120, p: int = 3, d: int | None = None, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a signal and noise that grows with the first column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, p))
    noise = rng.standard_normal((n, d or 1))
    y = np.sin(4.0 * X[:, :1]) + X[:, -1:] + (0.1 + X[:, :1]) * noise
    return X, y[:, 0] if d is None else y


@pytest.fixture(scope="session")
def flow_model() -> DiffGBM:
    """A fitted flow model (ODE) of one response and three features."""
    return tiny("flow").fit(*toy())


@pytest.fixture(scope="session")
def sde_model() -> DiffGBM:
    """A fitted score model that samples by the reverse SDE."""
    return tiny("published", n_steps=10).fit(*toy())


@pytest.fixture(scope="session")
def two_responses() -> DiffGBM:
    """A fitted flow model of two responses."""
    return tiny("flow").fit(*toy(d=2))
