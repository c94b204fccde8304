"""Model files: one compressed file that holds data only, and is read without running any of it.

A file is a zip archive of ``manifest.json`` (arguments, recipe, the table's schema, versions) and the boosters in
LightGBM's text form. It ends in the SHA-256 of all the bytes before. Nothing is unpickled and nothing is written to
disk when it is read. Every number survives exactly, so that a loaded model draws the same samples to the last bit.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diffgbm.engine.stored import AnyBooster, text_of
from diffgbm.schema import read_model
from diffgbm.whole_files import replacing

if TYPE_CHECKING:
    from diffgbm.estimator import DiffGBM

FORMAT = "diffgbm-model"
VERSION = 1
"""Version of the layout; files of this and all earlier versions can be read."""

LARGEST_RATIO = 200
"""Text of boosters shrinks to a third; an entry that claims to shrink more than this is no model."""
ADDED_LATER: dict[str, Any] = {"residualize_repeats": 1, "guide_features": None, "n_bags": 1, "bag_mix": "mean"}
"""Arguments that files of version 1 may lack."""
_DIGITS = 64
_NAME = re.compile(r"manifest\.json|noise/\d+\.txt|(mean|scale)/\d+/\d+\.txt")


class ModelFileError(ValueError):
    """A file that is not a model, or not one that this version can read; the message says which."""


def save(estimator: DiffGBM, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to ``path``, whole or not at all."""
    content = pack(_entries(estimator))
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def load(path: str | os.PathLike[str]) -> DiffGBM:
    """Read a model that ``DiffGBM.save`` wrote.

    Nothing in the file is run. A file that is cut short, altered, made up or of a later version is refused.

    Parameters
    ----------
    path : str or path
        The model file.

    Returns
    -------
    DiffGBM
        The fitted estimator; its samples and laws are those of the saved one, to the last bit.

    Raises
    ------
    ModelFileError
        If the file is anything but a model file that this version can read.
    """
    from diffgbm.estimator import DiffGBM

    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no model file {str(path)!r}.")
    try:
        entries = unpack(file.read_bytes())
        manifest = _manifest(entries)
        # arguments that did not exist when the file was written have the values that change nothing
        manifest["params"] = {**ADDED_LATER, **manifest["params"]}
        model = read_model(manifest, entries)
        return DiffGBM(**manifest["params"])._with_model(model)
    except ModelFileError as error:
        raise ModelFileError(f"{path} {error}") from None
    except KeyError as error:
        raise ModelFileError(f"{path} is damaged: it lacks {error}.") from None
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: {' '.join(str(error).split())[:300]}.") from None


def pack(entries: Mapping[str, bytes]) -> bytes:
    """Write a zip archive whose comment is the checksum of everything before it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            # a ZipInfo of its own has no date: the same model makes the same file
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, compresslevel=6)
        archive.comment = b"0" * _DIGITS
    body = buffer.getvalue()[:-_DIGITS]
    return body + hashlib.sha256(body).hexdigest().encode()


def unpack(content: bytes) -> dict[str, bytes]:
    """Read all entries of an archive, in no more than a multiple of its own size of memory."""
    if not content.startswith(b"PK\x03\x04"):
        raise ModelFileError("is not a model file.")
    body = content[:-_DIGITS]
    if content[-_DIGITS:] != hashlib.sha256(body).hexdigest().encode():
        raise ModelFileError("was cut short or altered: its checksum does not match its content.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            _check_entries(infos, len(content))
            return {info.filename: _entry(archive, info) for info in infos}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise ModelFileError(f"is damaged: {error}.") from None


def _entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read an entry of no more than the size that it claims, which ``ZipFile.read`` would only check afterwards."""
    with archive.open(info) as file:
        return file.read(info.file_size)


def _check_entries(infos: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Refuse strange names and entries that claim to be larger than text can be."""
    names = [info.filename for info in infos]
    if strange := [name for name in names if not _NAME.fullmatch(name)]:
        raise ModelFileError(f"is not a model file: it holds {strange[0][:80]!r}.")
    if len(set(names)) < len(names):
        raise ModelFileError("is damaged: two entries have the same name.")
    if any(info.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED) for info in infos):
        raise ModelFileError("is not a model file: it is compressed in another way.")
    claimed = sum(info.file_size for info in infos)
    if sum(info.compress_size for info in infos) > size or claimed > LARGEST_RATIO * size:
        raise ModelFileError(f"is refused: it claims to hold {claimed:,} bytes.")


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


def _entries(estimator: DiffGBM) -> dict[str, bytes]:
    """Lay out a fitted estimator as the entries of a file."""
    model = estimator.model_
    texts: dict[str, bytes] = {}

    def store(name: str, booster: AnyBooster) -> str:
        texts[name] = text_of(booster).encode()
        return name

    def store_all(kind: str, groups: Sequence[Sequence[AnyBooster]]) -> list[list[str]]:
        return [[store(f"{kind}/{j}/{k}.txt", b) for k, b in enumerate(group)] for j, group in enumerate(groups)]

    for j, level in ((j, level) for j, levels in enumerate(model.features.levels) for level in levels or ()):
        if isinstance(level, tuple):  # JSON would make it a list
            raise TypeError(f"column {j} has the category {level!r}; a model file holds numbers and text.")
    guide = None
    if model.guide is not None:
        guide = {
            "mean": store_all("mean", _boosters(model.guide.location)),
            "scale": store_all("scale", _boosters(model.guide.log_scale)),
            **{name: getattr(model.guide, name).tolist() for name in ("centre", "spread", "scale_floor")},
        }
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": {name: version(name) for name in ("diffgbm", "lightgbm", "numpy")},
        "params": _plain(estimator.get_params(deep=False), "params"),
        "features": _plain(asdict(model.features), "features"),
        "response": _plain(asdict(model.response), "response"),
        "recipe": _plain(asdict(model.recipe), "recipe"),
        "guide": guide,
        "boosters": [store(f"noise/{j}.txt", booster) for j, booster in enumerate(model.boosters)],
    }
    return {"manifest.json": json.dumps(manifest, sort_keys=True).encode(), **texts}


def _boosters(predictor: Any) -> Sequence[Sequence[AnyBooster]]:
    return () if predictor is None else predictor.models


def _plain(value: Any, where: str) -> Any:
    """Return ``value`` as JSON can hold it; refuse what it cannot."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise TypeError(f"{where} is a {type(value).__name__}, which a model file cannot hold: it holds numbers and text.")
