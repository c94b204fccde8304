"""Models of the comparison of raw tables; each returns quantiles (n, K) at ``LEVELS`` for a frame as it is."""

from __future__ import annotations

import os
import pickle
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd

from benchmarks.peers.environments import CACHE, PeerError, python_of
from benchmarks.peers.recipes import Package
from benchmarks.raw.troubles import Table
from diffgbm import AutoDiffGBM
from diffgbm._util.optional import need
from diffgbm._util.types import Array

COUNTS = (19, 99)
"""Numbers of quantiles: the ends of 50% and 90% intervals are among both."""
BLOCKS = 20
"""Blocks of test rows, in random order, whose mean losses a line holds: standard errors come from them."""
AUTOGLUON = Package("autogluon", "autogluon.tabular", "TabularPredictor", "autogluon.tabular[lightgbm,catboost]==1.6.3")
RUNNER = Path(__file__).with_name("autogluon_runner.py")
WORDS = {
    "tokenizers": [{"tokenizer_id": "Space", "separator_type": "ByDelimiter", "delimiter": " "}],
    "dictionaries": [{"dictionary_id": "Word", "occurrence_lower_bound": "5", "max_dictionary_size": "100"}],
    "feature_processing": {
        "default": [
            {
                "tokenizers_names": ["Space"],
                "dictionaries_names": ["Word"],
                "feature_calcers": ["BoW:top_tokens_count=100"],
            }
        ]
    },
}
"""CatBoost's text: the 100 most frequent words. Its defaults take far longer."""


@dataclass(frozen=True)
class Settings:
    """What a fit may use.

    Attributes
    ----------
    time_limit : float
        Seconds of the automatic packages.
    seed : int
        Seed.
    cache : Path
        Directory of the environments of other packages.
    quantiles, threads : int
        Number of quantiles, and threads of each package.
    """

    time_limit: float
    seed: int
    cache: Path = CACHE
    quantiles: int = COUNTS[0]
    threads: int = 1

    @property
    def levels(self) -> Array:
        """Levels of the quantiles, evenly spaced: shape (K,)."""
        return even_levels(self.quantiles)


def even_levels(count: int) -> Array:
    """Return ``count`` levels between 0 and 1, such as 0.05, 0.10, ..., 0.95."""
    return np.round(np.arange(1, count + 1) / (count + 1), 2)


Model = Callable[[Table, Settings], Array]


def _automatic(preset: str) -> Model:
    def quantiles(table: Table, settings: Settings) -> Array:
        model = AutoDiffGBM(preset=preset, time_limit=settings.time_limit, seed=settings.seed, n_jobs=settings.threads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dist = model.fit(table.X_train, table.y_train).predict_distribution(table.X_test)
        return np.asarray(dist.quantile(settings.levels))

    return quantiles


def least_preparation(X: pd.DataFrame) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Do what LightGBM and CatBoost demand: dates and durations become numbers, what is no number becomes text.

    Returns
    -------
    frame : DataFrame
        Numbers and text.
    categories, texts : list of str
        Columns of text that are categories, and those of four words or more that hardly repeat.
    """
    out: dict[str, Any] = {}
    categories: list[str] = []
    texts: list[str] = []
    for name, column in X.items():
        kind = getattr(column.dtype, "kind", "O")
        values = [value for value in column.tolist() if value is not None and value is not pd.NA and value == value]
        if kind == "M":
            out[name] = (column - pd.Timestamp("2000-01-01")) / pd.Timedelta(days=1)
        elif kind == "m":
            out[name] = column / pd.Timedelta(days=1)
        elif kind in "fiub" or (values and all(isinstance(value, (Real, Decimal)) for value in values)):
            out[name] = pd.to_numeric(column.astype(object), errors="coerce").astype(np.float64)
        else:
            out[name] = column.map(str).astype(object)
            words = np.mean([len(text.split()) for text in out[name]])
            (texts if words >= 4.0 and out[name].nunique() * 5 > len(X) else categories).append(name)
    return pd.DataFrame(out), categories, texts


def lightgbm_quantiles(table: Table, settings: Settings) -> Array:
    """Fit one booster of LightGBM's defaults for each level; text is a category."""
    train, *names = least_preparation(table.X_train)
    test = least_preparation(table.X_test)[0]
    text = [name for part in names for name in part]
    for name in text:
        train[name] = train[name].astype("category")
        levels = train[name].cat.categories
        test[name] = pd.Categorical(test[name].where(test[name].isin(levels)), categories=levels)
    params = {"objective": "quantile", "verbose": -1, "num_threads": settings.threads, "seed": settings.seed}
    data = lgb.Dataset(train, table.y_train, params=params, free_raw_data=False)
    found = [lgb.train({**params, "alpha": level}, data, 100).predict(test) for level in settings.levels.tolist()]
    return np.sort(np.column_stack(found), axis=1)


def catboost_quantiles(table: Table, settings: Settings) -> Array:
    """Fit CatBoost's MultiQuantile with native categories and text; a sixth of the rows stop it."""
    catboost = need("catboost")
    train, categories, texts = least_preparation(table.X_train)
    test = least_preparation(table.X_test)[0][train.columns]
    rows = np.random.default_rng(settings.seed).permutation(len(train))
    held_out, rest = rows[: len(rows) // 6], rows[len(rows) // 6 :]

    def pool(X: pd.DataFrame, y: Array | None = None) -> Any:
        return catboost.Pool(X, y, cat_features=categories, text_features=texts)

    loss = "MultiQuantile:alpha=" + ",".join(map(str, settings.levels.tolist()))
    model = catboost.CatBoostRegressor(
        loss_function=loss,
        iterations=500,
        learning_rate=0.03,
        depth=4,
        early_stopping_rounds=50,
        thread_count=settings.threads,
        random_seed=settings.seed,
        allow_writing_files=False,
        verbose=False,
        **({"text_processing": WORDS} if texts else {}),
    )
    y = table.y_train
    model.fit(pool(train.iloc[rest], y[rest]), eval_set=pool(train.iloc[held_out], y[held_out]))
    return np.sort(np.asarray(model.predict(pool(test))), axis=1)


def autogluon_quantiles(table: Table, settings: Settings) -> Array:
    """Fit AutoGluon's quantile regression in its own environment; columns of lists, which it refuses, are dropped."""
    python = python_of(AUTOGLUON, settings.cache)
    with tempfile.TemporaryDirectory(prefix="diffgbm-raw-") as folder:
        job, result = Path(folder) / "job.pickle", Path(folder) / "result.npy"
        used = [name for name, column in table.X_train.items() if not isinstance(column.iloc[0], list)]
        frames = [frame.assign(**_as_objects(frame)) for frame in (table.X_train[used], table.X_test[used])]
        columns = [{name: frame[name].tolist() for name in frame} for frame in frames]
        types = {name: str(column.dtype) for name, column in table.X_train.items()}
        arguments = (table.y_train.tolist(), settings.levels.tolist(), settings.time_limit, settings.threads)
        job.write_bytes(pickle.dumps((columns, types, *arguments), protocol=4))
        done = subprocess.run(
            [str(python), "-I", "-W", "ignore", str(RUNNER), str(job), str(result)],
            env={**os.environ, "OMP_NUM_THREADS": str(settings.threads)},
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
        )
        if done.returncode:
            raise PeerError(f"AutoGluon failed:\n{done.stderr.strip()[-2000:]}")
        return np.sort(np.load(result), axis=1)


def _as_objects(frame: pd.DataFrame) -> dict[str, Any]:
    """Return columns that another version of pandas could not unpickle, as plain objects."""
    plain = {}
    for name, column in frame.items():
        if getattr(column.dtype, "kind", "O") in "Mm":
            plain[str(name)] = column.astype("int64")
        elif str(column.dtype) == "boolean":
            plain[str(name)] = pd.Series([None if value is pd.NA else bool(value) for value in column], dtype=object)
    return plain


MODELS: dict[str, Model] = {
    "AutoDiffGBM fast": _automatic("fast"),
    "AutoDiffGBM balanced": _automatic("balanced"),
    "CatBoost": catboost_quantiles,
    "LightGBM": lightgbm_quantiles,
    "AutoGluon": autogluon_quantiles,
}


def scores(quantiles: Array, y: Array, low: float, high: float) -> dict[str, Any]:
    r"""Score ``K`` quantiles (n, K) at even levels of observations (n,).

    The CRPS is twice the mean pinball loss over the levels; ``losses`` are its means in blocks of rows. An observation
    is in one of ``K + 1`` cells between quantiles that have the same probability; at an atom it is in several, each
    with the same share. A row is impossible if one of its quantiles is beyond the limits by more than a thousandth of
    a standard deviation.
    """
    levels, error = even_levels(quantiles.shape[1]), y[:, None] - quantiles
    losses = 2.0 * np.maximum(levels * error, (levels - 1.0) * error).mean(axis=1)
    close = 1e-3 * float(np.std(y))
    first = np.sum(quantiles < y[:, None] - close, axis=1)
    last = np.sum(quantiles <= y[:, None] + close, axis=1)
    impossible = ((quantiles < low - close) | (quantiles > high + close)).any(axis=1)
    return {
        "crps": float(losses.mean()),
        "coverage50": _inside(first, last, levels.searchsorted([0.25, 0.75])),
        "coverage90": _inside(first, last, levels.searchsorted([0.05, 0.95])),
        "impossible": float(impossible.mean()),
        "losses": [float(f"{part.mean():.7g}") for part in np.array_split(losses, min(BLOCKS, len(losses)))],
    }


def _inside(first: Any, last: Any, ends: Any) -> float:
    """Return the mean share of the cells ``first`` to ``last`` that are between the quantiles at positions ``ends``."""
    low, high = int(ends[0]) + 1, int(ends[1])
    overlap = np.minimum(last, high) - np.maximum(first, low) + 1
    return float(np.mean(np.maximum(overlap, 0) / (last - first + 1)))
