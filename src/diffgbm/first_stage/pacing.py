r"""The learning rate that suits the time that is left.

Boosting with learning rate :math:`\eta` for :math:`T` rounds leaves about :math:`(1 - \eta)^T \approx e^{-\eta T}` of
what trees can explain. If a deadline allows so few rounds that :math:`\eta T` is small, a larger rate is better by far:
the trees are coarser, but the model is not half-way between the mean and its goal.

References
----------
.. [1] J. H. Friedman (2001). Greedy function approximation: A gradient boosting machine. Annals of Statistics 29(5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from diffgbm._util.deadline import Deadline

ENOUGH = 8.0
"""Sum of the learning rates of all rounds that is aimed at: next to nothing is left of what trees can explain."""
LARGEST_RATE = 0.3
"""Learning rate at most."""
MEASURED_ROUNDS = 3
"""Rounds whose time is measured before the rate changes."""
LEAST_CHANGE = 1.1
"""Factor by which the rate changes at least: each change costs LightGBM a little time."""


def paced_rate(usual: float, done: float, rounds_left: float) -> float:
    """Return the learning rate of the next rounds: the usual one if that is enough, at most ``LARGEST_RATE``.

    Parameters
    ----------
    usual : float
        The rate without a deadline.
    done : float
        Sum of the rates so far.
    rounds_left : float
        Rounds that there is time for.
    """
    return max(usual, min(LARGEST_RATE, (ENOUGH - done) / max(rounds_left, 1.0)))


@dataclass(eq=False)
class Pace:
    """A callback of LightGBM that raises the learning rate if the deadline allows too few rounds.

    A booster that has time for ``ENOUGH`` is trained as if there were no deadline, to the bit.

    Attributes
    ----------
    deadline : Deadline
        When training ends.
    usual : float
        The learning rate without a deadline.
    """

    deadline: Deadline
    usual: float
    start: float = field(init=False)
    rate: float = field(init=False)
    done: float = field(init=False, default=0.0)
    order: int = field(init=False, default=5)

    def __post_init__(self) -> None:
        self.start, self.rate = self.deadline.now(), self.usual

    def __call__(self, env: Any) -> None:
        """Measure the rounds so far and set the rate of the next; called by LightGBM after each round."""
        self.done += self.rate
        rounds = env.iteration - env.begin_iteration + 1
        if rounds < MEASURED_ROUNDS:
            return
        seconds = (self.deadline.now() - self.start) / rounds
        rate = paced_rate(self.usual, self.done, self.deadline.left / max(seconds, 1e-9))
        if max(rate, self.rate) > LEAST_CHANGE * min(rate, self.rate):
            env.model.reset_parameter({"learning_rate": rate})
            self.rate = rate


def pacing(deadline: Deadline, params: dict[str, Any]) -> list[Callable[[Any], None]]:
    """Return the callbacks that keep a booster with LightGBM's ``params`` to a deadline, if it is set."""
    return [Pace(deadline, params["learning_rate"])] if deadline.is_set else []
