"""Studies without data: computed from the library's own paths and targets, and from small LightGBM fits.

Each module has ``MEASURES`` and ``arms(seed, **settings)``, which returns numbers and curves by arm.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def module_of(kind: str) -> Any:
    """Return the module of a kind of study."""
    return import_module(f"benchmarks.paper_studies.computed.{kind}")
