"""Reports: facts in closed form, pages that stand alone, and mistakes that are named."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm
from sklearn.linear_model import LinearRegression

import diffgbm
from diffgbm import ConformalDiffGBM, DiffGBM, PredictiveDistribution
from diffgbm.metrics.diagnostics import LEVELS as NOMINAL
from diffgbm.metrics.evaluation import LEVELS
from diffgbm.metrics.scores import climatology_crps
from diffgbm.reporting import facts, groups, importance, shown, svg, words
from diffgbm.reporting.page import embedded
from diffgbm.reporting.rows import read_rows
from diffgbm.reporting.scores import score_rows
from tests.auto.tiny_auto import LEAST, auto, small_trees  # noqa: F401  # fixtures
from tests.cli.test_commands import folder, houses, run  # noqa: F401  # fixtures
from tests.conftest import tiny, toy

SCALES = np.array([0.5, 2.0])


class Known(DiffGBM):
    """y is normal around the first feature, and its spread depends on the second alone."""

    def predict_distribution(self, X, grid="auto", **options):
        X = np.asarray(X, dtype=float)
        levels = (np.arange(1001) + 0.5) / 1001
        scale = SCALES[(X[:, 1] > 0.5).astype(int)]
        return PredictiveDistribution(X[:, :1] + scale[:, None] * norm.ppf(levels), levels)


@pytest.fixture(scope="module")
def known():
    """A model whose law is known, and observations that follow it."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(0.0, 3.0, 3000), rng.uniform(size=3000), rng.normal(size=3000)])
    y = X[:, 0] + SCALES[(X[:, 1] > 0.5).astype(int)] * rng.standard_normal(3000)
    model = Known(**tiny().get_params()).fit(X[:90], y[:90])
    return model, X, y


@pytest.fixture(scope="module")
def found(known):
    model, X, y = known
    return diffgbm.report(model, X, y, importance_rows=1000, n_repeats=3, rows_shown=30).facts


@pytest.fixture(scope="module")
def mixed():
    """A model of a frame with a category, missing values and names that are markup; its report, and its rows."""
    rng = np.random.default_rng(1)
    n = 160
    X = pd.DataFrame(
        {
            "<script>alert(1)</script>": rng.normal(size=n),
            "a & b": pd.Categorical(rng.choice(["</script><b>", "x", "é"], n)),
            "constant": np.ones(n),
        },
        index=[f"<i>{i}</i>" for i in range(n)],
    )
    X.iloc[::7, 0] = np.nan
    X.iloc[3, 1] = None
    y = pd.Series(
        np.nan_to_num(X.iloc[:, 0]) + rng.normal(size=n), name='<img src=x onerror="alert(2)">', index=X.index
    )
    model = tiny().fit(X, y)
    return model, X, y, diffgbm.report(model, X, y, n_repeats=2, rows_shown=20, title="</title><script>")


def data_of(html: str):
    """Read the embedded data as the script does."""
    return json.loads(re.search(r'<script type="application/json" id="report-data">(.*?)</script>', html, re.S)[1])


def without_cost(html: str) -> str:
    return re.sub(r'<section id="cost".*?</section>', "", html, flags=re.S)


# facts in closed form


def test_crps_is_that_of_normal_distributions(found):
    # CRPS of N(m, s) under itself is s / sqrt(pi); half of the rows have each scale
    response = found.responses[0]
    assert response.model.crps == pytest.approx(SCALES.mean() / np.sqrt(np.pi), abs=4 * response.model.error)
    assert response.model.skill == pytest.approx(1 - response.model.crps / response.climatology.crps)
    assert response.climatology.skill == 0.0
    assert response.climatology.crps == pytest.approx(climatology_crps(*[found.climatology.responses[:, 0]] * 2).mean())
    assert response.model.crps < response.constant.crps < response.climatology.crps


@pytest.mark.parametrize("level", LEVELS)
def test_intervals_of_the_right_distribution_cover_what_they_say(found, level):
    response = found.responses[0]
    assert response.model.coverage[level] == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 3000))
    width = 2 * norm.ppf(0.5 + level / 2)
    halves = np.mean(known_scales(found))
    assert response.model.width[level] == pytest.approx(width * halves, rel=2e-3)
    # a constant spread that is made of the other rows' residuals covers what it says on average
    assert response.constant.coverage[level] == pytest.approx(level, abs=3 / 3000)


@pytest.mark.parametrize("n", [2, 3, 17])
def test_scores_under_the_distribution_of_the_others(n):
    values = np.random.default_rng(n).normal(size=n)
    others = [np.delete(values, i) for i in range(n)]
    expected = [climatology_crps(o, values[i : i + 1])[0] for i, o in enumerate(others)]
    np.testing.assert_allclose(facts.others_crps(values), expected, atol=1e-12)
    expected = np.array([np.quantile(o, [0.05, 0.95]) for o in others])
    np.testing.assert_allclose(np.column_stack(facts.others_interval(values, 0.9)), expected, atol=1e-12)


def known_scales(found):
    return SCALES[(found.rows.matrix[:, 1] > 0.5).astype(int)]


def test_transforms_are_uniform_and_reliability_is_the_diagonal(found):
    response = found.responses[0]
    assert response.pit.counts.sum() == 3000
    assert response.scores["pit_p"] > 0.001
    spread = np.sqrt(response.reliability.nominal * (1 - response.reliability.nominal) / 3000)
    assert np.all(np.abs(response.reliability.coverage - NOMINAL) < 4 * spread)


def test_importance_knows_what_moves_centre_and_spread(known, found):
    # the median moves with feature 0 alone, the interquartile range with feature 1 alone
    centre, spread = found.importance.centre[:, 0], found.importance.spread[:, 0]
    assert centre[1] == centre[2] == spread[2] == 0.0
    assert spread[0] < 1e-9
    assert (found.importance.rows, found.importance.repeats) == (1000, 3)
    # |x - x'| of independent normals is 2 s / sqrt(pi); the spread changes for half of the rows by a known amount
    assert centre[0] == pytest.approx(2 * 3.0 / np.sqrt(np.pi), rel=0.1)
    assert spread[1] == pytest.approx(0.5 * np.ptp(SCALES) * 2 * norm.ppf(0.75), rel=0.1)
    assert found.responses[0].order.tolist() == [0, 1, 2]
    assert [g.by for g in found.responses[0].groupings] == ["column 0", "column 1"]


def test_groups_show_where_a_constant_spread_is_wrong(known, found):
    last = found.responses[0].spread.groups
    # one half of the rows have one spread, and all groups keep equal values together
    assert [g.covered.count for g in last] == [int((known_scales(found) == s).sum()) for s in SCALES]
    for group in last:
        assert group.covered.low <= 0.9 <= group.covered.high
    assert last[0].constant > 0.97
    assert last[1].constant < 0.87


def test_importance_takes_fewer_rows_of_many_features(known, monkeypatch):
    model, X, _ = known
    monkeypatch.setattr(importance, "BUDGET", 600)
    rows = read_rows(model, X)
    assert importance.permutation_importance(model, rows, repeats=2).rows == 100
    assert importance.permutation_importance(model, rows, max_rows=70, repeats=2).rows == 70
    monkeypatch.setattr(importance, "BUDGET", 1)
    assert importance.permutation_importance(model, rows, repeats=2).rows == importance.FEWEST


def test_rows_that_are_picked(known):
    model, X, y = known
    scores = score_rows(model, read_rows(model, X[:200]), y[:200, None], 0).responses[0]
    picked = shown.picks(scores)
    crps, width = scores.values["crps"], scores.width()
    assert crps[picked["best"]] == crps.min()
    assert crps[picked["worst"]] == crps.max()
    assert width[picked["narrowest"]] == width.min()
    assert width[picked["widest"]] == width.max()
    for values in (crps, width):
        assert 0.25 < np.mean(values <= values[picked["typical"]]) < 0.9
    chosen = shown.rows_to_show(picked, 200, 20, 0)
    assert len(chosen) == len(set(chosen)) == 20
    assert set(picked.values()) <= set(chosen)
    assert shown.rows_to_show(picked, 200, 10**6, 0).tolist() == list(range(200))
    assert set(shown.rows_to_show(picked, 200, 1, 0)) == set(picked.values())


def test_blocks_do_not_matter(known, monkeypatch):
    model, X, y = known
    rows = read_rows(model, X[:50])
    whole = score_rows(model, rows, y[:50, None], 0).responses[0]
    monkeypatch.setattr("diffgbm.reporting.scores.BLOCK", 7)
    parts = score_rows(model, rows, y[:50, None], 0).responses[0]
    for name, values in whole.values.items():
        np.testing.assert_array_equal(values, parts.values[name])
    np.testing.assert_array_equal(whole.inside, parts.inside)


# laws that are drawn


def test_a_normal_density_is_drawn_as_it_is():
    distribution = PredictiveDistribution.from_points(norm.ppf((np.arange(400) + 0.5) / 400)[None])
    drawn = shown.picture(distribution, 1.0)
    assert len(drawn.atoms) == 0
    assert trapezoid(drawn.density, drawn.grid) == pytest.approx(1.0, abs=0.01)
    # smoothing by a tenth of the standard deviation makes the variance 1.01
    np.testing.assert_allclose(drawn.density, norm.pdf(drawn.grid), atol=0.02)
    np.testing.assert_allclose(drawn.quantiles, norm.ppf(shown.MARKS), atol=0.01)


def test_point_masses_are_taken_out_of_a_density():
    distribution = PredictiveDistribution.from_points(np.concatenate([np.zeros(30), np.linspace(1, 2, 70)])[None])
    drawn = shown.picture(distribution, 0.0)
    assert drawn.atoms.tolist() == [0.0]
    assert drawn.masses == pytest.approx([0.3])
    assert trapezoid(drawn.density, drawn.grid) == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize("points", [[5.0] * 9, [1.0, 1.0, 2.0, 2.0], [3.0], [0.0] * 50 + [1.0] * 48 + [7.0, 9.0]])
def test_a_distribution_of_point_masses_alone_has_no_density(points):
    drawn = shown.picture(PredictiveDistribution.from_points([points]), 4.0)
    assert len(drawn.grid) == len(drawn.density) == 0
    assert drawn.masses.sum() == pytest.approx(1.0)
    assert drawn.atoms.tolist() == sorted(set(points))


def test_transforms_on_point_masses_are_spread_evenly(known):
    class Coin(Known):
        def predict_distribution(self, X, grid="auto", **options):
            return PredictiveDistribution.from_points(np.tile(np.repeat([0.0, 1.0], 50), (len(X), 1)))

    _, X, _ = known
    coin = Coin(**tiny().get_params()).fit(X[:90], X[:90, 0])
    y = (np.arange(2000) % 2).astype(float)
    found = diffgbm.report(coin, X[:2000], y, rows_shown=5).facts.responses[0]
    assert found.scores["pit_p"] > 0.001
    assert found.has_atoms
    assert found.groupings == ()


# words and marks


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1234567.8, "1,234,568"), (0.123456, "0.1235"), (-2.5, "−2.5"), (1e-9, "1.000e−09"), (100.0, "100")],  # noqa: RUF001
)
def test_numbers(value, text):
    assert words.number(value) == text


def test_numbers_that_are_none():
    assert {words.number(v) for v in (None, np.nan, np.inf)} == {words.NONE}
    assert words.percent(None) == words.NONE
    assert words.percent(0.876) == "87.6%"
    assert (words.size(12), words.size(12_345), words.size(1_234_567)) == ("12 bytes", "12 kB", "1.2 MB")
    assert words.shortened("abcdefgh", 7) == "abcd…gh"
    assert words.aligned(3.14159, 100.0) == "3.1"


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3e-5, 4e-5), (1e6, 1e6 + 3), (0.0, 0.7)])
def test_ticks_are_round_and_inside(low, high):
    found = np.array(svg.ticks(low, high, 6))
    assert 2 <= len(found) <= 6
    assert found.min() >= low - 1e-9 * abs(low)
    assert found.max() <= high + 1e-9 * abs(high)
    steps = np.diff(found)
    np.testing.assert_allclose(steps, steps[0])


def test_embedded_json_cannot_leave_its_script():
    text = embedded({"a": "</script><script>&\u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><script>&\u2028"}


# pages


def test_a_page_stands_alone(mixed):
    html = mixed[3].html
    assert "http://" not in html
    assert "https://" not in html
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found.extend((tag, name, value) for name, value in attributes if name in ("src", "href", "style", "action"))

    Reader().feed(html)
    assert found
    assert all(tag == "a" and name == "href" and value.startswith("#") for tag, name, value in found)
    assert "url(" not in html
    assert "@import" not in html


def test_a_users_strings_are_escaped_everywhere(mixed):
    html = mixed[3].html
    page, script = html.split('<script type="application/json"')
    for markup in ("<script>alert", "<img", "<b>", "<i>", "</title><script>"):
        assert markup not in page
        assert markup not in script
    assert page.count("<script") == 0
    assert script.count("<script") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    data = data_of(html)["responses"][0]
    assert data["name"] == mixed[2].name
    assert set(data["features"]) == set(mixed[1].columns)


def test_categories_and_missing_values(mixed):
    _, X, _, report = mixed
    response = report.facts.responses[0]
    first, category = (next(g for g in response.groupings if g.by == name) for name in X.columns[:2])
    assert first.groups[-1].label == "missing"
    assert first.groups[-1].covered.count == X.iloc[:, 0].isna().sum()
    assert sum(g.covered.count for g in first.groups) == len(X)
    assert [g.label for g in category.groups] == ["</script><b>", "x", "é", "missing or new"]
    assert sum(g.covered.count for g in category.groups) == len(X)
    row = next(r for r in data_of(report.html)["responses"][0]["rows"] if r["row"] == response.picks["best"] + 1)
    assert f"labelled {X.index[response.picks['best']]}" in row["title"]
    values = dict(zip(data_of(report.html)["responses"][0]["features"], row["features"], strict=True))
    assert values["constant"] == "1"
    assert report.facts.importance.centre[2].item() == 0.0


def test_rare_categories_are_put_together():
    n = 400
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": pd.Categorical([f"k{i % 20}" for i in range(n)]), "x": rng.normal(size=n)})
    rows = read_rows(tiny().fit(X, rng.normal(size=n)), X)
    inside = rng.uniform(size=n) < 0.9
    found = groups.by_feature(groups.Intervals(inside, inside, np.ones(n)), rows, 0).groups
    assert [g.label for g in found][-1] == "13 others"
    assert len(found) == groups.CATEGORIES + 1
    assert sum(g.covered.count for g in found) == n


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_every_kind_of_table_says_the_same(kind, flow_model):
    X, y = toy()
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(7, 127))
    model = tiny().fit(frame, y)
    given = {"pandas": frame, "polars": pl.DataFrame(X, schema=list("cab")).select("b", "c", "a"), "array": X}[kind]
    if kind == "polars":
        given = pl.DataFrame(dict(zip("abc", X.T, strict=True))).select("c", "a", "b")
    if kind == "array":
        model = flow_model
    found = diffgbm.report(model, given, y, n_repeats=2).facts
    expected = diffgbm.report(flow_model, X, y, n_repeats=2).facts
    np.testing.assert_allclose(found.importance.centre, expected.importance.centre)
    np.testing.assert_allclose(found.importance.spread, expected.importance.spread)
    assert found.responses[0].model == expected.responses[0].model


def test_the_same_seed_gives_the_same_report(flow_model):
    X, y = toy()
    first, again, other = (diffgbm.report(flow_model, X, y, rows_shown=10, n_repeats=1, seed=s).html for s in (0, 0, 1))
    assert without_cost(first) == without_cost(again) != without_cost(other)


def test_several_responses(two_responses):
    X, y = toy(d=2)
    report = diffgbm.report(two_responses, X, y, n_repeats=1, rows_shown=30)
    assert [r.name for r in report.facts.responses] == ["y0", "y1"]
    for j, name in enumerate(("y0", "y1")):
        assert f'id="response-{j}">{name}</h2>' in report.html
        assert f'id="densities-{j}"' in report.html
    assert [len(r["rows"]) for r in data_of(report.html)["responses"]] == [15, 15]
    # frames may have their responses in any order
    swapped = diffgbm.report(
        tiny().fit(X, pd.DataFrame(y, columns=["a", "b"])), X, pd.DataFrame(y[:, ::-1], columns=["b", "a"]), n_repeats=1
    )
    assert [r.model for r in swapped.facts.responses] == [r.model for r in report.facts.responses]


def test_climatology_is_that_of_training_if_it_is_known(flow_model):
    X, y = toy()
    own = diffgbm.report(flow_model, X, y, n_repeats=1)
    assert "the 120 responses of this table itself" in own.html
    given = diffgbm.report(flow_model, X, y, n_repeats=1, y_train=y[:50])
    assert "the 50 training responses" in given.html
    crps = given.facts.responses[0].climatology.crps
    assert crps == pytest.approx(climatology_crps(y[:50], y).mean())


def test_conformal_intervals_are_those_that_are_scored(flow_model):
    X, y = toy(seed=3)
    model = ConformalDiffGBM(flow_model).calibrate(X, y)
    X, y = toy(seed=4)
    report = diffgbm.report(model, X, y, n_repeats=1)
    low, high = model.predict_interval(X, 0.9).T
    response = report.facts.responses[0]
    assert response.model.coverage[0.9] == np.mean((low <= y) & (y <= high))
    assert response.model.width[0.9] == pytest.approx(np.mean(high - low))
    assert response.promised
    assert "conformal intervals" in report.html
    assert "the 120 responses that the model was calibrated on" in report.html
    few = ConformalDiffGBM(flow_model).calibrate(X[:12], y[:12])
    rest = diffgbm.report(few, X[12:], y[12:], n_repeats=1).facts.responses[0]
    assert np.isnan(rest.model.coverage[0.95])
    assert np.isfinite(rest.model.coverage[0.9])


def test_automatic_fits_and_their_files(tmp_path):
    X, y = toy()
    model = auto(LEAST).fit(X, y)
    model.save(tmp_path / "m.dgbm")
    pages = [diffgbm.report(m, X, y, n_repeats=1, seed=3).html for m in (model, diffgbm.load(tmp_path / "m.dgbm"))]
    assert without_cost(pages[0]) == without_cost(pages[1])
    assert "AutoDiffGBM" in pages[0]


@pytest.mark.parametrize("y", [np.full(30, 2.0), np.arange(30) % 2 * 1.0])
def test_responses_without_spread(y):
    X = np.random.default_rng(0).normal(size=(30, 2))
    report = diffgbm.report(tiny(residualize="off").fit(X, y), X, y, n_repeats=1)
    assert "NaN" not in report.html
    assert len(data_of(report.html)["responses"][0]["rows"]) == 30


def test_two_rows_are_enough(flow_model):
    X, y = toy()
    assert len(diffgbm.report(flow_model, X[:2], y[:2]).facts.rows) == 2


def test_the_file_is_whole_or_not_there(flow_model, tmp_path, monkeypatch):
    X, y = toy()
    path = tmp_path / "r.html"
    report = diffgbm.report(flow_model, X, y, path, n_repeats=1, fit_seconds=12.0)
    assert path.read_text("utf-8") == report.html
    assert "12 s" in report.html
    assert "srcdoc" in report._repr_html_()
    with pytest.raises(UnicodeEncodeError):
        replace(report, html="\ud800").save(path)
    assert path.read_text("utf-8") == report.html
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_a_model_that_no_file_can_hold_has_no_size(flow_model, monkeypatch):
    def refuse(self, path):
        raise TypeError("no")

    monkeypatch.setattr(DiffGBM, "save", refuse)
    assert facts.model_bytes(flow_model) is None


# mistakes


def test_mistakes_are_named(flow_model, two_responses, tmp_path):
    X, y = toy()
    with pytest.raises(TypeError, match=r"model must be a DiffGBM, .*; got LinearRegression"):
        diffgbm.report(LinearRegression(), X, y)
    with pytest.raises(ValueError, match="not fitted yet"):
        diffgbm.report(tiny(), X, y)
    with pytest.raises(ValueError, match="at least 2 rows; got 1"):
        diffgbm.report(flow_model, X[:1], y[:1])
    with pytest.raises(ValueError, match=r"y must hold 1 response\(s\) \(y\) for each of 120 rows; got shape \(7,\)"):
        diffgbm.report(flow_model, X, y[:7])
    with pytest.raises(ValueError, match=r"y must hold 2 response\(s\) \(y0, y1\)"):
        diffgbm.report(two_responses, X, y)
    with pytest.raises(ValueError, match="y_train must hold 1"):
        diffgbm.report(flow_model, X, y, y_train=np.zeros((9, 2)))
    with pytest.raises(ValueError, match="y must be finite"):
        diffgbm.report(flow_model, X, np.where(np.arange(120) == 3, np.nan, y))
    with pytest.raises(ValueError, match="expecting 3 features"):
        diffgbm.report(flow_model, X[:, :2], y)
    for name in ("importance_rows", "n_repeats", "rows_shown"):
        with pytest.raises(ValueError, match=f"{name} must be an integer >= "):
            diffgbm.report(flow_model, X, y, **{name: 0})
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        diffgbm.report(flow_model, X, y, tmp_path / "none" / "r.html")


# the command line


def test_the_command(folder, run, tmp_path):  # noqa: F811
    words = ["report", folder / "two.dgbm", folder / "test.csv", "-o", tmp_path / "r.html", "--jobs", 1, "--repeats", 1]
    code, out, err = run(*words, "--train", folder / "houses.csv", "--title", "Houses", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["rows"], set(found["targets"])) == (60, {"price", "days"})
    html = (tmp_path / "r.html").read_text("utf-8")
    assert "<h1>Houses</h1>" in html
    assert "the 200 training responses" in html
    scores = json.loads(run("evaluate", folder / "two.dgbm", folder / "test.csv", "--jobs", 1, "--json")[1])["targets"]
    for name, own in found["targets"].items():
        assert own["crps"] == pytest.approx(scores[name]["crps"], rel=1e-12)
    code, out, _ = run(*words)
    assert (code, out) == (0, f"{tmp_path / 'r.html'}: 60 rows, {(tmp_path / 'r.html').stat().st_size / 1e6:.2f} MB.\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": "tomorrow.csv"}, r"tomorrow\.csv: there is no column 'price'"),
        ({"model": "none.dgbm"}, "There is no model file"),
        ({"model": "test.csv"}, "is not a model file"),
        ({"more": ["--train", "{in}/tomorrow.csv"]}, r"tomorrow\.csv: there is no column 'price'"),
        ({"more": ["--repeats", "0"]}, "--repeats must be an integer >= 1; got 0"),
        ({"more": ["--importance-rows", "1"]}, "--importance-rows must be an integer >= 2; got 1"),
        ({"more": ["--rows-shown", "0"]}, "--rows-shown must be an integer >= 1; got 0"),
        ({"more": ["--seed", "-1"]}, "--seed must be an integer >= 0"),
        ({"output": "no/r.html"}, "there is no folder"),
    ],
)
def test_mistakes_of_the_command(change, message, folder, run, tmp_path):  # noqa: F811
    more = [word.replace("{in}", str(folder)) for word in change.get("more", [])]
    model, table = (folder / change.get(k, v) for k, v in (("model", "one.dgbm"), ("table", "test.csv")))
    code, out, err = run("report", model, table, "-o", tmp_path / change.get("output", "r.html"), "--jobs", 1, *more)
    assert (code, out) == (2, "")
    assert re.search(message, err)
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_one_row_is_too_few_for_the_command(folder, run, tmp_path):  # noqa: F811
    houses(60, 2).head(1).to_csv(tmp_path / "one.csv", index=False)
    code, _, err = run("report", folder / "one.dgbm", tmp_path / "one.csv", "-o", tmp_path / "r.html", "--jobs", 1)
    assert (code, err) == (2, "diffgbm: A report needs at least 2 rows; got 1.\n")


def test_commands_trust_by_name(folder, run, monkeypatch):  # noqa: F811
    given = []
    real = diffgbm.load

    def watched(path, trusted=()):
        given.append(list(trusted))
        return real(path, trusted=trusted)

    monkeypatch.setattr("diffgbm.cli.commands.load", watched)
    code, _, err = run("inspect", folder / "one.dgbm", "--trust", "a.B", "--trust", "c.D")
    assert (code, err) == (0, "")
    code, _, err = run("evaluate", folder / "one.dgbm", folder / "test.csv", "--trust", "a.B", "--jobs", 1)
    assert (code, err) == (0, "")
    assert given == [["a.B", "c.D"], ["a.B"]]
