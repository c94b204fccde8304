"""The rows whose densities a report draws: which they are, and their observations, scores and pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffgbm._util.types import Rows as Positions
from diffgbm.reporting.scores import RowScores
from diffgbm.reporting.smooth import Picture


@dataclass(frozen=True, eq=False)
class ShownRow:
    """A row that is drawn: its position, observation, score, interval and distribution."""

    position: int
    observed: float
    crps: float
    interval: tuple[float, float]
    picture: Picture


def named_rows(scores: RowScores) -> dict[str, int]:
    """Positions of the typical, best, worst, narrowest and widest row."""
    crps, width = scores.values["crps"], scores.width()
    centred = [
        np.abs(2.0 * np.argsort(np.argsort(v, kind="stable"), kind="stable") - len(v) + 1) for v in (crps, width)
    ]
    return {
        "typical": int(np.argmin(np.maximum(*centred))),
        "best": int(np.argmin(crps)),
        "worst": int(np.argmax(crps)),
        "narrowest": int(np.argmin(width)),
        "widest": int(np.argmax(width)),
    }


def random_rows(n: int, seed: int) -> Positions:
    """Positions of all rows in random order: the first ones are drawn."""
    return np.random.default_rng([seed, 3]).permutation(n)


def rows_to_show(named: dict[str, int], candidates: Positions, most: int) -> Positions:
    """Sorted positions of the named rows and of the first other candidates, ``most`` together if there are as many."""
    first = np.unique(list(named.values()))
    others = candidates[~np.isin(candidates, first)]
    return np.sort(np.concatenate([first, others[: max(0, most - len(first))]])).astype(np.intp)


def shown_rows(pictures: dict[int, Picture], scores: RowScores, positions: Positions) -> tuple[ShownRow, ...]:
    """Prepare the rows at ``positions`` (k,) for drawing."""
    return tuple(
        ShownRow(
            int(i),
            float(scores.y[i]),
            float(scores.values["crps"][i]),
            (float(scores.ends[i, 0]), float(scores.ends[i, 1])),
            pictures[int(i)],
        )
        for i in positions
    )
