"""The summary of an automatic fit in a few sentences."""

from __future__ import annotations

import numpy as np

from diffgbm._util.types import Array, Rows
from diffgbm.auto.candidates import CLIMATOLOGY
from diffgbm.auto.final_models import Pool
from diffgbm.auto.leaderboard import FINAL, Leaderboard
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.auto.screening import SCREENED
from diffgbm.data.division import Division
from diffgbm.data.kinds import Dropped
from diffgbm.metrics.scores import climatology_crps

CUT_SHORT = "The time limit cut the fit short: a larger one may give a better model."
LITTLE, NOTHING = 0.05, 0.01
"""Skill below which the columns say little about the response, and below which they say nothing."""
FEW_ROWS = 30
"""Fewer held-out rows do not measure a skill."""


def summary(
    pool: Pool,
    model: PooledModel,
    leaderboard: Leaderboard,
    crps: tuple[float, float],
    cut: bool,
    division: Division,
    n_rows: int,
) -> str:
    """Say how good a model is on unseen rows, then what was chosen.

    Parameters
    ----------
    pool : Pool
        Members and weights.
    model : PooledModel
        The same, with shapes and correction.
    leaderboard : Leaderboard
        What was tried.
    crps : (float, float)
        Out-of-bag CRPS of the model and of the responses themselves, in units of the response's standard deviation.
    cut : bool
        Whether the time limit left any work out.
    division : Division
        How the rows of the table are divided.
    n_rows : int
        Rows that these CRPS average.
    """
    names = model.first.response_names
    of_each = [f" of {name}" for name in names] if len(names) > 1 else [""]
    shapes = [f"Predictions{of} are kept to {s}." for of, s in zip(of_each, model.shapes, strict=True) if s]
    for name, each in zip(names, model.joint_atoms, strict=False):
        if each is not None:
            values = ", ".join(f"{value:g}" for value in each.values)
            shapes += [f"A classifier predicts how often {name} is exactly {values}; the joint model says with what."]
    if model.atoms is not None:
        values = ", ".join(f"{value:g}" for value in model.atoms.values)
        shapes += [f"A classifier predicts how often {names[0]} is exactly {values}; candidates compete on other rows."]
    response = " and ".join(names)
    if model.is_climatology:
        sentences = _climatology(response, model, leaderboard)
    else:
        sentences = [
            quality(response, crps, leaderboard.unit, n_rows),
            _choice(pool, leaderboard.n_candidates),
            *_scale(model),
            *shapes,
        ]
    return " ".join(
        [
            *sentences,
            *(["Intervals are recalibrated on such rows."] if model.correction is not None else []),
            *([CUT_SHORT] if cut else []),
            *_screened(model),
            *([str(division)] if str(division) else []),
        ]
    )


def _scale(model: PooledModel) -> list[str]:
    power = model.first.response.power
    if power is None:
        return []
    return [f"Candidates learn {power} of {model.first.response_names[0]}, which is better on such rows."]


def _screened(model: PooledModel) -> list[str]:
    columns = model.first.features.columns
    dropped = sum(isinstance(column, Dropped) and column.reason.startswith(SCREENED) for column in columns)
    if dropped == 0:
        return []
    return [
        f"{dropped} of {len(columns)} columns were screened out, because they predict no better than chance and the "
        "time limit is short for so many: schema_ lists them, and a longer limit uses all."
    ]


def no_help(response: str, alone: bool, clearly: bool = True) -> str:
    """Say that no model was (``clearly``) better than climatology, which predicts ``alone`` or not, and what to do."""
    amount, result = "clearly " if clearly else "", "has" if alone else "is close to"
    return (
        f"The columns of X do not help to predict {response}: on rows that they were not trained on, no model was "
        f"{amount}better than climatology, the training values of {response} without any columns. Every row {result} "
        "their distribution. Check that X and y belong together row by row, and add columns that matter, or more rows."
    )


def _climatology(response: str, model: PooledModel, leaderboard: Leaderboard) -> list[str]:
    assert model.climatology is not None
    first = model.climatology.values[0]
    if np.all(model.climatology.values == first):
        value = " and ".join(f"{number:g}" for number in first)
        return [f"{response} is {value} in every training row: the model predicts this for every row, without doubt."]
    final = [line for line in leaderboard.rows() if line.stage.startswith(FINAL)]
    scores = {line.candidate: line.relative_crps * leaderboard.unit for line in final}
    reference = scores.pop(CLIMATOLOGY)
    numbers = f"The CRPS, the average error of a distribution, of climatology is {reference:.4g}"
    best = f", that of the best final model {min(scores.values()):.4g}." if scores else "."
    return [no_help(response, True, min(scores.values(), default=reference) < reference), numbers + best]


def quality(response: str, crps: tuple[float, float], unit: float, n_rows: int = FEW_ROWS) -> str:
    """Say how much better than without any columns a model predicts; ``crps`` are in units of ``unit``."""
    own, reference = crps
    scores = f"{_plain(own * unit)} instead of {_plain(reference * unit)}"
    numbers = f"its CRPS, the average error of a distribution, is {scores}."
    numbers += f" Only {n_rows} rows measure this: do not rely on it." if n_rows < FEW_ROWS else ""
    skill = 1.0 - own / reference if reference > 0.0 else 0.0
    if skill < LITTLE:
        amount = f"only {skill:.1%} better than" if skill > 0.0 else "no better than"
        start = f"The columns say little about {response}: on"
    else:
        amount, start = f"{skill:.0%} better than", "On"
    advice = " Add columns that matter, or more rows." if skill < LITTLE else ""
    where = f"{start} rows that it was not trained on"
    return f"{where}, the model predicts {response} {amount} without any columns: {numbers}{advice}"


def _plain(value: float) -> str:
    """Four digits; prices and counts in thousands are written out."""
    return f"{value:,.0f}" if 1e4 <= value < 1e10 else f"{value:.4g}"


def _choice(pool: Pool, n_candidates: int) -> str:
    bags = max(len(member.bags) for member in pool.members)
    times = "once" if bags == 1 else f"{bags} times to different rows"
    if len(pool.candidates) == 1 and pool.climatology is None and not pool.outside:
        rank = "one model, compared with no other" if n_candidates == 1 else f"the best of {n_candidates} candidates"
        return f"It is {rank}, fitted {times}: {pool.candidates[0]}."
    members = [f"{w:.0%} {c}" for w, c in zip(pool.weights, pool.candidates, strict=True) if w > 0.0]
    members += [f"{m.weight:.0%} {c}" for m, c in zip(pool.outside, pool.outside_candidates, strict=True)]
    if pool.climatology is not None:
        return (
            f"It mixes {len(members)} of {n_candidates} candidates, fitted {times}, with the training responses "
            f"themselves: {'; '.join(members)}; {pool.climatology.weight:.0%} {CLIMATOLOGY}."
        )
    return f"It mixes {len(members)} of {n_candidates} candidates, each fitted {times}: {'; '.join(members)}."


def reference_crps(observed: Array, rows: Rows, weights: Array | None, units: Array) -> float:
    """CRPS of all responses (n, d) as one distribution for ``rows``, in ``units`` (d,), averaged over responses."""
    losses = climatology_crps(observed, observed[rows]) / units
    return float(np.mean(np.average(losses, axis=0, weights=None if weights is None else weights[rows])))
