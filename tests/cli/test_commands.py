"""The command line on real files: every command, every mistake in one line, output whole or not at all."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyarrow import csv as arrow_csv

import diffgbm
from diffgbm.cli import entry as cli
from diffgbm.cli import output
from diffgbm.cli.demo import main as demo_main
from diffgbm.data import table_files as files
from tests.conftest import tiny

SMALL = ("n_estimators=15", "n_repeats=4", "early_stopping_rounds=null", "num_leaves=8")
SETTINGS = [word for option in SMALL for word in ("--set", option)]
COMMAND = Path(sys.executable).with_name("diffgbm")
WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "feather": lambda frame, path: frame.to_feather(path),
}


def houses(n: int = 200, seed: int = 0) -> pd.DataFrame:
    """Ids with leading zeros, numbers with holes, text with commas, truth values, two targets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"{i:05}" for i in range(n)],
            "size": rng.uniform(30, 200, n).round(1),
            "rooms": rng.integers(1, 6, n),
            "town": rng.choice(["Zug", "Bern", 'Biel, "BE"'], n),
            "garden": rng.uniform(size=n) < 0.5,
        }
    )
    noise = rng.normal(size=(2, n)) * frame["size"].to_numpy()
    frame["price"] = (5.0 * frame["size"] + 200.0 * (frame["town"] == "Zug") + noise[0]).round(2)
    frame["days"] = (100.0 - frame["rooms"] + 0.2 * noise[1]).round(2)
    frame.loc[3, "size"] = np.nan
    frame.loc[4, "town"] = None
    return frame


def read(path: Path) -> pd.DataFrame:
    if path.name.endswith("parquet"):
        return pd.read_parquet(path)
    if path.suffix == ".feather":
        return pd.read_feather(path)
    # arrow reads numbers to the last bit, which pandas does not in all versions
    return arrow_csv.read_csv(path, convert_options=arrow_csv.ConvertOptions(column_types={"id": "string"})).to_pandas()


@pytest.fixture
def run(capsys):
    """Run the command in this process: exit code, output and errors."""

    def call(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main([str(word) for word in words])
        out, err = capsys.readouterr()
        return left.value.code, out, err

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables of every kind, and models of one and of two targets."""
    path = tmp_path_factory.mktemp("cli")
    for ending, write in WRITERS.items():
        write(houses(), path / f"houses.{ending}")
        write(houses(40, 1).drop(columns=["price", "days"]), path / f"tomorrow.{ending}")
    houses(60, 2).to_csv(path / "test.csv", index=False)
    common = ["--drop", "id", "--jobs", "1", "-q", *SETTINGS]
    for words in (
        ["--target", "price", "--drop", "days", "-o", path / "one.dgbm"],
        ["--target", "price", "--target", "days", "-o", path / "two.dgbm"],
    ):
        with pytest.raises(SystemExit) as left:
            cli.main(["fit", str(path / "houses.csv"), *map(str, words), *common])
        assert left.value.code == 0
    return path


def installed(*words, cwd: Path) -> subprocess.CompletedProcess:
    """Run the installed command in a process of its own."""
    return subprocess.run([COMMAND, *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False)


# every command, through the installed entry point


def test_the_installed_command(folder, tmp_path):
    fit = ["fit", folder / "houses.csv.gz", "--target", "price", "--drop", "id", "-o", "m.dgbm", "--jobs", 1, *SETTINGS]
    done = installed(*fit, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"m\.dgbm: fitted price to 200 rows and 5 columns in .* s \(.* MB\)\.\n", done.stdout)
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


def test_the_installed_demo_and_the_module(tmp_path):
    code = (
        "import sys, diffgbm.cli.demo as demo\n"
        "demo.main = lambda file: print('demo into', file)\n"
        "sys.argv[0] = 'diffgbm'; from diffgbm.cli.entry import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "demo", "-o", "d.png"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "demo into d.png\n", "")
    done = subprocess.run([sys.executable, "-m", "diffgbm", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("fit", "predict", "sample", "evaluate", "inspect", "demo"))
    assert demo_main.__defaults__ == ("demo.png",)


def test_without_the_extra_the_command_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from diffgbm.cli.entry import main; main(['inspect', 'x'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "diffgbm: This needs typer, which is not installed: pip install typer (or 'diffgbm[cli]').\n"
    )


def test_the_example_of_the_documentation_runs(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    block = page.split("<!-- cli-example -->")[1].split("<!-- /cli-example -->")[0]
    script = re.search(r"```sh\n(.*?)```", block, re.DOTALL).group(1)
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


# what the numbers are


@pytest.mark.parametrize("output", ["csv", "csv.gz", "parquet", "feather", "arrow"])
@pytest.mark.parametrize("ending", WRITERS)
def test_predictions_are_the_models_whatever_the_files(ending, output, folder, tmp_path, run):
    out = tmp_path / f"out.{output}"
    code, said, complaint = run(
        *("predict", folder / "one.dgbm", folder / f"tomorrow.{ending}", "-o", out, "--quantiles", ".05,0.5,1"),
        *("--interval", 0.9, "--mean", "--prob-below", 500, "--keep", "id", "--keep", "rooms", "--jobs", 1),
    )
    assert (code, complaint) == (0, "")
    assert said == f"{out}: 40 rows.\n"
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


def test_nothing_asked_is_the_mean_and_the_interval(folder, tmp_path, run):
    run("predict", folder / "one.dgbm", folder / "tomorrow.csv", "-o", tmp_path / "o.csv", "--jobs", 1)
    assert list(read(tmp_path / "o.csv")) == ["mean", "lower", "upper"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("model", ["one", "two"])
@pytest.mark.parametrize("command", [("predict", "--mean", "--quantiles", ".1,.9"), ("sample", "-n", 5, "--seed", 3)])
def test_chunks_are_the_whole_to_the_last_bit(command, model, ending, folder, tmp_path, run, monkeypatch):
    for name, piece, block in (("whole", 4_000_000, 1 << 23), ("chunks", 7 * 512, 300)):
        monkeypatch.setattr(output, "NUMBERS_AT_ONCE", piece)
        monkeypatch.setattr(files, "BLOCK_BYTES", block)
        words = [folder / f"{model}.dgbm", folder / f"tomorrow.{ending}", "-o", tmp_path / f"{name}.{ending}"]
        code, _, complaint = run(command[0], *words, *command[1:], "--keep", "id", "--jobs", 1)
        assert (code, complaint) == (0, "")
    whole, chunks = (read(tmp_path / f"{name}.{ending}") for name in ("whole", "chunks"))
    pd.testing.assert_frame_equal(chunks, whole, check_exact=True)


def test_samples_are_the_models(folder, tmp_path, run):
    run("sample", folder / "one.dgbm", folder / "tomorrow.parquet", "-n", 4, "--seed", 7, "-o", tmp_path / "s.parquet")
    found = read(tmp_path / "s.parquet")
    assert list(found) == ["s0", "s1", "s2", "s3"]
    X = houses(40, 1)[["size", "rooms", "town"]]
    X["garden"] = houses(40, 1)["garden"].map({True: "True", False: "False"})
    np.testing.assert_array_equal(found.T, diffgbm.load(folder / "one.dgbm").sample(X, 4, seed=7))


def test_several_targets_are_named(folder, tmp_path, run):
    words = [folder / "two.dgbm", folder / "tomorrow.csv", "--jobs", 1, "-o", tmp_path / "o.csv"]
    run("predict", *words, "--mean", "--interval", 0.8, "--prob-below", 100)
    assert list(read(tmp_path / "o.csv")) == [
        *("price_mean", "days_mean", "price_lower", "days_lower", "price_upper", "days_upper"),
        *("price_prob_below", "days_prob_below"),
    ]
    run("sample", *words, "-n", 2)
    assert list(read(tmp_path / "o.csv")) == ["price_s0", "days_s0", "price_s1", "days_s1"]


@pytest.mark.parametrize("model", ["one", "two"])
def test_evaluate_scores_as_the_library_does(model, folder, run, monkeypatch):
    loaded = diffgbm.load(folder / f"{model}.dgbm")
    rows = houses(60, 2)
    X = rows[["size", "rooms", "town"]].assign(garden=rows["garden"].map({True: "True", False: "False"}))
    names = ["price"] if model == "one" else ["price", "days"]
    distribution = loaded.predict_distribution(X)
    joint = rows[names].to_numpy()
    for piece in (4_000_000, 512 * 7):
        monkeypatch.setattr(output, "NUMBERS_AT_ONCE", piece)
        code, said, complaint = run("evaluate", folder / f"{model}.dgbm", folder / "test.csv", "--json", "--jobs", 1)
        assert (code, complaint) == (0, "")
        found = json.loads(said)
        assert (found["rows"], list(found["targets"])) == (60, names)
        expected = loaded.compute_nll(X, joint[:, 0] if model == "one" else joint) / 60
        np.testing.assert_allclose(found["log_score"], expected)
        for name in names:
            scores, own, y = (
                found["targets"][name],
                distribution if model == "one" else distribution[name],
                rows[name].to_numpy(),
            )
            np.testing.assert_allclose(scores["crps"], own.crps(y).mean())
            np.testing.assert_allclose(scores["skill"], diffgbm.metrics.crpss(own, y, y))
            np.testing.assert_allclose(scores["rmse"], np.sqrt(np.mean((own.mean() - y) ** 2)))
            np.testing.assert_allclose(scores["mae"], np.abs(own.median() - y).mean())
            np.testing.assert_allclose(scores["pit_p"], diffgbm.metrics.pit_ks(own, y).pvalue)
            for level in (0.5, 0.8, 0.9, 0.95):
                np.testing.assert_allclose(scores[f"coverage_{level:g}"], diffgbm.metrics.coverage(own, y, level))
                np.testing.assert_allclose(scores[f"width_{level:g}"], diffgbm.metrics.width(own, level))
    code, said, _ = run("evaluate", folder / f"{model}.dgbm", folder / "test.csv", "--jobs", 1)
    assert all(word in said for word in ("60 rows", "crps", "coverage_0.95", *names))


def test_fit_learns_the_same_as_the_library(folder, run, tmp_path):
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
    code, said, _ = run("fit", folder / "houses.csv", *words, "--recipe", name, "-o", tmp_path / "m.dgbm", "--json")
    assert code == 0
    found = json.loads(said)
    assert found["recipe"].startswith(f"{text} on vesde")
    assert found["columns"] == ["size", "rooms", "town", "garden", "days"]
    assert found["categories"] == ["town", "garden"]
    assert (found["rows"], found["targets"], found["trees"]) == (200, ["price"], [15])


def test_truth_values_mean_the_same_in_text_and_in_parquet(folder, tmp_path, run):
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
    code, said, _ = run("inspect", folder / "two.dgbm", "--json")
    found = json.loads(said)
    assert code == 0
    assert found["targets"] == ["price", "days"]
    assert found["columns"] == ["size", "rooms", "town", "garden"]
    assert found["trees"] == [15, 15]
    assert found["bytes"] == (folder / "two.dgbm").stat().st_size
    assert "columns    size, rooms, town, garden\n" in run("inspect", folder / "two.dgbm")[1]


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_quiet_says_nothing(option, folder, tmp_path, run):
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


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line(tmp_path, run):
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
    code, _, complaint = run(*fit)
    assert code == 0
    assert re.fullmatch(
        r"diffgbm: warning: residualize and first_stage_features need at least 80 rows and got 50.*\n", complaint
    )


# what is written


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["fit", "t.csv", "--target", "price", "-o", "t.csv"], "t.csv"),
        (["fit", "t.csv", "--target", "price", "-o", "link.csv"], "t.csv"),
        (["tune", "t.csv", "--target", "price", "-o", "t.csv"], "t.csv"),
        (["tune", "t.csv", "--target", "price", "-o", "m", "--storage", "t.csv"], "t.csv"),
        (["predict", "one.csv", "t.csv", "-o", "t.csv"], "t.csv"),
        (["predict", "one.csv", "t.csv", "-o", "one.csv"], "one.csv"),
        (["sample", "one.csv", "t.csv", "-o", "link.csv"], "t.csv"),
        (["report", "one.csv", "t.csv", "-o", "t.csv"], "t.csv"),
        (["report", "one.csv", "t.csv", "-o", "one.csv"], "one.csv"),
        (["report", "one.csv", "t.csv", "-o", "train.csv", "--train", "train.csv"], "train.csv"),
    ],
)
def test_no_command_writes_over_its_input(words, kept, folder, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    houses(60).to_csv("t.csv", index=False)
    houses(60).to_csv("train.csv", index=False)
    Path("one.csv").write_bytes((folder / "one.dgbm").read_bytes())  # a name that both a model and a table may have
    Path("link.csv").symlink_to("t.csv")
    before = Path(kept).read_bytes()
    code, said, complaint = run(*words)
    assert (code, said) == (2, "")
    assert re.fullmatch(rf"diffgbm: .* is the input {kept}: give the output another name\.\n", complaint)
    assert Path(kept).read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="a pipe of POSIX")
def test_fit_writes_to_a_pipe(folder, tmp_path, run):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    words = ("--target", "price", "--drop", "id", "--drop", "days", "--jobs", 1, *SETTINGS)
    assert run("fit", folder / "houses.csv", *words, "-q", "-o", pipe) == (0, "", "")
    reader.join()
    assert read == [(folder / "one.dgbm").read_bytes()]
    assert pipe.is_fifo()
