"""The documentation's own text: its code runs, prints what it shows, and names what exists."""

import re
import sys

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import diffgbm
from diffgbm import dask, engine, metrics, plotting
from tests.docs.pages import DOCS, blocks, run, same_output

sys.path.insert(0, str(DOCS / "_ext"))

import beside_peers
import gallery_order
import mathml
import measured
import source_lines

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def table():
    """What pages other than the start take for granted."""
    X, y = load_diabetes(return_X_y=True)
    return {"X": X[:200], "y": y[:200], "X_new": X[200:260], "y_new": y[200:260]}


def test_five_minutes_print_what_they_show(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    diffgbm.warmup()  # the time limit would count the compilation of kernels
    results = run("start.md", {})
    assert sum(block.shown is not None for block, _ in results) >= 8
    for block, printed in results:
        assert same_output(block.shown or "", printed), f"start.md, line {block.line}, prints\n{printed}"
    assert plt.get_fignums()
    plt.close("all")


@pytest.mark.parametrize(("page", "count"), [("choosing.md", 1), ("adapters.md", 2), ("members.md", 1)])
def test_code_of_other_pages_runs(page, count, table):
    if page == "adapters.md":
        pytest.importorskip("skpro")
    assert len(run(page, table)) == count


PRINTED = [("decisions.md", 11), ("conformal.md", 4), ("structure.md", 3), ("tables.md", 1)]


@pytest.mark.parametrize(("page", "count"), PRINTED)
def test_pages_print_what_they_show(page, count):
    results = run(page, {})
    assert sum(block.shown is not None for block, _ in results) == count
    for block, printed in results:
        assert same_output(block.shown or "", printed), f"{page}, line {block.line}, prints\n{printed}"


def test_migrated_code_gives_what_it_names(table):
    names = dict(table)
    assert len(run("migrating.md", names)) == 6
    n = len(table["X_new"])
    assert names["y_samples"].shape == names["s"].shape == names["samples"].shape == (100, n)
    assert names["interval"].shape == (n, 2)
    assert names["q"].shape == (n, 3)
    assert np.all((names["lower"] < names["upper"]) & (names["p"] >= 0) & (names["p"] <= 1))
    assert len(names["distribution"]) == n
    assert np.isfinite(names["nll"])


def test_outputs_that_differ_are_told_apart():
    assert same_output("a 10.0 [5]\n", "a  10.4 [5]")
    assert not same_output("a 10.0\n", "a 12.0\n")
    assert not same_output("a 10.0\n", "b 10.0\n")
    assert not same_output("", "printed\n")
    assert not same_output("1 2\n", "1\n")


def referenced() -> set[str]:
    """Full names in the lists of the reference."""
    names, module = set(), ""
    for line in (DOCS / "reference" / "index.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r"   [\w.]+", line):
            names.add(f"{module}.{line.strip()}")
    return names


@pytest.mark.parametrize("module", [diffgbm, metrics, plotting, dask, engine], ids=lambda m: m.__name__)
def test_every_public_name_is_in_the_reference(module):
    plain = {"__version__", "metrics"}
    public = {f"{module.__name__}.{name}" for name in module.__all__ if name not in plain}
    assert public - referenced() == set()


def test_the_reference_names_what_exists():
    for name in referenced():
        if "skpro" in name:
            pytest.importorskip("skpro")
        assert source_lines.locate(name).last > 0


USED = [
    *("AutoDiffGBM", "DiffGBM", "DiffGBMCV", "ConformalDiffGBM"),
    *("PredictiveDistribution", "JointDistribution", "Samples", "Report"),
]


@pytest.mark.parametrize("name", USED)
def test_the_first_sentence_of_a_class_says_when_to_use_it(name):
    assert getattr(diffgbm, name).__doc__.startswith("Use this ")


def test_public_functions_of_metrics_are_listed():
    own = {
        n for n, f in vars(metrics).items() if callable(f) and getattr(f, "__module__", "").startswith(metrics.__name__)
    }
    helpers = {"Ensemble", "KSTest", "KnownDistribution", "as_distribution", "central_interval"}
    assert {n for n in own if not n.startswith("_")} - helpers == set(metrics.__all__)


def test_lines_are_those_of_the_object():
    place = source_lines.locate("diffgbm.diffusion.paths.PathPoint.wronskian")
    source = (DOCS.parent / "src" / place.file).read_text(encoding="utf-8").splitlines()
    assert source[place.first - 1].strip() == "@property"
    assert source[place.last - 1].strip() == "return self.alpha * self.d_beta - self.d_alpha * self.beta"
    assert source_lines.locate("diffgbm.diffusion.paths.PATHS").module == "diffgbm.diffusion.paths"


@pytest.mark.parametrize("name", ["diffgbm.diffusion.paths.PathPoint.nothing", "diffgbm.nothing", "nothing.at.all"])
def test_a_name_that_does_not_exist_is_refused(name):
    with pytest.raises(LookupError, match="does not exist"):
        source_lines.locate(name)


def test_pages_link_to_lines_that_exist():
    linked = [
        name.rpartition("<")[2].rstrip(">")
        for page in DOCS.glob("*.md")
        for name in re.findall(r"\{lines\}`([^`]+)`", page.read_text(encoding="utf-8"))
    ]
    assert len(linked) > 15
    for name in linked:
        assert source_lines.locate(name).first >= 1


def test_every_example_has_its_place():
    files = {path.name for path in (DOCS.parent / "examples").glob("plot_*.py")}
    assert set(gallery_order.LESSONS) == files


def test_measured_table_is_made_of_complete_data_sets(tmp_path):
    def line(data_set, family, fold, crps):
        scores = {f"coverage_error_{q}": 0.1 for q in (50, 90, 95)} | {"crps": crps, "crpss": 1 - crps}
        return {
            "data_set": data_set,
            "family": family,
            "fold": fold,
            "metrics": scores,
            "fit_cpu_seconds": 1.0,
            "sample_cpu_seconds": 0.2,
            "n_test": 100,
            "budget": {"n_trials_finite": 12},
        }

    rows = [line("whole", f, k, 0.2 + 0.1 * i) for i, f in enumerate(measured.RECIPES) for k in range(5)]
    rows += [line("part", f, k, 0.9) for f in list(measured.RECIPES)[:-1] for k in range(5)]
    file = tmp_path / "lines.jsonl"
    file.write_text("\n".join(map(measured.json.dumps, rows)))
    table = measured.table(measured.read_lines(file))
    first = table.splitlines()[2]
    assert first.split(" | ")[1:] == ["0.800", "1.000", "0.100", "0.100", "0.100", "1.0", "2.00 |"]
    assert table.splitlines()[3].split(" | ")[2] == "1.500"
    assert "whole" in table
    assert "part " not in table
    with pytest.raises(ValueError, match="no data set"):
        measured.table({})


def test_table_beside_peers_averages_the_folds_of_best(tmp_path):
    def line(fold, crps, **names):
        values = {"crps": crps, "coverage_error_90": 0.1 * fold}
        return {"data_set": "small", "fold": fold, "metrics": values, "n_train": 900, "n_test": 100, **names}

    auto = {"variant": "full", "deduplicated": False}
    lines = {
        "auto/auto.jsonl": [
            line(1, 9.0, preset="best", **auto),
            line(1, 1.0, preset="best", **auto),  # measured again: the last line counts
            line(1, 9.0, preset="best", variant="one_bag", deduplicated=False),
            line(1, 1.5, preset="fast", **auto),
        ],
        "protocol/evaluation.jsonl": [line(1, 2.0, family="ngboost"), line(2, 8.0, family="ngboost")],
    }
    for name, records in lines.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("\n".join(map(beside_peers.json.dumps, records)))
    rows = beside_peers.table(beside_peers.read_lines(tmp_path), {"small": 0.5}).splitlines()[2:]
    assert rows == [
        "| small | 1,000 | 1.00 | 1.50 |  | 2.00 |  |  | **0.500** |",
        "| geometric mean of CRPS / `best` | | 1.00 | 1.50 |  | 2.00 |  |  | 0.50 |",
        "| error of 90% coverage | | 0.100 | 0.100 |  | 0.100 |  |  | |",
    ]


def test_blocks_know_their_lines_and_outputs():
    first = blocks("start.md")[0]
    text = (DOCS / "start.md").read_text(encoding="utf-8").splitlines()
    assert text[first.line - 1] == first.code.splitlines()[0]
    assert first.shown is None


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (r"\tfrac12 g^2 s", r"\tfrac{1}{2} g^2 s"),
        (r"\frac1m \sum", r"\frac{1}{m} \sum"),
        (r"\tfrac1{RK}", r"\tfrac{1}{RK}"),
        (r"\frac{\beta p}{D}", r"\frac{\beta p}{D}"),
        (r"\hat y_0 = \hat{z}", r"\hat{y_0} = \hat{z}"),
        (r"\hat{y}_0 - \hat\mu_{-i}", r"\hat{y_0} - \hat{\mu_{-i}}"),
    ],
)
def test_formulas_get_the_braces_that_they_need(written, plain):
    assert mathml.plain_tex(written) == plain
    assert mathml.plain_tex(plain) == plain
