"""Schema: how each column was read, as a table."""

import pandas as pd
import pytest

from diffgbm.data.features import FeatureTable
from diffgbm.data.schema import MOST_SHOWN, ColumnSchema, Schema

FRAME = pd.DataFrame(
    {
        "size": [1.0, 2.0, 3.0],
        "town": ["x", "<y>", "x"],
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]),
        "same": ["a"] * 3,
        "one": [1.0] * 3,
    }
)


def test_each_column_has_a_line():
    schema = Schema.of(FeatureTable.learn(FRAME, None, "")[0])
    assert [column.kind for column in schema] == ["number", "category", "date", "category", "number"]
    assert schema["town"] == schema[1] == ColumnSchema("town", "category", 1, "2 categories: <y>, x")
    assert str(schema).splitlines()[0].split() == ["column", "kind", "detail"]
    assert str(schema).splitlines()[3].startswith("day     date      2020-01-01 to 2020-01-03: elapsed days, weekday")
    assert schema["same"].detail == "constant: a"
    assert schema["one"].detail == "constant"
    assert repr(schema) == str(schema)
    assert "&lt;y&gt;" in schema._repr_html_()
    assert len(pd.DataFrame(schema.records())) == len(schema) == 5
    with pytest.raises(KeyError):
        schema["nowhere"]


def test_long_schemas_are_cut():
    wide = pd.DataFrame({f"c{j}": [j, j + 1.0] for j in range(MOST_SHOWN + 7)})
    text = str(Schema.of(FeatureTable.learn(wide, None, "")[0]))
    assert text.endswith("... and 7 more columns")
    assert len(text.splitlines()) == MOST_SHOWN + 2
