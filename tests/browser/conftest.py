"""Fixtures of the tests in a browser."""

import pytest

from tests.browser.chromium import launched


@pytest.fixture(scope="session")
def chromium():
    """The system's Chromium."""
    with launched() as browser:
        yield browser
