"""Warnings about fits that say little or the wrong thing: a constant or piled-up response, a first stage of noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diffgbm._util.errors import WeakFitWarning, warn
from diffgbm._util.types import Array, Booleans
from diffgbm.fitting.atoms import atom_values
from diffgbm.fitting.model import FittedModel

FEW_ROWS = 5
"""Fewer rows are too few for any model."""
FEW_ROUNDS = 3
"""A noise model that stops after so many boosting rounds, or fewer, learned next to nothing from X."""
PILE = 0.1
"""Share of the rows at the smallest or the largest response that calls for a point mass."""
REMEDY = "AutoDiffGBM mixes such a model with the training responses, or replaces it by them."


def warn_of_table(observed: Array, names: tuple[str, ...] | None) -> None:
    """Warn of responses (n, d) that are constant, and of a handful of rows."""
    for j, column in enumerate(observed.T):
        if len(column) and np.all(column == column[0]):
            name = names[j] if names is not None else "y" if observed.shape[1] == 1 else f"column {j} of y"
            warn(
                f"{name} is {column[0]:g} in all {len(column):,} rows: the model predicts this value for every row, "
                "without any uncertainty. Check that this is the right column, and that the rows are not filtered "
                "by it.",
                category=WeakFitWarning,
            )
    if len(observed) < FEW_ROWS:
        warn(
            f"X has {len(observed)} rows, too few to learn from or to measure an error on: distributions will be "
            "little more than the range of y. Collect more rows; a hundred make a start.",
            category=WeakFitWarning,
        )


def end_piles(y: Array) -> Array:
    """Return the smallest and the largest of responses (n,) if a share ``PILE`` is there, increasing.

    Responses that are not whole numbers are continuous but for such piles: they are point masses.
    """
    if np.all(y == np.rint(y)):
        return np.empty(0)
    ends = np.unique([y.min(), y.max()])
    return ends[np.isin(ends, atom_values(y, "auto")) & [np.mean(y == end) >= PILE for end in ends]]


def warn_of_pile(y: Array, name: str) -> None:
    """Warn of responses (n,) that pile up at their smallest or largest value, where a diffusion has no point mass."""
    shares = {float(end): float(np.mean(y == end)) for end in end_piles(y)}
    if not shares:
        return
    value, share = max(shares.items(), key=lambda item: item[1])
    warn(
        f"{name} is exactly {value:g} in {share:.0%} of the rows. The model spreads this probability over values "
        "nearby: set atoms='auto', or support='auto' if it is a limit, to predict how often it occurs. AutoDiffGBM "
        "does so by itself.",
    )


def warn_of_first_stage(ratio: float) -> None:
    """Warn of a first stage whose squared error is ``ratio`` times that of the mean, if that is above one."""
    if ratio <= 1.0:
        return
    warn(
        f"The first stage predicts y worse than its mean does: on rows that it was not fitted to, its squared error is "
        f"{ratio:.2f} times the variance. It was fitted to noise, which widens every distribution. Set "
        f"residualize='off', and check that X and y belong together. {REMEDY}",
        category=WeakFitWarning,
    )


def warn_of_few_rounds(model: FittedModel, params: Mapping[str, Any], constant: Booleans) -> None:
    """Warn of noise models that early stopping ended after ``FEW_ROUNDS`` rounds in every bag.

    ``constant`` (d,) says which responses are constant: they need no rounds.
    """
    if params["early_stopping_rounds"] is None or params["n_estimators"] <= FEW_ROUNDS:
        return
    rounds = np.reshape(model.n_iterations, (len(model.bags), -1)).max(axis=0)
    few = np.flatnonzero((rounds <= FEW_ROUNDS) & ~constant)
    if len(few) == 0:
        return
    names = " and ".join(model.response_names[j] for j in few)
    warn(
        f"The noise model of {names} stopped after {rounds[few].max()} boosting round(s): with more, held-out rows "
        "were predicted worse. The shape of its distributions hardly depends on X. If it should, use more rows, or a "
        f"smaller learning_rate. {REMEDY}",
        category=WeakFitWarning,
    )
