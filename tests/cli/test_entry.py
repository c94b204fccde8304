"""The entry point: the installed command, one line for a warning or a mistake, and exit codes."""

import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from diffgbm import __version__
from diffgbm.cli import commands, output
from diffgbm.cli.entry import main
from diffgbm.persistence.archive import pack, unpack
from tests.cli.houses import PREDICT, SETS, SETTINGS, changed, houses
from tests.conftest import tiny, toy

FIT = (
    "fit",
    "{in}/houses.csv",
    "--target",
    "price",
    "--drop",
    "id",
    "-o",
    "{out}/m.dgbm",
    "-q",
    "--jobs",
    "1",
    *SETTINGS,
)


SAMPLE = ("sample", "{in}/one.dgbm", "{in}/tomorrow.csv", "-o", "{out}/o.csv", "--jobs", "1")


TUNE = ("tune", *FIT[1 : -len(SETTINGS)], *SETS, "--trials", "1")


SEARCH = FIT[: -len(SETTINGS)]


EVALUATE = ("evaluate", "{in}/one.dgbm", "{in}/test.csv", "--jobs", "1")


MISTAKES = [
    (["predict"], "Missing argument 'table'|Missing argument 'model'|Missing"),
    (["learn"], "No such command 'learn'"),
    ([*FIT, "--nonsense"], "No such option:? '?--nonsense"),
    (["fit", "{in}/houses.csv", "-o", "{out}/m.dgbm"], "Missing option '--target'"),
    (["fit", "{in}/houses.csv", "--target", "price"], "Missing option '--output'"),
    (changed(FIT, price="prize"), r"houses\.csv: there is no column 'prize'; it has 'id', 'size', .*'days'\.$"),
    (changed(FIT, id="ids"), r"there is no column 'ids'"),
    (changed(FIT, houses="{in}/flats.csv"), r"flats\.csv: there is no such file"),
    (changed(FIT, houses="{in}/houses.xlsx"), r"houses\.xlsx: there is no such file"),
    (changed(FIT, houses="{in}"), "cannot be read: Schema at index 1 was different"),
    (changed(FIT, m="{out}/nowhere/m.dgbm"), r"there is no folder '.*nowhere'"),
    (changed(FIT, m="{out}"), "is a folder"),
    (changed(FIT, more=("--target", "price")), "--target: a column is given twice"),
    (changed(FIT, more=("--drop", "price")), "--drop: 'price' is a target"),
    (changed(FIT, price="town"), r"column 'town' must hold numbers, and most .*: line 2 .*, and 1\d\d more"),
    (
        changed(FIT, more=("--recipe", "cake")),
        "--recipe must be one of 'published', 'score\\+', 'flow', 'edm'; got 'cake'",
    ),
    (changed(FIT, more=("--seed", "-1")), "--seed must be an integer >= 0"),
    (changed(FIT, more=("--seed", "x")), "Invalid value for '--seed'"),
    (changed(FIT, more=("--jobs", "0")), "n_jobs must be a non-zero integer"),
    (changed(FIT, more=("--set", "num_leaves")), "--set must be name=value"),
    (changed(FIT, more=("--set", "leaves=3")), "--set must be one of .*'num_leaves'.*; got 'leaves'"),
    (changed(FIT, more=("--set", "num_leaves=many")), "num_leaves must be an integer >= 2; got 'many'"),
    (changed(FIT, more=("--set", 'extra_lightgbm_params={"max_bin_by_feature": "x"}')), "."),
    (
        changed(FIT, more=("--set", 'extra_lightgbm_params={"monotone_constraints": [1, 0]}')),
        "monotone_constraints in extra_lightgbm_params must have one value for each of the 5 columns of X; got 2",
    ),
    (changed(SEARCH, more=("--preset", "slow")), "--preset must be one of 'fast', 'balanced', 'best'; got 'slow'"),
    (changed(SEARCH, more=SETS), "--set n_estimators is a setting of one model: add --recipe flow"),
    (changed(SEARCH, more=("--preset", "fast", *SETS)), "--set n_estimators is a setting of one model: add --recipe"),
    (changed(SEARCH, more=("--set", "leaves=3")), "--set must be one of .*'recalibrate'.*; got 'leaves'"),
    (changed(FIT, more=("--decimal", "comma")), "--decimal must be . or , .comma.; got 'comma'"),
    (changed(FIT, more=("--sep", ";;")), "--sep must be one character, e.g. ';' or tab; got ';;'"),
    (changed(FIT, more=("--encoding", "klingon")), "--encoding: 'klingon' is unknown; try utf-8"),
    (changed(FIT, more=("--date-format", "ymd")), "--date-format must be a format such as %d/%m/%Y; got 'ymd'"),
    (changed(FIT, more=("--preset", "fast", "--recipe", "flow")), "--recipe names a model; --preset and --time-limit"),
    (changed(FIT, more=("--time-limit", "9", "--recipe", "flow")), "--recipe names a model; --preset and --time-limit"),
    (changed(FIT, more=("--time-limit", "0")), "--time-limit must be a number > 0; got 0"),
    (changed(FIT, more=("--time-limit", "nan")), "--time-limit must be a number > 0; got nan"),
    (changed(TUNE, price="prize"), r"houses\.csv: there is no column 'prize'"),
    (changed(TUNE, houses="{in}/flats.csv"), r"flats\.csv: there is no such file"),
    (changed(TUNE, m="{out}/nowhere/m.dgbm"), r"there is no folder '.*nowhere'"),
    (changed(TUNE, more=("--trials", "0")), "--trials must be an integer >= 1; got 0"),
    (changed(TUNE, more=("--minutes", "0")), "--minutes must be a number > 0; got 0"),
    (changed(TUNE, more=("--minutes", "soon")), "Invalid value for '--minutes'"),
    (changed(TUNE, more=("--folds", "1")), "--folds must be an integer >= 2; got 1"),
    (changed(TUNE, more=("--space", "cake")), "--space must be one of 'score_flex', 'flow', .*; got 'cake'"),
    (changed(TUNE, more=("--seed", "-1")), "--seed must be an integer >= 0"),
    (changed(TUNE, more=("--jobs", "0")), "n_jobs must be a non-zero integer"),
    (changed(TUNE, more=("--set", "leaves=3")), "--set must be one of .*; got 'leaves'"),
    (changed(TUNE, more=("--set", "num_leaves=many")), "All 2 trials failed; .* num_leaves must be an integer >= 2"),
    (changed(TUNE, more=("--storage", "{out}/nowhere/s.db")), r"there is no folder '.*nowhere'"),
    (changed(TUNE, more=("--storage", "{in}/test.csv")), r"test\.csv cannot be used to store a search"),
    (changed(PREDICT, one="{in}/two.txt"), r"There is no model file '.*two\.txt'"),
    (changed(PREDICT, one="{in}/houses.csv"), r"houses\.csv is not a model file"),
    (changed(PREDICT, tomorrow="{in}/none.csv"), r"none\.csv: there is no such file"),
    (changed(PREDICT, o="{out}/o.txt"), r"o\.txt: the name must end in one of"),
    (changed(PREDICT, o="{out}/nowhere/o.csv"), "there is no folder"),
    (changed(PREDICT, more=("--keep", "name")), r"tomorrow\.csv: there is no column 'name'"),
    (changed(PREDICT, more=("--quantiles", "")), "--quantiles must be levels from 0 to 1"),
    (changed(PREDICT, more=("--quantiles", "a,b")), "--quantiles must be levels from 0 to 1.*got 'a,b'"),
    (changed(PREDICT, more=("--quantiles", ".5,")), "--quantiles must be levels from 0 to 1"),
    (changed(PREDICT, more=("--quantiles", ".5,95")), "--quantiles must be levels from 0 to 1"),
    (changed(PREDICT, more=("--quantiles", "nan")), "--quantiles must be levels from 0 to 1"),
    (changed(PREDICT, more=("--interval", "90")), r"--interval must lie between 0 and 1, e\.g\. \.9; got 90"),
    (changed(PREDICT, more=("--interval", "0")), "--interval must lie between 0 and 1"),
    (changed(PREDICT, more=("--interval", "wide")), "Invalid value for '--interval'"),
    (changed(PREDICT, more=("--prob-below", "inf")), "--prob-below must be a finite number"),
    (changed(PREDICT, more=("--jobs", "0")), "n_jobs must be a non-zero integer"),
    (changed(SAMPLE, more=("-n", "0")), "--samples must be an integer >= 1; got 0"),
    (changed(SAMPLE, more=("-n", "x")), "Invalid value for '-n'|Invalid value for '--samples'"),
    (changed(SAMPLE, more=("--seed", "-3")), "--seed must be an integer >= 0"),
    (changed(EVALUATE, test="{in}/tomorrow.csv"), r"tomorrow\.csv: there is no column 'price'"),
    (changed(EVALUATE, one="{in}/none.dgbm"), "There is no model file"),
    (["inspect", "{in}/houses.parquet"], "is not a model file"),
    (["demo", "-o", "{out}/nowhere/demo.png"], "there is no folder"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES, ids=lambda value: None)
def test_a_mistake_is_one_line(words, message, refused):
    refused(words, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "id,size,rooms,town,garden\n1,50,3,Zug,True\n2,50,3\n",
            r": line 3 has 3 values where 5 are expected\. Cor.*$",
        ),
        (
            "id,size,rooms,town,garden\n1,50,3,Zug,True\n2,big,3,Zug,True\n",
            r": column 'size' must hold numbers: line 3 has 'big'\. Correct this, or .* 'missing': --na 'big'\.$",
        ),
        ("id,size,rooms,town\n1,50,3,Zug\n", r": there is no column 'garden'; it has 'id', 'size', 'rooms', 'town'\.$"),
        ("id,size,rooms,town,garden\n", r": there are no rows\.$"),
        ("id,size,size,rooms,town,garden\n1,1,1,1,1,1\n", r": there are two columns 'size'\. Rename one of them\.$"),
        ("", r": the file is empty\.$"),
    ],
)
@pytest.mark.parametrize("command", [PREDICT, SAMPLE])
def test_a_table_that_cannot_be_predicted_is_named(command, content, message, refused, tmp_path):
    (tmp_path / "in.in").mkdir()
    (tmp_path / "in.in" / "t.csv").write_text(content)
    refused(changed(command, tomorrow="{out}/in.in/t.csv"), r"t\.csv" + message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,y\n1,\n2,NA\n3,?\n", r"t\.csv: no row has a target\.$"),
        ("a,y\n1,2\n2,inf\n", "target 'y' is missing or infinite in row 2"),
        ("a,y\n1,2\n2,red\n", "column 'y' must hold numbers: line 3 has 'red'"),
        ("a,y\n1,2\n2\n", "line 3 has 1 values where 2 are expected"),
        ("y\n1\n2\n", "no feature columns left"),
        ("a,y\n", "there are no rows"),
        ("a,y\n1,2\n", "."),
    ],
)
def test_a_table_that_cannot_be_fitted_is_named(content, message, refused, tmp_path):
    (tmp_path / "in.in").mkdir()
    (tmp_path / "in.in" / "t.csv").write_text(content)
    words = ("fit", "{out}/in.in/t.csv", "--target", "y", "-o", "{out}/m.dgbm", "-q", "--jobs", "1", *SETTINGS)
    refused([*words, "--set", "residualize=off", "--set", "early_stopping_rounds=2"], message)


def test_columns_of_other_types_are_refused(refused, tmp_path):
    (tmp_path / "in.in").mkdir()
    binary = pa.table({"a": [b"1", b"2"], "y": [1.0, 2.0]})
    pyarrow.parquet.write_table(binary, tmp_path / "in.in" / "t.parquet")
    fit = ("fit", "{out}/in.in/t.parquet", "--target", "y", "-o", "{out}/m.dgbm", "--jobs", "1", *SETTINGS)
    refused(fit, r"column 'a' must hold numbers; it holds binary")
    words = houses(5)[["town", "rooms", "garden"]].assign(size="large")
    words.to_parquet(tmp_path / "in.in" / "u.parquet")
    refused(changed(PREDICT, tomorrow="{out}/in.in/u.parquet"), "column 'size' must hold numbers; it holds")


def test_an_infinite_target_is_named_by_its_row_in_the_whole_table(refused, tmp_path, monkeypatch):
    monkeypatch.setattr(output, "NUMBERS_AT_ONCE", 256 * 4)
    (tmp_path / "in.in").mkdir()
    table = houses(20)
    table.loc[13, "price"] = np.inf
    table.to_csv(tmp_path / "in.in" / "t.csv", index=False)
    refused(changed(EVALUATE, test="{out}/in.in/t.csv"), r"target 'price' is missing or infinite in row 14\.")


def test_damaged_and_later_model_files_are_refused(refused, folder, tmp_path):
    (tmp_path / "in.in").mkdir()
    content = (folder / "one.dgbm").read_bytes()
    (tmp_path / "in.in" / "m.dgbm").write_bytes(content[:1000])
    words = changed(PREDICT, one="{out}/in.in/m.dgbm")
    refused(words, r"m\.dgbm was cut short or altered")
    entries = unpack(content)
    manifest = json.loads(entries["manifest.json"])
    entries["manifest.json"] = json.dumps({**manifest, "version": 99}).encode()
    (tmp_path / "in.in" / "m.dgbm").write_bytes(pack(entries))
    refused(
        words, r"m\.dgbm has format version 99; this diffgbm .* reads versions up to \d+\. Install a newer diffgbm\.$"
    )


def test_a_model_of_an_array_has_no_column_names(refused, tmp_path):
    (tmp_path / "in.in").mkdir()
    tiny("flow").fit(*toy()).save(tmp_path / "in.in" / "m.dgbm")
    refused(changed(PREDICT, one="{out}/in.in/m.dgbm"), "fitted to an array: its columns have no names")


def test_an_internal_error_is_not_hidden(monkeypatch, folder):
    def broken(path, trusted):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(commands, "load", broken)
    with pytest.raises(ZeroDivisionError):
        main(["inspect", str(folder / "one.dgbm")])


def test_without_typer_the_error_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from diffgbm.cli.entry import main; main(['inspect', 'x'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "diffgbm: This needs typer, which is not installed: pip install typer (or 'diffgbm[cli]').\n"
    )


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
    code, _, errors = run(*fit)
    assert code == 0
    assert re.fullmatch(
        r"diffgbm: warning: residualize and first_stage_features need at least 80 rows and got 50.*\n", errors
    )


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


def test_version(run):
    assert run("--version") == (0, f"diffgbm {__version__}\n", "")
