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
"""Text of boosters shrinks to a third, arrays to a half; a file that claims to shrink more than this is no model."""
MANIFEST_RATIO, SMALL_MANIFEST = 20, 1_000_000
"""Objects of JSON take up to twenty times the memory of their text: a manifest of more bytes may not shrink as much."""
WORTH_IT = 0.35
"""Arrays that do not shrink below this share are stored as they are: they are read faster than they are inflated."""
_DIGITS = 64
_NAME = re.compile(
    r"manifest\.json|boosters/\d+\.txt|arrays/\d+\.npy|regressors/\d+\.skops"
    r"|noise/\d+\.txt|(mean|scale)/\d+/\d+\.txt"  # version 1
)


class ModelFileError(ValueError):
    """Raised if a file is not a model, or not one that this version can read; the message says which."""


def pack(entries: Mapping[str, bytes]) -> bytes:
    """Write a zip archive whose comment is the checksum of everything before it."""
    body = _archived(entries, zipfile.ZIP_DEFLATED)
    if sum(map(len, entries.values())) > LARGEST_RATIO * len(body):
        # a table of constants shrinks to nothing, which its reader would not believe
        body = _archived(entries, zipfile.ZIP_STORED)
    return body + hashlib.sha256(body).hexdigest().encode()


def _archived(entries: Mapping[str, bytes], method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            own = zipfile.ZIP_STORED if _is_dense(name, content) or _is_hollow(name, content) else method
            # a ZipInfo of its own has no date: the same model makes the same file
            archive.writestr(zipfile.ZipInfo(name), content, own, compresslevel=6)
        archive.comment = b"0" * _DIGITS
    return buffer.getvalue()[:-_DIGITS]


def _is_dense(name: str, content: bytes) -> bool:
    """Tell whether compression would cost its reader more time than the little space it saves is worth."""
    return name.endswith(".npy") and len(zlib.compress(content, 6)) > WORTH_IT * len(content)


def _is_hollow(name: str, content: bytes) -> bool:
    """Tell whether a manifest shrinks by more than its reader would believe."""
    large = name == "manifest.json" and len(content) > SMALL_MANIFEST
    return large and len(content) > MANIFEST_RATIO * len(zlib.compress(content, 6))


def unpack(content: bytes) -> dict[str, bytes]:
    """Read all entries of an archive, in no more than a multiple of its own size of memory."""
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
    """Read an entry of no more than the size that it claims, which ``ZipFile.read`` would only check afterwards."""
    if info.compress_type == zipfile.ZIP_STORED:
        # as it is, and without another checksum: that of the whole file has been checked
        start = info.header_offset + 30
        name, extra = struct.unpack("<HH", content[start - 4 : start])
        start += name + extra
        found = content[start : start + info.file_size]
        if content[info.header_offset : info.header_offset + 4] != b"PK\x03\x04" or len(found) != info.file_size:
            raise zipfile.BadZipFile("an entry is not where it should be")
        return found
    with archive.open(info) as file:
        return file.read(info.file_size)


def _check_entries(infos: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Refuse strange names and entries that claim to be larger than a model's can be."""
    names = [info.filename for info in infos]
    if strange := [name for name in names if not _NAME.fullmatch(name)]:
        raise ModelFileError(f"is not a model file: it holds {strange[0][:80]!r}.")
    if len(set(names)) < len(names):
        raise ModelFileError("is damaged: two entries have the same name.")
    if any(info.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED) for info in infos):
        raise ModelFileError("is not a model file: it is compressed in another way.")
    claimed = sum(info.file_size for info in infos)
    hollow = any(
        info.filename == "manifest.json" and info.file_size > max(SMALL_MANIFEST, MANIFEST_RATIO * info.compress_size)
        for info in infos
    )
    if sum(info.compress_size for info in infos) > size or claimed > LARGEST_RATIO * size or hollow:
        raise ModelFileError(f"is refused: it claims to hold {claimed:,} bytes.")
