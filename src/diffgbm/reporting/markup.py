"""HTML elements of the page, made from plain text, which is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def _box(style: str) -> str:
    return f'<rect x="0" y="2" width="24" height="10" class="{style}"/>'


def _across(style: str) -> str:
    return f'<line x1="0" y1="7" x2="24" y2="7" class="{style}"/>'


_SWATCHES = {
    "bar": _box("bar"),
    "band": _box("band"),
    "nominal": _across("nominal"),
    "model": _across("curve") + '<circle cx="12" cy="7" r="4" class="dot"/>',
    "means": _across("curve strong") + '<circle cx="12" cy="7" r="4" class="dot strong"/>',
    "faint": '<circle cx="8" cy="7" r="3" class="faint"/><circle cx="17" cy="5" r="3" class="faint"/>',
    "other": '<polygon points="7,7 12,2 17,7 12,12" class="other"/>',
    "climate": _box("climate"),
    "area": _box("area"),
    "inner": _box("area") + _box("inner"),
    "truth": '<line x1="12" y1="2" x2="12" y2="14" class="truth"/><circle cx="12" cy="4" r="4" class="truth-dot"/>',
}
"""Symbols of the legends."""


def section(key: str, title: str, body: str) -> str:
    """Make a section with a heading; ``body`` is HTML."""
    return (
        f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{escape(title)}</h2>{body}</section>'
    )


def pair(figures: Iterable[str]) -> str:
    """Place figures side by side where the page is wide enough."""
    return f'<div class="pair">{"".join(figures)}</div>'


def note(text: str) -> str:
    """Make a paragraph in small type; ``text`` is HTML."""
    return f'<p class="note">{text}</p>'


def figure(title: str, caption: str, key: Sequence[tuple[str, str]], drawn: str) -> str:
    """Make a figure with its title, caption and legend; ``drawn`` is SVG."""
    below = (f"<p>{escape(caption)}</p>" if caption else "") + (legend(key) if key else "")
    return f"<figure><figcaption><h3>{escape(title)}</h3>{below}</figcaption>{drawn}</figure>"


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Make a legend from pairs of a symbol and its label."""
    items = "".join(
        f'<li><svg viewBox="0 0 24 14" aria-hidden="true">{_SWATCHES[mark]}</svg>{escape(label)}</li>'
        for mark, label in entries
    )
    return f'<ul class="key">{items}</ul>'


def facts_table(lines: Iterable[tuple[str, str]], caption: str) -> str:
    """Make a table of names and values."""
    rows = "".join(f'<tr><th scope="row">{escape(a)}</th><td>{escape(b)}</td></tr>' for a, b in lines)
    return f'<table class="facts"><caption>{escape(caption)}</caption><tbody>{rows}</tbody></table>'


def table(head: Sequence[str], lines: Sequence[Sequence[str]], caption: str, plain: bool = False) -> str:
    """Make a table of numbers; the first line is bold unless the table is ``plain``.

    On a phone each line becomes a list of its cells, with the names of their columns.
    """
    columns = "".join(f'<th scope="col">{escape(cell)}</th>' if cell else "<td></td>" for cell in head)
    rows = "".join(
        f'<tr{"" if plain or i else " class=first"}><th scope="row">{escape(line[0])}</th>'
        + "".join(
            f'<td data-label="{escape(name)}">{escape(cell)}</td>'
            for name, cell in zip(head[1:], line[1:], strict=True)
        )
        + "</tr>"
        for i, line in enumerate(lines)
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table class="stack">'
        f"<caption>{escape(caption)}</caption><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
