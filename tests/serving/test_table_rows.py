import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from diffgbm.data.file_format import ReadingOptions
from diffgbm.serving.rows import RowReader
from diffgbm.serving.table_rows import MOST_ROWS, json_value, read_rows
from tests.conftest import tiny, toy
from tests.serving.models import everything, fitted, response


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, None),
        (3, 3),
        (2.5, 2.5),
        (float("nan"), None),
        (math.inf, 1.7976931348623157e308),
        (Decimal("1.5"), 1.5),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (True, True),
        ("<b>", "<b>"),
        (dt.date(2020, 5, 1), "2020-05-01"),
        (dt.datetime(2020, 5, 1), "2020-05-01"),
        (dt.datetime(2020, 5, 1, 10, 30), "2020-05-01T10:30:00"),
        (dt.datetime(2020, 5, 1, tzinfo=dt.timezone.utc), "2020-05-01T00:00:00+00:00"),
        (dt.timedelta(hours=36), 1.5),
        (dt.time(13, 45), "13:45:00"),
    ],
)
def test_values_in_json(value, found):
    assert json_value(value) == found
    assert type(json_value(value)) is type(found)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_row_of_a_file_predicts_as_the_file_does(ending, tmp_path):
    X = everything()
    X = X if ending == "parquet" else X[["size", "rooms", "garden", "town", "floor", "built"]]
    model = fitted(X)
    features = model.fitted_models()[0].features
    path = tmp_path / f"rows.{ending}"
    frame = X.assign(price=response(X))
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    table = read_rows(path, features, ["price"])
    rows = [table.row(i) for i in range(len(table))]
    reader = RowReader(features, "DiffGBM")
    assert np.array_equal(model.encode(reader.table(rows)), model.encode(X), equal_nan=True)
    assert table.responses(7) == {"price": frame["price"][7]}
    assert len(table) == len(X)


def test_a_file_without_responses_and_a_model_of_an_array(tmp_path):
    X, y = toy(120)
    model = tiny().fit(X, y)
    pd.DataFrame(X, columns=list("012")).to_csv(tmp_path / "rows.csv", index=False)
    table = read_rows(tmp_path / "rows.csv", model.fitted_models()[0].features, ["y"])
    assert table.responses(0) == {}
    assert list(table.row(3).values()) == X[3].tolist()


def test_of_a_long_file_the_first_rows_are_read(tmp_path):
    X, y = toy(120)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = tiny().fit(frame, y)
    pd.concat([frame] * 100).to_csv(tmp_path / "rows.csv", index=False)
    assert len(read_rows(tmp_path / "rows.csv", model.fitted_models()[0].features, [])) == MOST_ROWS


def test_what_the_user_says_about_a_file_counts(tmp_path):
    X, y = toy(120)
    frame = pd.DataFrame({"a": X[:, 0].round(3), "b": X[:, 1]})
    model = tiny().fit(frame, y)
    frame.to_csv(tmp_path / "rows.csv", index=False, sep="!", na_rep="nix")
    options = ReadingOptions(separator="!", missing=("nix",))
    table = read_rows(tmp_path / "rows.csv", model.fitted_models()[0].features, [], options=options)
    assert table.row(3) == {"a": frame["a"][3], "b": frame["b"][3]}
