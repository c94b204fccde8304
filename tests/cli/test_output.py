"""What the commands write: predictions block by block, and one result for a person or a program."""

import json
import os
import re
import subprocess
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from diffgbm import DiffGBM
from diffgbm._util.errors import DiffGBMWarning, WeakFitWarning
from diffgbm.cli import output
from diffgbm.cli.entry import CLOSED_PIPE
from diffgbm.data import text_files
from diffgbm.data.table_files import TableFileError
from tests.cli.houses import COMMAND, PREDICT, SETTINGS, changed, houses, read
from tests.conftest import tiny, toy


@pytest.fixture(scope="module")
def model():
    X, y = toy()
    return tiny("flow", residualize="off").fit(pa.table({name: X[:, j] for j, name in enumerate("abc")}), y)


@pytest.fixture
def table(tmp_path):
    X, _ = toy(25, seed=1)
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({**{name: X[:, j] for j, name in enumerate("abc")}, "id": np.arange(25)}), path)
    return path


def first_column(X):
    return {"a2": 2.0 * np.asarray(X.column("a"))}


def test_blocks_are_the_whole_table(model, table, tmp_path, monkeypatch, capsys):
    for numbers_at_once in (4_000_000, 70):
        monkeypatch.setattr(output, "NUMBERS_AT_ONCE", numbers_at_once)
        target = tmp_path / f"{numbers_at_once}.parquet"
        output.write_predictions(model, table, target, ["id"], first_column, 10, quiet=False, as_json=True)
        assert json.loads(capsys.readouterr().out) == {"output": str(target), "rows": 25}
        found = pq.read_table(target)
        assert found.column_names == ["id", "a2"]
        np.testing.assert_allclose(found.column("a2"), 2.0 * np.asarray(pq.read_table(table).column("a")))


def test_a_kept_column_may_not_have_the_name_of_a_result(model, table, tmp_path):
    with pytest.raises(TableFileError, match="--keep: the output already has a column 'id'"):
        output.write_predictions(
            model, table, tmp_path / "o.csv", ["id"], lambda X: {"id": np.ones(len(X))}, 1, quiet=True, as_json=False
        )
    assert not (tmp_path / "o.csv").exists()


def test_rows_of_a_block(model, two_responses, monkeypatch):
    monkeypatch.setattr(output, "NUMBERS_AT_ONCE", 100)
    assert output.rows_at_once(model, 10) == 10
    assert output.rows_at_once(two_responses, 10) == 5
    assert output.rows_at_once(model, 1000) == 1


def test_columns_of_several_responses_have_their_names(model, two_responses):
    assert list(output.with_response_names({"mean": np.ones(3)}, model)) == ["mean"]
    both = output.with_response_names({"mean": np.array([[1.0, 2.0]])}, two_responses)
    assert {name: values.tolist() for name, values in both.items()} == {"y0_mean": [1.0], "y1_mean": [2.0]}


def test_the_summary_of_a_fit(tmp_path):
    (tmp_path / "m.dgbm").write_bytes(b"x" * 1_500_000)
    X = pa.table({"a": [1, 2], "b": [3, 4]})
    text = output.fit_summary(tmp_path / "m.dgbm", ["u", "v"], X, time.perf_counter())
    assert "fitted u, v to 2 rows and 2 columns in " in text
    assert text.endswith(" s (1.50 MB).")


@pytest.mark.parametrize(
    ("quiet", "as_json", "expected"), [(False, False, "text\n"), (True, False, ""), (True, True, '{"rows": 3}\n')]
)
def test_results_for_a_person_or_a_program(quiet, as_json, expected, capsys):
    output.print_result({"rows": 3}, "text", quiet, as_json)
    assert capsys.readouterr().out == expected


def test_quiet_hides_the_librarys_warnings():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        output.hide_warnings(True)
        warnings.warn("hidden", DiffGBMWarning, stacklevel=1)
        warnings.warn("shown", UserWarning, stacklevel=1)
    assert [str(w.message) for w in caught] == ["shown"]


def test_without_hides_one_category_and_only_inside():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with output.without(WeakFitWarning):
            warnings.warn("hidden", WeakFitWarning, stacklevel=1)
            warnings.warn("another", DiffGBMWarning, stacklevel=1)
        warnings.warn("afterwards", WeakFitWarning, stacklevel=1)
    assert [str(w.message) for w in caught] == ["another", "afterwards"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("model", ["one", "two"])
@pytest.mark.parametrize("command", [("predict", "--mean", "--quantiles", ".1,.9"), ("sample", "-n", 5, "--seed", 3)])
def test_blocks_give_the_whole_table_to_the_last_bit(command, model, ending, folder, tmp_path, run, monkeypatch):
    for name, numbers, block in (("whole", 4_000_000, 1 << 23), ("chunks", 7 * 512, 300)):
        monkeypatch.setattr(output, "NUMBERS_AT_ONCE", numbers)
        monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
        words = [folder / f"{model}.dgbm", folder / f"tomorrow.{ending}", "-o", tmp_path / f"{name}.{ending}"]
        code, _, errors = run(command[0], *words, *command[1:], "--keep", "id", "--jobs", 1)
        assert (code, errors) == (0, "")
    whole, chunks = (read(tmp_path / f"{name}.{ending}") for name in ("whole", "chunks"))
    pd.testing.assert_frame_equal(chunks, whole, check_exact=True)


def test_several_targets_are_named(folder, tmp_path, run):
    words = [folder / "two.dgbm", folder / "tomorrow.csv", "--jobs", 1, "-o", tmp_path / "o.csv"]
    run("predict", *words, "--mean", "--interval", 0.8, "--prob-below", 100)
    assert list(read(tmp_path / "o.csv")) == [
        *("price_mean", "days_mean", "price_lower", "days_lower", "price_upper", "days_upper"),
        *("price_prob_below", "days_prob_below"),
    ]
    run("sample", *words, "-n", 2)
    assert list(read(tmp_path / "o.csv")) == ["price_s0", "days_s0", "price_s1", "days_s1"]


def test_a_column_to_keep_does_not_hide_a_prediction(refused, tmp_path):
    (tmp_path / "in.in").mkdir()
    houses(5).assign(mean=1.0).to_csv(tmp_path / "in.in" / "t.csv", index=False)
    words = changed(PREDICT, tomorrow="{out}/in.in/t.csv", more=("--keep", "mean"))
    refused(words, "--keep: the output already has a column .mean.")


@pytest.mark.parametrize("error", [ValueError("too bad"), OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("old", [None, b"what was there"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather"])
def test_output_is_whole_or_not_at_all(ending, old, error, folder, run, tmp_path, monkeypatch):
    """The second numbers fails."""
    out = tmp_path / f"o.{ending}"
    if old:
        out.write_bytes(old)
    monkeypatch.setattr(output, "NUMBERS_AT_ONCE", 256 * 10)
    calls = []
    distribution = DiffGBM.predict_distribution

    def failing(self, X):
        calls.append(len(X))
        if len(calls) == 2:
            raise error
        return distribution(self, X)

    monkeypatch.setattr(DiffGBM, "predict_distribution", failing)
    code, printed, errors = run("predict", folder / "one.dgbm", folder / "tomorrow.csv", "-o", out, "--jobs", 1)
    assert (code, printed) == (130 if isinstance(error, KeyboardInterrupt) else 2, "")
    assert re.fullmatch(r"diffgbm: .*(too bad|No space left on device|interrupted)\n", errors)
    assert calls == [10, 10]
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([old] if old else [])


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
    code, printed, errors = run(*words)
    assert (code, printed) == (2, "")
    assert re.fullmatch(rf"diffgbm: .* is the input {kept}: give the output another name\.\n", errors)
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


@pytest.mark.parametrize("where", [(), ("-o", "-"), ("--output", "-")])
@pytest.mark.parametrize("command", [("predict", "--interval", 0.8), ("sample", "-n", 3)])
def test_a_table_on_standard_output_is_that_of_a_file(command, where, folder, tmp_path, run, monkeypatch):
    monkeypatch.setattr(output, "NUMBERS_AT_ONCE", 7 * 256)
    words = [folder / "one.dgbm", folder / "tomorrow.csv", "--keep", "id", "--jobs", 1]
    code, printed, errors = run(*command, *words, *where)
    assert (code, errors) == (0, "")
    run(*command, *words, "-o", tmp_path / "o.csv")
    assert printed == (tmp_path / "o.csv").read_text()
    assert printed.count("\n") == 41


def test_the_table_and_json_do_not_share_standard_output(folder, run):
    code, printed, errors = run("predict", folder / "one.dgbm", folder / "tomorrow.csv", "--json")
    assert (code, printed) == (2, "")
    assert "--json prints to standard output, where the table goes" in errors


def test_a_reader_may_leave(folder, tmp_path):
    """More than fits into the buffer of a pipe is written to a reader that takes one line."""
    words = [COMMAND, "sample", folder / "one.dgbm", folder / "tomorrow.csv", "-n", "4000", "--jobs", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout.readline().startswith(b'"s0","s1"')
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (CLOSED_PIPE, b"")
