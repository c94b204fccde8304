"""Tables on disk: every kind read whole and in pieces alike, errors with their line, output whole or not at all."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from diffgbm.data import text_files
from diffgbm.data.file_format import FileFormat
from diffgbm.data.table_files import (
    TableFileError,
    column_names,
    file_format,
    kind_of,
    name_of_row,
    read_pieces,
    read_table,
    write_table,
)

ENDINGS = ("csv", "csv.gz", "parquet", "feather", "arrow")


def example(n: int = 1000) -> pa.Table:
    rng = np.random.default_rng(0)
    a = np.where(rng.uniform(size=n) < 0.1, None, rng.normal(size=n))
    b = [None if u < 0.1 else f'{"x" * int(10 * u)},"é' for u in rng.uniform(size=n)]
    return pa.table({"a": pa.array(a, pa.float64()), "b": pa.array(b, pa.string()), "c": pa.array(range(n))})


def values(table: pa.Table) -> dict:
    """The values of ``example``, whose numbers a text file holds as text."""
    texts = {name: table.column(name) for name in table.column_names}
    kinds = {"a": pa.float64(), "b": pa.string(), "c": pa.int64()}
    return {
        name: [None if v in ("", None) else pa.scalar(v).cast(kinds[name]).as_py() for v in column.to_pylist()]
        for name, column in texts.items()
    }


def write(path, table):
    with write_table(path) as writer:
        writer.write(table)
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_survives_and_pieces_are_the_whole(ending, tmp_path, monkeypatch):
    table = example()
    path = write(tmp_path / f"t.{ending}", table)
    assert column_names(path) == ["a", "b", "c"]
    whole = read_table(path, ["a", "b", "c"])
    assert values(whole) == table.to_pydict()
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 2000)
    pieces = list(read_pieces(path, ["b", "a"], rows=7))
    assert max(map(len, pieces)) == 7
    assert len(pieces) > 100
    assert values(pa.concat_tables(pieces)) == table.select(["b", "a"]).to_pydict()


@pytest.mark.parametrize("ending", ENDINGS)
def test_pieces_are_written_as_one_table(ending, tmp_path):
    table = example(50)
    with write_table(tmp_path / f"t.{ending}") as writer:
        for first in range(0, 50, 20):
            writer.write(table.slice(first, 20))
    assert values(read_table(tmp_path / f"t.{ending}", ["a", "b", "c"])) == table.to_pydict()
    assert [p.name for p in tmp_path.iterdir()] == [f"t.{ending}"]


def test_gzip_endings_in_any_case(tmp_path):
    path = write(tmp_path / "T.CSV.GZ", example(10))
    assert gzip.decompress(path.read_bytes()).startswith(b'"a","b","c"\n')
    assert len(read_table(path, ["a"])) == 10


def test_files_of_other_libraries_are_read(tmp_path):
    pyarrow.feather.write_feather(example(100), tmp_path / "z.feather", compression="zstd", chunksize=30)
    pyarrow.parquet.write_table(example(100), tmp_path / "g.parquet", row_group_size=30)
    for path in (tmp_path / "z.feather", tmp_path / "g.parquet"):
        pieces = list(read_pieces(path, ["c"], rows=25))
        assert pa.concat_tables(pieces).column("c").to_pylist() == list(range(100))


def test_only_what_is_asked_for_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2020-01-01\n2,no date\n")
    assert read_table(path, ["a"]).to_pydict() == {"a": ["1", "2"]}


def test_text_files_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\nTrue,007\nNA, 8\n")
    assert read_table(path, ["a", "b"]).to_pydict() == {"a": ["True", "NA"], "b": ["007", " 8"]}


def test_values_may_hold_newlines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\ny"\n2,z\n')
    assert read_table(path, ["a", "b"]).to_pydict() == {"a": ["1", "2"], "b": ["x\ny", "z"]}


@pytest.mark.parametrize("rows", [None, 10])
@pytest.mark.parametrize("block", [1 << 23, 64])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n" + "1,2\n" * 100 + "1,2,3\n1,2\n", r"line 102 has 3 values where 2 are expected"),
        ("a,b\n\n" + "1,2\n\n" * 10 + "7\n", r"line 23 has 1 values where 2 are expected"),
        ('a,b\n1,"u\nv"\n7\n', r"line 4 has 1 values where 2 are expected"),
    ],
)
def test_a_bad_row_is_named_by_its_line(text, message, block, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    for path, opener in ((tmp_path / "t.csv", open), (tmp_path / "t.csv.gz", gzip.open)):
        with opener(path, "wt") as file:
            file.write(text)
        with pytest.raises(TableFileError, match=message):
            list(read_pieces(path, ["a", "b"], rows=rows))
        assert column_names(path) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "there is no such file"),
        ("t.csv", b"", "the file is empty"),
        ("t.csv", b"\n\n", "the file is empty"),
        ("t.csv", b"a,a\n1,2\n", "two columns 'a'"),
        ("t.csv.gz", b"a,b\n1,2\n", "cannot be read"),
        ("t.csv", bytes(range(256)) * 4 + bytes(2000), "not text but a binary file.* Save the table as CSV"),
        ("t.csv", b"a" * (1 << 20) + b",b\n1,2\n", "the row in line 1 has more than 1 MB.* save the table as Parquet"),
        ("t.parquet", b"a,b\n1,2\n", "cannot be read"),
        ("t.feather", b"a,b\n1,2\n", "cannot be read"),
        ("t.xlsx", b"a", r"no Excel workbook"),
        ("t.xls", b"a", r"must end in one of \.csv, .*\.parquet.*; save it as \.xlsx or CSV"),
        ("t.csv.zip", b"a", r"must end in one of .*; unpack it first"),
        ("t.jsonl", b'{"a": 1}\n[1]\n', "row 2 is not an object"),
        ("csv", b"a", "must end in one of"),
    ],
)
def test_files_that_cannot_be_read_are_named_in_one_line(name, content, message, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TableFileError, match=message) as caught:
        column_names(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", ["csv.gz", "parquet", "feather"])
def test_a_file_that_was_cut_short_is_refused(ending, tmp_path):
    path = write(tmp_path / f"t.{ending}", example())
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(TableFileError):
        list(read_pieces(path, ["a", "b"], rows=10))


@pytest.mark.parametrize("rows", [None, 1000])
@pytest.mark.parametrize(
    ("row", "line"), [("x" * (3 << 20) + ",1\n", 300_002), ('"open,1\n' + "2,2\n" * 600_000, 300_002)]
)
def test_a_row_longer_than_a_block_is_named(row, line, rows, tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write("a,b\n" + "4,5\n" * 300_000 + row + "4,5\n")
    with pytest.raises(TableFileError, match=rf"the row in line {line} has more than 1 MB.*quotation mark left open"):
        list(read_pieces(path, ["a", "b"], rows=rows))


def test_a_file_without_rows_has_columns(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    for ending in ("parquet", "feather"):
        write(tmp_path / f"t.{ending}", example(0))
    for ending in ("csv", "parquet", "feather"):
        assert column_names(tmp_path / f"t.{ending}")[:2] == ["a", "b"]
        for rows in (None, 5):
            assert sum(map(len, read_pieces(tmp_path / f"t.{ending}", ["a"], rows=rows))) == 0


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("old", [None, b"what was there"])
def test_an_interrupted_write_leaves_nothing_or_the_old_file(old, ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    if old:
        path.write_bytes(old)

    def interrupted():
        with write_table(path) as writer:
            writer.write(example(10))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([old] if old else [])


def test_kinds():
    from pathlib import Path

    assert [kind_of(Path(f"a.b.{ending}")) for ending in ENDINGS] == ["csv", "csv", "parquet", "feather", "feather"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_pieces_hold_a_small_part_of_the_file(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 1 << 14)
    table = pa.table({"a": np.random.default_rng(0).normal(size=2_000_000)})  # nothing in it can be compressed
    path = write(tmp_path / f"t.{ending}", table)
    size = path.stat().st_size
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    for piece in read_pieces(path, ["a"], rows=10_000):
        rows += len(piece)
        most = max(most, pa.total_allocated_bytes() - before)
    assert rows == 2_000_000
    # a piece is 80 kB; the readers look ahead by some pages or blocks, for files of any size
    assert most < size / 4


def test_a_row_is_named_by_its_line_or_its_number(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n\n1,"x\ny"\n2,z\n')
    file = file_format(tmp_path / "t.csv")
    assert [name_of_row(tmp_path / "t.csv", file, row) for row in (0, 1)] == ["line 4", "line 5"]
    assert name_of_row(tmp_path / "t.parquet", FileFormat("parquet"), 2) == "row 3"
    assert name_of_row(tmp_path / "t.xlsx", FileFormat("excel", header=3), 0) == "row 4"


def test_columns_without_a_name_are_called_by_their_position(tmp_path):
    (tmp_path / "t.csv").write_text(",a,\n1,2,3\n")
    assert column_names(tmp_path / "t.csv") == ["Unnamed: 0", "a", "Unnamed: 2"]


def test_tables_are_written_with_tabs(tmp_path):
    path = write(tmp_path / "t.tsv", example(5))
    assert path.read_text().startswith('"a"\t"b"\t"c"\n')
    assert column_names(path) == ["a", "b", "c"]
    with pytest.raises(TableFileError, match=r"t\.xlsx: the name must end in one of \.csv, \.csv\.gz, \.tsv"):
        write(tmp_path / "t.xlsx", example(5))
