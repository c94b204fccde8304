"""What the commands write: predictions block by block, and one result for a person or a program."""

import json
import time
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from diffgbm._util.errors import DiffGBMWarning
from diffgbm.cli import output
from diffgbm.data.table_files import TableFileError
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
