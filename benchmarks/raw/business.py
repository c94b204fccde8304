"""Business tables without troubles: house sales, insurance claims, bike demand, orders of a web shop.

A kind has plain columns, the logarithm of the expected response as a function of them, and a family of responses around
it. :mod:`benchmarks.raw.troubles` adds what real tables have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from diffgbm._util.types import Array

Generator = np.random.Generator


@dataclass(frozen=True)
class Kind:
    """One kind of business table.

    Attributes
    ----------
    target : str
        Name of the response.
    columns : callable
        Draws the plain columns (n, p): numbers, and text of few levels.
    signal : callable
        Logarithm of the expected response (n,) of plain columns.
    respond : callable
        Draws responses (n,) of signals (n,), and the plain columns, which may change more than the location.
    amount : str
        The column of large numbers: those that people write with thousands separators.
    words : mapping
        What the columns that troubles add are called here.
    low, high : float
        Limits of what the response can be.
    """

    target: str
    columns: Callable[[int, Generator], pd.DataFrame]
    signal: Callable[[pd.DataFrame], Array]
    respond: Callable[[Array, pd.DataFrame, Generator], Array]
    amount: str
    words: Mapping[str, str]
    low: float = 0.0
    high: float = np.inf


def _choice(rng: Generator, values: list[str], n: int, p: list[float] | None = None) -> Array:
    return np.asarray(rng.choice(np.array(values, dtype=object), n, p=p))


def _effects(column: pd.Series, effects: Mapping[str, float]) -> Array:
    return np.asarray(column.map(effects), dtype=np.float64)


def _houses(n: int, rng: Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "lot": rng.lognormal(8.2, 0.5, n).round(),
            "size": rng.gamma(6.0, 22.0, n).round(1) + 25.0,
            "rooms": rng.integers(1, 9, n),
            "built": rng.integers(1900, 2023, n),
            "town": _choice(rng, ["Zürich", "Genève", "Biel", "Chur", "St. Gallen"], n, [0.3, 0.25, 0.2, 0.1, 0.15]),
            "condition": _choice(rng, ["new", "good", "to renovate"], n),
        }
    )


def _house_signal(X: pd.DataFrame) -> Array:
    town = _effects(X["town"], {"Zürich": 0.6, "Genève": 0.5, "Biel": -0.1, "Chur": 0.0, "St. Gallen": 0.1})
    condition = _effects(X["condition"], {"new": 0.15, "good": 0.0, "to renovate": -0.3})
    age = (2023.0 - X["built"].to_numpy()) / 100.0
    return np.asarray(11.0 + 0.55 * np.log(X["size"]) + 0.1 * np.log(X["lot"]) + town + condition - 0.2 * age)


def _house_prices(signal: Array, X: pd.DataFrame, rng: Generator) -> Array:
    scale = 0.08 + 0.17 * (X["condition"] == "to renovate").to_numpy()
    return np.round(np.exp(signal + scale * rng.standard_normal(len(signal))), -2)


def _claims(n: int, rng: Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "value": rng.lognormal(9.6, 0.5, n).round(),
            "age": rng.integers(18, 90, n),
            "power": rng.integers(4, 16, n),
            "bonus": rng.integers(50, 150, n),
            "fuel": _choice(rng, ["petrol", "diesel", "electric"], n),
            "use": _choice(rng, ["private", "work", "taxi"], n, [0.7, 0.25, 0.05]),
        }
    )


def _claim_signal(X: pd.DataFrame) -> Array:
    use = _effects(X["use"], {"private": 0.0, "work": 0.3, "taxi": 0.9})
    young = (X["age"] < 26).to_numpy() * 0.6
    return np.asarray(3.5 + 0.4 * np.log(X["value"]) + young + use + 0.01 * (X["bonus"] - 100.0))


def _claim_costs(signal: Array, X: pd.DataFrame, rng: Generator) -> Array:
    # two of three policies have no claim; risky ones have more of them, and dearer ones
    reported = rng.uniform(size=len(signal)) < 1.0 / (1.0 + np.exp(0.8 - 0.6 * (signal - signal.mean())))
    return np.round(reported * np.exp(signal) * rng.gamma(1.5, 1.0 / 1.5, len(signal)), 2)


def _bikes(n: int, rng: Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "population": rng.lognormal(9.0, 0.6, n).round(),
            "hour": rng.integers(0, 24, n),
            "temperature": rng.normal(14.0, 8.0, n).round(1),
            "humidity": rng.uniform(30.0, 100.0, n).round(),
            "weather": _choice(rng, ["clear", "clouds", "rain", "snow"], n, [0.5, 0.3, 0.17, 0.03]),
            "holiday": _choice(rng, ["no", "yes"], n, [0.93, 0.07]),
        }
    )


def _bike_signal(X: pd.DataFrame) -> Array:
    weather = _effects(X["weather"], {"clear": 0.0, "clouds": -0.1, "rain": -0.7, "snow": -1.2})
    hour = X["hour"].to_numpy()
    rush = np.exp(-0.5 * ((hour - 8.0) / 1.5) ** 2) + np.exp(-0.5 * ((hour - 18.0) / 2.0) ** 2)
    warm = -(((X["temperature"].to_numpy() - 22.0) / 14.0) ** 2)
    size = 0.3 * np.log(X["population"].to_numpy())
    return np.asarray(0.4 + size + weather + 1.2 * rush * (X["holiday"] == "no").to_numpy() + 0.6 * warm)


def _bike_rides(signal: Array, X: pd.DataFrame, rng: Generator) -> Array:
    return rng.poisson(np.exp(signal) * rng.gamma(8.0, 1.0 / 8.0, len(signal))).astype(np.float64)


def _orders(n: int, rng: Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "visitors": rng.lognormal(8.0, 0.8, n).round(),
            "price": rng.lognormal(3.3, 0.6, n).round(2),
            "discount": rng.choice([0.0, 0.1, 0.2, 0.5], n, p=[0.6, 0.2, 0.15, 0.05]),
            "basket": rng.poisson(2.0, n) + 1,
            "device": _choice(rng, ["phone", "desktop", "tablet"], n, [0.6, 0.33, 0.07]),
            "channel": _choice(rng, ["search", "mail", "ads", "direct", "partner"], n),
        }
    )


def _order_signal(X: pd.DataFrame) -> Array:
    channel = _effects(X["channel"], {"search": 0.0, "mail": 0.25, "ads": -0.2, "direct": 0.1, "partner": -0.3})
    device = _effects(X["device"], {"phone": -0.15, "desktop": 0.15, "tablet": 0.0})
    offer = 0.8 * np.log(X["price"]) + np.log1p(-0.7 * X["discount"])
    return np.asarray(1.0 + offer + 0.6 * np.log(X["basket"]) + channel + device + 0.05 * np.log(X["visitors"]))


def _order_values(signal: Array, X: pd.DataFrame, rng: Generator) -> Array:
    shape = np.where(X["channel"] == "ads", 3.0, 12.0)
    return np.round(np.exp(signal) * rng.gamma(shape, 1.0 / shape), 2)


_WORDS = ("levels", "noise", "id", "date", "iso", "duration", "text", "code", "number", "truth", "exact", "list")
"""Columns that troubles add, in the order of the names below."""


def _words(*names: str) -> dict[str, str]:
    return dict(zip(_WORDS, names, strict=True))


KINDS: dict[str, Kind] = {
    "houses": Kind(
        "price", _houses, _house_signal, _house_prices, "lot",
        _words("agent", "visitor", "file", "sold", "listed", "on market", "description", "postcode", "district",
               "garden", "tax", "photos"),
    ),
    "claims": Kind(
        "cost", _claims, _claim_signal, _claim_costs, "value",
        _words("garage", "plate", "policy", "accident", "signed", "membership", "report", "canton code", "model",
               "alarm", "excess", "documents"),
    ),
    "bikes": Kind(
        "rides", _bikes, _bike_signal, _bike_rides, "population",
        _words("station", "sensor", "row", "day", "serviced", "outage", "remark", "zone", "line", "event", "fare",
               "neighbours"),
    ),
    "shop": Kind(
        "revenue", _orders, _order_signal, _order_values, "visitors",
        _words("product", "session", "order", "ordered", "registered", "session length", "comment", "area code",
               "campaign", "newsletter", "shipping", "viewed"),
    ),
}  # fmt: skip
"""The kinds by name."""
