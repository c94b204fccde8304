"""The archive of a model file: named entries, compressed, with a checksum of everything at the end."""

from __future__ import annotations

import hashlib
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence

LARGEST_RATIO = 200
"""Largest compression ratio that is read. Boosters compress to a third, arrays to a half."""
MANIFEST_RATIO, SMALL_MANIFEST = 20, 1_000_000
"""Largest compression ratio of a larger manifest: JSON objects take up to twenty times the memory of their text."""
COMPRESSED_SHARE = 0.35
"""Arrays that do not compress to this share are stored uncompressed, which is faster to read."""
_DIGITS = 64
_NAME = re.compile(r"manifest\.json|boosters/\d+\.txt|arrays/\d+\.npy|regressors/\d+\.skops")


class ModelFileError(ValueError):
    """Raised for a file that is not a model, or not one that this version can read; the message says which."""


def pack(entries: Mapping[str, bytes]) -> bytes:
    """Write a zip archive whose comment is the checksum of everything before it."""
    body = _archived(entries, zipfile.ZIP_DEFLATED)
    if sum(map(len, entries.values())) > LARGEST_RATIO * len(body):
        # a table of constants compresses by more than the reader accepts
        body = _archived(entries, zipfile.ZIP_STORED)
    return body + hashlib.sha256(body).hexdigest().encode()


def _archived(entries: Mapping[str, bytes], method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            stored = _is_incompressible(name, content) or _is_too_compressible(name, content)
            # a plain ZipInfo has no date: the same model gives the same file
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_STORED if stored else method, compresslevel=6)
        archive.comment = b"0" * _DIGITS
    return buffer.getvalue()[:-_DIGITS]


def _is_incompressible(name: str, content: bytes) -> bool:
    """Whether an entry is an array that compression saves little space for."""
    return name.endswith(".npy") and len(zlib.compress(content, 6)) > COMPRESSED_SHARE * len(content)


def _is_too_compressible(name: str, content: bytes) -> bool:
    """Whether an entry is a manifest that compresses by more than the reader accepts."""
    large = name == "manifest.json" and len(content) > SMALL_MANIFEST
    return large and len(content) > MANIFEST_RATIO * len(zlib.compress(content, 6))


def unpack(content: bytes) -> dict[str, bytes]:
    """Read all entries of an archive; the memory is bounded by a multiple of its size."""
    if not content.startswith(b"PK\x03\x04"):
        raise ModelFileError("is not a model file.")
    body = memoryview(content)[:-_DIGITS]
    if content[-_DIGITS:] != hashlib.sha256(body).hexdigest().encode():
        raise ModelFileError("was cut short or altered: its checksum does not match its content.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            _check_entries(infos, len(content))
            return {info.filename: _entry(archive, info, content) for info in infos}
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


def _check_entries(infos: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Refuse unknown names and entries that claim to be larger than those of a model can be."""
    names = [info.filename for info in infos]
    if unknown := [name for name in names if not _NAME.fullmatch(name)]:
        raise ModelFileError(f"is not a model file: it holds {unknown[0][:80]!r}.")
    if len(set(names)) < len(names):
        raise ModelFileError("is damaged: two entries have the same name.")
    if any(info.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED) for info in infos):
        raise ModelFileError("is not a model file: its compression is unknown.")
    claimed = sum(info.file_size for info in infos)
    manifest_too_large = any(
        info.filename == "manifest.json" and info.file_size > max(SMALL_MANIFEST, MANIFEST_RATIO * info.compress_size)
        for info in infos
    )
    if sum(info.compress_size for info in infos) > size or claimed > LARGEST_RATIO * size or manifest_too_large:
        raise ModelFileError(f"is refused: it claims to hold {claimed:,} bytes.")
