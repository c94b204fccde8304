"""Families whose score has a closed form, with options to fail, to wait for another process, or to hang.

``Point`` puts all its samples on one value, so that its CRPS is the mean absolute error of that value. Environment
variables control each process, because some tests run it elsewhere and kill it:

FAKE_LOG    directory in which every fit writes a file;
FAKE_HANG   the fit of this number (from 1, by files in FAKE_LOG) says so in ``FAKE_LOG/hanging`` and never ends;
FAKE_MEET   the first fit of a process waits until as many processes as this are fitting.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.families.base import Family
from benchmarks.protocol import Seeds

PATIENCE = 120.0
"""Seconds after which a waiting process gives up, so that a broken test ends."""


@dataclass
class Point:
    """All samples are ``shift``, in standardised units; seeds and threads are stored for the tests."""

    shift: float
    seeds: Seeds
    n_jobs: int

    def fit(self, X: np.ndarray, y: np.ndarray) -> Point:
        leave_trace()
        if self.shift > 2.0:
            raise RuntimeError(f"shift {self.shift} is too far")
        return self

    def sample(self, X: np.ndarray, n_samples: int) -> np.ndarray:
        value = np.nan if self.shift < -2.0 else self.shift
        return np.full((n_samples, len(X)), value)


@dataclass
class Noise(Point):
    """Normal samples from the sampler's seed."""

    def sample(self, X: np.ndarray, n_samples: int) -> np.ndarray:
        return np.random.default_rng(self.seeds.sampler).normal(self.shift, 1.0, size=(n_samples, len(X)))


def leave_trace() -> None:
    log = os.environ.get("FAKE_LOG")
    if log is None:
        return
    (Path(log) / f"fit-{os.getpid()}-{uuid.uuid4().hex}").touch()
    if os.environ.get("FAKE_HANG") == str(n_fits(Path(log))):
        (Path(log) / "hanging").touch()
        wait_until(lambda: False)
    if "FAKE_MEET" in os.environ:
        wait_until(lambda: len(fitting_processes(Path(log))) >= int(os.environ["FAKE_MEET"]))


def n_fits(log: Path) -> int:
    return len(list(log.glob("fit-*")))


def fitting_processes(log: Path) -> set[str]:
    return {path.name.split("-")[1] for path in log.glob("fit-*")}


def wait_until(condition: Any) -> None:
    for _ in range(int(PATIENCE / 0.02)):
        if condition():
            return
        time.sleep(0.02)
    raise TimeoutError("nothing happened")


def begin(work: Callable[[], Any], **environment: str) -> Any:
    """Begin a process that does ``work`` in this environment."""

    def target() -> None:
        os.environ.update(environment)
        work()

    # forked: the libraries are loaded already, and these processes have no threads
    process = multiprocessing.get_context("fork").Process(target=target)
    process.start()
    return process


def build_point(params: Mapping[str, Any], seeds: Seeds, n_jobs: int) -> Point:
    return Point(params["shift"], seeds, n_jobs)


def build_noise(params: Mapping[str, Any], seeds: Seeds, n_jobs: int) -> Noise:
    return Noise(params["shift"], seeds, n_jobs)


def build_dying(params: Mapping[str, Any], seeds: Seeds, n_jobs: int) -> Point:
    os._exit(7)


def near(trial: Any) -> dict[str, Any]:
    """All trials are fine."""
    return {"shift": trial.suggest_float("shift", -1.0, 1.0), "fixed": "word"}


def wide(trial: Any) -> dict[str, Any]:
    """Some trials raise, some have no finite score."""
    return {"shift": trial.suggest_float("shift", -3.5, 3.5)}


def far(trial: Any) -> dict[str, Any]:
    """All trials raise."""
    return {"shift": trial.suggest_float("shift", 3.0, 4.0)}


def family(name: str, build: Any = build_point, suggest: Any = near, **changes: Any) -> Family:
    """Make a family of 4 trials."""
    parts: dict[str, Any] = {
        "label": name.title(),
        "n_trials": 4,
        "requires": ("numpy",),
        "packages": ("scipy",),
        "sampler": "none",
        **changes,
    }
    return Family(name=name, build=build, suggest=suggest, **parts)


POINT = family("point")
NOISE = family("noise", build_noise)
CORNERED = family("cornered", corners=({"shift": 0.25}, {"shift": -0.5}))
WIDE = family("wide", suggest=wide)
FAR = family("far", suggest=far)
MISSING = family("missing", requires=("no_such_module",))
DYING = family("dying", build_dying)

FAMILIES = {f.name: f for f in (POINT, NOISE, MISSING)}
"""A registry of working families, one of them not installed."""

ALL = {f.name: f for f in (POINT, NOISE, CORNERED, WIDE, FAR, MISSING, DYING)}
