"""Fuzz targets: read an arbitrary file and use the result.

Each function returns ``"refused"`` if reading fails, ``"used"`` if the result works, or ``"complained"`` if its use
raises a ``ValueError``. Any other exception, a crash, exceeded memory or time limits, and two readers that disagree are
findings.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np

from diffgbm import ModelFileError, load
from diffgbm.diffusion.recipe import resolve
from diffgbm.engine.forest import CannotCollapse
from diffgbm.engine.stored import StoredBooster
from diffgbm.engine.tree_sum import TreeSum

Outcome = Literal["refused", "complained", "used"]
ROWS = np.array([[0.3, 0.7, 2.0], [-1e300, np.nan, -1.0], [0.0, np.inf, 39.0], [1e-300, 0.5, 1e18]])
MOST_STEPS = 100
"""Largest number of steps: more only take time."""


class Disagreement(Exception):
    """Two readers of the same text built different trees."""


def read_model(content: bytes, folder: Path | None = None) -> Outcome:
    """Load a model file, and draw from what was loaded."""
    path = (folder or Path(tempfile.gettempdir())) / f"fuzz-{os.getpid()}.dgbm"
    path.write_bytes(content)
    try:
        model = load(path)
    except ModelFileError:
        return "refused"
    finally:
        path.unlink()
    if is_small(model):
        try:
            use(model)
        except ValueError:  # groups of a column that the rows do not have, an engine that cannot follow
            return "complained"
    return "used"


def is_small(model: Any) -> bool:
    """Whether the predictive distributions of a model take little time."""
    parts = getattr(model, "models_", [model])
    fitted = [m for part in parts for m in _fitted(part)]
    steps = [m.recipe.sampler.n_steps for m in fitted]
    # the arguments of a single model say more than its recipe
    steps += [resolve(part.get_params(deep=False)).sampler.n_steps for part in parts if hasattr(part, "model_")]
    return bool(fitted) and all(
        [
            max(steps) <= MOST_STEPS,
            all(m.features.n_features <= 8 for m in fitted),
            all(m.n_jobs in (1, None) for m in fitted),
        ]
    )


def _fitted(part: Any) -> list[Any]:
    if hasattr(part, "pool_"):
        return list(part.pool_.members)
    return [part.model_] if hasattr(part, "model_") else []


def use(model: Any) -> None:
    """Predict intervals with a loaded model; an accepted file must give numbers of the right shape."""
    X = np.resize(ROWS, (len(ROWS), model.n_features_in_))
    X[~np.isfinite(X)] = 0.0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns without their names
        interval = np.asarray(model.predict_interval(X, 0.8))
    if interval.shape[0] != len(X):
        raise Disagreement(f"an interval of {len(X)} rows has the shape {interval.shape}")


def read_text(content: bytes) -> Outcome:
    """Read LightGBM's text twice, by us and by LightGBM; the two must predict the same."""
    try:
        text = content.decode()
        stored = StoredBooster.checked(text, ROWS.shape[1])
    except ValueError:
        return "refused"
    try:
        theirs = stored.predict(ROWS, num_threads=1)
    except ValueError:  # comments that only LightGBM reads
        theirs = None
    try:
        ours = TreeSum([stored])(ROWS)
    except CannotCollapse:
        return "used"
    with np.errstate(all="ignore"):
        rounding = 1e-12 * float(np.abs(stored.forest.value).sum())
        differs = np.isfinite(ours) & ~(np.abs(ours - theirs) <= rounding) if theirs is not None else np.zeros(1)
    if np.isfinite(rounding) and differs.any():
        raise Disagreement(f"{ours} is not {theirs}")
    return "used"
