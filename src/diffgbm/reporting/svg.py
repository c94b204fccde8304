"""SVG elements of the pictures. Colours are CSS classes, so that they follow the theme of the page."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from diffgbm.reporting.formatting import number

NARROW, BROAD, FULL = 8.2, 11.0, 14.0
"""Widths of lower-case letters and digits, of capitals and symbols, and of East Asian characters, in a wide font."""


@dataclass(frozen=True)
class Frame:
    """Size and margins of a picture, and the ranges of its axes."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    width: float = 440.0
    height: float = 300.0
    left: float = 48.0
    right: float = 22.0
    top: float = 28.0
    bottom: float = 46.0

    def x(self, value: float) -> float:
        """Position of a value on the horizontal axis."""
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        """Position of a value on the vertical axis."""
        low, high = self.y_range
        return self.height - self.bottom - (value - low) / (high - low) * (self.height - self.top - self.bottom)


def text_width(text: str) -> float:
    """Estimate the width of a text in a picture."""
    full = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    broad = sum(c.isupper() or c in "<>=+@&%#~mw" for c in text)
    return FULL * full + BROAD * broad + NARROW * (len(text) - full - broad)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """At most ``most`` round numbers between ``low`` and ``high``."""
    rough = (high - low) / max(most - 1, 1)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(k * unit for k in (1.0, 2.0, 2.5, 5.0, 10.0) if k * unit >= rough * (1.0 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * k for k in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Decimal logarithms of round numbers between ``10**low`` and ``10**high``: at most eight or so."""
    steps = (1, 2, 5) if high - low < 2.5 else (1,)
    every = max(1, math.ceil((high - low) / 8.0))
    exponents = range(math.floor(low), math.ceil(high) + 1, every)
    return [e + math.log10(k) for e in exponents for k in steps if low <= e + math.log10(k) <= high]


def at(value: float) -> str:
    """Format a coordinate."""
    return f"{value:.1f}".removesuffix(".0")


def text(x: float, y: float, content: str, anchor: str = "start", style: str = "tick", more: str = "") -> str:
    """Draw a text; ``anchor`` is ``start``, ``middle`` or ``end``."""
    return f'<text x="{at(x)}" y="{at(y)}" text-anchor="{anchor}" class="{style}"{more}>{escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """Draw a straight line."""
    return f'<line x1="{at(x1)}" y1="{at(y1)}" x2="{at(x2)}" y2="{at(y2)}" class="{style}"/>'


def rect(x: float, y: float, width: float, height: float, style: str, title: str = "") -> str:
    """Draw a rectangle."""
    box = f'x="{at(x)}" y="{at(y)}" width="{at(max(width, 0.0))}" height="{at(max(height, 0.0))}"'
    return f'<rect {box} class="{style}"/>' if not title else _titled("rect", box, style, title)


def circle(x: float, y: float, radius: float, style: str, title: str = "") -> str:
    """Draw a circle."""
    box = f'cx="{at(x)}" cy="{at(y)}" r="{at(radius)}"'
    return f'<circle {box} class="{style}"/>' if not title else _titled("circle", box, style, title)


def diamond(x: float, y: float, radius: float, style: str) -> str:
    """Draw a square rotated by 45 degrees."""
    corners = [(x - radius, y), (x, y - radius), (x + radius, y), (x, y + radius)]
    return path(corners, style, closed=True)


def path(points: Iterable[tuple[float, float]], style: str, closed: bool = False) -> str:
    """Draw a line through points."""
    steps = " ".join(f"{at(x)},{at(y)}" for x, y in points)
    return f'<{"polygon" if closed else "polyline"} points="{steps}" class="{style}"/>'


def band(frame: Frame, x: np.ndarray, low: np.ndarray, high: np.ndarray, style: str) -> str:
    """Fill between two lines."""
    forward = [(frame.x(a), frame.y(b)) for a, b in zip(x, high, strict=True)]
    back = [(frame.x(a), frame.y(b)) for a, b in zip(x[::-1], low[::-1], strict=True)]
    return path([*forward, *back], style, closed=True)


def x_axis(frame: Frame, values: Sequence[float], title: str, labels: Sequence[str] | None = None) -> str:
    """Draw ticks, their labels and the title of the axis below the frame."""
    bottom = frame.height - frame.bottom
    labels = [number(value) for value in values] if labels is None else labels
    parts = [line(frame.left, bottom, frame.width - frame.right, bottom, "axis")]
    for value, label in zip(values, labels, strict=True):
        parts += [line(frame.x(value), bottom, frame.x(value), bottom + 4, "axis")]
        parts += [text(frame.x(value), bottom + 18, label, "middle")]
    middle = 0.5 * (frame.left + frame.width - frame.right)
    return "".join([*parts, text(middle, frame.height - 8, title, "middle", "label")])


def y_axis(frame: Frame, values: Sequence[float], title: str, labels: Sequence[str] | None = None) -> str:
    """Draw grid lines with their labels, and the title of the axis above the frame."""
    labels = [number(value) for value in values] if labels is None else labels
    parts = []
    for value, label in zip(values, labels, strict=True):
        parts += [line(frame.left, frame.y(value), frame.width - frame.right, frame.y(value), "grid")]
        parts += [text(frame.left - 7, frame.y(value) + 4, label, "end")]
    return "".join([*parts, text(2, 13, title, "start", "label")])


def drawing(frame: Frame, parts: Iterable[str], description: str, style: str = "") -> str:
    """Join elements into a picture; screen readers read the ``description``."""
    view = f'viewBox="0 0 {at(frame.width)} {at(frame.height)}"'
    return f'<svg {view} role="img" aria-label="{escape(description)}" class="picture {style}">{"".join(parts)}</svg>'


def _titled(shape: str, box: str, style: str, title: str) -> str:
    return f'<{shape} {box} class="{style}"><title>{escape(title)}</title></{shape}>'
