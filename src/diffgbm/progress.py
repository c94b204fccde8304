"""Progress bars: shown on a terminal when asked for, silent otherwise."""

from __future__ import annotations

from typing import Any

from tqdm.auto import tqdm


def progress_bar(total: int | None, label: str, verbose: int | bool, unit: str = "it") -> Any:
    """Return a bar that counts (to ``total``); it stays silent if ``verbose`` is 0 or stderr is no terminal."""
    return tqdm(total=total, desc=label, unit=unit, disable=None if verbose else True, leave=True)
