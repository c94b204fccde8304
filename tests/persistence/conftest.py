"""Fitted models and files that the tests of model files share."""

from pathlib import Path

import pytest

from diffgbm import AutoDiffGBM
from tests.persistence.fixture_models import automatic
from tests.persistence.saved_models import table


@pytest.fixture
def file(flow_model, tmp_path) -> Path:
    """The file of a flow model."""
    path = tmp_path / "model.dgbm"
    flow_model.save(path)
    return path


@pytest.fixture(scope="session")
def auto() -> AutoDiffGBM:
    """An automatic model of a pool of several members."""
    return automatic(*table())
