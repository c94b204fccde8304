"""Columns of table files: features are read as those of frames are, targets must be finite numbers."""

import numpy as np
import pyarrow as pa
import pytest

from diffgbm.data import columns
from diffgbm.data.table_files import TableFileError


def test_a_bad_target_names_its_row(table):
    column = pa.chunked_array([[1.0, None, np.inf]])
    with pytest.raises(TableFileError, match="target 'y' is missing or infinite in row 102 and 1 more"):
        columns.target_values(table, "y", column, before=100)


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
