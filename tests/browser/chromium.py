"""The system's Chromium for the tests of pages; ``make test-browser`` fails without it, elsewhere tests are skipped."""

import os
import shutil
from contextlib import contextmanager

import pytest

REQUIRED = os.environ.get("REQUIRE_BROWSER") == "1"


def missing(reason: str) -> None:
    """Skip, or fail if the browser was asked for by name."""
    (pytest.fail if REQUIRED else pytest.skip)(reason)


@contextmanager
def launched():
    """Yield the browser."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        missing("there is no Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    with sync_playwright() as playwright:
        # a container's root may run it without a sandbox only; it opens nothing but our own files and server
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
