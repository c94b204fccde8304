"""The benchmark of large files: its tables, its records, and one small run through the installed command."""

import argparse
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from benchmarks.layout import ResultsError
from benchmarks.records import append

from benchmarks import chunks
from diffgbm.data.table_files import read_table


def record(ending, rows, peak, seconds=2.0):
    return {
        "format": ending,
        "rows": rows,
        "input_bytes": 3_000_000,
        "output_bytes": 1_500_000,
        "peak_bytes": peak,
        "seconds": seconds,
        "processor_seconds": seconds / 2.0,
    }


def test_memory_is_compared_between_the_two_largest_files():
    records = [record("csv", 2_000_000, 550e6), record("csv", 1000, 300e6), record("csv", 200_000, 500e6)]
    text = chunks.table([*records, record("parquet", 1000, 1e6)])
    assert "| csv | 2,000,000 | 3.0 | 1.5 | 550 | 2.0 | 1.0 |" in text
    assert "csv: 10 times the rows take 1.10 times the memory." in text
    assert "parquet: " not in text


@pytest.mark.parametrize("ending", chunks.FORMATS)
def test_tables_are_the_same_in_every_format(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "GROUP", 40)
    path = tmp_path / f"table.{ending}"
    chunks.write(path, 100, seed=3)
    expected = pa.concat_tables(chunks.blocks(100, seed=3)).drop_columns(["y"])
    result = read_table(path, expected.column_names)
    assert result.num_rows == 100
    # numbers are text in a text file
    found = {name: result.column(name).cast(expected.schema.field(name).type) for name in expected.column_names}
    assert pa.table(found).to_pydict() == expected.to_pydict()
    assert found["id"].to_pylist() == list(range(100))
    assert len(expected.column_names) == 10
    assert set(expected.column("town").to_pylist()) <= set(chunks.TOWNS)
    if ending == "parquet":
        assert pyarrow.parquet.ParquetFile(path).num_row_groups == 3


def test_a_training_table_has_its_response(tmp_path):
    chunks.write(tmp_path / "train.parquet", 50)
    y = read_table(tmp_path / "train.parquet", ["y"]).column("y").to_numpy()
    assert np.std(y) > 0.5


def test_a_command_that_fails_is_no_result(tmp_path):
    with pytest.raises(ResultsError, match=r"diffgbm inspect ended with 2: diffgbm: There is no model file"):
        chunks.command("inspect", tmp_path / "none.dgbm", "--json")


def test_only_what_is_missing_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(chunks, "RESULTS", tmp_path)
    monkeypatch.setattr(chunks, "ROWS", (50, 90))
    monkeypatch.setattr(chunks, "FORMATS", ("csv",))
    monkeypatch.setattr(chunks, "TRAINING_ROWS", 100)
    monkeypatch.setattr(chunks, "MODEL", {"n_estimators": 5, "n_repeats": 2, "residualize": "off"})
    append(tmp_path / "chunks.jsonl", record("csv", 50, 100e6))
    chunks.run(argparse.Namespace(quick=False, again=False))
    lines = [json.loads(line) for line in (tmp_path / "chunks.jsonl").read_text().splitlines()]
    assert [line["rows"] for line in lines] == [50, 90]
    new = lines[1]
    # Python alone takes more than this, and a table of 90 rows less
    assert 50e6 < new["peak_bytes"] < 5e9
    assert 0 < new["output_bytes"] < new["input_bytes"]
    assert new["processor_seconds"] > 0.0
    text = (tmp_path / "chunks.md").read_text()
    assert text == chunks.table(lines)
    assert capsys.readouterr().out == text + "\n"
