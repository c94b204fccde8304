"""Draw the picture of the explorer that the documentation shows, in Chromium.

    python docs/_scripts/explorer_picture.py [docs/_static]

It needs the extra `serve`, playwright and Chromium (`make test-browser` installs them).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

import vega_datasets

from diffgbm import DiffGBM
from diffgbm.serving import server
from diffgbm.serving.explorer import Explorer
from diffgbm.serving.pages import routes
from diffgbm.serving.service import Service
from diffgbm.serving.table_rows import read_rows

FOLDER = Path(__file__).parents[1] / "_static"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
COLUMNS = {
    "Horsepower": "horsepower",
    "Weight_in_lbs": "weight",
    "Cylinders": "cylinders",
    "Acceleration": "acceleration",
    "Origin": "origin",
    "Year": "year",
    "Miles_per_Gallon": "miles per gallon",
}


def explorer(folder: Path) -> Explorer:
    """Fit the cars of vega_datasets and return their explorer."""
    cars = vega_datasets.data.cars().dropna(subset="Miles_per_Gallon")[list(COLUMNS)].rename(columns=COLUMNS)
    X, y = cars.drop(columns="miles per gallon"), cars["miles per gallon"]
    cars.to_csv(folder / "cars.csv", index=False)
    model = DiffGBM.flow(seed=0, n_jobs=1).fit(X, y)
    table = read_rows(folder / "cars.csv", model.fitted_models()[0].features, ["miles per gallon"])
    return Explorer(Service(model, "cars.dgbm"), "cars.dgbm", table)


def main(folder: Path = FOLDER) -> None:
    """Serve the explorer, compare two settings of a car, and save the page without its Python."""
    from playwright.sync_api import sync_playwright

    browser_path = next(path for path in map(shutil.which, CHROMIUM) if path)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        shown = explorer(Path(scratch))
        listening = server.listen(server.Address(port=0))
        url = server.url_of(listening)
        start = partial(server.run, shown.service, listening, 1, None, partial(routes, shown))
        threading.Thread(target=start, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1100, "height": 900}, device_scale_factor=1.5)
        page.goto(url)
        page.wait_for_selector("body[data-idle=yes]")
        page.get_by_role("button", name="Compare with a second setting").click()
        page.get_by_label("weight", exact=True).fill("2200")
        page.get_by_label("horsepower", exact=True).fill("80")
        page.get_by_label("cylinders", exact=True).fill("4")
        page.locator("#fan-column").select_option(label="weight")
        page.locator("#threshold").fill("25")
        page.locator("h1").click()
        page.wait_for_timeout(1000)
        page.wait_for_selector("body[data-idle=yes]")
        bottom = page.locator("#along").bounding_box()
        assert bottom is not None
        height = bottom["y"] + bottom["height"] + 10
        page.screenshot(
            path=folder / "explorer.png", full_page=True, clip={"x": 0, "y": 0, "width": 1100, "height": height}
        )
        browser.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
