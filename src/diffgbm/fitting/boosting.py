"""Noisy rows in, LightGBM boosters out: one for each response coordinate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from diffgbm._util.deadline import NEVER, Deadline
from diffgbm._util.types import Rows
from diffgbm.data.blocks import BlockDataset
from diffgbm.first_stage.pacing import pacing
from diffgbm.first_stage.useful_threads import with_useful_threads
from diffgbm.fitting.constraints import noise_model_params
from diffgbm.fitting.noisy_rows import NoisyRows, NoisyRowSequence
from diffgbm.fitting.stopping import best_round


@dataclass(frozen=True)
class BinnedRows:
    """Noisy rows as LightGBM holds them.

    Attributes
    ----------
    data : lightgbm.Dataset
        Binned rows.
    labels : list of ndarray of float32
        Targets of each response, d of length n; each is emptied once LightGBM has it.
    """

    data: lgb.Dataset
    labels: list[NDArray[np.float32]]

    def set_response(self, j: int) -> None:
        """Hand response ``j`` to LightGBM, which copies it twice; one copy is enough."""
        self.data.set_label(self.labels[j])
        self.labels[j] = self.data.label = np.empty(0, dtype=np.float32)


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
    deadline: Deadline = NEVER,
    folds: Sequence[Rows] = (),
) -> list[lgb.Booster]:
    """Bin noisy rows and fit one booster for each response coordinate; ``categorical`` are columns of ``X``.

    The other parameters are those of ``boost``.
    """
    n_rows = len(train.y)
    cats, params = categorical_columns(train, categorical), params_of(train, params)
    binned = bin_rows(train, params, cats)
    held_out = None if valid is None else bin_rows(valid, params, cats, reference=binned.data)
    # times and noise are binned by now
    del train, valid
    return boost(
        binned,
        held_out,
        params=params,
        n_estimators=n_estimators,
        early_stopping_rounds=early_stopping_rounds,
        tick=tick,
        stop=stop,
        deadline=deadline,
        folds=folds,
        n_rows=n_rows,
    )


def boost(
    train: BinnedRows,
    valid: BinnedRows | None,
    *,
    params: dict[str, Any],
    n_estimators: int,
    early_stopping_rounds: int | None,
    tick: Callable[[float | None], None] = lambda loss: None,
    stop: Callable[[], bool] | None = None,
    deadline: Deadline = NEVER,
    folds: Sequence[Rows] = (),
    n_rows: int = 0,
) -> list[lgb.Booster]:
    """Fit one booster for each response coordinate; each sees the whole noisy response.

    Parameters
    ----------
    train, valid : BinnedRows
        Training rows, and those that decide when to stop.
    params : dict
        LightGBM's parameters.
    n_estimators, early_stopping_rounds : int
        Rounds at most, and how many without improvement end them.
    tick : callable
        Called with the current validation loss after each round, and with ``None`` when a booster is done.
    stop : callable, optional
        Asked after each round; once it returns true, a booster keeps the rounds that it has.
    deadline : Deadline
        When ``stop`` will return true: if there is time for few rounds only, their learning rate is larger.
    folds : sequence of ndarray of int
        Folds of the ``n_rows`` training rows that decide when to stop, if there are no others.
    n_rows : int
        Rows that the training rows are copies of.
    """
    boosters = []
    for j in range(len(train.labels)):
        train.set_response(j)
        callbacks: list[Callable[..., Any]] = [
            _ticker(tick, stop),
            *pacing(deadline.part(len(train.labels) - j), params),
        ]
        valid_sets, rounds = [], n_estimators
        if folds:
            assert early_stopping_rounds is not None
            rounds = best_round(train.data, folds, n_rows, params, n_estimators, early_stopping_rounds, callbacks[:1])
            callbacks = []
        elif valid is not None:
            valid.set_response(j)
            valid_sets = [valid.data]
            assert early_stopping_rounds is not None
            callbacks.append(lgb.early_stopping(early_stopping_rounds, verbose=False))
        boosters.append(
            lgb.train(with_useful_threads(params), train.data, rounds, valid_sets=valid_sets, callbacks=callbacks)
        )
        tick(None)
    return boosters


def categorical_columns(noisy: NoisyRows, categorical: Sequence[int]) -> list[int]:
    """Return where categorical columns of ``X`` are in a noisy row: after the states."""
    return [noisy.y.shape[1] + j for j in categorical]


def params_of(noisy: NoisyRows, params: dict[str, Any]) -> dict[str, Any]:
    """Return LightGBM's parameters for the columns of noisy rows, given those for the columns of ``X``."""
    return noise_model_params(params, noisy.X.shape[1], noisy.y.shape[1], NoisyRowSequence(noisy).width)


def bin_rows(
    rows: NoisyRows, params: dict[str, Any], categorical: list[int], reference: lgb.Dataset | None = None
) -> BinnedRows:
    """Bin noisy rows, by the bins of ``reference`` if there is one; ``categorical`` are columns of a noisy row."""
    labels = rows.labels()
    data = BlockDataset(
        NoisyRowSequence(rows),
        label=labels[0],
        weight=rows.weights,
        params=with_useful_threads(params),
        categorical_feature=categorical,
        reference=reference,
    ).construct()
    return BinnedRows(data, labels)


def _ticker(tick: Callable[[float | None], None], stop: Callable[[], bool] | None) -> Callable[[Any], None]:
    def after_round(env: Any) -> None:
        results = env.evaluation_result_list
        tick(results[0][2] if results else float("nan"))
        if stop is not None and stop():
            raise lgb.callback.EarlyStopException(env.iteration, results)

    after_round.order = 0  # type: ignore[attr-defined]  # before early stopping, which ends the round by raising
    return after_round
