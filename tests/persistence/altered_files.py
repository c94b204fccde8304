"""Altered model files with a valid checksum, as an attacker could write them."""

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

import numpy as np
import pytest

from diffgbm import ModelFileError, load
from diffgbm.persistence.archive import pack, unpack
from diffgbm.persistence.npy import to_npy
from tests.persistence.fixture_models import path_of

Change = Callable[[dict[str, Any], dict[str, bytes]], object]


def altered(path: Path, change: Change, folder: Path | None = None) -> Path:
    """Write the file again with a changed manifest or changed entries."""
    entries = unpack(path.read_bytes())
    before = entries["manifest.json"]
    manifest = json.loads(before)
    change(manifest, entries)
    if entries["manifest.json"] == before:
        entries["manifest.json"] = json.dumps(manifest).encode()
    out = (folder or path.parent) / "altered.dgbm"
    out.write_bytes(pack(entries))
    return out


def signed(body: bytes) -> bytes:
    """Replace the last 64 bytes of an archive by the valid checksum."""
    return body[:-64] + hashlib.sha256(body[:-64]).hexdigest().encode()


def archive(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a signed zip of any entries, duplicates included."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as file:
        warnings.simplefilter("ignore")  # of duplicate names
        for name, content in entries:
            file.writestr(name, content)
        file.comment = b"0" * 64
    return signed(buffer.getvalue())


def object_of(manifest: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the first object of a kind."""
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
    """Assert that the fixture ``name``, changed, is refused as damaged."""
    path = altered(path_of(name), change, tmp_path)
    with pytest.raises(ModelFileError, match=rf"altered\.dgbm is damaged: .*{message}.*\.$"):
        load(path)


def wrong_values(cases: dict[str, list[tuple[str, list[Any]]]]) -> Any:
    """Parametrise a test by fixture, field and value: ``{fixture: [(field, values), ...]}``."""
    flat = [(name, where, value) for name, fields in cases.items() for where, values in fields for value in values]
    return pytest.mark.parametrize(("name", "where", "value"), flat, ids=lambda value: str(value)[:30])


def position(name: str, kind: str) -> int:
    """Return the position of the first object of a kind in a fixture."""
    with zipfile.ZipFile(path_of(name)) as file:
        stored = json.loads(file.read("manifest.json"))["objects"]
    return [each["kind"] for each in stored].index(kind)


def entry_of(manifest: dict[str, Any], where: str) -> str:
    """Return the entry that a field refers to: ``where`` is ``kind:field``."""
    kind, _, field = where.partition(":")
    value: Any = object_of(manifest, kind)
    for part in field.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def changed(where: str, make: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Return a change of the array that a field refers to."""

    def change(manifest: dict[str, Any], entries: dict[str, bytes]) -> None:
        name = entry_of(manifest, where)
        entries[name] = to_npy(make(np.load(io.BytesIO(entries[name]), allow_pickle=False)))

    return change


def array_at(index: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that sets one number of an array."""

    def make(values: np.ndarray) -> np.ndarray:
        values.flat[index] = value
        return values

    return make


class Trap:
    """Unpickling this makes a folder ``trapped``."""

    def __reduce__(self):
        return os.mkdir, ("trapped",)
