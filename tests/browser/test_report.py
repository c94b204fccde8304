"""Reports in a real browser: nothing is missing, nothing is fetched, and the picker draws.

Needs Chromium and playwright. ``make test-browser`` sees to both, and fails if it cannot; elsewhere it is skipped.
"""

import numpy as np
import pandas as pd
import pytest

import diffgbm
from tests.conftest import tiny

SIZES = {"wide": {"width": 1100, "height": 900}, "phone": {"width": 375, "height": 800}}


def table(n: int = 150) -> pd.DataFrame:
    """A number, a category, and names that are markup."""
    rng = np.random.default_rng(0)
    kind = pd.Categorical(rng.choice(["<b>bold</b>", "plain"], n))
    return pd.DataFrame({"<script>x</script>": rng.uniform(size=n), "kind": kind, "other": rng.normal(size=n)})


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports of one response, of several, and of one that takes few values."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(1)
    X = table()
    signal = X.iloc[:, 0].to_numpy()
    responses = {
        "one": pd.Series(signal + (0.1 + signal) * rng.normal(size=150), name='</script>"y"'),
        "several": pd.DataFrame({"a": signal + rng.normal(size=150), "b": rng.normal(size=150)}),
        "constant": pd.Series(np.full(150, 3.0), name="y"),
    }
    X.index = [f"<i>id-{i}</i>" for i in range(150)]
    X.index = ['=1+1,"<i>id-0</i>', *X.index[1:]]
    wide = pd.DataFrame(rng.normal(size=(150, 20)), columns=[f"feature with a long name {j}" for j in range(20)])
    paths = {"many": folder / "many.html"}
    diffgbm.report(tiny().fit(wide, wide.iloc[:, 0]), wide, wide.iloc[:, 0], paths["many"], rows_shown=20)
    for name, y in responses.items():
        y.index = X.index
        paths[name] = folder / f"{name}.html"
        diffgbm.report(tiny().fit(X, y), X, y, paths[name], n_repeats=1, rows_shown=20)
    return paths


@pytest.fixture
def visit(chromium):
    """Open a report; whatever goes wrong on the way is noted in ``page.faults``."""
    contexts = []

    def go(path, size="wide", **options):
        context = chromium.new_context(viewport=SIZES[size], **options)
        contexts.append(context)
        page = context.new_page()
        page.faults = []
        page.on("console", lambda message: page.faults.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("request", lambda request: page.faults.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page

    yield go
    for context in contexts:
        context.close()


def drawn(page, response=0):
    """What the density of a response looks like now."""
    return page.locator(f"#rows-{response} svg.density").inner_html()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["one", "several", "constant"])
def test_all_is_there_and_nothing_is_fetched(name, size, reports, visit):
    page = visit(reports[name], size)
    pictures = page.locator("svg.picture").all()
    responses = 2 if name == "several" else 1
    assert len(pictures) >= 8 * responses - (name == "constant")
    for picture in pictures:
        box = picture.bounding_box()
        assert box["width"] > 200
        assert box["height"] > 60
        assert picture.get_attribute("aria-label")
        assert picture.locator("*").count() > 5
    # nothing sticks out at the side, and no user's string became markup
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]
    assert page.locator("body b").count() == 0
    assert page.locator("script").count() == 2
    assert page.faults == []


@pytest.mark.parametrize("size", SIZES)
def test_labels_lie_inside_their_pictures(size, reports, visit):
    page = visit(reports["one"], size)
    outside = page.evaluate(
        """() => [...document.querySelectorAll("svg.picture text")].filter((text) => {
            const own = text.getBoundingClientRect(), box = text.ownerSVGElement.getBoundingClientRect();
            return own.left < box.left - 1 || own.right > box.right + 1
                || own.top < box.top - 1 || own.bottom > box.bottom + 1;
        }).map((text) => text.textContent)"""
    )
    assert outside == []


def test_the_picker_changes_the_density(reports, visit):
    page = visit(reports["one"])
    root = page.locator("#rows-0")
    pictures, sentences, values = {}, {}, {}
    for label in ("Typical", "Best", "Worst", "Narrowest", "Widest"):
        button = root.get_by_role("button", name=label)
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        pictures[label], sentences[label] = drawn(page), root.locator("p.status").inner_text()
        values[label] = root.locator(".values tbody").inner_text()
    assert len(set(pictures.values())) == len(set(sentences.values())) >= 4
    assert pictures["Best"] != pictures["Worst"]
    assert values["Best"] != values["Worst"]
    assert "<script>x</script>" in values["Best"]
    assert "observed" in sentences["Worst"]
    assert page.faults == []


def test_the_picker_by_keyboard(reports, visit):
    page = visit(reports["one"])
    root = page.locator("#rows-0")
    first = drawn(page)
    root.get_by_role("button", name="Worst").focus()
    page.keyboard.press("Enter")
    worst = drawn(page)
    assert worst != first
    following = root.get_by_role("button", name="next row")
    following.focus()
    page.keyboard.press("Space")
    assert drawn(page) != worst
    root.get_by_role("button", name="previous row").press("Enter")
    assert drawn(page) == worst
    box = root.locator("input[type=number]")
    shown = int(box.input_value())
    box.fill("100000")
    box.press("Enter")
    assert "Row 100000 is not in this file" in root.locator("p.status").inner_text()
    assert drawn(page) == worst
    box.fill(str(shown))
    box.press("Enter")
    assert drawn(page) == worst
    root.locator("input[type=checkbox]").press("Space")
    assert drawn(page) != worst
    assert page.faults == []


def listed(page, response=0):
    """Row numbers that the table of a response shows now."""
    cells = page.locator(f"#table-rows-{response} tbody button").all_inner_texts()
    return [int(cell.replace(",", "")) for cell in cells]


def test_all_rows_can_be_searched_filtered_and_ordered(reports, visit):
    page = visit(reports["one"])
    root = page.locator("#table-rows-0")
    status = root.locator("p.status")
    assert listed(page) == list(range(1, 11))
    assert "150 of 150 rows match; page 1 of 15" in status.inner_text()
    root.get_by_role("button", name="next").press("Enter")
    assert listed(page) == list(range(11, 21))
    # rows beyond those with a density are found by their number and by their label
    search = root.locator("input[type=search]")
    search.fill("137")
    assert listed(page) == [137, 138]  # row 138 is labelled id-137
    search.fill("<I>ID-13")
    assert listed(page) == [14, *range(131, 140)]
    assert "11 of 150" in status.inner_text()
    search.fill("no such row")
    assert listed(page) == []
    assert "No row of 150 matches" in status.inner_text()
    search.fill("")
    root.locator("[data-role=filter]").select_option("outside")
    outside = int(status.inner_text().split()[0])
    assert 0 < outside < 60
    assert root.locator("tbody td.out").count() == min(outside, 10)
    root.locator("[data-role=filter]").select_option("all")
    root.locator("[data-role=order]").select_option("crps")
    page.locator("#rows-0").get_by_role("button", name="Worst").click()
    assert listed(page)[0] == int(page.locator("#rows-0 input[type=number]").input_value())
    assert page.faults == []


def test_a_row_of_the_table_is_drawn(reports, visit):
    page = visit(reports["one"])
    before, status = drawn(page), page.locator("#rows-0 p.status")
    for row in (2, 3, 4, 5, 6, 7):  # some of them have no density in the file
        page.locator("#table-rows-0 tbody button").nth(row - 1).press("Enter")
        assert status.inner_text().startswith(f"Row {row} (labelled <i>id-{row - 1}</i>)")
        assert drawn(page) != before
        before = drawn(page)
    search = page.locator("#table-rows-0 input[type=search]")
    search.fill("150")
    page.locator("#table-rows-0 tbody button").first.click()
    assert "Row 150" in status.inner_text()
    assert page.faults == []


def test_the_table_is_downloaded_as_csv(reports, visit, tmp_path):
    page = visit(reports["one"])
    with page.expect_download() as waiting:
        page.locator("#table-rows-0 .download").click()
    assert waiting.value.suggested_filename == "predictions.csv"
    waiting.value.save_as(tmp_path / "p.csv")
    frame = pd.read_csv(tmp_path / "p.csv")
    assert list(frame.columns[:3]) == ["row", "label", "observed"]
    assert len(frame) == 150
    assert ((frame.lower_90 <= frame["median"]) & (frame["median"] <= frame.upper_90)).all()
    inside = (frame.lower_90 <= frame.observed) & (frame.observed <= frame.upper_90)
    assert (inside == (frame.inside_90 == 1)).all()
    # labels that a spreadsheet would calculate are made text
    assert frame.label[1] == "<i>id-1</i>"
    assert frame.label[0] == "'=1+1,\"<i>id-0</i>"
    assert [fault for fault in page.faults if not fault.startswith("blob:")] == []


def test_long_lists_of_features_open_on_request(reports, visit):
    page = visit(reports["many"], "phone")
    rows = page.locator("#rows-0 .values tr")
    assert rows.count() == 12
    button = page.locator("#rows-0 .more")
    button.press("Enter")
    assert rows.count() == 20
    assert button.get_attribute("aria-expanded") == "true"
    page.locator("#importance-0 summary").press("Enter")
    assert page.locator("#importance-0 details tbody tr").count() == 20
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"]["width"]


def test_tables_are_not_cut_on_a_phone(reports, visit):
    page = visit(reports["one"], "phone")
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    cut = page.evaluate(
        """() => [...document.querySelectorAll(".scroll, td, th")]
            .filter((box) => box.clientWidth > 1 && box.scrollWidth > box.clientWidth + 1)
            .map((box) => box.textContent)"""
    )
    assert cut == []
    assert page.locator("#scores-0 td", has_text="%").first.is_visible()


def test_each_response_has_its_own_picker(reports, visit):
    page = visit(reports["several"])
    before = drawn(page, 0), drawn(page, 1)
    page.locator("#rows-1").get_by_role("button", name="Worst").click()
    assert drawn(page, 0) == before[0]
    assert drawn(page, 1) != before[1]


def test_dark_and_light(reports, visit):
    looks = {}
    for scheme in ("light", "dark"):
        page = visit(reports["one"], color_scheme=scheme)
        ask = "(s, p) => getComputedStyle(document.querySelector(s))[p]"
        looks[scheme] = [
            page.evaluate(f"([s, p]) => ({ask})(s, p)", pair)
            for pair in (
                ["body", "backgroundColor"],
                ["body", "color"],
                ["svg .curve", "stroke"],
                ["svg .band", "fill"],
            )
        ]
    assert all(a != b for a, b in zip(looks["light"], looks["dark"], strict=True))
    assert looks["light"][0] == "rgb(255, 255, 255)"


def test_print(reports, visit, tmp_path):
    page = visit(reports["one"], color_scheme="dark")
    pdf = page.pdf(format="A4", print_background=True)
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 20_000
    page.emulate_media(media="print")
    # paper is white, and what cannot be clicked is not there
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not any(picker.is_visible() for picker in page.locator(".picker").all())
    assert page.locator("svg.density").is_visible()
    assert page.faults == []
