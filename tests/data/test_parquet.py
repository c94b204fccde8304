"""Parquet tables on disk: the model of the same table in memory."""

import gc
from decimal import Decimal

import numpy as np
import pytest

from diffgbm import DiffGBMWarning
from diffgbm.data import blocks, parquet
from diffgbm.data.features import FeatureTable
from diffgbm.data.parquet import from_parquet
from diffgbm.data.table_files import TableFileError
from tests.conftest import tiny, toy

arrow = pytest.importorskip("pyarrow")
write_table = pytest.importorskip("pyarrow.parquet").write_table


def table_of(n=150, number=None, d=None):
    X, y = toy(n, 3, d)
    rng = np.random.default_rng(3)
    columns = {
        "a": arrow.array(X[:, 0].astype(np.float32)),
        "town": arrow.array(np.array(["Bern", "Zug", "Chur", None], dtype=object)[rng.integers(4, size=n)]),
        "b": arrow.array(X[:, 1], arrow.float64() if number is None else number, safe=False),
        "flag": arrow.array(rng.integers(2, size=n).astype(bool)),
    }
    gaps = np.where(rng.integers(5, size=n) == 0, None, X[:, 2].astype(np.float32))
    columns["gaps"] = arrow.array(gaps, arrow.float32())
    return arrow.table(columns), {f"y{j}": values for j, values in enumerate(y.reshape(n, -1).T)}


def in_memory(table):
    town = table.column("town").dictionary_encode()
    return table.set_column(table.column_names.index("town"), "town", town)


@pytest.mark.parametrize("number", [arrow.float64(), arrow.float32(), arrow.int64(), arrow.int8()], ids=str)
def test_the_model_of_the_table_in_memory(number, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "MAPPED_BYTES", 100)
    monkeypatch.setattr(parquet, "block_length", lambda width: 40)
    table, y = table_of(number=number)
    folder = tmp_path / "table"
    folder.mkdir()
    whole = arrow.table({**{name: table.column(name) for name in table.column_names}, **y})
    write_table(whole.slice(0, 70), folder / "1.parquet", row_group_size=30)
    write_table(whole.slice(70), folder / "2.parquet")
    (folder / "_notes.parquet").write_text("no table")
    X, response = from_parquet(folder, "y0")
    assert X.shape == (150, 5)
    assert X.matrix.dtype == (np.float32 if number in (arrow.float32(), arrow.int8()) else np.float64)
    assert blocks.is_large_map(X.matrix)
    stored, plain = (tiny(noise_design="even").fit(*rows) for rows in ((X, response), (in_memory(table), y["y0"])))
    for one, other in zip(stored.boosters_, plain.boosters_, strict=True):
        assert one.model_to_string() == other.model_to_string()
    assert stored.model_.features == plain.model_.features
    assert stored.model_.response_names == ("y0",)
    np.testing.assert_array_equal(stored.predict(X), plain.predict(in_memory(table)))
    np.testing.assert_array_equal(stored.sample(in_memory(table), 3, seed=1), plain.sample(X, 3, seed=1))


def test_several_targets_and_chosen_columns(tmp_path):
    table, y = table_of(d=2)
    write_table(arrow.table({**{name: table.column(name) for name in table.column_names}, **y}), tmp_path / "t.parquet")
    X, response = from_parquet(tmp_path / "t.parquet", ["y1", "y0"], columns=["b", "town"], folder=tmp_path)
    assert X.features.names == ("b", "town")
    assert X.features.levels == (None, ("Bern", "Chur", "Zug"))
    np.testing.assert_array_equal(X.matrix[:, 0], table.column("b"))
    np.testing.assert_array_equal(
        np.column_stack([response.column("y1"), response.column("y0")]), np.c_[y["y1"], y["y0"]]
    )
    assert tiny(n_estimators=2).fit(X, response).model_.response_names == ("y1", "y0")
    # the file of the matrix has no name, and is gone with it
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
    del X
    gc.collect()


def test_refusals(tmp_path):
    table, y = table_of(20)
    dates = arrow.array(np.arange(20).astype("datetime64[D]"))
    whole = arrow.table({"a": table.column("a"), "day": dates, "y": arrow.array([*y["y0"][:-1], None])})
    write_table(whole, tmp_path / "t.parquet")
    with pytest.raises(TableFileError, match="there is no column 'z'"):
        from_parquet(tmp_path / "t.parquet", "z")
    with pytest.raises(TableFileError, match="column 'day' must hold numbers"):
        from_parquet(tmp_path / "t.parquet", "day")
    with pytest.raises(TableFileError, match="target 'y' is missing or infinite in row 20"):
        from_parquet(tmp_path / "t.parquet", "y", columns=["a"])
    with pytest.raises(TableFileError, match="no columns are left"):
        from_parquet(tmp_path / "t.parquet", "y", columns=[])
    write_table(whole.slice(0, 0), tmp_path / "empty.parquet")
    with pytest.raises(TableFileError, match="there are no rows"):
        from_parquet(tmp_path / "empty.parquet", "y", columns=["a"])
    (tmp_path / "none").mkdir()
    with pytest.raises(TableFileError, match=r"there is no .parquet file in this folder"):
        from_parquet(tmp_path / "none", "y")
    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    with pytest.raises(TableFileError, match="must be a Parquet file"):
        from_parquet(tmp_path / "t.csv", "y")


def test_columns_of_every_kind_are_read_as_in_a_frame(tmp_path, monkeypatch):
    """Dates, text that holds numbers or dates, and lists: the schema and the bits of the table in memory."""
    monkeypatch.setattr(parquet, "block_length", lambda width: 40)
    n = 120
    rng = np.random.default_rng(0)
    day = np.datetime64("2022-01-01") + rng.integers(0, 700, n)
    hour = np.datetime64("2022-01-01T00", "us") + rng.integers(0, 7000, n) * np.timedelta64(1, "h")
    seconds = rng.integers(0, 86_400, n)
    table = arrow.table(
        {
            "day": arrow.array([None, *day[1:].astype(object)], arrow.date32()),
            "moment": arrow.array(hour, arrow.timestamp("ns"), from_pandas=True),
            "zone": arrow.array(hour.astype(np.int64), arrow.timestamp("us", "Europe/Zurich")),
            "iso": [None if i == 7 else str(d) for i, d in enumerate(day)],
            "number": rng.choice(["1", "2.5", "?"], n).tolist(),
            "price": arrow.array([Decimal(int(v)) / 4 for v in seconds], arrow.decimal128(12, 2)),
            "delta": arrow.array(seconds, arrow.duration("s")),
            "clock": arrow.array(seconds.astype(np.int32), arrow.time32("s")),
            "lists": [[1, 2]] * n,
            "town": arrow.array(rng.choice(["Bern", "Zug"], n)).dictionary_encode(),
            "constant": np.ones(n),
            "empty": arrow.nulls(n),
        }
    )
    y = rng.standard_normal(n)
    write_table(table.append_column("y", arrow.array(y)), tmp_path / "t.parquet", row_group_size=50)
    with pytest.warns(DiffGBMWarning, match="not used: 'lists' holds lists") as warned:
        X, response = from_parquet(tmp_path / "t.parquet", "y")
    assert warned[0].filename == __file__
    stored = tiny(n_estimators=5).fit(X, response)
    with pytest.warns(DiffGBMWarning, match="not used: 'lists' holds lists"):
        plain = tiny(n_estimators=5).fit(table, y)
    assert stored.schema_ == plain.schema_
    kinds = {column.name: column.kind for column in stored.schema_}
    assert (kinds["day"], kinds["iso"], kinds["number"], kinds["lists"]) == ("date", "date", "number", "not used")
    np.testing.assert_array_equal(stored.predict(X), plain.predict(table))
    np.testing.assert_array_equal(stored.predict(table), plain.predict(table))
    # other dates are another table: the error says how to predict it
    write_table(table.slice(0, 60).append_column("y", arrow.array(y[:60])), tmp_path / "part.parquet")
    with pytest.warns(DiffGBMWarning), pytest.raises(ValueError, match=r"diffgbm\.stream\(model, file\)"):
        stored.predict(from_parquet(tmp_path / "part.parquet", "y")[0])


def test_an_encoded_table_has_its_categories(tmp_path):
    table, y = table_of(100)
    write_table(table.append_column("y", arrow.array(y["y0"])), tmp_path / "t.parquet")
    X, response = from_parquet(tmp_path / "t.parquet", "y")
    with pytest.raises(ValueError, match="cat_idx is for arrays"):
        tiny().fit(X, response, cat_idx=[0])
    model = tiny(n_estimators=2).fit(X, response)
    other, _ = from_parquet(tmp_path / "t.parquet", "y", columns=["a", "b"])
    with pytest.raises(ValueError, match="other columns, categories or dates"):
        model.predict(other)


def test_columns_that_number_the_rows_are_left_out_as_those_of_frames(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "block_length", lambda width: 40)
    table, y = table_of()
    n = len(table)
    numbered = table.append_column("Serial No", arrow.array(range(1, n + 1))).append_column(
        "twice", arrow.array([k % 75 for k in range(n)])
    )
    write_table(numbered.append_column("y", arrow.array(y["y0"])), tmp_path / "t.parquet")
    with pytest.warns(DiffGBMWarning, match=r"'Serial No' an index of the rows.*name all: columns="):
        X, _ = from_parquet(tmp_path / "t.parquet", "y")
    assert [how.kind for how in X.features.columns[-2:]] == ["not used", "number"]
    with pytest.warns(DiffGBMWarning, match="'Serial No' an index of the rows"):
        assert X.features == FeatureTable.learn(in_memory(numbered), None, "")[0]
    X, _ = from_parquet(tmp_path / "t.parquet", "y", columns=["a", "Serial No"])
    assert [how.kind for how in X.features.columns] == ["number", "number"]
