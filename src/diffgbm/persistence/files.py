"""Model files: one compressed file that holds data only, and is read without running any of it.

A file is a zip archive of ``manifest.json`` (a list of objects that refer to earlier ones: tables, first-stage models,
noise models, estimators), the boosters in LightGBM's text form and arrays in numpy's. It ends in the SHA-256 of all
the bytes before. Nothing is unpickled and nothing is written to disk when it is read. Every number survives exactly,
so that a loaded model draws the same samples to the last bit. A user's own regressors are held by skops; their types
must be trusted by name when the file is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from diffgbm._util.atomic_files import replacing
from diffgbm.persistence.archive import ModelFileError, pack, unpack

if TYPE_CHECKING:
    from diffgbm.estimators.auto import AutoDiffGBM
    from diffgbm.estimators.conformal import ConformalDiffGBM
    from diffgbm.estimators.diffgbm import DiffGBM
    from diffgbm.persistence.store import Kind

    AnyEstimator: TypeAlias = DiffGBM | AutoDiffGBM | ConformalDiffGBM

__all__ = ["ModelFileError", "load", "pack", "save", "unpack"]

FORMAT = "diffgbm-model"
VERSION = 2
"""Version of the layout; files of this and all earlier versions can be read."""


def save(estimator: AnyEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to ``path``, whole or not at all."""
    content = pack(_entries(estimator))
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def load(path: str | os.PathLike[str], trusted: Iterable[str | type] = ()) -> Any:
    """Read a model that ``save`` of an estimator wrote.

    Nothing in the file is run. A file that is cut short, altered, made up or of a later version is refused.

    Parameters
    ----------
    path : str or path
        The model file.
    trusted : iterable of str or type
        Types of regressors, by their full names, that a file may hold besides those of the library and those that
        skops takes for harmless. A file that holds others is refused with a message that names them. Trust a type
        only if you trust whoever wrote the file.

    Returns
    -------
    DiffGBM, AutoDiffGBM or ConformalDiffGBM
        The fitted estimator; its samples and laws are those of the saved one, to the last bit. Out-of-bag laws of the
        training rows are not stored.

    Raises
    ------
    ModelFileError
        If the file is anything but a model file that this version can read.
    """
    from diffgbm.persistence.store import Reader

    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no model file {str(path)!r}.")
    try:
        entries = unpack(file.read_bytes())
        objects = _objects(_manifest(entries))
        kinds = _kinds()
        part = Reader(entries, {kind.name: kind for kind in kinds.values()}, trusted).build(objects)
        if part.kind not in ("diffgbm", "auto", "conformal"):
            raise ValueError(f"it ends in a {part.kind}, which is no estimator")
        return part.value
    except ModelFileError as error:
        raise ModelFileError(f"{path} {error}") from None
    except KeyError as error:
        raise ModelFileError(f"{path} is damaged: it lacks {error}.") from None
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: {' '.join(str(error).split())[:300]}.") from None


def _manifest(entries: Mapping[str, bytes]) -> dict[str, Any]:
    if "manifest.json" not in entries:
        raise ModelFileError("is not a model file: it has no manifest.")
    try:
        manifest = json.loads(entries["manifest.json"])
    except (ValueError, RecursionError):
        raise ModelFileError("is damaged: its manifest is not JSON.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError(f"is not a model file: its manifest does not say {FORMAT!r}.")
    found = manifest.get("version")
    if type(found) is not int or not 1 <= found <= VERSION:
        raise ModelFileError(
            f"has format version {found!r}; this diffgbm ({version('diffgbm')}) reads versions up to {VERSION}. "
            "Install a newer diffgbm."
        )
    return manifest


def _objects(manifest: Mapping[str, Any]) -> list[Any]:
    from diffgbm.persistence.values import of_type
    from diffgbm.persistence.version1 import upgraded

    return upgraded(manifest) if manifest["version"] == 1 else of_type(manifest, "objects", list)


def _entries(estimator: AnyEstimator) -> dict[str, bytes]:
    """Lay out a fitted estimator as the entries of a file."""
    from diffgbm.persistence.store import Writer

    kinds = _kinds()

    def kind_of(value: Any) -> Kind:
        if type(value) not in kinds:
            raise TypeError(f"a model file cannot hold a {type(value).__module__}.{type(value).__qualname__}.")
        return kinds[type(value)]

    writer = Writer(kind_of)
    writer.put(estimator)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": {name: version(name) for name in ("diffgbm", "lightgbm", "numpy", "scikit-learn")},
        "types": sorted(writer.types),
        "objects": writer.objects,
    }
    return {"manifest.json": json.dumps(manifest).encode(), **writer.entries}


def _kinds() -> dict[type, Kind]:
    """Everything that a file can hold; imported when needed, because estimators save themselves."""
    from diffgbm.persistence import estimators, models, predictors

    return {**predictors.KINDS, **models.KINDS, **estimators.KINDS}
