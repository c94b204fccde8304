"""Frames out for frames in: results in the user's data-frame library, with the user's row labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np

from diffgbm._util.types import Array


def row_index(X: Any) -> Any:
    """Row labels of a pandas frame; ``None`` for anything that has none."""
    if type(X) is np.ndarray:
        return None
    return X.index if nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_pandas_series(X) else None


def frame_like(X: Any, columns: Mapping[str, Array]) -> Any | None:
    """Put columns into a frame of the library of ``X`` with its row labels; ``None`` if ``X`` is no frame."""
    if type(X) is np.ndarray:
        return None
    native = nw.from_native(X, pass_through=True)
    if not isinstance(native, (nw.DataFrame, nw.LazyFrame)):
        return None
    frame = nw.from_dict(dict(columns), backend=native.implementation).to_native()
    if row_index(X) is not None:
        frame.index = row_index(X)
    return frame


def series_like(X: Any, name: str, values: Array) -> Any:
    """Return ``values`` (n,) as a series of the library of ``X`` with its row labels; as they are if it is no frame."""
    frame = frame_like(X, {name: values})
    return values if frame is None else frame[name]
