"""How a file is read, as values that describe themselves."""

from diffgbm.data.file_format import ColumnReading, FileFormat, TableReading


def test_files_describe_themselves():
    assert FileFormat("csv", "utf-8", ";", header=3).describe() == (
        "text in UTF-8, separated by semicolon, names of the columns in line 3"
    )
    assert FileFormat("excel", sheet="sales").describe() == "Excel, sheet 'sales'"
    assert FileFormat("json").describe() == "JSON lines"


def test_columns_describe_themselves():
    price = ColumnReading("price", "number", ".", ",", "$", missing=("", "?"))
    assert price.describe() == "number, thousands separator ',', unit '$', missing: '?'"
    assert ColumnReading("size", "number", ",").describe() == "number, decimal mark ','"
    assert ColumnReading("sold", "date", dates="day-month-year", zone=True).describe() == (
        "date, day-month-year, with time zone"
    )
    assert ColumnReading("at", "time").describe() == "time of day, in hours"
    assert ColumnReading("x", "typed", type="number").describe() == "number"


def test_the_table_is_short():
    columns = [ColumnReading(f"x{j}", "number") for j in range(100)]
    columns[50] = ColumnReading("x50", "number", note="'1,234' is read as 1234")
    reading = TableReading(FileFormat("csv"), tuple(columns), (("id", "an index"),))
    lines = reading.lines(["x50"], most=10)
    assert lines == [
        "x50  number, the target ('1,234' is read as 1234)",
        "id   left out: an index",
        "...  99 more columns",
    ]
    assert len(reading.lines(most=200)) == 101
    assert reading.of("x3") == columns[3]
    assert reading.of("y") is None
    assert [column.name for column in reading.only(["x1", "x2"]).columns] == ["x1", "x2"]
