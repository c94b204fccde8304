"""The archive of a model file: named entries, compressed, with a checksum of everything at the end."""

from __future__ import annotations

import hashlib
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence

from diffgbm.persistence.limits import (
    MANIFEST_TEXT,
    MOST_BYTES,
    MOST_MANIFEST,
    SMALL_MANIFEST,
    MemoryBudget,
    manifest_memory,
)

COMPRESSED_SHARE = 0.35
"""Arrays that do not compress to this share are stored uncompressed, which is faster to read."""
_DIGITS = 64
_NAME = re.compile(r"manifest\.json|boosters/\d+\.txt|arrays/\d+\.npy|regressors/\d+\.skops")


class ModelFileError(ValueError):
    """Raised for a file that is not a model, or not one that this version can read; the message says which."""


def pack(entries: Mapping[str, bytes], memory: int = 0) -> bytes:
    """Write a zip archive whose comment is the checksum of everything before it.

    ``memory`` is what a reader needs besides the entries and the manifest. It must be in proportion to the archive:
    what compresses too well is not compressed.
    """
    claimed, manifest = sum(map(len, entries.values())), entries.get("manifest.json", b"")
    if claimed > MOST_BYTES or len(manifest) > MOST_MANIFEST:
        raise ValueError(
            f"a model file cannot hold {claimed:,} bytes, {len(manifest):,} of them names and categories; at most "
            f"{MOST_BYTES:,} and {MOST_MANIFEST:,}."
        )
    memory += claimed + manifest_memory(manifest)
    body, manifest_size = _archived(entries, zipfile.ZIP_DEFLATED), _manifest_size(manifest)
    if memory > MemoryBudget.of_file(len(body), manifest_size).left:
        body, manifest_size = _archived(entries, zipfile.ZIP_STORED), len(manifest)
    if memory > MemoryBudget.of_file(len(body), manifest_size).left:
        raise ValueError(f"a model file of {len(body):,} bytes cannot hold a model of {memory:,} bytes.")
    return body + hashlib.sha256(body).hexdigest().encode()


def _archived(entries: Mapping[str, bytes], method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            stored = _is_incompressible(name, content)
            stored |= name == "manifest.json" and _manifest_size(content) == len(content)
            # a plain ZipInfo has no date: the same model gives the same file
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_STORED if stored else method, compresslevel=6)
        archive.comment = b"0" * _DIGITS
    return buffer.getvalue()[:-_DIGITS]


def _is_incompressible(name: str, content: bytes) -> bool:
    """Whether an entry is an array that compression saves little space for."""
    return name.endswith(".npy") and len(zlib.compress(content, 6)) > COMPRESSED_SHARE * len(content)


def _manifest_size(manifest: bytes) -> int:
    """Return the size of a manifest in the archive; one that compresses by more than the reader accepts is stored."""
    size = len(zlib.compress(manifest, 6))
    return size if len(manifest) <= max(SMALL_MANIFEST, MANIFEST_TEXT * size) else len(manifest)


def unpack(content: bytes) -> dict[str, bytes]:
    """Read all entries of an archive; their memory is in proportion to its size."""
    return unpack_within_budget(content)[0]


def unpack_within_budget(content: bytes) -> tuple[dict[str, bytes], MemoryBudget]:
    """Read all entries of an archive; return them with the memory that their reader may take."""
    if not content.startswith(b"PK\x03\x04"):
        raise ModelFileError("is not a model file.")
    body = memoryview(content)[:-_DIGITS]
    if content[-_DIGITS:] != hashlib.sha256(body).hexdigest().encode():
        raise ModelFileError("was cut short or altered: its checksum does not match its content.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            budget = _budget(infos, len(content))
            return {info.filename: _entry(archive, info, content) for info in infos}, budget
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OSError,
    ) as error:
        raise ModelFileError(f"is damaged: {error}.") from None


def _entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, content: bytes) -> bytes:
    """Read an entry of at most the size that it claims; ``ZipFile.read`` checks the size only afterwards."""
    if info.compress_type == zipfile.ZIP_STORED:
        # without its own checksum: that of the whole file has been checked
        start = info.header_offset + 30
        name, extra = struct.unpack("<HH", content[start - 4 : start])
        start += name + extra
        entry = content[start : start + info.file_size]
        if content[info.header_offset : info.header_offset + 4] != b"PK\x03\x04" or len(entry) != info.file_size:
            raise zipfile.BadZipFile("the position of an entry is wrong")
        return entry
    with archive.open(info) as file:
        return file.read(info.file_size)


def _budget(infos: Sequence[zipfile.ZipInfo], size: int) -> MemoryBudget:
    """Return the memory that is left for a model; refuse unknown names and entries larger than those of a model."""
    names = [info.filename for info in infos]
    if unknown := [name for name in names if not _NAME.fullmatch(name)]:
        raise ModelFileError(f"is not a model file: it holds {unknown[0][:80]!r}.")
    if len(set(names)) < len(names):
        raise ModelFileError("is damaged: two entries have the same name.")
    if any(info.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED) for info in infos):
        raise ModelFileError("is not a model file: its compression is unknown.")
    claimed = sum(info.file_size for info in infos)
    manifest = [info for info in infos if info.filename == "manifest.json"]
    budget = MemoryBudget.of_file(size, sum(info.compress_size for info in manifest))
    too_large = claimed > min(MOST_BYTES, budget.left) or any(
        info.file_size > min(MOST_MANIFEST, max(SMALL_MANIFEST, MANIFEST_TEXT * info.compress_size))
        for info in manifest
    )
    if sum(info.compress_size for info in infos) > size or too_large:
        raise ModelFileError(f"is refused: it claims to hold {claimed:,} bytes.")
    budget.take(claimed)
    return budget
