"""From fitted boosters to an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from diffgbm._util.docs import fill_docstring
from diffgbm._util.errors import known, warn
from diffgbm.engine.base import Engine
from diffgbm.engine.collapse_engine import CollapseEngine, VectorForest
from diffgbm.engine.forest import CannotCollapse
from diffgbm.engine.lightgbm_engine import LightGBMEngine, LightGBMField
from diffgbm.engine.prune import check_states
from diffgbm.engine.stored import AnyBooster, forest_of

Kind = Literal["auto", "collapse", "lightgbm"]
Mix = Literal["mean", "mixture"]


@fill_docstring(kinds=get_args(Kind), mixes=get_args(Mix))
def make_engine(
    groups: Sequence[Sequence[AnyBooster]], kind: Kind = "auto", mix: Mix = "mean", n_jobs: int = 1
) -> Engine:
    """Make an engine of fitted boosters.

    Parameters
    ----------
    groups : sequence of sequences of lightgbm.Booster
        Bags; each has one booster for each of the ``d`` response coordinates. The feature columns of a
        booster are the ``d`` scaled states, the ``p`` columns of ``X`` and the ``q`` known columns, in this
        order. If a booster has a best iteration, trees beyond it are ignored.
    kind : {kinds}
        The fast engine if possible, the fast engine or an error, or LightGBM's own ``predict``.
    mix : {mixes}
        Average the bags' fields, or integrate sample ``i`` with bag ``i`` modulo their number.
    n_jobs : int
        Threads of LightGBM's ``predict``. The fast engine is serial: its caller divides the rows.
    """
    groups = [list(group) for group in groups]
    if not groups or not groups[0] or len({len(group) for group in groups}) > 1:
        raise ValueError("groups must hold at least one bag, each with one booster for every response")
    known("engine", kind, get_args(Kind))
    known("mix", mix, get_args(Mix))
    fields = [groups] if mix == "mean" else [[group] for group in groups]
    if kind != "lightgbm":
        try:
            return _collapse_engine(fields)
        except CannotCollapse as reason:
            if kind == "collapse":
                raise
            warn(f"sampling falls back to LightGBM's own predict, which is slow: {reason}")
    return LightGBMEngine([LightGBMField(field, n_jobs) for field in fields])


def _collapse_engine(fields: Sequence[Sequence[Sequence[AnyBooster]]]) -> CollapseEngine:
    d = len(fields[0][0])
    engine = CollapseEngine(
        [VectorForest.average([[forest_of(booster) for booster in group] for group in field]) for field in fields]
    )
    for field in engine.fields:
        check_states(field.forest, d)
    return engine
