"""Frames out for frames in."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from diffgbm._util.optional import need
from diffgbm.data.frames import frame_like, row_index, series_like

LABELS = pd.Index(["x", "y"], name="who")
COLUMNS = {"lower": np.array([1.0, 2.0]), "upper": np.array([3.0, 4.0])}


def test_pandas_keeps_its_row_labels():
    X = pd.DataFrame({"a": [0, 1]}, index=LABELS)
    frame = frame_like(X, COLUMNS)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(COLUMNS, index=LABELS))
    pd.testing.assert_series_equal(series_like(X, "std", COLUMNS["lower"]), pd.Series([1.0, 2.0], LABELS, name="std"))
    pd.testing.assert_index_equal(row_index(X), LABELS)
    pd.testing.assert_index_equal(row_index(X["a"]), LABELS)


@pytest.mark.parametrize(
    "index",
    [
        pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", "n"]),
        pd.date_range("2024-01-01", periods=2, tz="UTC"),
        pd.Index([5, 5]),
    ],
    ids=["multi", "dates", "duplicates"],
)
def test_any_index(index):
    frame = frame_like(pd.DataFrame({"a": [0, 1]}, index=index), COLUMNS)
    pd.testing.assert_index_equal(frame.index, index)


@pytest.mark.parametrize("lazy", [False, True])
def test_polars(lazy):
    X = pl.DataFrame({"a": [0, 1]})
    X = X.lazy() if lazy else X
    frame = frame_like(X, COLUMNS)
    assert isinstance(frame, pl.DataFrame)
    assert frame.to_dict(as_series=False) == {"lower": [1.0, 2.0], "upper": [3.0, 4.0]}
    assert series_like(X, "std", COLUMNS["lower"]).to_list() == [1.0, 2.0]
    assert row_index(X) is None


@pytest.mark.parametrize("X", [np.zeros((2, 1)), [[0.0], [1.0]], np.zeros(2)], ids=["array", "list", "vector"])
def test_arrays_stay_arrays(X):
    assert frame_like(X, COLUMNS) is None
    assert series_like(X, "std", COLUMNS["lower"]) is COLUMNS["lower"]
    assert row_index(X) is None


def test_optional_dependencies_say_what_to_install(monkeypatch):
    assert need("pandas") is pd
    with pytest.raises(ImportError, match="pip install not_there"):
        need("not_there")

    def absent(name, *args):
        raise ImportError(name)

    monkeypatch.setattr("diffgbm._util.optional.import_module", absent)
    with pytest.raises(ImportError, match=r"pip install matplotlib \(or 'diffgbm\[plot\]'\)"):
        need("matplotlib.pyplot")
