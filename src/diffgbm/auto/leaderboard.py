"""The leaderboard: what was tried, on how many rows, and how it scored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from diffgbm.auto.candidates import Candidate

ROUND = "round"
"""First word of the stage of a score from the search."""


@dataclass(frozen=True)
class Line:
    """One score of a candidate.

    Attributes
    ----------
    candidate : Candidate
        What was tried.
    stage : str
        When: ``"round 1"``, ``"bag 2"``, ``"sampler"`` or ``"final, weight 0.40"``.
    relative_crps : float
        CRPS of rows that it was not trained on, in units of the response's standard deviation.
    rows : int
        Rows that took part.
    seconds : float
        Time that it took.
    """

    candidate: Candidate
    stage: str
    relative_crps: float
    rows: int
    seconds: float


@dataclass
class Leaderboard:
    """Lines in the order in which they were written.

    Attributes
    ----------
    unit : float
        Standard deviation of the response, averaged over responses.
    lines : list of Line
        What was tried.
    """

    unit: float
    lines: list[Line] = field(default_factory=list)

    def add(self, candidate: Candidate, stage: str, crps: float, seconds: float, rows: int) -> None:
        """Add a line; ``crps`` is in units of the response's standard deviation."""
        self.lines.append(Line(candidate, stage, crps, rows, seconds))

    @property
    def n_candidates(self) -> int:
        """How many different candidates were tried."""
        return len({str(line.candidate) for line in self.lines})

    @property
    def first_scores(self) -> dict[Candidate, float]:
        """Score of each candidate in its first round of the search."""
        scores: dict[Candidate, float] = {}
        for line in self.lines:
            if line.stage.startswith(ROUND):
                scores.setdefault(line.candidate, line.relative_crps)
        return scores

    def records(self) -> list[dict[str, Any]]:
        """Return the lines as plain values."""
        return [
            {
                "model": str(line.candidate),
                "stage": line.stage,
                "crps": line.relative_crps * self.unit,
                "relative_crps": line.relative_crps,
                "rows": line.rows,
                "seconds": round(line.seconds, 2),
            }
            for line in self.lines
        ]
