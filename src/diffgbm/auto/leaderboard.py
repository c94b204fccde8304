"""The leaderboard: what was tried, on how many rows, and how it scored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from diffgbm.auto.candidates import CLIMATOLOGY, Candidate

ROUND = "round"
"""First word of the stage of a score from the search."""
FINAL = "final, weight "
"""First words of the stage of a final model's score."""


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
        """How many candidates were tried; another size or sampler makes no other candidate, climatology is none."""
        return sum(line.candidate != CLIMATOLOGY for line in self.rows())

    @property
    def first_scores(self) -> dict[Candidate, float]:
        """Score of each candidate in its first round of the search."""
        scores: dict[Candidate, float] = {}
        for line in self.lines:
            if line.stage.startswith(ROUND):
                scores.setdefault(line.candidate, line.relative_crps)
        return scores

    def give_all_weight(self, candidate: Candidate) -> None:
        """Give a final model all weight of the pool."""
        for i, line in enumerate(self.lines):
            if line.stage.startswith(FINAL):
                self.lines[i] = replace(line, stage=f"{FINAL}{float(line.candidate == candidate):.2f}")

    def rows(self) -> list[Line]:
        """Return the last line of each candidate: final models by score, then those that were dropped, latest first.

        Scores of one stage average the same rows; those of different stages do not.
        """
        final = [line for line in self.lines if line.stage.startswith(FINAL)]
        families = {line.candidate.family for line in final}
        dropped: dict[Candidate, tuple[int, Line]] = {}
        stages = list(dict.fromkeys(line.stage for line in self.lines))
        for line in self.lines:
            if line.candidate.family not in families:
                dropped[line.candidate.family] = (-stages.index(line.stage), line)
        others = sorted(dropped.values(), key=lambda entry: (entry[0], entry[1].relative_crps))
        return [*sorted(final, key=lambda line: line.relative_crps), *(line for _, line in others)]

    def records(self) -> list[dict[str, Any]]:
        """Return one row of plain values for each candidate."""
        return [
            {
                "model": str(line.candidate),
                "crps": line.relative_crps * self.unit,
                "relative_crps": line.relative_crps,
                "weight": float(line.stage.removeprefix(FINAL)) if line.stage.startswith(FINAL) else 0.0,
                "outcome": _outcome(line.stage),
                "rows": line.rows,
                "seconds": round(self._seconds(line.candidate), 2),
            }
            for line in self.rows()
        ]

    def _seconds(self, candidate: Candidate) -> float:
        """Time of all lines of a candidate; the large plain one and its usual size may both be final models."""
        variants = {line.candidate.size for line in self.rows() if line.candidate.family == candidate.family}
        return sum(
            line.seconds
            for line in self.lines
            if line.candidate.family == candidate.family
            and (len(variants) == 1 or line.candidate.size == candidate.size)
        )


def _outcome(stage: str) -> str:
    """Say what became of a candidate whose last line has this stage."""
    if not stage.startswith(FINAL):
        return f"dropped after {stage}"
    return "in the pool" if float(stage.removeprefix(FINAL)) > 0.0 else "final model without weight"
