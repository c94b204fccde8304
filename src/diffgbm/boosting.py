"""Noisy copies of the rows in, LightGBM boosters out, without ever tiling X.

A training row is ``[c(t) y_t, x, time columns]`` with target ``a(t) y0 + b(t) z``. Only the few columns that
differ between the copies of a row are kept in memory; LightGBM asks for blocks of rows and bins them as they
are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from diffgbm.noise_levels import LOSS_WEIGHTINGS, NOISE_FEATURES
from diffgbm.recipe import Recipe
from diffgbm.targets import target_at

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NoisyRows:
    """``n_repeats`` noisy copies of n rows, row ``i`` of copy ``r`` at position ``r n + i``.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        The clean features, one copy.
    states : ndarray of shape (n_repeats n, d)
        ``c(t) y_t``.
    columns : ndarray of shape (n_repeats n, q)
        Time columns.
    targets : ndarray of shape (n_repeats n, d)
        What the trees regress on.
    weights : ndarray of shape (n_repeats n,) or None
        Weight of each noisy row.
    """

    X: Array
    states: Array
    columns: Array
    targets: Array
    weights: Array | None


def noisy_rows(
    recipe: Recipe, X: Array, y: Array, weights: Array | None, n_repeats: int, rng: np.random.Generator
) -> NoisyRows:
    """Draw the training data of the noise model from standardised responses ``y`` (n, d)."""
    n = n_repeats * len(y)
    t = recipe.times.draw(n, recipe.path, rng)
    z = rng.standard_normal((n, y.shape[1]))
    y0 = np.tile(y, (n_repeats, 1))
    point = target_at(recipe.target, recipe.path, t[:, None], recipe.sigma_data)
    states = point.feature_scale * (point.path.alpha * y0 + point.path.beta * z)
    level = LOSS_WEIGHTINGS[recipe.loss_weighting](point, recipe.min_snr_gamma)
    if weights is not None:
        level = np.tile(weights, n_repeats) * (1.0 if level is None else level[:, 0])
    return NoisyRows(
        X,
        states,
        NOISE_FEATURES[recipe.noise_features](t, recipe.path.at(t)),
        point.of(y0, z),
        None if level is None else level.reshape(n),
    )


class _RowSequence(lgb.Sequence):
    """LightGBM's view of noisy rows: assembled when asked for, block by block."""

    batch_size = 16_384

    def __init__(self, rows: NoisyRows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows.states)

    def __getitem__(self, index: Any) -> Array:
        rows = self._rows
        if isinstance(index, (int, np.integer)):
            return np.concatenate([rows.states[index], rows.X[index % len(rows.X)], rows.columns[index]])
        position = np.arange(len(self))[index] if isinstance(index, slice) else np.asarray(index)
        return np.hstack([rows.states[position], rows.X[position % len(rows.X)], rows.columns[position]])


def train_boosters(
    train: NoisyRows,
    valid: NoisyRows | None,
    *,
    params: dict[str, Any],
    n_estimators: int,
    early_stopping_rounds: int | None,
    categorical: Sequence[int],
    tick: Callable[[float | None], None],
    stop: Callable[[], bool] | None = None,
) -> list[lgb.Booster]:
    """Fit one booster for each response coordinate; each sees the whole noisy response.

    Parameters
    ----------
    train, valid : NoisyRows
        Training rows, and those that decide when to stop.
    params : dict
        LightGBM's parameters.
    n_estimators, early_stopping_rounds : int
        Rounds at most, and how many without improvement end them.
    categorical : sequence of int
        Categorical columns of ``X``.
    tick : callable
        Called with the current validation loss after each round, and with ``None`` when a booster is done.
    stop : callable, optional
        Asked after each round; once it says yes, a booster keeps the rounds that it has.
    """
    d = train.states.shape[1]
    cats = [d + j for j in categorical]
    data = _dataset(train, params, cats)
    held_out = None if valid is None else _dataset(valid, params, cats, reference=data)
    boosters = []
    for j in range(d):
        data.set_label(train.targets[:, j])
        callbacks: list[Callable[..., Any]] = [_ticker(tick, stop)]
        valid_sets = []
        if held_out is not None and valid is not None:
            held_out.set_label(valid.targets[:, j])
            valid_sets = [held_out]
            assert early_stopping_rounds is not None
            callbacks.append(lgb.early_stopping(early_stopping_rounds, verbose=False))
        boosters.append(lgb.train(params, data, n_estimators, valid_sets=valid_sets, callbacks=callbacks))
        tick(None)
    return boosters


def _dataset(
    rows: NoisyRows, params: dict[str, Any], categorical: list[int], reference: lgb.Dataset | None = None
) -> lgb.Dataset:
    return lgb.Dataset(
        _RowSequence(rows),
        label=rows.targets[:, 0],
        weight=rows.weights,
        params=params,
        categorical_feature=categorical,
        reference=reference,
    ).construct()


def _ticker(tick: Callable[[float | None], None], stop: Callable[[], bool] | None) -> Callable[[Any], None]:
    def after_round(env: Any) -> None:
        results = env.evaluation_result_list
        tick(results[0][2] if results else float("nan"))
        if stop is not None and stop():
            raise lgb.callback.EarlyStopException(env.iteration, results)

    after_round.order = 0  # type: ignore[attr-defined]  # before early stopping, which ends the round by raising
    return after_round
