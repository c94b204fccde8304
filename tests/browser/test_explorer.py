"""The explorer in a real browser: controls move the prediction, nothing is fetched from elsewhere, no value is markup.

Needs Chromium and playwright. ``make test-browser`` sees to both, and fails if it cannot; elsewhere it is skipped.
"""

import re
import threading
from functools import partial

import numpy as np
import pandas as pd
import pytest

from diffgbm.serving import server
from diffgbm.serving.explorer import Explorer
from diffgbm.serving.pages import routes
from diffgbm.serving.service import Service
from diffgbm.serving.table_rows import read_rows
from tests.browser.chromium import missing
from tests.conftest import tiny, toy
from tests.serving.models import everything, response

SIZES = {"wide": {"width": 1180, "height": 900}, "phone": {"width": 390, "height": 800}}
HOSTILE = "</option><script>document.title='hit'</script>"
MARKUP = "<img src=x onerror=\"document.title='hit'\">"


def table(n: int = 300) -> pd.DataFrame:
    """Columns of every kind, names and values that are markup, and text that predicts the response."""
    rng = np.random.default_rng(3)
    X = everything(n).drop(columns="unused")
    X[MARKUP] = rng.choice([HOSTILE, "b & c"], n)
    words = ["quiet", "bright", "noisy", "old", "lake", "view", "station", "large"]
    X["notes"] = [" ".join(rng.choice(words, 6)) for _ in range(n)]
    return X


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("explorer")


def explorers(folder):
    """Explorers with a table, of several responses, and of a model of an array."""
    X = table()
    y = (response(X) + 500.0 * X["notes"].str.contains("lake")).rename("price <b>")
    X.assign(**{"price <b>": y}).to_parquet(folder / "rows.parquet")
    one = tiny().fit(X, y)
    one.save(folder / "model.dgbm")
    rows = read_rows(folder / "rows.parquet", one.fitted_models()[0].features, ["price <b>"])
    small = X[["size", "town"]]
    two = tiny().fit(small, pd.DataFrame({"a": y, "b": -y / 10.0}))
    A, z = toy(120, p=14)
    return {
        "one": Explorer(Service(one, "model.dgbm"), str(folder / "model.dgbm"), rows),
        "two": Explorer(Service(two, "two.dgbm"), "two.dgbm"),
        "array": Explorer(Service(tiny().fit(A, z), "array.dgbm"), "array.dgbm"),
    }


@pytest.fixture(scope="module")
def urls(folder):
    """Addresses of the explorers, which are served from threads."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        missing("starlette or uvicorn is not installed")
    found, running = {}, []
    for name, explorer in explorers(folder).items():
        explorer.service.warm_up()
        listening = server.listen(server.Address(port=0))
        found[name] = server.url_of(listening)
        start = partial(server.run, explorer.service, listening, 2, server.Address().hosts, partial(routes, explorer))
        with pytest.MonkeyPatch.context() as patch:
            made = []
            kind = uvicorn.Server
            patch.setattr(uvicorn, "Server", lambda config, made=made, kind=kind: made.append(kind(config)) or made[0])
            thread = threading.Thread(target=start)
            thread.start()
            while not made:
                thread.join(0.01)
        running.append((made[0], thread))
    yield found
    for uvicorn_server, thread in running:
        uvicorn_server.should_exit = True
        thread.join(30)


@pytest.fixture
def visit(chromium, urls):
    """Open an explorer; whatever goes wrong on the way is noted in ``page.faults``."""
    contexts = []

    def go(name="one", size="wide", **options):
        context = chromium.new_context(viewport=SIZES[size], **options)
        contexts.append(context)
        page = context.new_page()
        page.faults = []
        page.on("console", lambda message: page.faults.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("request", lambda r: page.faults.append(r.url) if not r.url.startswith(urls[name]) else None)
        page.goto(urls[name])
        settle(page)
        return page

    yield go
    for context in contexts:
        context.close()


def settle(page):
    """Wait until all answers are drawn."""
    page.wait_for_timeout(30)
    page.wait_for_selector("body[data-idle=yes]")


def numbers(page):
    """The rows of the table of numbers, as text."""
    return [row.inner_text() for row in page.locator("#numbers tbody tr").all()]


def drawing(page, name="density"):
    return page.locator(f"#{name}").inner_html()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["one", "two", "array"])
def test_all_is_there_and_nothing_is_fetched_from_elsewhere(name, size, visit):
    page = visit(name, size)
    for chart in ("density", "fan"):
        box = page.locator(f"#{chart}").bounding_box()
        assert box["width"] > 200
        assert box["height"] > 60
        assert page.locator(f"#{chart} *").count() > 8
        assert page.locator(f"#{chart}").get_attribute("aria-label")
    assert len(numbers(page)) == 1
    assert page.locator("#error").is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]
    assert page.faults == []


def test_no_value_of_the_data_is_markup(visit):
    page = visit()
    page.locator("#fan-column").select_option(label=MARKUP)
    settle(page)
    assert HOSTILE[:10] in page.locator("#fan").text_content()
    assert page.locator("script").count() == 1
    assert page.locator("img, #prediction b").count() == 0
    assert "hit" not in page.title()
    assert page.locator("#prediction-title").inner_text() == "Predicted price <b>"
    assert page.locator("label.name", has_text="<img src=x").count() == 1
    assert page.faults == []


@pytest.mark.parametrize("size", SIZES)
def test_labels_lie_inside_their_charts(size, visit):
    page = visit(size=size)
    outside = """() => [...document.querySelectorAll("svg.chart text")].filter((text) => {
        const own = text.getBoundingClientRect(), box = text.ownerSVGElement.getBoundingClientRect();
        return own.left < box.left - 1 || own.right > box.right + 1
            || own.top < box.top - 1 || own.bottom > box.bottom + 1;
    }).map((text) => text.textContent)"""
    for column in ("size", "town", "built", "seen", MARKUP):
        page.locator("#fan-column").select_option(label=column)
        settle(page)
        assert page.evaluate(outside) == []


def test_a_slider_moved_by_the_keyboard_moves_everything(visit):
    page = visit()
    before = [drawing(page), drawing(page, "fan"), numbers(page), page.locator("#code").inner_text()]
    slider = page.get_by_label("size, slider")
    slider.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    settle(page)
    after = [drawing(page), drawing(page, "fan"), numbers(page), page.locator("#code").inner_text()]
    assert [k for k in range(4) if before[k] == after[k]] == []
    value = page.get_by_label("size", exact=True).input_value()
    assert value == slider.input_value()
    assert f"'size': [{float(value)!r}]" in after[3]
    assert page.locator("#status").inner_text().startswith("Row: mean")
    assert page.faults == []


@pytest.mark.parametrize(
    ("label", "change"),
    [
        ("size", lambda box: box.fill("55.5")),
        ("garden", lambda box: box.select_option(index=1)),
        ("town", lambda box: box.select_option(label="Bern")),
        ("built", lambda box: box.fill("2021-03-04")),
        ("seen", lambda box: box.fill("2021-03-04T10:30")),
        ("opens", lambda box: box.fill("23:15")),
        ("notes", lambda box: box.fill("old lake view")),
        ("size is missing", lambda box: box.check()),
    ],
)
def test_every_kind_of_control_sets_its_value(label, change, visit):
    page = visit()
    before = page.locator("#code").inner_text()
    change(page.get_by_label(label, exact=True))
    settle(page)
    after = page.locator("#code").inner_text()
    assert len(set(before.splitlines()) ^ set(after.splitlines())) in (2, 4)  # one line, and the threshold's at most
    assert page.locator("#error").is_hidden()
    assert page.faults == []


def test_a_missing_value_and_back(visit):
    page = visit()
    first = numbers(page)
    box = page.get_by_label("size is missing")
    box.check()
    settle(page)
    assert "'size': [None]" in page.locator("#code").inner_text()
    assert numbers(page) != first
    box.uncheck()
    settle(page)
    assert numbers(page) == first


def test_threshold_and_coverage(visit):
    page = visit()
    page.locator("#threshold").fill("100000")
    settle(page)
    assert numbers(page)[0].endswith("< 0.5%")
    page.locator("#threshold").fill("-100000")
    settle(page)
    assert numbers(page)[0].endswith("> 99.5%")
    slider = page.locator("#threshold-slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert float(page.locator("#threshold").input_value()) > -100000
    wide = numbers(page)
    page.locator("#coverage").select_option("0.5")
    settle(page)
    assert page.locator("#interval-head").inner_text() == "50% interval"
    assert numbers(page) != wide


def test_two_settings_are_compared(visit):
    page = visit()
    page.get_by_role("button", name="Compare with a second setting").press("Enter")
    settle(page)
    first, second = numbers(page)
    assert first.split("\t")[1:] == second.split("\t")[1:]
    page.get_by_label("town", exact=True).select_option(label="Bern")
    page.get_by_label("size", exact=True).fill("40")
    settle(page)
    first_now, second_now = numbers(page)
    assert first_now.split("\t")[1:2] == first.split("\t")[1:2]
    assert second_now != second
    assert page.locator(".curve.a").count() >= 1
    assert page.locator("#density .curve.b").count() == 1
    assert page.locator(".differs", has_text=re.compile("^A: ")).count() == 2
    page.get_by_role("radio", name="Setting A").check()
    settle(page)
    assert page.locator(".differs", has_text="B: Bern").count() == 1
    page.get_by_role("button", name="End the comparison").click()
    settle(page)
    assert len(numbers(page)) == 1
    assert page.faults == []


def test_rows_of_the_table_are_loaded_with_their_response(visit):
    page = visit()
    assert "of 300" in page.locator("#loader").inner_text()
    assert "observed" in page.locator("#density").text_content()
    first = numbers(page)
    page.get_by_role("button", name="Next row").press("Enter")
    settle(page)
    assert page.locator("#row-number").input_value() == "2"
    second = numbers(page)
    assert second != first
    page.locator("#row-number").fill("1000000")
    page.locator("#row-number").press("Enter")
    settle(page)
    assert page.locator("#row-number").input_value() == "300"
    page.get_by_role("button", name="Previous row").click()
    settle(page)
    assert page.locator("#row-number").input_value() == "299"
    # a changed row is no longer the one that was observed
    page.get_by_label("size", exact=True).fill("66")
    settle(page)
    assert "observed" not in page.locator("#density").text_content()
    assert page.faults == []


def test_the_python_is_copied_and_gives_the_numbers_of_the_page(visit):
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").press("Enter")
    page.wait_for_selector("#copied:has-text('Copied.')")
    code = page.evaluate("navigator.clipboard.readText()")
    names = {}
    exec(code, names)
    mean, _, interval, above = numbers(page)[0].split("\t")[1:]
    assert float(mean.replace(",", "")) == pytest.approx(names["mean"][0], abs=1.0)
    low, high = (float(end.replace(",", "")) for end in interval.split(" to "))
    assert (low, high) == pytest.approx(tuple(names["interval"][0]), abs=1.0)
    assert float(above.rstrip("%")) / 100 == pytest.approx(names["probability"][0], abs=0.001)


def test_several_responses_have_a_menu(visit):
    page = visit("two")
    first = numbers(page)
    page.locator("#target").select_option(label="b")
    settle(page)
    assert page.locator("#prediction-title").inner_text() == "Predicted b"
    assert numbers(page) != first
    assert page.faults == []


def test_many_features_can_be_found(visit):
    page = visit("array")
    assert page.locator(".control:visible").count() == 14
    page.get_by_label("Find a feature").fill("13")
    assert page.locator(".control:visible").count() == 1


def test_the_density_stays_in_sight_on_a_phone(visit):
    page = visit(size="phone")
    page.get_by_label("notes", exact=True).scroll_into_view_if_needed()
    box = page.locator("#density").bounding_box()
    assert 0 <= box["y"] < 200


def test_a_refusal_is_shown_and_goes_away(visit):
    page = visit()
    page.get_by_label("built", exact=True).evaluate(
        "(box) => { box.type = 'text'; box.value = 'soon'; box.dispatchEvent(new Event('input')); }"
    )
    page.wait_for_selector("#error:not([hidden])")
    assert "'built' must be a date like 2020-04-21" in page.locator("#error").inner_text()
    page.get_by_role("button", name="Typical row").click()
    page.wait_for_selector("#error[hidden]", state="attached")


def test_every_control_has_a_name(visit):
    page = visit()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("input, select, textarea, button")].filter((control) =>
            !control.labels?.length && !control.getAttribute("aria-label") && !control.textContent.trim()
        ).map((control) => control.outerHTML)"""
    )
    assert nameless == []
