"""Time: which share of the limit each kind of work may use, and how much is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from diffgbm._util.deadline import NEVER, Deadline


@dataclass(frozen=True)
class Budget:
    """Shares of the time limit, counted from the start of the fit.

    Attributes
    ----------
    scale : float
        Share of the comparison of scales on which a skewed response is learned.
    atoms : float
        Share of the classifiers of atoms.
    first_stage_trials : float
        After this share no further first-stage model is tried on a few rows.
    first_stage_models : float
        After this share no further first-stage model is fitted on all rows, LightGBM excepted.
    conditional_cdf : float
        After this share the conditional distribution function is not fitted.
    first_round, last_round : float
        Shares by which the first and the last round of the search end; those between are evenly spaced.
    size_round_begins, size_round_ends : float
        Sizes are compared only if this comparison begins before the first share; it ends by the second.
    members : float
        Share of what is left after the first stage for members from outside, evenly divided among them.
    binning, scoring : float
        Shares that binning the rows of a bag and predicting those that it holds out may take on a large table.
    training : float
        Share by which all training ends. Predictions for out-of-bag rows and recalibration take the rest.
    reserve : float
        Seconds that are kept for this rest at least, up to ``MAX_RESERVE`` of the limit.
    """

    scale: float = 0.15
    atoms: float = 0.1
    first_stage_trials: float = 0.1
    first_stage_models: float = 0.4
    conditional_cdf: float = 0.5
    first_round: float = 0.6
    last_round: float = 0.7
    size_round_begins: float = 0.72
    size_round_ends: float = 0.76
    members: float = 0.35
    binning: float = 0.2
    scoring: float = 0.1
    training: float = 0.9
    reserve: float = 1.5

    def rounds(self, count: int) -> list[float]:
        """Return the shares by which each of ``count`` rounds ends."""
        return [float(share) for share in np.linspace(self.first_round, self.last_round, count)]


BUDGET = Budget()
"""The shares that ``AutoDiffGBM`` uses."""

MAX_RESERVE = 0.35
"""The largest share of the limit that is kept for what follows training."""

LEAST_REST = 0.1
"""The smallest share of the limit that stays after seconds are set aside: a fit that took too long cannot take all."""


@dataclass
class Clock:
    """Counts down from ``limit`` seconds; ``None`` never ends.

    The clock only decides which work is left out. Two fits that both have enough time are equal.

    Attributes
    ----------
    limit : float or None
        Seconds.
    now : callable
        Returns the time in seconds.
    budget : Budget
        Which share of the limit each kind of work may use.
    cut : bool
        Whether any work was left out for lack of time.
    """

    limit: float | None
    now: Callable[[], float] = time.monotonic
    budget: Budget = BUDGET
    start: float = field(init=False)
    cut: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.start = self.now()

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return self.now() - self.start

    @property
    def left(self) -> float:
        """Seconds left."""
        return float("inf") if self.limit is None else self.limit - self.spent

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Do not count the time of a block."""
        before = self.now()
        yield
        self.start += self.now() - before

    def set_aside(self, seconds: float) -> None:
        """Take seconds that were spent out of the limit: all shares are shares of the rest, of which some is left."""
        if self.limit is not None:
            self.limit = max(self.limit - seconds, LEAST_REST * self.limit)
            self.start += seconds

    def __str__(self) -> str:
        return f"{self.spent:.0f} s" if self.limit is None else f"{self.spent:.0f} of {self.limit:.0f} s"

    @property
    def training(self) -> float:
        """Share by which all training ends: that of the budget, and earlier under a short limit."""
        if self.limit is None:
            return self.budget.training
        return min(self.budget.training, 1.0 - min(MAX_RESERVE, self.budget.reserve / self.limit))

    def deadline(self, share: float) -> Deadline:
        """Return the moment at which a share of the limit is used up."""
        return NEVER if self.limit is None else Deadline(self.start + share * self.limit, self.now)

    def fits(self, seconds: float, share: float = 1.0) -> bool:
        """Whether work of ``seconds`` fits into a share of the limit; sets ``cut`` if it does not."""
        if self.limit is None:
            return True
        ok = self.spent + seconds <= share * self.limit
        self.cut = self.cut or not ok
        return ok

    def over(self, share: float = 1.0) -> bool:
        """Whether a share of the limit is used up; sets ``cut`` if it is."""
        return not self.fits(0.0, share)
