"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    """Return a table in Markdown; numbers with commas."""
    shown = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    body = [head, tuple("---" for _ in head), *shown]
    return "".join(f"| {' | '.join(row)} |\n" for row in body)
