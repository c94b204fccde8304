"""Helpers for tests that save and load models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from diffgbm.persistence.archive import unpack
from tests.conftest import toy
from tests.persistence.fixture_models import LEVELS

FEW_FOLDS = {"residualize_k_folds": 2}


def table() -> tuple[np.ndarray, np.ndarray]:
    """Rows with a category and missing values."""
    X, y = toy()
    X[:, 2] = np.floor(5.0 * X[:, 2])
    X[::7, 1] = np.nan
    return X, y


def same(loaded: Any, model: Any, X: Any) -> None:
    """Assert that distributions and samples are equal to the last bit."""
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    distributions, expected = loaded.predict_distribution(X), model.predict_distribution(X)
    np.testing.assert_array_equal(distributions.quantile(LEVELS), expected.quantile(LEVELS))
    np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))
    np.testing.assert_array_equal(loaded.sample(X, 5, seed=3), model.sample(X, 5, seed=3))


def objects(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a model file."""
    return json.loads(unpack(path.read_bytes())["manifest.json"])["objects"]
