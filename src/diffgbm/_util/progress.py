"""Progress bars: shown on a terminal if ``verbose`` is set, silent otherwise."""

from __future__ import annotations

from typing import Any

from tqdm.auto import tqdm


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
