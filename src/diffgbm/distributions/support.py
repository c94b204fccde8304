"""Where a response can be: its limits, and the values that have a probability of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from diffgbm._util.types import Array, Booleans


@dataclass(frozen=True, eq=False)
class Support:
    r"""Support of a predictive distribution: atoms of positive probability, limits of everything else.

    Attributes
    ----------
    low, high : float
        Limits.
    atoms : ndarray of shape (k,)
        Sorted values of positive probability: a point of a distribution that equals one of them is a part of its
        probability mass. Other points belong to the continuous part.
    """

    low: float = -np.inf
    high: float = np.inf
    atoms: Array = field(default_factory=lambda: np.empty(0))

    def is_atom(self, values: Array) -> Booleans:
        """Whether values of any shape equal an atom."""
        return np.isin(values, self.atoms)

    @staticmethod
    def union(supports: Sequence[Support | None]) -> Support | None:
        """Return the support of a mixture: all atoms, the widest limits; ``None`` if no member has a support."""
        known = [support for support in supports if support is not None]
        if not known:
            return None
        if len(known) < len(supports):
            known.append(Support())
        atoms = np.unique(np.concatenate([support.atoms for support in known]))
        return Support(min(s.low for s in known), max(s.high for s in known), atoms)

    def negative(self) -> Support:
        """Return the support of minus the response."""
        return Support(-self.high, -self.low, -self.atoms[::-1])
