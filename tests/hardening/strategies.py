"""Hypothesis strategies: tables of every library, type, order and name, good and bad, and responses to go with them.

Hypothesis draws the properties of a table and a seed for its numbers, so that a table costs microseconds and a failure
still shrinks to the relevant property.
"""

import datetime as dt
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

FLOATS = ("float16", "float32", "float64", "longdouble")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = ("bool", *INTEGERS, *FLOATS)
STRANGE = ("complex128", "datetime64[s]", "timedelta64[ms]", "U3", "S3", "V4")
NULLABLE = ("boolean", "Int8", "Int64", "UInt8", "UInt64", "Float32", "Float64", "int64[pyarrow]", "double[pyarrow]")
OTHER_PANDAS = ("string", "string[pyarrow]", "Sparse[float]", "datetime64[ns]", "datetime64[ns, UTC]", "period[D]")
SCALES = (1.0, 1e-12, 1e12, 1e300, 1e-300, 5e-324, 1.7e308)

OBJECTS = (
    (1, 2.5),
    (1, None),
    (1, pd.NA, float("nan")),
    (True, False, None),
    (Decimal("1.5"), Decimal("-2")),
    (np.float32(1), np.int8(2)),
    (-(10**30), 10**30),
    (float("inf"), 1),
    (pd.NaT, 1.0),
    (None, None),
    ("a", "b", "c"),
    ("1", "2.5"),
    ("a", 1, None),
    (b"a", b"b"),
    ([1], [2]),
    ([1, 2], [3]),
    ({}, {"a": 1}),
    (np.array([1.0, 2.0]), 3.0),
    (10**400, 1),
    (1 + 2j, 1),
    (dt.date(2020, 1, 1), None),
    (dt.datetime(2020, 1, 1), pd.NaT),
    ((1, 2), (3,)),
    (object(), 1),
)
"""Values of object columns, taken in turn; the first ten are numbers."""

CATEGORIES = (
    ("a", "b", "c"),
    ("a", None),
    ("", " ", "\n", '"{}[]:,'),
    ("ä", "日本", "\U0001f600"),
    (1, 2, 3),
    (1.5, -0.0, None),
    (True, False),
    ("a", 1),
    ((1, 2), (3,)),
    (pd.Timestamp("2020"), pd.Timestamp("2021")),
    (10**30, 1),
    (None, None),
)
"""Values of categorical columns, taken in turn."""

NAMES = (
    "a",
    "b",
    "",
    " ",
    "y",
    "mean",
    "lower",
    "index",
    "ä",
    "日本",
    '"{}[]:,',
    "a\nb",
    "=1+1",
    "0",
    "None",
    "x" * 300,
)
LABELS = (*NAMES, 0, 1, -1, 1.5, None, True, ("a", 1), pd.Timestamp("2020"), b"a")

seeds = st.integers(0, 2**32 - 1)


def cycled(values, n, shift=0):
    """Take values in turn."""
    return [values[(i + shift) % len(values)] for i in range(n)]


def numbers(n, seed, dtype="float64", kind="normal", scale=1.0):
    """n numbers of a dtype and a kind: normal, constant, missing, infinite, tied, extreme, all missing."""
    rng = np.random.default_rng(seed)
    if dtype in INTEGERS:
        ends = np.iinfo(dtype)
        low, high = (ends.min, ends.max) if kind == "extreme" else (max(ends.min, -9), 9)
        result = rng.integers(low, high, n, dtype=dtype, endpoint=True)
        return np.full(n, result[0]) if kind == "constant" and n else result
    values = rng.standard_normal(n)
    if kind == "constant":
        values = np.full(n, 0.1)
    elif kind == "tied":
        values = rng.integers(0, 3, n).astype(float)
    elif kind == "extreme":
        values = rng.choice([0.0, -0.0, 1.0, -1.0, 0.1], n)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = (values.astype("longdouble") * scale).astype(dtype)
    if kind in ("missing", "infinite", "all missing") and np.dtype(dtype).kind == "f":
        share = 1.0 if kind == "all missing" else 0.3
        bad = rng.uniform(size=n) < share
        values[bad] = np.nan if "missing" in kind else np.where(rng.uniform(size=bad.sum()) < 0.5, np.inf, -np.inf)
    return values


kinds = st.sampled_from(["normal", "constant", "missing", "infinite", "tied", "extreme", "all missing"])
scales = st.sampled_from(SCALES) | st.just(1.0)


@st.composite
def arrays(draw, n, strange=True, dtypes=(*NUMBERS, "object"), max_columns=4):
    """Matrices (n, p): any type, C or Fortran order, strided, reversed, read-only; strange ones of any dimension."""
    p = draw(st.integers(0 if strange else 1, max_columns))
    dtype, seed = draw(st.sampled_from((*dtypes, *STRANGE) if strange else dtypes)), draw(seeds)
    if dtype == "object":
        values = draw(st.sampled_from(OBJECTS if strange else OBJECTS[:10]))
        X = np.empty((n, p), dtype=object)
        for j in range(p):
            X[:, j] = pd.Series(cycled(values, n, j), dtype=object)
    elif dtype in NUMBERS:
        columns = [numbers(n, seed + j, dtype, draw(kinds), draw(scales)) for j in range(p)]
        X = np.column_stack(columns) if p else np.empty((n, 0), dtype)
    else:
        whole = np.random.default_rng(seed).integers(0, 9, (n, p))
        X = np.zeros((n, p), dtype) if dtype == "V4" else whole.astype(dtype)
    orders = ["C", "F", "strided", "reversed", "read-only", "list"]
    match draw(st.sampled_from([*orders, "line", "3d"] if strange or p == 1 else orders)):
        case "F":
            X = np.asfortranarray(X)
        case "strided":
            X = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
        case "reversed":
            X = X[::-1, ::-1]
        case "read-only":
            X.flags.writeable = False
        case "line" if p:
            X = X[:, 0]
        case "list":
            X = X.tolist()
        case "3d" if strange:
            X = X[:, :, None]
    return X


@st.composite
def pandas_columns(draw, n, strange=True):
    """One column of a pandas frame."""
    seed = draw(seeds)
    of = ["number", "number", "nullable", "category", "object"]
    match draw(st.sampled_from([*of, "other"] if strange else of)):
        case "number":
            return pd.Series(numbers(n, seed, draw(st.sampled_from(NUMBERS)), draw(kinds), draw(scales)))
        case "nullable":
            whole = pd.Series(np.random.default_rng(seed).integers(0, 2, n)).astype(draw(st.sampled_from(NULLABLE)))
            return whole.mask(np.arange(n) % 3 == 0) if draw(st.booleans()) else whole
        case "category":
            values = cycled(draw(st.sampled_from(CATEGORIES)), n, seed % 7)
            result = pd.Series(pd.Categorical(pd.Series(values, dtype=object)))
            return result.cat.add_categories(["unused"]) if draw(st.booleans()) else result
        case "object":
            return pd.Series(cycled(draw(st.sampled_from(OBJECTS if strange else OBJECTS[:10])), n), dtype=object)
        case _:
            dtype, whole = draw(st.sampled_from(OTHER_PANDAS)), pd.Series(np.arange(n) % 5)
            return whole.astype("datetime64[ns]").dt.to_period("D") if dtype == "period[D]" else whole.astype(dtype)


@st.composite
def pandas_frames(draw, n, strange=True):
    """Frames of pandas: every type of column, of name and of index."""
    columns = draw(st.lists(pandas_columns(n, strange), min_size=0 if strange else 1, max_size=4))
    unique = None if strange and draw(st.integers(0, 4)) == 0 else str
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=len(columns), max_size=len(columns), unique_by=unique))
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(n))
    frame.columns = pd.Index(labels, dtype=object, tupleize_cols=False)
    frame.index = draw(
        st.sampled_from(
            [
                pd.RangeIndex(n),
                pd.Index([7] * n),
                pd.Index([f"row {i}" for i in range(n)], dtype=object),
                pd.date_range("2020", periods=n),
                pd.MultiIndex.from_arrays([np.arange(n) // 2, np.arange(n) % 2]),
            ]
        )
    )
    return frame


POLARS = (
    (pl.Int8, (1, 2, None)),
    (pl.Int64, (1, -(2**62))),
    (pl.UInt64, (0, 2**64 - 1)),
    (pl.Int128, (1, 2**100)),
    (pl.Float32, (1.5, None, float("inf"))),
    (pl.Float64, (1e300, float("nan"), 5e-324)),
    (pl.Boolean, (True, False, None)),
    (pl.Decimal(10, 2), (Decimal("1.25"), None)),
    (pl.Categorical, ("b", "a", None)),
    (pl.Enum(["z", "a"]), ("a", "z", None)),
    (pl.Null, (None,)),
    (pl.String, ("a", "b")),
    (pl.Binary, (b"a", b"b")),
    (pl.Date, (dt.date(2020, 1, 1), None)),
    (pl.Datetime, (dt.datetime(2020, 1, 1), None)),
    (pl.Duration, (dt.timedelta(1), None)),
    (pl.Time, (dt.time(1), None)),
    (pl.List(pl.Int64), ([1], [2, 3])),
    (pl.Struct({"a": pl.Int64}), ({"a": 1}, {"a": 2})),
)
"""Types of polars with some of their values; the first eleven are numbers and categories."""


@st.composite
def polars_frames(draw, n, strange=True):
    """Frames of polars, eager and lazy."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=0 if strange else 1, max_size=4, unique=True))
    columns = []
    for j, name in enumerate(names):
        dtype, values = draw(st.sampled_from(POLARS if strange else POLARS[:11]))
        columns.append(pl.Series(name, cycled(values, n, j), dtype=dtype))
    frame = pl.DataFrame(columns)
    return frame.lazy() if draw(st.integers(0, 2)) == 0 else frame


ARROW = (
    (pa.int8(), (1, 2, None)),
    (pa.uint64(), (0, 2**64 - 1)),
    (pa.float16(), (np.float16(1.5), None)),
    (pa.float32(), (1.5, None)),
    (pa.float64(), (1e300, float("nan"), float("-inf"))),
    (pa.bool_(), (True, None)),
    (pa.decimal128(10, 2), (Decimal("1.25"), None)),
    (pa.dictionary(pa.int32(), pa.string()), ("a", "b", None)),
    (pa.dictionary(pa.int8(), pa.int64()), (5, 7)),
    (pa.null(), (None,)),
    (pa.string(), ("a", "b")),
    (pa.large_string(), ("1", None)),
    (pa.binary(), (b"a",)),
    (pa.timestamp("s"), (dt.datetime(2020, 1, 1),)),
    (pa.date32(), (dt.date(2020, 1, 1),)),
    (pa.list_(pa.int64()), ([1], [])),
    (pa.struct([("a", pa.int64())]), ({"a": 1},)),
)
"""Types of Arrow with some of their values; the first ten are numbers and categories."""


@st.composite
def arrow_tables(draw, n, strange=True):
    """Arrow tables, in one chunk or in two; of strange ones a name may occur twice."""
    unique = not strange or draw(st.integers(0, 4)) > 0
    names = draw(st.lists(st.sampled_from(NAMES), min_size=0 if strange else 1, max_size=4, unique=unique))
    columns = []
    for j in range(len(names)):
        dtype, values = draw(st.sampled_from(ARROW if strange else ARROW[:10]))
        whole = cycled(values, n, j)
        half = n // 2 if draw(st.booleans()) else n
        columns.append(pa.chunked_array([pa.array(whole[:half], dtype), pa.array(whole[half:], dtype)], type=dtype))
    return pa.Table.from_arrays(columns, names=names)


def tables(n, strange=True):
    """A table of n rows, of any library; of types that a model can learn from, unless it is strange."""
    makers = (arrays, pandas_frames, pandas_frames, polars_frames, arrow_tables)
    every = [make(n, strange) for make in makers]
    return st.one_of(*every, no_tables(n)) if strange else st.one_of(*every)


def no_tables(n):
    """Not tables: ragged, a word, a number, a dictionary, a sparse matrix, a set, a masked array, a matrix."""
    things = (
        [[1.0], [1.0, 2.0]] * (n // 2),
        "table.csv",
        3.0,
        None,
        {"a": list(range(n))},
        {1, 2},
        (i for i in range(n)),
        csr_matrix(np.eye(max(n, 1))),
        np.ma.masked_array(np.ones((n, 2)), mask=np.eye(n, 2)),
        pd.Series(range(n), dtype=float),
        pl.Series("a", range(n), dtype=pl.Float64),
        pd.Index(range(n)),
        np.rec.array(np.zeros(n, [("a", float), ("b", int)])),
        memoryview(np.zeros(n)),
    )
    return st.sampled_from(range(len(things))).map(things.__getitem__)


AS_RESPONSE = (
    lambda v: v,
    list,
    pd.Series,
    lambda v: pd.Series(v, name="y", index=range(len(v), 0, -1)),
    lambda v: pl.Series("y", v),
    lambda v: pa.chunked_array([v]),
    lambda v: v[:, None],
    lambda v: np.column_stack([v, v[::-1]]),
    lambda v: pd.DataFrame({"a": v, 1: v[::-1]}),
    lambda v: pl.DataFrame({"a": v, "b": v[::-1]}),
)


@st.composite
def responses(draw, n, strange=True):
    """Responses of n rows, of any library, shape and scale."""
    if not strange:
        kind, scale = draw(st.sampled_from(["normal", "tied", "constant"])), draw(st.sampled_from([1.0, 1e-12, 1e12]))
        return draw(st.sampled_from(AS_RESPONSE))(numbers(n, draw(seeds), "float64", kind, scale))
    bad = st.one_of(
        arrays(n, max_columns=3),
        arrays(n, strange=False, max_columns=1),
        arrays(n + 1, strange=False),
        pandas_columns(n),
        polars_frames(n),
        arrow_tables(n),
        st.sampled_from(
            [None, 3.0, "y", [], {}, object(), [[1.0], [1.0, 2.0]] * (n // 2), np.array(1.0), pl.Series([])]
        ),
    )
    return draw(bad)


def fingerprint(table):
    """Bytes that change when a table does: its values to the last bit, its types, names, order and labels."""
    if isinstance(table, np.ndarray):
        values = [repr(v) for v in table.ravel()] if table.dtype == object else table.tobytes()
        return pickle.dumps((table.shape, table.strides, str(table.dtype), table.flags.writeable, values))
    if isinstance(table, pd.DataFrame):
        return fingerprint(table.index), repr(list(table.columns)), [fingerprint(c) for _, c in table.items()]
    if isinstance(table, pd.Series):
        return fingerprint(table.index), repr(table.name), str(table.dtype), fingerprint(table.to_numpy())
    if isinstance(table, pd.Index):
        return str(table.dtype), repr(list(table))
    if isinstance(table, pl.LazyFrame):
        return fingerprint(table.collect())
    if isinstance(table, pl.DataFrame):
        return table.schema, [fingerprint(column) for column in table]
    if isinstance(table, pl.Series):
        return table.name, table.dtype, repr(table.to_list())
    if isinstance(table, pa.Table):
        # repr, because NaN equals nothing
        return str(table.schema), [(c.num_chunks, repr(c.to_pylist())) for c in table.columns]
    return repr(table)
