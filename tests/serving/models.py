"""Models and tables with columns of every kind, for the tests of the service."""

import datetime as dt

import numpy as np
import pandas as pd

from tests.conftest import tiny


def everything(n: int = 160, seed: int = 0) -> pd.DataFrame:
    """Numbers, truth values, categories of text, of numbers and of both, dates, durations, times, text, lists."""
    rng = np.random.default_rng(seed)
    days = pd.to_timedelta(rng.integers(0, 1000, n), unit="D")
    frame = pd.DataFrame(
        {
            "size": rng.uniform(30.0, 200.0, n).round(1),
            "rooms": rng.integers(1, 6, n),
            "garden": rng.uniform(size=n) < 0.5,
            "town": pd.Categorical(rng.choice(["Zug", "Bern", "<b>Genève</b>"], n)),
            "floor": pd.Categorical(rng.choice([1, 2, 3], n)),
            "built": pd.Timestamp("2020-01-01") + days,
            "seen": (pd.Timestamp("2020-01-01") + days).tz_localize("UTC"),
            "open": pd.to_timedelta(rng.uniform(0.0, 9.0, n), unit="D").round("s"),
            "opens": [dt.time(int(hour), 30) for hour in rng.integers(0, 24, n)],
            "unused": [[1, 2]] * n,
        }
    )
    frame.loc[3, "size"] = np.nan
    frame.loc[4, "town"] = None
    return frame


def response(X: pd.DataFrame, seed: int = 1) -> pd.Series:
    """A response that depends on size, town and garden."""
    noise = np.random.default_rng(seed).normal(size=len(X))
    size = X["size"].fillna(100.0).to_numpy()
    return pd.Series(5.0 * size + 200.0 * (X["town"] == "Zug").to_numpy() + size * noise, name="price")


def fitted(X: pd.DataFrame | None = None, **options):
    """A small model of the table."""
    import warnings

    X = everything() if X is None else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one column holds lists
        return tiny(**options).fit(X, response(X))


ROW = {
    "size": 80.5,
    "rooms": 3,
    "garden": True,
    "town": "Zug",
    "floor": 2,
    "built": "2020-05-01",
    "seen": "2020-05-01T12:00:00+00:00",
    "open": 2.5,
    "opens": "13:30",
}
"""A row of ``everything`` in JSON."""


def as_frame(rows: list[dict]) -> pd.DataFrame:
    """Rows of JSON as a user of Python writes them."""
    frame = pd.DataFrame(rows)
    floor = pd.Categorical(frame["floor"].astype(object).where(frame["floor"].notna(), None), [1, 2, 3])
    return frame.assign(
        size=frame["size"].astype(float),
        rooms=frame["rooms"].astype(float),
        floor=floor,
        built=pd.to_datetime(frame["built"]),
        seen=pd.to_datetime(frame["seen"], utc=True),
        open=pd.to_timedelta(frame["open"].astype(float), unit="D"),
        opens=[dt.time.fromisoformat(v) if isinstance(v, str) else None for v in frame["opens"]],
        unused=[[1]] * len(frame),
    )
