"""Names of the families in tables and figures."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.families import FAMILIES, HEADLINE

HEADLINE_FAMILIES = HEADLINE
"""The nine rows of the headline, in its order."""

OURS = ("score_flex_sde", "score_flex_ode", "score_plus", "flow_vp", "flow_linear", "flow_trig")
"""Rows that are compared with the published one."""

FAMILY_ORDER = tuple(FAMILIES)
"""All families, DiffGBM's first."""

DIFFUSION = frozenset(("published", *OURS))
"""Families above the rule that separates DiffGBM's rows from the others."""

_SHORT = {
    "published": "Published",
    "score_flex_sde": "Score-flex",
    "score_flex_ode": "Flex ODE",
    "score_plus": "Score+",
    "flow_vp": "FM",
    "flow_linear": "FM linear",
    "flow_trig": "FM trig.",
    "qreg_lightgbm": "QReg",
    "catboost": "CatBoost",
    "ngboost": "NGBoost",
    "deep_ensemble": "Ensemble",
    "ibug": "iBUG",
    "card": "CARD",
}


def long(family: str) -> str:
    """Return the paper's name of a family; one that the paper does not have keeps its key."""
    return FAMILIES[family].label if family in FAMILIES else family


def short(family: str) -> str:
    """Return a name that fits a column header."""
    return _SHORT.get(family, family)


def listed(names: Sequence[str]) -> str:
    """Join names by commas; ``none`` if there are none."""
    return ", ".join(names) or "none"


def numbers(values: Sequence[int]) -> str:
    """Write distinct integers in order, runs of three or more as ranges: ``1-5``, ``1, 2, 5``."""
    runs: list[list[int]] = []
    for value in sorted(set(values)):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
