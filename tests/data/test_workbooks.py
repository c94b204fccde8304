"""Excel: the sheet with the table is found, titles above it are skipped, cells keep their types."""

import datetime as dt

import openpyxl
import pytest

from diffgbm.data.file_format import FileFormat, TableFileError
from diffgbm.data.workbooks import find_sheet, sheet_columns, sheet_names


def book(path, **sheets):
    found = openpyxl.Workbook()
    found.remove(found.active)
    for name, rows in sheets.items():
        sheet = found.create_sheet(name)
        for row in rows:
            sheet.append(row)
    found.save(path)
    return path


ROWS = [["a", "when", None], [1, dt.datetime(2020, 1, 2), "x"], [2.5, None, 3], [None, None, None], [4, None, None]]


def test_the_only_table_is_read(tmp_path):
    path = book(tmp_path / "t.xlsx", notes=[["Only a remark"]], sales=[["Sales"], [], *ROWS])
    file = find_sheet(path, None)
    assert file == FileFormat("excel", sheet="sales", header=3)
    assert sheet_names(path, file) == ["a", "when", ""]
    columns = sheet_columns(path, file, ["", "a", "when"])
    assert {name: column.to_pylist() for name, column in columns.items()} == {
        "": ["x", "3", None],
        "a": [1.0, 2.5, 4.0],
        "when": [dt.datetime(2020, 1, 2), None, None],
    }


def test_the_sheet_must_be_known(tmp_path):
    path = book(tmp_path / "t.xlsx", one=ROWS, two=ROWS)
    with pytest.raises(TableFileError, match=r"several sheets hold tables: 'one', 'two'\. Choose one: --sheet 'one'"):
        find_sheet(path, None)
    assert find_sheet(path, "two").sheet == find_sheet(path, "2").sheet == "two"
    with pytest.raises(TableFileError, match="there is no sheet 'three'; it has 'one', 'two'"):
        find_sheet(path, "three")
    with pytest.raises(TableFileError, match="there are no rows"):
        find_sheet(book(tmp_path / "e.xlsx", one=[]), None)
    (tmp_path / "x.xlsx").write_bytes(b"no workbook")
    with pytest.raises(TableFileError, match="no Excel workbook"):
        find_sheet(tmp_path / "x.xlsx", None)
