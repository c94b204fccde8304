"""What a single fit says while it runs: first-stage fits, then boosting rounds."""

from __future__ import annotations

from dataclasses import dataclass, field

from diffgbm._util.progress import StatusLine


@dataclass
class FitProgress:
    """Counts the steps of a fit and says them in words.

    Attributes
    ----------
    line : StatusLine
        Where it is said.
    n_fits : int
        First-stage fits to come.
    n_boosters : int
        Boosters to come: one for each bag and response.
    rounds : int
        Boosting rounds of each, at most.
    patience : int or None
        Rounds without improvement that end a booster.
    """

    line: StatusLine
    n_fits: int
    n_boosters: int
    rounds: int
    patience: int | None
    fits: int = field(init=False, default=0)
    boosters: int = field(init=False, default=0)
    round: int = field(init=False, default=0)

    def first_stage_fit(self) -> None:
        """Count a fit of a first-stage model."""
        if self.fits == 0:
            self.line.stage(f"fitting first-stage models (1 of {self.n_fits} fits done)")
        self.fits += 1
        self.line.detail(f"fitting first-stage models ({self.fits} of {self.n_fits} fits done)")

    def tick(self, loss: float | None) -> None:
        """Count a boosting round with its validation loss (NaN if there is none); ``None`` ends a booster."""
        if loss is None:
            self.boosters, self.round = self.boosters + 1, 0
            return
        self.round += 1
        which = f" for model {self.boosters + 1} of {self.n_boosters}" if self.n_boosters > 1 else ""
        if self.patience is None:
            text = f"boosting{which}: round {self.round} of {self.rounds}"
        else:
            text = (
                f"boosting{which}: round {self.round}, validation loss {loss:.4g}; ends after {self.patience} rounds "
                f"without improvement, or at {self.rounds}"
            )
        if self.round == 1:
            self.line.stage(text)
        else:
            self.line.detail(text)
