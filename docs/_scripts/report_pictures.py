"""Draw the two pictures of a report that the documentation shows, in Chromium.

    python docs/_scripts/report_pictures.py [docs/_static]

It needs playwright and Chromium (`make test-browser` installs them).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import diffgbm
from diffgbm import AutoDiffGBM

FOLDER = Path(__file__).parents[1] / "_static"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
TOP = {"x": 0, "y": 0, "width": 900, "height": 410}


def main(folder: Path = FOLDER) -> None:
    """Fit scikit-learn's diabetes table, write the report, and save its top and its section of densities."""
    from playwright.sync_api import sync_playwright

    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X, X_new, y, y_new = train_test_split(X, y.rename("progression"), test_size=0.4, random_state=0)
    model = AutoDiffGBM(preset="fast", time_limit=120, seed=0).fit(X, y)
    browser_path = next(path for path in map(shutil.which, CHROMIUM) if path)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        page_file = Path(scratch) / "report.html"
        diffgbm.report(model, X_new, y_new, page_file)
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        browser = playwright.chromium.launch(executable_path=browser_path, args=flags)
        page = browser.new_page(viewport={"width": 900, "height": 900}, device_scale_factor=1.5)
        page.goto(page_file.as_uri())
        page.screenshot(path=folder / "report_top.png", clip=TOP, full_page=True)
        page.locator("section", has=page.get_by_role("heading", name="densit")).first.screenshot(
            path=folder / "report_density.png"
        )
        browser.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
