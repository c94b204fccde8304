"""Real tables of the packages vega_datasets and pydataset, as frames without preparation.

Rows without a response are left out, and columns that are the response in another form; nothing else is changed. The
tables come with the packages: nothing is downloaded. pydataset unpacks its tables into ``~/.pydataset`` at first use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.raw.troubles import Table
from diffgbm._util.optional import need


@dataclass(frozen=True)
class RealTable:
    """Where a table is, and what is predicted.

    Attributes
    ----------
    load : callable
        Returns the frame.
    target : str
        The response.
    low : float
        The least value that it can have.
    without : tuple of str
        Columns that are the response in another form.
    high : float
        The largest value that it can have.
    """

    load: Callable[[], pd.DataFrame]
    target: str
    low: float = 0.0
    without: tuple[str, ...] = ()
    high: float = np.inf


def _vega(name: str) -> Callable[[], pd.DataFrame]:
    return lambda: getattr(need("vega_datasets").local_data, name)()


def _pydataset(name: str) -> Callable[[], pd.DataFrame]:
    return lambda: need("pydataset").data(name)


REAL: dict[str, RealTable] = {
    "cars": RealTable(_vega("cars"), "Miles_per_Gallon"),
    "weather": RealTable(_vega("seattle_weather"), "temp_max", -np.inf),
    "movies": RealTable(_pydataset("movies"), "rating", 1.0, tuple(f"r{k}" for k in range(1, 11)), 10.0),
    "diamonds": RealTable(_pydataset("diamonds"), "price"),
    "wages": RealTable(_pydataset("SLID"), "wages"),
    "medical costs": RealTable(_pydataset("MedExp"), "med"),
    "doctor visits": RealTable(_pydataset("OFP"), "ofp"),
    "computers": RealTable(_pydataset("Computers"), "price"),
    "baseball": RealTable(_pydataset("Baseball"), "sal87"),
}
"""The tables by name; SLID are wages of Ontario, MedExp medical expenses, OFP visits to a physician's office."""


def real_table(name: str, n_train: int, n_test: int, split: int) -> Table:
    """Split a real table at random; a small table has a quarter of its rows as test rows."""
    what = REAL[name]
    frame = what.load()
    frame = frame[frame[what.target].notna()].drop(columns=list(what.without))
    n_test = min(n_test, len(frame) // 4)
    order = np.random.default_rng((split, *name.encode())).permutation(len(frame))
    X, y = frame.drop(columns=what.target), frame[what.target].to_numpy(dtype=np.float64)
    test, train = order[:n_test], order[n_test : n_test + n_train]
    parts = [X.iloc[rows].reset_index(drop=True) for rows in (train, test)]
    return Table(parts[0], y[train], parts[1], y[test], what.low, what.high)
