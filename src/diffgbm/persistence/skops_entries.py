"""Regressors of other libraries, in the skops format; their types are trusted by name."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

from diffgbm._util.optional import need
from diffgbm.first_stage import catalogue
from diffgbm.persistence.archive import ModelFileError


def own_types() -> frozenset[str]:
    """Return the types of the library's first-stage models: dataclasses of numbers and text, which need no trust."""
    stages = (catalogue.build(name) for name in catalogue.CATALOGUE)
    return frozenset(f"{type(stage).__module__}.{type(stage).__qualname__}" for stage in stages)


def to_skops(value: Any, where: str) -> tuple[bytes, frozenset[str]]:
    """Write a value; return its bytes and the types that the reader has to trust."""
    skops = need("skops.io")
    try:
        content: bytes = skops.dumps(value)
        types = skops.get_untrusted_types(data=content)
        # skops writes some objects, such as lambdas, that it cannot read
        skops.loads(content, trusted=types)
        return content, frozenset(types) - own_types()
    except Exception as error:
        raise TypeError(f"a model file cannot hold {where}: {error}") from error


def check_types(entries: Mapping[str, bytes], trusted: Iterable[str | type]) -> None:
    """Raise unless all types in the entries are trusted; nothing is imported or constructed."""
    skops = need("skops.io")
    if isinstance(trusted, (str, type)):
        raise ModelFileError(f"cannot be read: trusted must be a list of types, like [{trusted!r}].")
    names = {t if isinstance(t, str) else f"{t.__module__}.{t.__qualname__}" for t in trusted}
    stored: set[str] = set()
    for name, content in entries.items():
        _check_stored(name, content)
        try:
            stored |= set(skops.get_untrusted_types(data=content))
        except Exception as error:
            raise ValueError(f"{name} cannot be read: {error}") from None
    if unknown := sorted(stored - own_types() - names):
        raise ModelFileError(
            f"is refused: it holds objects of types that are not known to be harmless: {', '.join(unknown)}. If you "
            f"trust its author, load it with diffgbm.load(path, trusted={unknown!r}), or on the command line with "
            "--trust and each of these names."
        )


def from_skops(name: str, content: bytes) -> Any:
    """Construct the objects of an entry whose types have passed ``check_types``."""
    skops = need("skops.io")
    try:
        return skops.loads(content, trusted=skops.get_untrusted_types(data=content))
    except Exception as error:
        raise ValueError(f"{name} cannot be read: {error}") from None


def _check_stored(name: str, content: bytes) -> None:
    """Refuse a nested archive that is compressed again, or whose entries overlap."""
    try:
        infos = zipfile.ZipFile(io.BytesIO(content)).infolist()
    except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
        raise ValueError(f"{name} cannot be read: {error}") from None
    if any(info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size for info in infos):
        raise ValueError(f"{name} is compressed twice")
    if sum(info.file_size for info in infos) > len(content):
        raise ValueError(f"{name} claims to hold more bytes than it has")
