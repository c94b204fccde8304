"""The arguments ``support`` and ``discrete`` for a table in partitions, checked against all of its responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from diffgbm._util.types import Array
from diffgbm.data.response import read_response
from diffgbm.distributions.support import Support
from diffgbm.fitting.atoms import END_ROWS, END_SHARE
from diffgbm.fitting.limits import check_support


def check_limits(support: Any, discrete: bool, owner: str) -> tuple[float, float] | None:
    """Return the ends that ``support`` names for all responses, ``None`` for none; raise if it cannot be used."""
    one = support is None or not any(isinstance(part, (list, tuple, str)) for part in support)
    if not one:  # "auto" is a sequence of text
        raise ValueError(
            f"{owner} takes support=(low, high), the same for all responses; got support={support!r}. Give the limits, "
            "or use DiffGBM."
        )
    ends = check_support(support)
    return (-np.inf, np.inf) if ends is None and discrete else ends


def limit_counts(y: Any, ends: tuple[float, float]) -> Array:
    """Count the responses of a partition: all of them, those outside, at either end, and no whole numbers: (5, d)."""
    values = read_response(y)[1].reshape(len(y), -1)
    outside = (values < ends[0]) | (values > ends[1])
    fractions = values != np.rint(values)
    parts = (np.ones_like(values), outside, values == ends[0], values == ends[1], fractions)
    return np.array([part.sum(axis=0, dtype=np.float64) for part in parts])


def limits_of(each: Sequence[Array], ends: tuple[float, float], discrete: bool, owner: str) -> Support:
    """Return the support, by the counts of all partitions; raise where the responses contradict the arguments."""
    rows, outside, *at_ends, fractions = (np.max(part) for part in np.sum(each, axis=0))
    named = tuple(end if np.isfinite(end) else None for end in ends)
    if outside:
        raise ValueError(
            f"support={named}: {int(outside):,} of {int(rows):,} responses lie outside. Correct or drop these rows, or "
            "give wider limits."
        )
    if discrete and fractions:
        raise ValueError(
            f"discrete=True needs responses that are whole numbers; {int(fractions):,} of {int(rows):,} are not."
        )
    piled = [end for end, count in zip(ends, at_ends, strict=True) if count >= max(END_ROWS, END_SHARE * rows)]
    if piled and not discrete:
        raise ValueError(
            f"support={named}: {int(max(at_ends)):,} of {int(rows):,} responses are exactly {piled[0]:g}. Such a pile "
            f"needs a classifier, which {owner} does not fit. Use DiffGBM."
        )
    return Support(*ends, integers=bool(discrete))
