"""Progress: bars that count, a line that says what is being done, and notes; all of them on the standard error."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Any

from tqdm.auto import tqdm

BETWEEN = 0.1
"""Seconds between two drawings of a status line."""


class SilentBar:
    """A bar that shows nothing. A hidden bar of tqdm starts a thread, and a process with threads should not fork."""

    n = 0

    def __enter__(self) -> SilentBar:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave nothing behind."""

    def update(self, n: float = 1) -> None:
        """Count nothing."""

    def set_postfix_str(self, text: str = "", refresh: bool = True) -> None:
        """Say nothing."""


def progress_bar(total: int | None, label: str, verbose: int | bool, unit: str = "it") -> Any:
    """Return a bar that counts (to ``total``); it stays silent if ``verbose`` is 0 or stderr is no terminal."""
    if not verbose:
        return SilentBar()
    return tqdm(total=total, desc=label, unit=unit, disable=None, leave=True)


def someone_watches() -> bool:
    """Whether the standard error is a terminal or a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


def note(message: str) -> None:
    """Write a line to a terminal or a notebook; nothing to a file or a pipe."""
    if someone_watches():
        print(f"diffgbm: {message}", file=sys.stderr, flush=True)


class StatusLine:
    """One line that says what is being done, and disappears at the end.

    Parameters
    ----------
    owner : str
        First word of the line.
    verbose : int
        0 shows nothing. 1 shows the line on a terminal or in a notebook. 2 writes a line for each stage where there is
        neither.
    time_used : callable, optional
        Returns the end of the line, such as "9 of 30 s"; by default the seconds since the start.
    """

    def __init__(self, owner: str, verbose: int | bool, time_used: Callable[[], str] | None = None) -> None:
        watched = bool(verbose) and someone_watches()
        self._draws, self._prints = watched, int(verbose) > 1 and not watched
        started = time.monotonic()
        self._owner = owner
        self._time_used = time_used or (lambda: f"{time.monotonic() - started:.0f} s")
        self._text, self._width, self._drawn = "", 0, -BETWEEN

    def __enter__(self) -> StatusLine:
        return self

    def __exit__(self, *error: object) -> None:
        """Wipe the line."""
        if self._width:
            self._write("")

    def stage(self, text: str) -> None:
        """Say what is being done from now on."""
        self._text = text
        if self._prints:
            print(self._line(), file=sys.stderr, flush=True)
        self._draw()

    def detail(self, text: str) -> None:
        """Say how far the present stage is; drawn some times a second, and only where the line is rewritten."""
        if self._draws:
            self._text = text
            self.refresh()

    def refresh(self) -> None:
        """Draw the line again, for the time that it shows."""
        if time.monotonic() - self._drawn >= BETWEEN:
            self._draw()

    def _line(self) -> str:
        return f"{self._owner}: {self._text}, {self._time_used()}"

    def _draw(self) -> None:
        if self._draws:
            self._drawn = time.monotonic()
            self._write(self._line()[: shutil.get_terminal_size().columns - 1])

    def _write(self, line: str) -> None:
        # spaces instead of an escape sequence, which not every notebook understands
        sys.stderr.write(f"\r{line}{' ' * (self._width - len(line))}{'' if line else chr(13)}")
        sys.stderr.flush()
        self._width = len(line)
