"""The configuration that a study selected, as a small YAML file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffgbm._util.atomic_files import replacing
from diffgbm._util.optional import need


@dataclass(frozen=True)
class Budget:
    """The budget of a study. If both limits are set, the first one reached ends it.

    Attributes
    ----------
    trials : int or None
        Finite trials, in at most twice as many attempts; ``None`` is the family's number in the paper.
    minutes : float or None
        Limit on the sum of the trials' durations; no trial starts after it. ``None`` is no limit.
    prune : bool
        Whether a trial ends early that is bad on a part of the training rows. The paper's rule is not to.
    """

    trials: int | None = None
    minutes: float | None = None
    prune: bool = False


@dataclass(frozen=True)
class Config:
    """The configuration that tuning selected, and the budget it used.

    Attributes
    ----------
    params : dict
        Hyperparameters, as ``Family.build`` takes them.
    validation_crps : float
        Mean CRPS on fold 0, in original units.
    n_trials_target, n_trials_finite, n_trials_failed, n_trials_pruned : int
        Requested trials, trials with a score, trials that raised or had no finite score, and trials that ended early.
    budget : dict
        Requested ``trials``, ``minutes`` and ``prune``.
    seconds : float
        Sum of the trials' durations.
    versions : dict
        Installed distributions.
    """

    data_set: str
    family: str
    params: dict[str, Any]
    validation_crps: float
    n_trials_target: int
    n_trials_finite: int
    n_trials_failed: int
    budget: dict[str, Any]
    seconds: float
    versions: dict[str, str]
    commit: str
    source_hash: str
    n_trials_pruned: int = 0

    def spending(self) -> dict[str, Any]:
        """Return the budget and the numbers of trials, as records store them."""
        counts = ("n_trials_target", "n_trials_finite", "n_trials_failed", "n_trials_pruned")
        return {**self.budget, **{name: getattr(self, name) for name in counts}}


def write(path: Path, config: Config) -> None:
    """Write a configuration atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = need("yaml").safe_dump(asdict(config), sort_keys=False)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read(path: Path) -> Config | None:
    """Read a configuration; ``None`` if there is none."""
    if not path.is_file():
        return None
    return Config(**need("yaml").safe_load(path.read_text(encoding="utf-8")))


def plain(value: Any) -> Any:
    """Return hyperparameters as built-in types, which survive a round trip through JSON and YAML."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
