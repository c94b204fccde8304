"""Fixtures of the tests in a browser."""

import pytest

from tests.browser.chromium import launched


# no longer than a module: playwright keeps an event loop running, beside which asyncio starts no other
@pytest.fixture(scope="module")
def chromium():
    """The system's Chromium."""
    with launched() as browser:
        yield browser
