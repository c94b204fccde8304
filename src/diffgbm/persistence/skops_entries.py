"""Regressors that are not the library's own, in skops' format: their types are named, and trusted by name."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

from diffgbm._util.optional import need
from diffgbm.persistence.archive import ModelFileError

OWN = frozenset(
    f"diffgbm.first_stage.{name}"
    for name in (
        "conditional_cdf.ConditionalCDF",
        "gaussian_process.GaussianProcessMean",
        "leaf_forest.ExtraTreesMean",
        "lightgbm_mean.LightGBMMean",
        "regressors.AnyRegressor",
        "stack.Stack",
    )
)
"""First-stage models that may stand among an estimator's arguments: dataclasses of numbers and text."""


def to_skops(value: Any, where: str) -> tuple[bytes, frozenset[str]]:
    """Write a value, and return it with the types that its reader will have to trust."""
    skops = need("skops.io")
    try:
        content: bytes = skops.dumps(value)
        types = skops.get_untrusted_types(data=content)
        # skops writes some things, like lambdas, that it cannot read
        skops.loads(content, trusted=types)
        return content, frozenset(types) - OWN
    except Exception as error:
        raise TypeError(f"{where} cannot be held by a model file: {error}") from error


def check_types(entries: Mapping[str, bytes], trusted: Iterable[str | type]) -> None:
    """Raise unless all types in the entries are trusted; nothing of them is imported or made."""
    skops = need("skops.io")
    if isinstance(trusted, (str, type)):
        raise ModelFileError(f"cannot be read: trusted must be a list of types, like [{trusted!r}].")
    believed = {t if isinstance(t, str) else f"{t.__module__}.{t.__qualname__}" for t in trusted}
    found: set[str] = set()
    for name, content in entries.items():
        _check_stored(name, content)
        try:
            found |= set(skops.get_untrusted_types(data=content))
        except Exception as error:
            raise ValueError(f"{name} cannot be read: {error}") from None
    if unknown := sorted(found - OWN - believed):
        raise ModelFileError(
            f"is refused: it holds objects of types that are not known to be harmless: {', '.join(unknown)}. If you "
            f"trust whoever wrote it, load it with diffgbm.load(path, trusted={unknown!r}), or on the command line "
            "with --trust and each of their names."
        )


def from_skops(name: str, content: bytes) -> Any:
    """Make the objects of an entry whose types have passed ``check_types``."""
    skops = need("skops.io")
    try:
        return skops.loads(content, trusted=skops.get_untrusted_types(data=content))
    except Exception as error:
        raise ValueError(f"{name} cannot be read: {error}") from None


def _check_stored(name: str, content: bytes) -> None:
    """Refuse an archive within the archive that is compressed once more, or whose entries overlap."""
    try:
        infos = zipfile.ZipFile(io.BytesIO(content)).infolist()
    except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
        raise ValueError(f"{name} cannot be read: {error}") from None
    if any(info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size for info in infos):
        raise ValueError(f"{name} is compressed twice")
    if sum(info.file_size for info in infos) > len(content):
        raise ValueError(f"{name} claims to hold more than it does")
