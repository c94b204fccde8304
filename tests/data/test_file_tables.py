"""Tables of models from files: read for training, remembered, and read again; what disagrees is named."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from diffgbm._util.errors import DiffGBMWarning
from diffgbm.data import columns, file_tables
from diffgbm.data.features import FeatureTable
from diffgbm.data.file_format import ColumnReading, FileFormat, ReadingOptions, TableReading
from diffgbm.data.file_tables import table_blocks
from diffgbm.data.table_files import TableFileError
from tests.data.conftest import written


def test_a_training_table_has_categories_numbers_and_a_named_target(table):
    found = file_tables.training_table(table, ["price"], ["rent"])
    X, y = found.X, found.y
    assert X.column_names == ["size", "town", "garden"]
    assert pa.types.is_string(X.schema.field("town").type)
    assert X.column("garden").to_pylist() == [1.0, 0.0, 1.0]
    assert y.name == "price"
    assert y.to_list() == [10.0, 20.0, 30.0]
    both = file_tables.training_table(table, ["price", "rent"], []).y
    assert both.column_names == ["price", "rent"]


@pytest.mark.parametrize(
    ("targets", "drop", "message"),
    [
        (["cost"], [], r"there is no column 'cost'; it has 'size', 'town', 'garden', 'price', 'rent'"),
        (["price", "price"], [], "--target: a column is given twice"),
        (["price"], ["price"], "--drop: 'price' is a target"),
        (["price", "rent"], ["size", "town", "garden"], "there are no feature columns left"),
        (["town"], [], "column 'town' must hold numbers; it holds string"),
    ],
)
def test_wrong_choices_of_columns_are_refused(table, targets, drop, message):
    with pytest.raises(TableFileError, match=message):
        file_tables.training_table(table, targets, drop)


def test_dates_are_read_again_as_in_training(tmp_path):
    days = [datetime.date(2024, 1, 1), datetime.date(2025, 3, 24)]
    parquet = written(tmp_path / "d.parquet", day=days, y=[1.0, 2.0])
    iso = text(tmp_path / "d.csv", "day,y\n2024-01-01,1\n2025-03-24,2\n")
    dotted = text(tmp_path / "e.csv", "day;y\n1.1.2024;1\n24.3.2025;2\n")
    paths = (parquet, iso, dotted)
    tables = [FeatureTable.learn(file_tables.training_table(path, ["y"], []).X, None, "")[0] for path in paths]
    assert tables[0].columns[0].parts == tables[1].columns[0].parts == tables[2].columns[0].parts
    for table in tables:
        blocks = [next(file_tables.table_blocks(table, path, 5))[0] for path in paths]
        matrices = [table.encode(block, "") for block in blocks]
        np.testing.assert_array_equal(matrices[0], matrices[1])
        np.testing.assert_array_equal(matrices[0], matrices[2])


def test_codes_with_leading_zeros_are_categories(tmp_path):
    path = text(tmp_path / "t.csv", "zip,y\n00501,1\n10001,2\n00501,3\n")
    found = file_tables.training_table(path, ["y"], [])
    features = FeatureTable.learn(found.X, None, "")[0]
    assert features.levels == (("00501", "10001"),)
    [(X, _)] = file_tables.table_blocks(features, path, 5, reading=found.reading)
    np.testing.assert_array_equal(features.encode(X, "").ravel(), [0, 1, 0])


def test_empty_tables_are_refused(tmp_path):
    empty = written(tmp_path / "e.parquet", a=pa.array([], pa.float64()), y=pa.array([], pa.float64()))
    with pytest.raises(TableFileError, match="there are no rows"):
        file_tables.training_table(empty, ["y"], [])


@pytest.fixture
def features(table):
    X = file_tables.training_table(table, ["price"], ["rent"]).X
    return FeatureTable.learn(X, None, "Model")[0]


def test_blocks_have_the_columns_that_the_model_reads(table, features):
    blocks = list(file_tables.table_blocks(features, table, 2, keep=["rent"], targets=["price"]))
    assert [len(X) for X, _ in blocks] == [2, 1]
    assert blocks[0][0].column_names == ["size", "town", "garden"]
    assert blocks[0][0].column("town").type == pa.string()
    assert blocks[0][1].column("rent").to_pylist() == [1.0, 2.0]
    X, y = file_tables.observed_table(features, ["price", "rent"], table)
    assert X.num_rows == 3
    np.testing.assert_array_equal(y, [[10, 1], [20, 2], [30, 3]])


def test_missing_columns_are_refused_before_the_first_block(tmp_path, features):
    other = written(tmp_path / "o.parquet", size=[1.0])
    with pytest.raises(TableFileError, match="there is no column 'town', 'garden'"):
        next(file_tables.table_blocks(features, other, 5))
    with pytest.raises(TableFileError, match="fitted to an array"):
        columns.feature_names(FeatureTable.learn(np.ones((3, 2)), None, "Model")[0])


def text(path, content):
    path.write_text(content)
    return path


def sizes(n=40, **changes):
    values = {j: f"{j}.5" for j in range(n)} | {int(name[1:]): value for name, value in changes.items()}
    return "size,y\n" + "".join(f"{value},{j}\n" for j, value in values.items())


def test_units_in_a_few_rows_are_named_and_missing(tmp_path):
    path = text(tmp_path / "t.csv", sizes(_7="9 km"))
    with pytest.warns(DiffGBMWarning, match=r"column 'size' holds numbers; read as missing: line 9 has '9 km'\."):
        X = file_tables.training_table(path, ["y"], []).X
    assert X.column("size").null_count == 1
    features = FeatureTable.learn(X, None, "Model")[0]
    with pytest.warns(DiffGBMWarning, match="line 9 has '9 km'"):
        [(X, _)] = file_tables.table_blocks(features, path, 100)
    assert X.column("size").null_count == 1
    many = text(tmp_path / "m.csv", sizes(_7="9 km", _8="x", _9="y", _10="z"))
    with pytest.raises(TableFileError, match=r"line 9 has '9 km', line 10 has 'x', line 11 has 'y', and 1 more\. Corr"):
        list(file_tables.table_blocks(features, many, 100))
    # the user may name them
    options = ReadingOptions(missing=("9 km", "x", "y", "z"))
    assert len(list(file_tables.table_blocks(features, many, 100, options=options))) == 1


def test_a_target_is_a_number_or_missing(tmp_path):
    path = text(tmp_path / "t.csv", "a,y\n1,5\n2,?\n3,\n4,8\n")
    with pytest.warns(DiffGBMWarning, match=r"t\.csv: 2 of 4 rows have no target and are left out\."):
        found = file_tables.training_table(path, ["y"], [])
    assert found.without_target == 2
    assert found.X.column("a").to_pylist() == [1.0, 4.0]
    assert found.y.to_list() == [5.0, 8.0]
    features = FeatureTable.learn(found.X, None, "Model")[0]
    with pytest.warns(DiffGBMWarning, match="2 of 4 rows have no target"):
        X, y = file_tables.observed_table(features, ["y"], path)
    assert (len(X), y.tolist()) == (2, [[5.0], [8.0]])
    assert file_tables.target_table(path, ["y"]).tolist() == [[5.0], [8.0]]
    with pytest.raises(TableFileError, match=r"column 'y' must hold numbers: line 3 has '7 k'.*--na '7 k'"):
        file_tables.training_table(text(tmp_path / "k.csv", "a,y\n1,5\n2,7 k\n"), ["y"], [])


def test_later_files_are_read_as_that_of_training(tmp_path):
    train = text(tmp_path / "t.csv", 'size,town,y\n"1,5",NA,1\n"2,5",Zug,2\n"1,234",Bern,3\n')
    found = file_tables.training_table(train, ["y"], [])
    features = FeatureTable.learn(found.X, None, "Model")[0]

    def read(content, **options):
        path = text(tmp_path / "later.csv", content)
        asked = ReadingOptions(**options)
        blocks = file_tables.table_blocks(features, path, 9, ["town"], reading=found.reading, options=asked)
        [(X, kept)] = blocks
        return X.column("size").to_pylist(), kept.column("town").to_pylist()

    # alone this file would be read with thousands; the separator may change
    assert read('size,town\n"1,234", Zug\n') == ([1.234], [" Zug"])
    assert read("town;size\nNA;1,234\n") == ([1.234], ["NA"])
    with pytest.raises(TableFileError, match=r"column 'size' has the decimal mark '\.'; .* --decimal '\.'"):
        read("size,town\n1.25,Zug\n")
    assert read("size,town\n1.25,Zug\n", decimal=".") == ([1.25], ["Zug"])
    with pytest.raises(TableFileError, match=r"column 'size' has the unit 'm'; the training file had no unit"):
        read("size,town\n1 m,Zug\n")


def test_codes_that_are_digits_in_a_workbook_stay_text(tmp_path):
    import pandas as pd

    pd.DataFrame({"code": ["A1", 12, 13], "y": [1, 2, 3]}).to_excel(tmp_path / "t.xlsx", index=False)
    pd.DataFrame({"code": [12, 13]}).to_excel(tmp_path / "u.xlsx", index=False)
    found = file_tables.training_table(tmp_path / "t.xlsx", ["y"], [])
    features = FeatureTable.learn(found.X, None, "Model")[0]
    [(X, _)] = file_tables.table_blocks(features, tmp_path / "u.xlsx", 9, reading=found.reading)
    assert X.column("code").to_pylist() == ["12", "13"]


def test_marks_that_the_user_named_are_remembered(tmp_path):
    train = text(tmp_path / "t.csv", "a,b,y\n1,x,1\n2,-999,2\n-999,x,3\n")
    found = file_tables.training_table(train, ["y"], [], ReadingOptions(missing=("-999", "nil!")))
    assert found.reading.file.missing == ("-999", "nil!")
    assert found.X.to_pydict() == {"a": [1.0, 2.0, None], "b": ["x", None, "x"]}
    features = FeatureTable.learn(found.X, None, "")[0]
    later = text(tmp_path / "l.csv", "a,b\nnil!,x\n3,-999\n")
    [(X, _)] = file_tables.table_blocks(features, later, 9, reading=found.reading)
    assert X.to_pydict() == {"a": [None, 3.0], "b": ["x", None]}


def test_columns_without_values_are_left_out(tmp_path):
    found = file_tables.training_table(text(tmp_path / "t.csv", "a,b,y\n1,,1\n2,NA,2\n"), ["y"], [])
    assert found.X.column_names == ["a"]
    assert found.reading.dropped == (("b", "no values"),)
    with pytest.raises(TableFileError, match="no feature columns left"):
        file_tables.training_table(text(tmp_path / "e.csv", "b,y\n,1\n,2\n"), ["y"], [])


def test_lists_and_objects_of_json_are_left_out(tmp_path):
    path = text(tmp_path / "t.jsonl", '{"a": 1, "b": [1, 2], "y": 1}\n{"a": 2, "b": {"c": 1}, "y": 2}\n')
    found = file_tables.training_table(path, ["y"], [])
    assert found.X.column_names == ["a"]
    assert found.reading.dropped == (("b", "it holds lists or objects"),)


def text_file(folder, text):
    path = folder / "t.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ReadingOptions(decimal=","),
            r"column 'a' has the decimal mark '\.' and is read so, although --decimal is ','",
        ),
        (
            ReadingOptions(date_format="%m/%d/%Y"),
            r"--date-format '%m/%d/%Y' fits no column and has no effect; column 'd' has dates day-month-year",
        ),
        (ReadingOptions(sheet="2"), r"--sheet has no effect: the file is text in UTF-8, separated by comma"),
    ],
)
def test_options_that_the_file_contradicts_are_named(tmp_path, options, message):
    rows = [f"{i}.5,{1 + i % 28}/{1 + i % 12}/2020,{i}" for i in range(40)]
    path = text_file(tmp_path, "\n".join(["a,d,y", *rows]))
    expected = file_tables.training_table(path, ["y"], [])
    with pytest.warns(DiffGBMWarning, match=message):
        found = file_tables.training_table(path, ["y"], [], options)
    assert found.X.equals(expected.X)


def test_options_that_fit_are_silent(tmp_path):
    rows = [f"{i},5;{1 + i % 12}/{1 + i % 28}/2020;{i}" for i in range(40)]
    path = text_file(tmp_path, "\n".join(["a;d;y", *rows]))
    options = ReadingOptions(separator=";", decimal=",", date_format="%m/%d/%Y", encoding="utf-8")
    assert file_tables.training_table(path, ["y"], [], options).X.column("a").to_pylist()[:2] == [0.5, 1.5]


def test_an_encoding_that_is_not_that_of_the_file(tmp_path):
    path = text_file(tmp_path, "a,y\n1,2\n")
    with pytest.raises(TableFileError, match=r"t\.csv: this is not text in UTF-16\. Leave --encoding out"):
        file_tables.training_table(path, ["y"], [], ReadingOptions(encoding="utf-16"))


def test_a_target_without_any_number(tmp_path):
    path = text_file(tmp_path, "a,y\n" + "1,red\n2,blue\n" * 5)
    with pytest.raises(TableFileError, match=r"column 'y' must hold numbers, and most .*: line 2 has 'red'"):
        file_tables.training_table(path, ["y"], [])


def test_truth_values_of_a_model_of_python_are_spelled_in_a_text_file(tmp_path):
    features = FeatureTable.plain(("flag", "size"), [None, None])
    path = tmp_path / "t.csv"
    path.write_text("flag,size\nTrue,1\nfalse,2\n,3\n")
    [(X, _)] = table_blocks(features, path, 10)
    assert X.column("flag").to_pylist() == [1.0, 0.0, None]
    # one of them among numbers is no number, and a model of a file knows how its numbers are written
    path.write_text("flag,size\nTrue,1\n3,2\n")
    with pytest.raises(TableFileError, match="'flag' must hold numbers: line 2 has 'True'"):
        list(table_blocks(features, path, 10))
    path.write_text("flag,size\nTrue,1\n")
    trained = TableReading(FileFormat("csv"), (ColumnReading("flag", "number"), ColumnReading("size", "number")))
    with pytest.raises(TableFileError, match="'flag' must hold numbers"):
        list(table_blocks(features, path, 10, reading=trained))


def test_a_later_block_that_is_neither_true_nor_false(tmp_path):
    features = FeatureTable.plain(("flag",), [None])
    path = tmp_path / "t.csv"
    path.write_text("flag\n" + "True\n" * 250_000 + "maybe\n" * 100_000)
    with pytest.raises(TableFileError, match=r"'flag' must hold true or false.*'maybe'"):
        list(table_blocks(features, path, 50_000))


def test_columns_that_number_the_rows_are_left_out_unless_they_are_wanted(tmp_path):
    rows = "\n".join(f"{k},{k % 7},{k},{k}.5" for k in range(1, 61))
    path = text(tmp_path / "t.csv", f"N\u00ba,size,site,y\n{rows}\n")
    read = file_tables.training_table
    found = read(path, ["y"], [])
    assert found.X.column_names == ["size"]
    dropped = dict(found.reading.dropped)
    assert dropped["N\u00ba"] == "an index of the rows: it counts from 1 to 60; --feature keeps it"
    assert dropped["site"].startswith("it numbers the rows: 60 different whole numbers between 1 and 60")
    assert read(path, ["y"], [], wanted=["site"]).X.column_names == ["size", "site"]
    assert read(path, ["y"], [], time="site").X.column_names == ["size", "site"]
    assert read(path, ["y"], ["size", "N\u00ba"]).X.column_names == ["site"]  # nothing else is left
    with pytest.raises(TableFileError, match="--feature: 'y' has another purpose"):
        read(path, ["y"], [], wanted=["y"])
    with pytest.raises(TableFileError, match="there is no column 'sight'"):
        read(path, ["y"], [], wanted=["sight"])
