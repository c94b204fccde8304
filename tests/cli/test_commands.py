"""The commands: their numbers are those of the library."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import diffgbm
from diffgbm.cli import output
from tests.cli.houses import COMMAND, SETTINGS, WRITERS, houses, installed, read
from tests.conftest import tiny


def test_the_installed_command(folder, tmp_path):
    fit = ["fit", folder / "houses.csv.gz", "--target", "price", "--drop", "id", "-o", "m.dgbm", "--jobs", 1, *SETTINGS]
    done = installed(*fit, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"\nm\.dgbm: fitted price to 200 rows and 5 columns in .* s \(.* MB\)\.\n$", done.stdout)
    assert done.stdout.startswith(f"{folder / 'houses.csv.gz'}: text in UTF-8, separated by comma\n  size    number\n")
    done = installed("predict", folder / "one.dgbm", folder / "tomorrow.csv", "-o", "p.csv", "--jobs", 1, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "p.csv: 40 rows.\n", "")
    done = installed(
        "sample", folder / "one.dgbm", folder / "tomorrow.csv", "-n", 3, "-o", "s.csv", "--jobs", 1, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "s.csv: 40 rows.\n", "")
    done = installed("evaluate", folder / "one.dgbm", folder / "test.csv", "--json", "--jobs", 1, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"] == 60
    done = installed("inspect", folder / "one.dgbm", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "targets    price" in done.stdout
    done = installed("predict", folder / "one.dgbm", "nowhere.csv", "-o", "x.csv", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "diffgbm: nowhere.csv: there is no such file.\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.dgbm", "p.csv", "s.csv"]


def test_the_example_of_the_documentation_runs(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    block = page.split("<!-- cli-example -->")[1].split("<!-- /cli-example -->")[0]
    script = re.search(r"```sh\n(.*?)```", block, re.DOTALL).group(1)
    # the example takes half a minute for its search; a test has less
    script = script.replace("diffgbm fit ", "diffgbm fit --preset fast --time-limit 1 ")
    table = houses(300).drop(columns="days")
    table[:200].to_csv(tmp_path / "houses.csv", index=False)
    table[200:250].drop(columns="price").to_csv(tmp_path / "tomorrow.csv", index=False)
    table[250:].to_csv(tmp_path / "sold.csv", index=False)
    env = {**os.environ, "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["sh", "-e", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    out = pd.read_csv(tmp_path / "out.csv", dtype={"id": str})
    assert list(out) == ["id", "mean", "lower", "upper"]
    assert list(out["id"]) == list(table["id"][200:250])
    assert ((out["lower"] < out["mean"]) & (out["mean"] < out["upper"])).all()
    assert "coverage_0.9" in done.stdout


@pytest.mark.parametrize("output", ["csv", "csv.gz", "parquet", "feather", "arrow"])
@pytest.mark.parametrize("ending", WRITERS)
def test_predictions_equal_those_of_the_model_for_every_file_type(ending, output, folder, tmp_path, run):
    out = tmp_path / f"out.{output}"
    code, printed, errors = run(
        *("predict", folder / "one.dgbm", folder / f"tomorrow.{ending}", "-o", out, "--quantiles", ".05,0.5,1"),
        *("--interval", 0.9, "--mean", "--prob-below", 500, "--keep", "id", "--keep", "rooms", "--jobs", 1),
    )
    assert (code, errors) == (0, "")
    assert printed == f"{out}: 40 rows.\n"
    found = pd.read_feather(out) if output == "arrow" else read(out)
    assert list(found) == ["id", "rooms", "mean", "q0.05", "q0.5", "q1", "lower", "upper", "prob_below"]
    rows = houses(40, 1)
    assert list(found["id"]) == list(rows["id"])
    np.testing.assert_array_equal(found["rooms"].astype(int), rows["rooms"])
    model = diffgbm.load(folder / "one.dgbm")
    X = rows[["size", "rooms", "town"]].assign(garden=rows["garden"].map({True: "True", False: "False"}))
    distribution = model.predict_distribution(X)
    np.testing.assert_array_equal(found["mean"], distribution.mean())
    np.testing.assert_array_equal(found[["q0.05", "q0.5", "q1"]], distribution.quantile([0.05, 0.5, 1.0]))
    np.testing.assert_array_equal(found[["lower", "upper"]], distribution.interval(0.9))
    np.testing.assert_array_equal(found["prob_below"], distribution.cdf(500.0))


def test_the_default_is_the_mean_and_the_interval(folder, tmp_path, run):
    run("predict", folder / "one.dgbm", folder / "tomorrow.csv", "-o", tmp_path / "o.csv", "--jobs", 1)
    assert list(read(tmp_path / "o.csv")) == ["mean", "lower", "upper"]


def test_samples_equal_those_of_the_model(folder, tmp_path, run):
    run("sample", folder / "one.dgbm", folder / "tomorrow.parquet", "-n", 4, "--seed", 7, "-o", tmp_path / "s.parquet")
    found = read(tmp_path / "s.parquet")
    assert list(found) == ["s0", "s1", "s2", "s3"]
    X = houses(40, 1)[["size", "rooms", "town"]]
    X["garden"] = houses(40, 1)["garden"].map({True: "True", False: "False"})
    np.testing.assert_array_equal(found.T, diffgbm.load(folder / "one.dgbm").sample(X, 4, seed=7))


@pytest.mark.parametrize("model", ["one", "two"])
def test_evaluate_scores_as_the_library_does(model, folder, run, monkeypatch):
    loaded = diffgbm.load(folder / f"{model}.dgbm")
    rows = houses(60, 2)
    X = rows[["size", "rooms", "town"]].assign(garden=rows["garden"].map({True: "True", False: "False"}))
    names = ["price"] if model == "one" else ["price", "days"]
    distribution = loaded.predict_distribution(X)
    joint = rows[names].to_numpy()
    for numbers in (4_000_000, 512 * 7):
        monkeypatch.setattr(output, "NUMBERS_AT_ONCE", numbers)
        code, printed, errors = run("evaluate", folder / f"{model}.dgbm", folder / "test.csv", "--json", "--jobs", 1)
        assert (code, errors) == (0, "")
        found = json.loads(printed)
        assert (found["rows"], list(found["targets"])) == (60, names)
        expected = loaded.compute_nll(X, joint[:, 0] if model == "one" else joint) / 60
        np.testing.assert_allclose(found["log_score"], expected)
        for name in names:
            scores, marginal, y = (
                found["targets"][name],
                distribution if model == "one" else distribution[name],
                rows[name].to_numpy(),
            )
            np.testing.assert_allclose(scores["crps"], marginal.crps(y).mean())
            np.testing.assert_allclose(scores["skill"], diffgbm.metrics.crpss(marginal, y, y))
            np.testing.assert_allclose(scores["rmse"], np.sqrt(np.mean((marginal.mean() - y) ** 2)))
            np.testing.assert_allclose(scores["mae"], np.abs(marginal.median() - y).mean())
            np.testing.assert_allclose(scores["pit_p"], diffgbm.metrics.pit_ks(marginal, y).pvalue)
            for level in (0.5, 0.8, 0.9, 0.95):
                np.testing.assert_allclose(scores[f"coverage_{level:g}"], diffgbm.metrics.coverage(marginal, y, level))
                np.testing.assert_allclose(scores[f"width_{level:g}"], diffgbm.metrics.width(marginal, level))
    code, printed, _ = run("evaluate", folder / f"{model}.dgbm", folder / "test.csv", "--jobs", 1)
    assert all(word in printed for word in ("60 rows", "crps", "coverage_0.95", *names))


def test_fit_gives_the_model_of_the_library(folder, run, tmp_path):
    words = ["--target", "price", "--drop", "id", "--drop", "days", "--jobs", 1, "--seed", 4, *SETTINGS]
    run("fit", folder / "houses.parquet", *words, "-o", tmp_path / "m.dgbm")
    rows = houses()
    X = rows[["size", "rooms", "town", "garden"]].astype({"town": "category"})
    settings = {"n_estimators": 15, "n_repeats": 4, "early_stopping_rounds": None, "num_leaves": 8}
    expected = diffgbm.DiffGBM.flow(**settings, seed=4, n_jobs=1).fit(X, rows["price"])
    loaded = diffgbm.load(tmp_path / "m.dgbm")
    np.testing.assert_array_equal(loaded.sample(X[:9], 3, seed=0), expected.sample(X[:9], 3, seed=0))
    assert loaded.verbose == 0
    assert loaded.model_.response_names == ("price",)


@pytest.mark.parametrize(("name", "text"), [("score+", "edm"), ("published", "noise"), ("edm", "edm")])
def test_recipes(name, text, folder, run, tmp_path):
    words = ["--target", "price", "--drop", "id", "--jobs", 1, *SETTINGS]
    code, printed, _ = run("fit", folder / "houses.csv", *words, "--recipe", name, "-o", tmp_path / "m.dgbm", "--json")
    assert code == 0
    found = json.loads(printed)
    assert found["recipe"].startswith(f"{text} on vesde")
    assert found["columns"] == ["size", "rooms", "town", "garden", "days"]
    assert found["categories"] == ["town", "garden"]
    assert (found["rows"], found["targets"], found["trees"]) == (200, ["price"], [15])


def test_truth_values_are_the_same_in_text_and_in_parquet(folder, tmp_path, run):
    for ending in ("csv", "parquet"):
        words = (folder / "one.dgbm", folder / f"tomorrow.{ending}", "-o", tmp_path / f"{ending}.csv")
        run("predict", *words, "--jobs", 1)
    assert (tmp_path / "csv.csv").read_text() == (tmp_path / "parquet.csv").read_text()


def test_integer_categories_are_found_in_text(folder, tmp_path, run):
    frame = houses()[["size", "rooms", "price"]].astype({"rooms": "category"})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = tiny("flow").fit(frame[["size", "rooms"]], frame["price"])
    model.save(tmp_path / "m.dgbm")
    for ending in ("csv", "parquet"):
        words = (tmp_path / "m.dgbm", tmp_path / f"t.{ending}", "-o", tmp_path / f"o-{ending}.parquet")
        assert run("predict", *words, "--mean", "--jobs", 1)[0] == 0
        expected = model.predict(frame[["size", "rooms"]])
        np.testing.assert_array_equal(read(tmp_path / f"o-{ending}.parquet")["mean"], expected)


def test_inspect(folder, run):
    code, printed, _ = run("inspect", folder / "two.dgbm", "--json")
    found = json.loads(printed)
    assert code == 0
    assert found["targets"] == ["price", "days"]
    assert found["columns"] == ["size", "rooms", "town", "garden"]
    assert found["trees"] == [15, 15]
    assert found["bytes"] == (folder / "two.dgbm").stat().st_size
    assert "columns    size, rooms, town, garden\n" in run("inspect", folder / "two.dgbm")[1]


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_quiet_prints_nothing(option, folder, tmp_path, run):
    one, rows = folder / "one.dgbm", folder / "tomorrow.csv"
    assert run("predict", one, rows, "-o", tmp_path / "o.csv", option, "--jobs", 1) == (0, "", "")
    assert run("sample", one, rows, "-n", 1, "-o", tmp_path / "o.csv", option, "--jobs", 1) == (0, "", "")
    assert run("evaluate", one, folder / "test.csv", option, "--jobs", 1) == (0, "", "")
    houses(50).to_csv(tmp_path / "few.csv", index=False)
    fit = (
        "fit",
        tmp_path / "few.csv",
        "--target",
        "price",
        "--drop",
        "id",
        "-o",
        tmp_path / "m",
        "--jobs",
        1,
        *SETTINGS,
    )
    assert run(*fit, option) == (0, "", "")


def test_several_intervals(folder, tmp_path, run):
    out = tmp_path / "o.parquet"
    words = ("--interval", 0.5, "--interval", 0.9, "--interval", 0.5, "-o", out, "--jobs", 1)
    run("predict", folder / "one.dgbm", folder / "tomorrow.parquet", *words)
    found = read(out)
    assert list(found) == ["lower_0.5", "upper_0.5", "lower_0.9", "upper_0.9"]
    for coverage in (0.5, 0.9):
        run("predict", folder / "one.dgbm", folder / "tomorrow.parquet", "--interval", coverage, "-o", out, "--jobs", 1)
        alone = read(out)
        assert list(alone) == ["lower", "upper"]
        np.testing.assert_array_equal(found[[f"lower_{coverage}", f"upper_{coverage}"]], alone)
    run("predict", folder / "two.dgbm", folder / "tomorrow.parquet", *words)
    assert [name for name in read(out) if "days" in name] == [f"days_{name}" for name in found]


def test_evaluate_reports_the_intervals_that_are_asked_for(folder, run):
    _, printed, _ = run("evaluate", folder / "one.dgbm", folder / "test.csv", "--interval", 0.6, "--json", "--jobs", 1)
    scores = json.loads(printed)["targets"]["price"]
    assert [name for name in scores if name.startswith("coverage")] == ["coverage_0.6"]
    _, printed, _ = run("evaluate", folder / "one.dgbm", folder / "test.csv", "--jobs", 1, "--json")
    assert "coverage_0.9" in json.loads(printed)["targets"]["price"]


def test_fit_says_how_rows_repeat(tmp_path, run):
    # all rows twice are copies of records
    pd.concat([houses(150)] * 2).to_csv(tmp_path / "twice.csv", index=False)
    houses(150).assign(size=np.arange(150) / 7).to_csv(tmp_path / "once.csv", index=False)
    words = ["--target", "price", "--drop", "id", "-o", tmp_path / "m.dgbm", "--jobs", 1, *SETTINGS]
    _, printed, _ = run("fit", tmp_path / "twice.csv", *words)
    assert "300 rows are 150 records" in printed
    _, printed, _ = run("fit", tmp_path / "twice.csv", *words, "--json")
    facts = json.loads(printed)["repeats"]
    assert (facts["kind"], facts["records"]) == ("stacked", 150)
    _, printed, _ = run("fit", tmp_path / "once.csv", *words)
    assert printed.rstrip().endswith("MB).")


GROUPED = houses(120).assign(shop=np.repeat(np.arange(12), 10), day=np.arange(120)[::-1]).drop(columns=["id", "days"])
"""Ten consecutive rows of each shop, the last day first."""


def test_groups_and_time_are_those_of_the_library(run, tmp_path):
    GROUPED.to_csv(tmp_path / "sales.csv", index=False)
    fit = ["fit", tmp_path / "sales.csv", "--target", "price", "-o", tmp_path / "m.dgbm", "--jobs", 1, *SETTINGS]
    code, printed, errors = run(*fit, "--groups", "shop", "--time", "day")
    assert (code, errors) == (0, "")
    assert "120 rows are of 12 groups: no split divides a group" in printed
    assert "Rows are divided by time" in printed
    assert "The rows were not sorted by time; they were put in its order." in printed
    assert "shop" not in diffgbm.load(tmp_path / "m.dgbm").feature_names_in_
    assert "day" in diffgbm.load(tmp_path / "m.dgbm").feature_names_in_
    # a column of times that is dropped is no feature, and still says when a row was observed
    code, printed, _ = run(*fit, "--time", "day", "--drop", "day", "--json")
    assert "Rows are divided by time" in json.loads(printed)["division"]
    assert "day" not in diffgbm.load(tmp_path / "m.dgbm").feature_names_in_
    code, printed, _ = run(
        "predict", tmp_path / "m.dgbm", tmp_path / "sales.csv", "-o", tmp_path / "p.csv", "--jobs", 1
    )
    assert (code, len(read(tmp_path / "p.csv"))) == (0, 120)


def test_a_table_whose_rows_depend_on_each_other_gets_a_hint(run, tmp_path):
    rng = np.random.default_rng(0)
    walk = pd.DataFrame({"x": rng.normal(size=150), "y": np.cumsum(rng.normal(size=150))})
    walk.to_csv(tmp_path / "walk.csv", index=False)
    fit = ["fit", tmp_path / "walk.csv", "--target", "y", "-o", tmp_path / "m.dgbm", "--jobs", 1, *SETTINGS]
    code, printed, errors = run(*fit)
    assert (code, errors) == (0, "")
    assert "Hint: consecutive rows have similar residuals" in printed
    assert "--time" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "shop"], "there is no column 'shop'; it has"),
        (["--time", "month"], "there is no column 'month'; it has"),
        (["--groups", "price"], "--groups: 'price' is a target"),
        (["--time", "town"], "time must have a value for each row; 1 are missing, the first in row 4"),
        (["--time", "id"], "time must hold numbers or dates; got text such as '00000'"),
    ],
)
def test_bad_groups_and_times_are_refused(refused, options, message):
    fit = ["fit", "{in}/houses.parquet", "--target", "price", "-o", "{out}/m.dgbm", "--jobs", 1, "-q", *SETTINGS]
    refused([*fit, *options], message)
