"""Models whose files are kept in ``tests/fixtures``: later versions of the library must read them.

``python -m tests.persistence.fixture_models`` writes the files of the current format version. Write them again only
until that version is released.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from diffgbm import AutoDiffGBM, ConformalDiffGBM, DiffGBM
from diffgbm.auto.presets import Preset
from diffgbm.first_stage import catalogue
from diffgbm.persistence.files import VERSION
from tests.conftest import TINY, toy

FIXTURES = Path(__file__).parents[1] / "fixtures"
LEVELS = [0.05, 0.5, 0.95]
AUTO = Preset(
    time_limit=60.0,
    first_stage_models=("lightgbm", "ridge", "gp_rbf"),
    gp_rows=100,
    first_stages=(("stack", ()), ("none", ("mean",))),
    recipes=("flow", "edm"),
    rounds=(),
    sizes=("probe",),
    final_models=3,
    bags=2,
    noisy_rows=500,
)
"""Three final models that share a stack, without a search."""


def frame(n: int = 120) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Numbers with missing values, text and integer categories; two responses."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.uniform(size=n)),
            "town": pd.Categorical(rng.choice(["Zürich", "Århus", "a,b"], n)),
            "rooms": pd.Categorical(rng.integers(1, 4, n)),
        }
    )
    level = X["size"].fillna(0.5) + X["town"].cat.codes
    y = pd.DataFrame({"price": level + rng.normal(size=n), "days": 3.0 * level + rng.normal(size=n)})
    return X, y


def table() -> tuple[np.ndarray, np.ndarray]:
    """A category, lines and a step, so that boosters, ridge regression and Gaussian processes all get weight."""
    X, y = toy(110)
    X[:, 2] = np.floor(5.0 * X[:, 2])
    return X, y + 2.0 * X[:, 0] + 2.0 * (X[:, 1] > 0.6)


def automatic(X: Any, y: Any, preset: Preset = AUTO) -> AutoDiffGBM:
    """An automatic fit whose first-stage boosters are small."""
    with pytest.MonkeyPatch.context() as patch:
        small = {"n_estimators": 4, "learning_rate": 0.3, "num_leaves": 4}
        patch.setattr(catalogue, "RESIDUALIZER_C", {**catalogue.RESIDUALIZER_C, **small})
        return AutoDiffGBM(preset=preset, n_jobs=1, seed=0).fit(X, y, cat_idx=[2])


def makers() -> dict[str, Callable[[], Any]]:
    """Return a function for each fixture that fits its model."""
    X, y = table()
    mean = {"n_estimators": 8, "learning_rate": 0.3, "num_leaves": 4}
    small = {
        **TINY,
        "n_estimators": 3,
        "num_leaves": 4,
        "extra_residualizer_params": mean,
        "residualize_k_folds": 2,
    }
    first_stage = {
        "residualize": ["mean", "gp"],
        "first_stage_features": ["mean", "cdf"],
        "n_bags": 2,
        "bag_mix": "mixture",
    }
    few = replace(AUTO, first_stage_models=("ridge", "gp_rbf"), gp_rows=60, noisy_rows=90)
    calibration = {"seed": 0, "groups": 2, "n_groups": 2, "calibration_size": 0.2}
    return {
        "frame": lambda: DiffGBM.flow(**small).fit(*frame()),
        "mean_scale": lambda: DiffGBM(**small, residualize="mean_scale", n_steps=10).fit(X, y),
        "first_stage": lambda: DiffGBM.flow(**{**small, **first_stage}).fit(X, y, cat_idx=[2]),
        "auto": lambda: automatic(X, y, few),
        "conformal": lambda: ConformalDiffGBM(DiffGBM.flow(**small), **calibration).fit(X, y),
    }


NAMES = tuple(makers())


def path_of(name: str) -> Path:
    """Return the file of a fixture."""
    return FIXTURES / f"version{VERSION}_{name}.dgbm"


def rows_of(name: str) -> Any:
    """Return the rows whose predictions are stored with the file."""
    return frame(6)[0] if name == "frame" else table()[0][:4]


def predictions(model: Any, X: Any) -> dict[str, Any]:
    """Return the predictions that are kept."""
    return {
        "class": type(model).__name__,
        "interval": model.predict_distribution(X).interval(0.5).tolist(),
        "predict_interval": np.asarray(model.predict_interval(X, 0.5)).tolist(),
        "quantiles": model.predict_distribution(X).quantile(LEVELS).tolist(),
        "samples": model.sample(X, 3, seed=1).tolist(),
    }


def write() -> None:
    """Write all fixtures."""
    for name, make in makers().items():
        model, path = make(), path_of(name)
        model.save(path)
        path.with_suffix(".json").write_text(json.dumps(predictions(model, rows_of(name))) + "\n")


if __name__ == "__main__":
    write()
