"""Numbers of a report as text."""

from __future__ import annotations

import math

MINUS, NONE = "\N{MINUS SIGN}", "\N{EN DASH}"


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with ``digits`` significant digits and commas between thousands."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0.0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if exponent < -4 or exponent >= 9:
        return f"{value:.{digits - 1}e}".replace("-", MINUS)
    decimals = max(0, digits - 1 - exponent)
    text = f"{value:,.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", MINUS)


def aligned(value: float | None, like: float, digits: int = 4) -> str:
    """Format a number with as many decimals as ``digits`` significant digits of ``like``, so that columns align."""
    if value is None or not math.isfinite(value):
        return NONE
    if like == 0.0 or not 1e-4 <= abs(like) < 1e9:
        return number(value, digits)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(like))))
    return f"{value:,.{decimals}f}".replace("-", MINUS)


def percent(value: float | None, digits: int = 1) -> str:
    """Format a proportion as a percentage."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{100.0 * value:.{digits}f}%".replace("-", MINUS)


def size(n_bytes: int) -> str:
    """Format a number of bytes."""
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1e3:.0f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"


def shortened(text: str, length: int) -> str:
    """Shorten a text to ``length`` characters by cutting its middle: names often differ at their ends."""
    if len(text) <= length:
        return text
    tail = (length - 1) // 3
    return f"{text[: length - 1 - tail].rstrip()}…{text[len(text) - tail :].lstrip()}"
