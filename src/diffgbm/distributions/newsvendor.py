"""The newsvendor problem: how much to order if a unit too few and a unit too many cost different amounts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diffgbm._util.optional import need
from diffgbm._util.types import Array
from diffgbm.distributions.base import Distribution
from diffgbm.distributions.scalar import PredictiveDistribution
from diffgbm.distributions.support import Support


@dataclass(frozen=True, eq=False)
class Order:
    """Order quantities with the lowest expected cost; what ``newsvendor`` returns.

    Attributes
    ----------
    quantity : ndarray of shape (n,) or (n, d)
        What to order.
    expected_cost : ndarray of shape (n,) or (n, d)
        Expected cost of that order.
    critical_ratio : ndarray of shape (n,) or (n, d)
        Level of the quantile that is the optimal order.
    names : tuple of str
        The responses.
    index : object
        Row labels of the frame the rows came from.
    """

    quantity: Array
    expected_cost: Array
    critical_ratio: Array
    names: tuple[str, ...] = field(default=("y",), repr=False)
    index: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.quantity)

    def __repr__(self) -> str:
        total, cost = self.quantity.sum(), self.expected_cost.sum()
        return f"Order({len(self)} rows, {total:,.6g} in total, expected cost {cost:,.6g})"

    def to_frame(self) -> Any:
        """Return a pandas frame with columns ``quantity``, ``expected_cost`` and ``critical_ratio``.

        Several responses have columns ``name_quantity``, ...
        """
        parts = {name: getattr(self, name) for name in ("quantity", "expected_cost", "critical_ratio")}
        if self.quantity.ndim == 2:
            parts = {f"{r}_{name}": v[:, j] for j, r in enumerate(self.names) for name, v in parts.items()}
        return need("pandas").DataFrame(parts, index=self.index)


def newsvendor(dist: Distribution, under: ArrayLike, over: ArrayLike, integer: bool | str = "auto") -> Order:
    r"""Order :math:`q = Q(c_u / (c_u + c_o))`, which has the lowest :math:`c_u E(Y - q)_+ + c_o E(q - Y)_+`.

    A unit too few costs :math:`c_u`, ``under`` (a lost sale, an idle machine), a unit too many costs :math:`c_o`,
    ``over`` (waste, storage). Expected costs are exact, without samples.

    Parameters
    ----------
    dist : PredictiveDistribution or JointDistribution
        Distribution of the demand. Each of several responses is ordered by itself; costs add up.
    under, over : float or array-like of shape (n,), for several responses (d,) or (n, d)
        Costs of a unit, the same for all rows or one for each. At least one of the two must be positive, none negative.
    integer : bool or "auto"
        Order whole units: the better of the two next to the quantile. ``"auto"`` does so if all points of the
        distribution are whole numbers.

    Returns
    -------
    Order
        Quantities, their expected costs, and the critical ratios :math:`c_u / (c_u + c_o)`.

    References
    ----------
    Arrow, Harris & Marschak (1951), Optimal inventory policy, Econometrica 19.

    Examples
    --------
    Demand is 0, 1, ..., 9 with equal probabilities. A lost sale costs 3, a leftover 1.

    >>> from diffgbm import PredictiveDistribution, newsvendor
    >>> demand = PredictiveDistribution.from_points([range(10)])
    >>> order = newsvendor(demand, under=3.0, over=1.0)
    >>> order.quantity, order.expected_cost.round(2), order.critical_ratio
    (array([7.]), array([3.7]), array([0.75]))
    """
    if not (isinstance(integer, (bool, np.bool_)) or integer == "auto"):
        raise ValueError(f"integer must be True, False or 'auto'; got {integer!r}.")
    costs = _costs("under", under, dist.shape), _costs("over", over, dist.shape)
    if np.any(costs[0] + costs[1] == 0.0):
        raise ValueError("under and over are both 0 somewhere: any order is optimal there. Give one of them a cost.")
    several = len(dist.shape) == 2
    parts = [
        _ordered(marginal, costs[0][:, j], costs[1][:, j], integer) if several else _ordered(marginal, *costs, integer)
        for j, marginal in enumerate(dist.marginals())
    ]
    quantity, cost = (np.stack(each, axis=1) if several else each[0] for each in zip(*parts, strict=True))
    names = tuple(marginal.name for marginal in dist.marginals())
    return Order(quantity, cost, costs[0] / (costs[0] + costs[1]), names, dist.index)


def _ordered(dist: PredictiveDistribution, under: Array, over: Array, integer: bool | str) -> tuple[Array, Array]:
    """Return the quantities and expected costs of one response, shape (n,) each."""

    def cost(quantity: Array) -> Array:
        excess = dist.mean_excess(quantity)
        # E(q - Y)+ = q - E Y + E(Y - q)+; rounding may leave it just below zero
        return under * excess + over * np.maximum(quantity - mean + excess, 0.0)

    counts = bool(np.all(dist.values == np.round(dist.values)))
    if counts and dist.source is None:
        # a count is where it is, not between two counts
        dist = replace(dist, support=Support(atoms=np.unique(dist.values)))
    mean = dist.mean()
    best = dist.quantile((under / (under + over))[:, None])[:, 0]
    if counts if integer == "auto" else integer:
        # the expected cost is convex in the order
        floor, ceil = np.floor(best), np.ceil(best)
        best = np.where(cost(floor) <= cost(ceil), floor, ceil)
    return best, cost(best)


def _costs(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    given = np.asarray(value, dtype=np.float64)
    if not np.all(np.isfinite(given) & (given >= 0.0)):
        raise ValueError(f"{name} must be a cost of a unit, a number >= 0; got {value!r}.")
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        raise ValueError(f"{name} must be one cost, or one for each of {shape}; got shape {given.shape}.") from None
