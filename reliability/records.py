"""Recorded figures as lines of JSON: one file for each command, one line for each run."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def record(name: str, figures: Mapping[str, Any], folder: Path = RESULTS) -> None:
    """Add a line of figures to the file of a command."""
    folder.mkdir(parents=True, exist_ok=True)
    line = {"date": datetime.now(timezone.utc).strftime("%Y-%m-%d"), **_versions(), **figures}
    with (folder / f"{name}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def lines(name: str, folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Return all lines of a command, oldest first."""
    path = folder / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), "lightgbm": version("lightgbm"), "numpy": version("numpy")}
