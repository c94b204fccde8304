"""Model files with something changed and a checksum that is right: what a stranger could write."""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diffgbm import ModelFileError, load
from diffgbm.persistence import files as persistence

DATA = Path(__file__).parents[1] / "fixtures"

Change = Callable[[dict[str, Any], dict[str, bytes]], object]


def altered(path: Path, change: Change, folder: Path | None = None) -> Path:
    """Write the file again with a changed manifest or changed entries."""
    entries = persistence.unpack(path.read_bytes())
    before = entries["manifest.json"]
    manifest = json.loads(before)
    change(manifest, entries)
    if entries["manifest.json"] == before:
        entries["manifest.json"] = json.dumps(manifest).encode()
    out = (folder or path.parent) / "altered.dgbm"
    out.write_bytes(persistence.pack(entries))
    return out


def signed(body: bytes) -> bytes:
    """Archive bytes whose last 64 are made the right checksum."""
    return body[:-64] + hashlib.sha256(body[:-64]).hexdigest().encode()


def archive(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A signed zip of any entries, duplicates included."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as file:
        warnings.simplefilter("ignore")  # of duplicate names
        for name, content in entries:
            file.writestr(name, content)
        file.comment = b"0" * 64
    return signed(buffer.getvalue())


def object_of(manifest: dict[str, Any], kind: str) -> dict[str, Any]:
    """The first object of a kind."""
    return next(stored for stored in manifest["objects"] if stored["kind"] == kind)


def set_at(value: Any, where: str, new: Any) -> None:
    """Set a value within nested lists and dicts; ``where`` may begin with ``kind:`` of an object."""
    kind, colon, rest = where.partition(":")
    if colon:
        value, where = object_of(value, kind), rest
    *parents, last = where.split(".")
    for name in parents:
        value = value[int(name)] if isinstance(value, list) else value[name]
    value[int(last) if isinstance(value, list) else last] = new


def refused(name: str, change: Change, tmp_path: Path, message: str = "") -> None:
    """The fixture ``name``, changed, must be refused as damaged."""
    path = altered(DATA / f"version2_{name}.dgbm", change, tmp_path)
    with pytest.raises(ModelFileError, match=rf"altered\.dgbm is damaged: .*{message}.*\.$"):
        load(path)


class Trap:
    """Unpickling this leaves a mark."""

    def __reduce__(self):
        return os.mkdir, ("trapped",)
