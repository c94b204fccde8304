"""The summary of an automatic fit in two sentences."""

from __future__ import annotations

from diffgbm.auto.final_models import Pool
from diffgbm.auto.leaderboard import Leaderboard
from diffgbm.auto.pooled_model import PooledModel
from diffgbm.data.records import Records


def summary(
    pool: Pool, model: PooledModel, leaderboard: Leaderboard, crps: float, cut: bool, repetition: Records
) -> str:
    """Say what was chosen and how good it is on unseen rows.

    Parameters
    ----------
    pool : Pool
        Members and weights.
    model : PooledModel
        The same, with shapes and correction.
    leaderboard : Leaderboard
        What was tried.
    crps : float
        Out-of-bag CRPS in units of the response's standard deviation.
    cut : bool
        Whether the time limit left any work out.
    repetition : Records
        How the rows of the table repeat.
    """
    members = [f"{w:.0%} {c}" for w, c in zip(pool.weights, pool.candidates, strict=True)]
    extra = [f"kept to {shape}" for shape in model.shapes if shape]
    if model.atoms is not None:
        extra += [f"beside atoms at {', '.join(f'{value:g}' for value in model.atoms.values)}"]
    extra += ["recalibrated"] if model.correction is not None else []
    bags = max(len(member.bags) for member in pool.members)
    return (
        f"Of {leaderboard.n_candidates} candidates the pool holds {'; '.join(members)}, in {bags} bag(s)"
        f"{', ' + ', '.join(extra) if extra else ''}. "
        f"On unseen rows its CRPS is {crps * leaderboard.unit:.4g}, {crps:.1%} of the response's standard deviation"
        f"{', and the time limit cut the fit short' if cut else ''}."
        f"{'' if repetition.kind == 'distinct' else f' {repetition}'}"
    )
