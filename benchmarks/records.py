"""Results as JSON lines: appended and synced one at a time, readable after any interruption."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from diffgbm._util.locks import lock

Record = dict[str, Any]


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Write one record to the end of the file and make sure it is on disk.

    If an interruption left an unfinished line, it is terminated first, so that only that line is lost. A lock
    serialises processes that append to the same file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(record, sort_keys=True).encode()
    with path.open("ab+") as file:
        lock(file.fileno())
        end = file.seek(0, os.SEEK_END)
        torn = False
        if end:
            file.seek(end - 1)
            torn = file.read(1) != b"\n"
        file.write((b"\n" if torn else b"") + line + b"\n")
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> Iterator[Record]:
    """Yield the records of a file in order; unreadable lines and a missing file yield nothing."""
    if not path.is_file():
        return
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def latest(path: Path, key: Sequence[str]) -> dict[tuple[Any, ...], Record]:
    """Return the last record for each value of the fields ``key``; records without these fields are skipped."""
    return {tuple(r[name] for name in key): r for r in read(path) if all(name in r for name in key)}
