"""The families of the paper's tables, behind one protocol: ``fit(X, y)`` and ``sample(X, n) -> (n, rows)``.

Importing this package imports none of the packages that the external families need.
"""

from __future__ import annotations

from benchmarks.families import card, catboost, deep_ensemble, ibug, ngboost, qreg_lightgbm
from benchmarks.families.base import Family, Model
from benchmarks.families.diffgbm_rows import ROWS

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        *ROWS,
        qreg_lightgbm.FAMILY,
        catboost.FAMILY,
        ngboost.FAMILY,
        deep_ensemble.FAMILY,
        ibug.FAMILY,
        card.FAMILY,
    )
}
"""All families by name, in the paper's order."""

HEADLINE = (
    "published",
    "score_flex_sde",
    "flow_vp",
    "qreg_lightgbm",
    "catboost",
    "ngboost",
    "deep_ensemble",
    "ibug",
    "card",
)
"""The nine families of the paper's headline table."""

__all__ = ["FAMILIES", "HEADLINE", "Family", "Model"]
