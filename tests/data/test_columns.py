"""Columns of table files: features are read as those of frames are, targets must be finite numbers."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from diffgbm.data import columns
from diffgbm.data.features import FeatureTable
from diffgbm.data.table_files import TableFileError


def written(path, **content):
    pq.write_table(pa.table(content), path)
    return path


@pytest.fixture
def table(tmp_path):
    return written(
        tmp_path / "t.parquet",
        size=[1.5, None, 3.0],
        town=["x", "y", None],
        garden=[True, False, True],
        price=[10, 20, 30],
        rent=[1.0, 2.0, 3.0],
    )


def test_a_training_table_has_categories_numbers_and_a_named_target(table):
    X, y = columns.training_table(table, ["price"], ["rent"])
    assert X.column_names == ["size", "town", "garden"]
    assert pa.types.is_string(X.schema.field("town").type)
    assert X.column("garden").to_pylist() == [1.0, 0.0, 1.0]
    assert y.name == "price"
    assert y.to_list() == [10.0, 20.0, 30.0]
    _, both = columns.training_table(table, ["price", "rent"], [])
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
        columns.training_table(table, targets, drop)


def test_dates_are_read_again_as_in_training(tmp_path):
    days = [datetime.date(2024, 1, 1), datetime.date(2025, 3, 4)]
    parquet = written(tmp_path / "d.parquet", day=days, y=[1.0, 2.0])
    csv = tmp_path / "d.csv"
    csv.write_text("day,y\n2024-01-01,1\n2025-03-04,2\n")
    tables = [FeatureTable.learn(columns.training_table(path, ["y"], [])[0], None, "")[0] for path in (parquet, csv)]
    assert tables[0].columns[0].parts == tables[1].columns[0].parts
    for table in tables:
        blocks = [next(columns.table_blocks(table, path, 5))[0] for path in (parquet, csv)]
        np.testing.assert_array_equal(*(table.encode(block, "") for block in blocks))


def test_empty_tables_are_refused(tmp_path):
    empty = written(tmp_path / "e.parquet", a=pa.array([], pa.float64()), y=pa.array([], pa.float64()))
    with pytest.raises(TableFileError, match="there are no rows"):
        columns.training_table(empty, ["y"], [])


def test_a_bad_target_names_its_row(table):
    column = pa.chunked_array([[1.0, None, np.inf]])
    with pytest.raises(TableFileError, match="target 'y' is missing or infinite in row 102"):
        columns.target_values(table, "y", column, before=100)
    np.testing.assert_array_equal(columns.target_table(table, ["price", "rent"]), [[10, 1], [20, 2], [30, 3]])


@pytest.fixture
def features(table):
    X, _ = columns.training_table(table, ["price"], ["rent"])
    return FeatureTable.learn(X, None, "Model")[0]


def test_blocks_have_the_columns_that_the_model_reads(table, features):
    blocks = list(columns.table_blocks(features, table, 2, keep=["rent"], targets=["price"]))
    assert [len(X) for X, _ in blocks] == [2, 1]
    assert blocks[0][0].column_names == ["size", "town", "garden"]
    assert blocks[0][0].column("town").type == pa.string()
    assert blocks[0][1].column("rent").to_pylist() == [1.0, 2.0]
    X, y = columns.observed_table(features, ["price", "rent"], table)
    assert X.num_rows == 3
    np.testing.assert_array_equal(y, [[10, 1], [20, 2], [30, 3]])


def test_missing_columns_are_refused_before_the_first_block(tmp_path, features):
    other = written(tmp_path / "o.parquet", size=[1.0])
    with pytest.raises(TableFileError, match="there is no column 'town', 'garden'"):
        next(columns.table_blocks(features, other, 5))
    with pytest.raises(TableFileError, match="fitted to an array"):
        columns.feature_names(FeatureTable.learn(np.ones((3, 2)), None, "Model")[0])


def test_truth_values_are_spelled_as_in_training(table):
    column = pa.chunked_array([[True, None, False]])
    assert columns.known_feature(table, "garden", column, ("TRUE", "FALSE")).to_pylist() == ["TRUE", None, "FALSE"]
    assert columns.known_feature(table, "size", column, None).to_pylist() == [1.0, None, 0.0]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.string(), True),
        (pa.large_string(), True),
        (pa.dictionary(pa.int8(), pa.string()), True),
        (pa.float64(), False),
        (pa.dictionary(pa.int8(), pa.int64()), False),
    ],
)
def test_what_is_text(kind, text):
    assert columns.is_text(kind) is text
