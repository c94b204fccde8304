"""Fixtures of the tests of the service."""

import pytest

from diffgbm.serving.service import Service
from tests.serving.models import fitted


@pytest.fixture(scope="package")
def model():
    """A model of columns of every kind."""
    return fitted()


@pytest.fixture(scope="package")
def service(model):
    """It as a service."""
    return Service(model, "houses.dgbm")
