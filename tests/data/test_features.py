"""Features: every kind of table gives the same matrix; categories and names are remembered from training."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffgbm._util.errors import DiffGBMWarning
from diffgbm.data.features import EncodedTable, FeatureTable

NUMBERS = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0], [0.0, -1.0]])


def learn(X, cat_idx=None):
    return FeatureTable.learn(X, cat_idx, "DiffGBM")


@pytest.mark.parametrize(
    "X",
    [
        NUMBERS,
        NUMBERS.astype(np.float32),
        np.asfortranarray(NUMBERS),
        np.repeat(NUMBERS, 2, axis=1)[:, ::2],
        NUMBERS.astype(object),
        NUMBERS.tolist(),
        pd.DataFrame(NUMBERS, columns=["a", "b"]),
        pd.DataFrame(NUMBERS),
        pd.DataFrame(NUMBERS, columns=["a", "b"]).convert_dtypes(),
        pd.DataFrame(NUMBERS, columns=["a", "b"]).astype("float64[pyarrow]"),
        pd.DataFrame(NUMBERS, columns=["a", "b"], index=[7, 7, 3, 1]),
        pl.DataFrame(NUMBERS, schema=["a", "b"]),
        pl.DataFrame(NUMBERS, schema=["a", "b"]).fill_nan(None),
        pl.LazyFrame(NUMBERS, schema=["a", "b"]),
        pl.DataFrame(NUMBERS, schema=["a", "b"]).to_arrow(),
    ],
    ids=lambda X: f"{type(X).__module__.split('.')[0]}.{type(X).__name__}",
)
def test_every_kind_of_table_gives_the_same_matrix(X):
    table, matrix = learn(X)
    np.testing.assert_array_equal(matrix, NUMBERS)
    np.testing.assert_array_equal(table.encode(X, "DiffGBM"), NUMBERS)
    assert table.categorical == []


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, np.float16])
def test_every_numeric_dtype(dtype):
    X = np.array([[0, 1], [1, 1], [1, 0]]).astype(dtype)
    np.testing.assert_array_equal(learn(X)[1], X.astype(float))
    frame = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(learn(frame)[1], X.astype(float))


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "int64[pyarrow]", "bool[pyarrow]", "float[pyarrow]"])
def test_nullable_pandas_columns(dtype):
    frame = pd.DataFrame({"a": pd.array([1, None, 0], dtype=dtype), "b": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(learn(frame)[1], [[1.0, 1.0], [np.nan, 2.0], [0.0, 3.0]])


def test_nullable_polars_columns():
    frame = pl.DataFrame({"a": [1, None, 0], "b": [True, None, False], "c": [None, None, None]})
    expected = [[1.0, 1.0, np.nan], [np.nan, np.nan, np.nan], [0.0, 0.0, np.nan]]
    np.testing.assert_array_equal(learn(frame)[1], expected)


def test_objects_that_are_numbers():
    frame = pd.DataFrame({"a": pd.Series([1, None, 2.5, pd.NA], dtype=object)})
    np.testing.assert_array_equal(learn(frame)[1][:, 0], [1.0, np.nan, 2.5, np.nan])


@pytest.mark.parametrize("X", [np.arange(4.0), [0.0, 1.0, 2.0, 3.0], pd.Series(np.arange(4.0)), pl.Series(range(4))])
def test_one_dimension_is_one_column(X):
    table, matrix = learn(X)
    np.testing.assert_array_equal(matrix, np.arange(4.0)[:, None])
    np.testing.assert_array_equal(table.encode(X, "DiffGBM"), matrix)
    np.testing.assert_array_equal(table.encode(np.arange(4.0)[:, None], "DiffGBM"), matrix)


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "pandas with numbers as names"])
def test_columns_are_found_by_name(kind):
    frame = pd.DataFrame(NUMBERS, columns=[0, 1] if "numbers" in kind else ["a", "b"])
    turned = frame[frame.columns[::-1]]
    if kind in ("polars", "lazy"):
        frame, turned = pl.from_pandas(frame), pl.from_pandas(turned)
    if kind == "lazy":
        turned = turned.lazy()
    table, matrix = learn(frame)
    np.testing.assert_array_equal(table.encode(turned, "DiffGBM"), matrix)


def test_a_model_of_pandas_reads_polars_and_back():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "c": pd.Categorical(["x", "y", "x"])})
    same = pl.DataFrame({"c": ["x", "y", "x"], "a": [1.0, 2.0, 3.0]}).with_columns(pl.col("c").cast(pl.Categorical))
    for first, second in ((frame, same), (same, frame)):
        table, _ = learn(first)
        np.testing.assert_array_equal(table.encode(first, ""), table.encode(second, ""))


CATEGORIES = {
    "pandas": lambda v: pd.DataFrame({"c": pd.Categorical(v), "n": 1.0}),
    "pandas declared": lambda v: pd.DataFrame({"c": pd.Categorical(v, categories=["z", "b", "a", "c"]), "n": 1.0}),
    "polars": lambda v: pl.DataFrame({"c": pl.Series(v, dtype=pl.Categorical), "n": 1.0}),
    "polars enum": lambda v: pl.DataFrame({"c": pl.Series(v, dtype=pl.Enum(["z", "c", "b", "a"])), "n": 1.0}),
    "objects and cat_idx": lambda v: np.array([[x, 1.0] for x in v], dtype=object),
}


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_are_remembered_from_training(kind):
    make = CATEGORIES[kind]
    table, matrix = learn(make(["a", "b", "a", None]), [0] if "cat_idx" in kind else None)
    assert table.categorical == [0]
    assert table.levels[0] == ("a", "b")
    np.testing.assert_array_equal(matrix[:, 0], [0.0, 1.0, 0.0, np.nan])
    # a frame that holds only "b" has other codes
    np.testing.assert_array_equal(table.encode(make(["b", "b"]), "")[:, 0], [1.0, 1.0])
    # unseen is missing
    np.testing.assert_array_equal(table.encode(make(["c", "b", None]), "")[:, 0], [np.nan, 1.0, np.nan])


@pytest.mark.parametrize("cat_idx", [[0], (0, 1), np.array([0]), [9], 0, "a"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_cat_idx_beside_a_frame_is_refused(make, cat_idx):
    with pytest.raises(ValueError, match=r"^`cat_idx` should not be provided when X is a DataFrame; got .*astype"):
        learn(make({"c": [1.0, 2.0], "n": [0.5, 0.5]}), cat_idx)


@pytest.mark.parametrize("cat_idx", [None, [], (), np.array([])])
def test_no_cat_idx_beside_a_frame(cat_idx):
    table, _ = learn(pd.DataFrame({"c": pd.Categorical(["a", "b"]), "n": 1.0}), cat_idx)
    assert table.categorical == [0]


def test_intervals_are_categories_of_text():
    values = np.array([-1.5, 0.5, 2.0, np.nan, 11.0])
    frame = pd.DataFrame({"c": pd.cut(values, [-9, -1, 1, 9, 12])})
    table, matrix = learn(frame)
    assert table.levels[0] == ("(-9.0, -1.0]", "(-1.0, 1.0]", "(1.0, 9.0]", "(9.0, 12.0]")
    np.testing.assert_array_equal(matrix[:, 0], [0.0, 1.0, 2.0, np.nan, 3.0])
    same = pd.DataFrame({"c": pd.cut(values[:2], [-9.0, -1.0, 1.0])})  # of floats, and fewer of them
    np.testing.assert_array_equal(table.encode(same, "")[:, 0], [0.0, 1.0])
    other = pd.DataFrame({"c": pd.cut(values[:2], [-9, -1, 1], right=False)})
    assert np.isnan(table.encode(other, "")).all()
    dates = pd.DataFrame({"c": pd.cut(pd.to_datetime(["2020-01-02", "2021-01-02"]), 2)})
    assert all(isinstance(level, str) for level in learn(dates)[0].levels[0])


def test_string_arrays_with_cat_idx():
    table, matrix = learn(np.array([["a", "x"], ["b", "y"], ["a", "x"]]), [0, 1])
    np.testing.assert_array_equal(matrix, [[0, 0], [1, 1], [0, 0]])
    np.testing.assert_array_equal(table.encode(np.array([["b", "q"]]), ""), [[1.0, np.nan]])


@pytest.mark.parametrize("cat_idx", [[0, 1], (0, 1), np.array([0, 1]), range(2), [np.int64(0), 1]])
def test_cat_idx_may_be_any_sequence(cat_idx):
    X = np.array([["a", 3.0], ["b", 5.0], ["a", 3.0]], dtype=object)
    table, matrix = learn(X, cat_idx)
    assert table.categorical == [0, 1]
    np.testing.assert_array_equal(matrix, [[0, 0], [1, 1], [0, 0]])


def test_categories_that_are_numbers():
    X = np.array([[10.0, 0.5], [30.0, 0.1], [np.nan, 0.2], [10.0, 0.3]])
    table, matrix = learn(X, [0])
    np.testing.assert_array_equal(matrix[:, 0], [0.0, 1.0, np.nan, 0.0])
    np.testing.assert_array_equal(table.encode(np.array([[30, 1], [20, 1]]), "")[:, 0], [1.0, np.nan])


def test_categories_of_several_types_have_an_order_too():
    frame = np.array([[1], ["a"], [2.5], [True], [None], [pd.NA]], dtype=object)
    table, matrix = learn(frame, [0])
    assert np.isnan(matrix[4:, 0]).all()
    assert len(set(matrix[:3, 0])) == 3
    np.testing.assert_array_equal(table.encode(frame, ""), matrix)


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=20), st.data())
def test_codes_do_not_depend_on_the_other_rows(values, data):
    table, matrix = learn(np.array([[v] for v in values], dtype=object), [0])
    rows = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1))
    part = np.array([[values[i]] for i in rows], dtype=object)
    np.testing.assert_array_equal(table.encode(part, ""), matrix[rows])


@pytest.mark.parametrize(
    ("X", "column"),
    [
        (pd.DataFrame({"a": [1.0, 2.0], "what": [{"x": 1}, 2.0]}), "'what'"),
        (pd.DataFrame({"a": [1.0, 2.0], "what": [object(), object()]}), "'what'"),
        (np.array([[1.0, {"x": 1}], [2.0, 3.0]], dtype=object), "1"),
    ],
)
def test_what_no_column_can_hold_is_named(X, column):
    with pytest.raises(TypeError, match=rf"X column {column} .*make the column a category.*argument must be") as caught:
        learn(X)
    for advice in ("astype('category')", "cast(pl.Categorical)", "cat_idx", "leave it out"):
        assert advice in str(caught.value)


TEXT = ["Bern", None, "Chur", "Bern"]
SAME_TEXT = {
    "objects": lambda v: pd.DataFrame({"c": pd.Series(v, dtype=object), "n": 1.0}),
    "string": lambda v: pd.DataFrame({"c": pd.array(v, dtype="string"), "n": 1.0}),
    "pyarrow string": lambda v: pd.DataFrame({"c": pd.array(v, dtype="string[pyarrow]"), "n": 1.0}),
    "arrow dtype": lambda v: pd.DataFrame({"c": pd.array(v, dtype=pd.ArrowDtype(pa.string())), "n": 1.0}),
    "category": lambda v: pd.DataFrame({"c": pd.Categorical(v), "n": 1.0}),
    "polars": lambda v: pl.DataFrame({"c": v, "n": 1.0}),
    "arrow": lambda v: pa.table({"c": v, "n": [1.0] * len(v)}),
    "arrow dictionary": lambda v: pa.table({"c": pa.array(v).dictionary_encode(), "n": [1.0] * len(v)}),
    "array": lambda v: np.array([[x, 1.0] for x in v], dtype=object),
}


@pytest.mark.parametrize("kind", SAME_TEXT)
@pytest.mark.parametrize("later", SAME_TEXT)
def test_text_is_a_category_in_every_library(kind, later):
    table, matrix = learn(SAME_TEXT[kind](TEXT))
    np.testing.assert_array_equal(matrix, [[0.0, 1.0], [np.nan, 1.0], [1.0, 1.0], [0.0, 1.0]])
    assert table.levels == (("Bern", "Chur"), None)
    np.testing.assert_array_equal(
        table.encode(SAME_TEXT[later](["Chur", "Zug", None]), "")[:, 0], [1.0, np.nan, np.nan]
    )


def test_a_column_may_have_several_numbers_or_none():
    frame = pd.DataFrame(
        {
            "a": [1.0, 2.0, 3.0],
            "when": pd.to_datetime(["2020-01-01", "2020-03-01", "2021-07-05"]),
            "town": ["x", "y", "x"],
            "tags": [[1], [2, 3], []],
        }
    )
    with pytest.warns(DiffGBMWarning, match="not used: 'tags' holds list values. Turn them into numbers or text"):
        table, matrix = learn(frame)
    assert table.n_features == 4
    assert table.width == matrix.shape[1] == 1 + 6 + 1
    assert table.categorical == [7]
    assert table.starts == (0, 1, 7, 8)
    np.testing.assert_array_equal(table.encode(frame.iloc[[1]], ""), matrix[[1]])
    overview = table.overview(frame, "")
    assert overview.shape == (3, 4)
    assert [table.text(v, j) for j, v in enumerate(overview[2])] == ["3", "2021-07-05", "x", "missing"]


def test_a_table_of_unused_columns_has_a_constant():
    with pytest.warns(DiffGBMWarning, match="not used: 'tags'"):
        table, matrix = learn(pl.DataFrame({"tags": [[1], [2, 3]]}))
    np.testing.assert_array_equal(matrix, [[0.0], [0.0]])
    assert table.width == 1


def test_new_categories_and_later_dates_are_reported():
    days = np.datetime64("2020-01-01") + np.arange(100)
    frame = pd.DataFrame({"town": ["x", "y"] * 50, "day": days})
    table, _ = learn(frame)
    table.encode(frame, "", warns=True)
    new = frame.assign(town=["z"] * 6 + ["x"] * 94)
    with pytest.warns(
        DiffGBMWarning, match=r"column 'town': 6% of the rows have a category that training did not have"
    ):
        table.encode(new, "", warns=True)
    table.encode(frame.assign(town=["z"] * 5 + ["x"] * 95), "", warns=True)
    table.encode(frame.assign(town=[None] * 50 + ["x"] * 50), "", warns=True)
    with pytest.warns(
        DiffGBMWarning, match=r"column 'day': 91% of the rows lie outside the training period \(2020-01-01"
    ):
        table.encode(frame.assign(day=days + 100), "", warns=True)


def test_strings_at_prediction_are_named_too():
    table, _ = learn(np.ones((3, 2)))
    with pytest.raises((TypeError, ValueError), match="X column 1 "):
        table.encode(np.array([[1.0, "x"]], dtype=object), "DiffGBM")


def test_wrong_column_names():
    table, _ = learn(pd.DataFrame(NUMBERS, columns=["a", "b"]))
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*unseen at fit time:\n- z\n.*missing:\n- b"):
        table.encode(pd.DataFrame(NUMBERS, columns=["a", "z"]), "DiffGBM")
    with pytest.raises(ValueError, match="unseen at fit time:\n- c"):
        table.encode(pd.DataFrame(np.ones((2, 3)), columns=["a", "b", "c"]), "DiffGBM")
    with pytest.raises(ValueError, match="yet now missing:\n- b"):
        table.encode(pl.DataFrame({"a": [1.0]}), "DiffGBM")


def test_wrong_width():
    table, _ = learn(NUMBERS)
    for X in (np.ones((2, 3)), pd.DataFrame(np.ones((2, 3)), columns=["a", "b", "c"])):
        with pytest.raises(ValueError, match="X has 3 features, but DiffGBM is expecting 2 features as input"):
            table.encode(X, "DiffGBM")


def test_repeated_names():
    with pytest.raises(ValueError, match=r"columns of a frame must have different names(?s:.*)'a' 2 times"):
        learn(pd.DataFrame(NUMBERS, columns=["a", "a"]))
    with pytest.raises(ValueError, match="columns of a frame must have different names as text; got '1', '1'"):
        learn(pd.DataFrame(NUMBERS, columns=[1, "1"]))


@pytest.mark.parametrize("X", [np.empty((0, 2)), np.empty((3, 0)), pd.DataFrame({"a": []}), pl.DataFrame({"a": []})])
def test_nothing_to_learn_from(X):
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        learn(X)


@pytest.mark.parametrize("X", [np.empty((0, 1)), pd.DataFrame({"a": np.empty(0)}), pl.DataFrame({"a": np.empty(0)})])
def test_nothing_to_predict(X):
    table, _ = learn(np.ones((3, 1)) if isinstance(X, np.ndarray) else pd.DataFrame({"a": np.ones(3)}))
    with pytest.raises(ValueError, match="minimum of 1 is required by DiffGBM"):
        table.encode(X, "DiffGBM")


@pytest.mark.parametrize("cat_idx", [[2], [-1], ["a"], [0.5], [True], 1, "a"])
def test_bad_cat_idx(cat_idx):
    with pytest.raises((TypeError, ValueError), match="cat_idx must hold column positions between 0 and 1; got"):
        learn(NUMBERS, cat_idx)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_stay_float32_where_it_is_exact(library):
    columns = {
        "f": np.array([0.1, np.nan, 3.0], dtype=np.float32),
        "i": np.array([-(2**15), 0, 2**15 - 1], dtype=np.int16),
        "b": np.array([True, False, True]),
    }
    frame = library(columns)
    table, X = learn(frame)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, np.column_stack([column.astype(np.float64) for column in columns.values()]))
    assert table.encode(frame, "DiffGBM").dtype == np.float32
    for wide in (np.array([0.1, 0.2, 0.3]), np.array([2**40 + 1, 0, 1])):
        _, X = learn(library({**columns, "w": wide}))
        assert X.dtype == np.float64
        np.testing.assert_array_equal(X[:, 3], wide)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_floats_are_not_copied(dtype, tmp_path):
    X = np.arange(12, dtype=dtype).reshape(4, 3)
    table, found = learn(X)
    assert np.shares_memory(found, X)
    assert np.shares_memory(table.encode(X, "DiffGBM"), X)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.shares_memory(learn(mapped)[1], mapped)
    assert learn(mapped)[1].dtype == dtype


def test_encoded_tables_are_taken_as_they_are():
    table, matrix = learn(NUMBERS)
    encoded = EncodedTable(table, matrix)
    assert (len(encoded), encoded.shape) == (4, (4, 2))
    assert learn(encoded) == (table, matrix)
    assert table.encode(encoded, "DiffGBM") is matrix
    with pytest.raises(ValueError, match="cat_idx is for arrays"):
        learn(encoded, [0])
    other, _ = learn(NUMBERS[:, :1])
    with pytest.raises(ValueError, match="other columns, categories or dates"):
        other.encode(encoded, "DiffGBM")
