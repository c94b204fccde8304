import io

import numpy as np
import pandas as pd
import pytest

from diffgbm._util.errors import kept_warnings
from diffgbm.data.features import EncodedTable
from diffgbm.serving.limits import Limits
from diffgbm.serving.problems import RequestError
from diffgbm.serving.rows import RowReader
from tests.conftest import tiny, toy
from tests.serving.models import ROW, as_frame, everything, fitted, response


def reader_of(model, **options):
    return RowReader(model.fitted_models()[0].features, type(model).__name__, model.file_reading_, **options)


@pytest.fixture(scope="module")
def reader(model):
    return reader_of(model)


def refused(reader, rows, status=422):
    with pytest.raises(RequestError) as caught:
        reader.table(rows)
    assert caught.value.status == status
    return [problem.message for problem in caught.value.problems]


def test_rows_are_read_as_a_frame_of_python_is(model, reader):
    rows = [
        ROW,
        {**ROW, "size": None, "town": None, "floor": None, "built": None, "seen": None, "open": None, "opens": None},
        {**ROW, "garden": False, "town": "Bern", "floor": 3, "seen": "2020-05-01T08:00:00-04:00"},
        {**ROW, "size": "80.5", "rooms": float("nan"), "garden": 1, "unused": [3]},
    ]
    assert np.array_equal(model.encode(reader.table(rows)), model.encode(as_frame(rows)), equal_nan=True)


def test_one_object_is_one_row_and_a_list_is_in_the_order_of_the_columns(model, reader):
    alone = model.encode(reader.table(ROW))
    assert np.array_equal(alone, model.encode(reader.table([ROW])))
    values = [ROW.get(name) for name in reader.names]
    assert np.array_equal(alone, model.encode(reader.table([values])))


def test_columns_that_are_missing_or_unknown_are_named(reader):
    without = {name: value for name, value in ROW.items() if name != "size"}
    assert refused(reader, [ROW, without]) == ["Row 1 has no column 'size'. Send null if its value is missing."]
    [message] = refused(reader, [{**ROW, "sice": 3}])
    assert message == "Row 0 has an unknown column 'sice'. Did you mean 'size'?"
    [message] = refused(reader, [{**ROW, "\u202e☃": 3}])
    assert "The model reads 'size', 'rooms'" in message


def test_all_wrong_values_are_listed_with_their_places(reader):
    with pytest.raises(RequestError) as caught:
        reader.table([ROW, {**ROW, "size": "big", "opens": 3}, {**ROW, "built": "soon"}])
    found = [(problem.row, problem.column) for problem in caught.value.problems]
    assert found == [(1, "size"), (1, "opens"), (2, "built")]
    assert caught.value.problems[0].message.startswith("Row 1: column 'size' must be a number, or null")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (None, "rows must be a list of objects"),
        ("x", "rows must be a list of objects"),
        ([], "rows is empty"),
        ([3], "Row 0 must be an object like"),
        ([[1, 2]], "Row 0 has 2 values; a list must have 10"),
        ([None], "got null"),
    ],
)
def test_what_is_no_row_is_refused(reader, rows, words):
    assert words in refused(reader, rows)[0]


def test_too_many_rows_are_refused(model):
    reader = reader_of(model, limits=Limits(rows=2))
    reader.table([ROW, ROW])
    refused(reader, [ROW] * 3, 413)


def test_thousands_of_wrong_rows_end_early(reader):
    assert len(refused(reader, [{**ROW, "size": "big"}] * 5000)) < 200
    assert len(refused(reader, [3] * 5000)) < 200


def test_models_of_arrays_take_lists_and_positions():
    X, y = toy()
    model = tiny().fit(X, y)
    reader = reader_of(model)
    assert reader.names == ("0", "1", "2")
    expected = model.predict(X[:2])
    assert np.array_equal(model.predict(reader.table(X[:2].tolist())), expected)
    assert np.array_equal(
        model.predict(reader.table([dict(zip("012", row, strict=True)) for row in X[:2].tolist()])), expected
    )
    text = pd.DataFrame(X[:2], columns=list("012")).to_csv(index=False)
    assert np.array_equal(model.predict(reader.csv_table(text.encode(), {})), expected)


def test_categories_of_several_types_are_told_apart():
    X = everything()[["size", "town"]].copy()
    X["mixed"] = pd.Categorical(np.random.default_rng(0).choice(np.array([1, "1", "a"], dtype=object), len(X)))
    model = tiny().fit(X, response(X))
    table = reader_of(model).table([{"size": 3, "town": "Zug", "mixed": value} for value in (1, "1", "a", None)])
    assert isinstance(table, EncodedTable)
    frame = pd.DataFrame({"size": 3.0, "town": "Zug", "mixed": [1, "1", "a", None]})
    assert np.array_equal(model.encode(table), model.encode(frame), equal_nan=True)
    assert len({*model.encode(table)[:3, 2].tolist()}) == 3


def csv_model():
    X = everything()[["size", "rooms", "town", "built"]]
    return fitted(X), X


def test_csv_is_read_as_a_file_is():
    model, X = csv_model()
    text = X.assign(price=1.0).to_csv(index=False)
    table = reader_of(model).csv_table(text.encode(), {})
    assert np.array_equal(model.encode(table), model.encode(X), equal_nan=True)
    other = io.StringIO()
    X.to_csv(other, index=False, sep=";", decimal=",", date_format="%d.%m.%Y")
    table = reader_of(model).csv_table(
        other.getvalue().encode("utf-16"), {"decimal": [","], "date_format": ["%d.%m.%Y"]}
    )
    assert np.array_equal(model.encode(table), model.encode(X), equal_nan=True)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"size,rooms\n1,2", "There is no column 'town', 'built'"),
        (b"size,rooms,town,built\n", "no rows"),
        (b"size,rooms,town,built\nbig,2,Zug,2020-01-01", "'size' must hold numbers.*the query parameter na"),
        (b"\x00\x01\x02\xff" * 100, "."),
        (b'"', "."),
        (b"a" * 300_000, "."),
        (b"\xff\xfe", "."),
        (b"\n\n\n", "."),
        (b'size,rooms,town,built\n1,2,"Zug\n,2020-01-01', "."),
    ],
)
def test_csv_that_does_not_fit_is_refused_in_words_of_the_request(body, words):
    model, _ = csv_model()
    with pytest.raises(RequestError, match=words) as caught:
        reader_of(model).csv_table(body, {})
    assert caught.value.status == 422
    assert "rows.csv" not in str(caught.value)
    assert "--" not in str(caught.value)


def test_warnings_about_csv_name_no_file():
    model, X = csv_model()
    lines = X.to_csv(index=False).splitlines()
    lines[5] = "many," + lines[5].split(",", 1)[1]
    with kept_warnings() as messages:
        reader_of(model).csv_table("\n".join(lines).encode(), {})
    [message] = messages
    assert message.startswith("Column 'size' holds numbers; read as missing: line 6 has 'many'")


def test_too_many_rows_of_csv_are_refused():
    model, X = csv_model()
    reader = reader_of(model, limits=Limits(rows=20))
    reader.csv_table(X[:20].to_csv(index=False).encode(), {})
    with pytest.raises(RequestError, match="20 rows") as caught:
        reader.csv_table(X[:21].to_csv(index=False).encode(), {})
    assert caught.value.status == 413


@pytest.mark.parametrize("options", [{"decimal": ["x"]}, {"date_format": ["d"]}, {"encoding": ["no such"]}])
def test_wrong_reading_options_are_refused(options):
    model, X = csv_model()
    with pytest.raises(RequestError, match=next(iter(options))):
        reader_of(model).csv_table(X.to_csv(index=False).encode(), options)
