"""Progress of a run: a line for each finished unit, a progress bar on a terminal, the remaining time."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tqdm.auto import tqdm

from benchmarks.units import Report, Unit

WORKED = ("tuned", "evaluated", "failed", "stopped")
"""States whose seconds enter the estimate of the remaining time."""


@dataclass
class Pace:
    """Seconds per row of data, by action and family. A family without a finished unit uses the mean of all."""

    seconds: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    rows: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))

    def note(self, unit: Unit, seconds: float) -> None:
        """Add a finished unit."""
        for family in (unit.family, ""):
            self.seconds[unit.action, family] += seconds
            self.rows[unit.action, family] += unit.rows

    def of(self, unit: Unit) -> float | None:
        """Estimate the seconds of a unit; ``None`` before any of its kind is finished."""
        key = (unit.action, unit.family) if (unit.action, unit.family) in self.rows else (unit.action, "")
        return self.seconds[key] / self.rows[key] * unit.rows if key in self.rows else None

    def left(self, units: Iterable[Unit], jobs: int) -> float | None:
        """Estimate the seconds of all these units, ``jobs`` at a time."""
        estimates = [self.of(unit) for unit in units]
        known = [estimate for estimate in estimates if estimate is not None]
        if not known:
            return 0.0 if not estimates else None
        return sum(known) / len(known) * len(estimates) / jobs


class Monitor:
    """Shows progress on stderr.

    Parameters
    ----------
    units : iterable of Unit
        All expected units.
    jobs : int
        Processes.
    """

    def __init__(self, units: Iterable[Unit], jobs: int) -> None:
        self.expected = dict.fromkeys(units)
        self.jobs = jobs
        self.pace = Pace()
        self.bar = tqdm(
            total=len(self.expected), disable=None, bar_format="{n_fmt}/{total_fmt} |{bar}| {elapsed}{postfix}"
        )
        self.total, self.finished = len(self.expected), 0

    def ended(self, unit: Unit, report: Report) -> None:
        """Count and show a unit that ended."""
        self.expected.pop(unit, None)
        self.finished += 1
        if report.state in WORKED:
            self.pace.note(unit, report.seconds)
        left = duration(self.pace.left(self.expected, self.jobs))
        self.bar.update()
        self.bar.set_postfix_str(left)
        if report.state != "kept":
            count = "" if self.bar.disable is False else f" [{self.finished}/{self.total}, {left}]"
            self.say(f"{unit}: {report.state}, {report.text} ({report.seconds:.1f} s){count}")

    def dropped(self, units: Iterable[Unit]) -> None:
        """Remove units from the expected ones."""
        gone = [unit for unit in units if unit in self.expected]
        for unit in gone:
            del self.expected[unit]
        self.total -= len(gone)
        self.bar.total = self.total
        self.bar.refresh()

    def say(self, text: str) -> None:
        """Show a line, above the bar if there is one."""
        self.bar.write(text, file=sys.stderr)
        sys.stderr.flush()

    def close(self) -> None:
        """End the bar."""
        self.bar.close()


def duration(seconds: float | None) -> str:
    """Return an estimate in words."""
    if seconds is None:
        return "time left unknown"
    if seconds < 90.0:
        return f"about {seconds:.0f} s left"
    return f"about {seconds / 60.0:.0f} min left" if seconds < 5400.0 else f"about {seconds / 3600.0:.1f} h left"
