"""Model files: one compressed file that holds data only; reading it runs nothing.

A file is a zip archive of ``manifest.json`` (a list of objects that refer to earlier ones: tables, first-stage models,
noise models, estimators), the boosters in LightGBM's text form and arrays in numpy's. It ends in the SHA-256 of all
preceding bytes. Nothing is unpickled, and reading writes nothing to disk. Every number is stored exactly, so that a
loaded model draws the same samples to the last bit. Regressors of other libraries are stored by skops; you must trust
their types by name when you read the file.

This room knows the kinds of objects below the estimators. An estimator describes how it is stored (``store.Storable``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from diffgbm._util.atomic_files import replacing
from diffgbm.persistence import models, predictors, tables
from diffgbm.persistence.archive import ModelFileError, pack, unpack_within_budget
from diffgbm.persistence.limits import MemoryBudget, manifest_memory
from diffgbm.persistence.store import Kind, Reader, Storable, Writer, kind_of
from diffgbm.persistence.values import of_type

__all__ = ["KINDS", "ModelFileError", "read_file", "write_file"]

FORMAT = "diffgbm-model"
VERSION = 1
"""Version of the layout; files of this and all earlier versions can be read."""
KINDS: dict[type, Kind] = {**predictors.KINDS, **models.KINDS}
"""Kinds of objects that do not describe themselves, by class."""


def write_file(value: object, path: str | os.PathLike[str]) -> None:
    """Write an object that describes how it is stored to ``path``, whole or not at all."""
    content = _packed(value)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def read_file(
    path: str | os.PathLike[str], classes: Sequence[type[Storable]], trusted: Iterable[str | type] = ()
) -> Any:
    """Read an object of one of ``classes`` that ``write_file`` wrote.

    Parameters
    ----------
    path : str or path
        The model file.
    classes : sequence of type
        Classes that the file may hold, also inside the object.
    trusted : iterable of str or type
        Types that skops entries may hold, by their full names.

    Returns
    -------
    object
        An object of one of ``classes``.

    Raises
    ------
    ModelFileError
        If the file is anything but a model file that this version can read.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no model file {str(path)!r}.")
    stored = [kind_of(storable) for storable in classes]
    try:
        entries, budget = unpack_within_budget(file.read_bytes())
        manifest = _manifest(entries, budget)
        objects = of_type(manifest, "objects", list)
        kinds = {kind.name: kind for kind in (*KINDS.values(), *stored)}
        part = Reader(entries, kinds, trusted, budget).build(objects)
        if part.kind not in {kind.name for kind in stored}:
            raise ValueError(f"its last object is a {part.kind}, not an estimator")
        part.value.file_reading_ = tables.read_reading(manifest.get("reading"))
        return part.value
    except ModelFileError as error:
        raise ModelFileError(f"{path} {error}") from None
    except KeyError as error:
        raise ModelFileError(f"{path} is damaged: it lacks {error}.") from None
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: {' '.join(str(error).split())[:300]}.") from None


def _manifest(entries: Mapping[str, bytes], budget: MemoryBudget) -> dict[str, Any]:
    if "manifest.json" not in entries:
        raise ModelFileError("is not a model file: it has no manifest.")
    budget.take(manifest_memory(entries["manifest.json"]))
    try:
        manifest = json.loads(entries["manifest.json"])
    except (ValueError, RecursionError):
        raise ModelFileError("is damaged: its manifest is not JSON.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError(f"is not a model file: the format in its manifest is not {FORMAT!r}.")
    written = manifest.get("version")
    if type(written) is not int or not 1 <= written <= VERSION:
        raise ModelFileError(
            f"has format version {written!r}; this diffgbm ({version('diffgbm')}) reads versions up to {VERSION}. "
            "Install a newer diffgbm."
        )
    return manifest


def _packed(value: object) -> bytes:
    """Return the file of an object."""
    writer = Writer(KINDS)
    writer.put(value)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": {name: version(name) for name in ("diffgbm", "lightgbm", "numpy", "scikit-learn")},
        "types": sorted(writer.types),
        "reading": tables.write_reading(getattr(value, "file_reading_", None)),
        "objects": writer.objects,
    }
    return pack({"manifest.json": json.dumps(manifest).encode(), **writer.entries}, writer.memory)
