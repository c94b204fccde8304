"""Synthetic tables whose responses have limits, atoms or counts, whose rows belong to entities, or which drift."""

from __future__ import annotations

import numpy as np

from diffgbm._util.types import Array, Integers

Table = tuple[Array, Array]
"""Features and responses."""
Ends = tuple[float | None, float | None]
"""Limits of the response."""
REPEATS = 20
"""Rows of each entity."""


def tables(n: int, seed: int) -> dict[str, tuple[Array, Array, Ends]]:
    """Return features (n, p), responses (n,) and limits of each table."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 4))
    a, b = X[:, 0], X[:, 1]
    demand = np.exp(1.0 + 2.0 * a + np.sin(6.0 * b))
    return {
        "demand": (X, demand * rng.gamma(3.0, 1.0 / 3.0, size=n), (0.0, None)),
        "exponential": (X, rng.exponential(0.3 + 2.0 * a), (0.0, None)),
        "claims": (X, rng.gamma(1.5, 0.5 + 2.0 * a), (0.0, None)),
        "share": (X, rng.beta(0.5 + 2.0 * a, 0.5 + 2.0 * b), (0.0, 1.0)),
        "70% zeros": (X, np.where(rng.uniform(size=n) < 0.5 + 0.4 * a, 0.0, rng.exponential(1.0 + b)), (0.0, None)),
        "capped sensor": (X, np.clip(2.0 * a - 1.0 + 0.6 * rng.standard_normal(n), -0.8, 0.8), (-0.8, 0.8)),
        "counts": (X, rng.poisson(0.5 + 6.0 * a * b).astype(float), (0.0, None)),
        "hourly rides": (*hourly_rides(n, rng), (0.0, None)),
    }


def hourly_rides(n: int, rng: np.random.Generator) -> Table:
    """Return hours of two years and the bicycles that were rented in them: negative binomial counts, at most about 900.

    Features (n, 6) are hour, weekday, month, temperature, humidity and wind. Two peaks on working days, one on free
    days; more when it is warm and dry, and more in the second year.
    """
    when = rng.integers(0, 2 * 365 * 24, size=n)
    hour, weekday, day = when % 24, when // 24 % 7, when // 24
    month, free = day % 365 * 12 // 365, weekday >= 5
    warm = 12.0 - 12.0 * np.cos(2.0 * np.pi * (day - 20) / 365) + 4.0 * np.sin(np.pi * (hour - 8) / 12)
    temperature = warm + 3.0 * rng.standard_normal(n)
    humidity = np.clip(65.0 - 1.5 * (temperature - warm) + 15.0 * rng.standard_normal(n), 15.0, 100.0)
    wind = rng.gamma(3.0, 4.0, size=n)
    working = np.exp(-0.5 * ((hour - 8) / 1.2) ** 2) + 1.2 * np.exp(-0.5 * ((hour - 17.5) / 1.8) ** 2)
    leisure = np.exp(-0.5 * ((hour - 14) / 3.5) ** 2)
    by_hour = 0.02 + 0.35 * (hour > 6) + np.where(free, 0.9 * leisure, working)
    weather = 0.035 * temperature - 0.012 * np.maximum(humidity - 60.0, 0.0) - 0.01 * wind
    mean = 120.0 * by_hour * np.exp(weather + 0.3 * (day >= 365))
    rides = rng.poisson(mean * rng.gamma(4.0, 0.25, size=n)).astype(float)
    return np.column_stack([hour, weekday, month, temperature, humidity, wind]).astype(np.float64), rides


def entities(count: int, seed: int) -> tuple[Array, Array, Integers]:
    """Return features (20 count, 4), responses and entities of rows: ``REPEATS`` for each.

    Two features describe the entity, and tell it apart; two change from row to row. Each entity has an effect that no
    feature explains.
    """
    rng = np.random.default_rng((seed, 1))
    entity = np.repeat(np.arange(count), REPEATS)
    size, age, effect = rng.normal(size=(3, count))
    rows = rng.normal(size=(len(entity), 2))
    X = np.column_stack([size[entity], age[entity], rows])
    y = size[entity] + np.sin(2.0 * rows[:, 0]) + effect[entity] + 0.4 * rng.standard_normal(len(entity))
    return X, y, entity


def drifting(n: int, seed: int) -> Table:
    """Return a series of n rows in the order of time: level, slope and noise change after the first 500.

    The level is a random walk with a trend, the slope goes from 2 to -2, the noise doubles.
    """
    rng = np.random.default_rng((seed, 2))
    X = rng.uniform(size=(n, 3))
    since = np.maximum(np.arange(n) - 500, 0)
    level = np.cumsum(np.where(since > 0, rng.normal(0.001, 0.02, n), 0.0))
    slope, noise = 2.0 * np.cos(np.pi * since / n), 0.3 * (1.0 + since / n)
    return X, level + slope * X[:, 0] + np.sin(4.0 * X[:, 1]) + noise * rng.standard_normal(n)
