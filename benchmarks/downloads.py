"""Downloads: an original is fetched with pooch, prepared, verified and kept in a cache as a prepared file.

Only the verified, prepared file enters the cache, atomically. Leftovers of an interruption are never read.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.originals import Original
from benchmarks.table_files import DataSet, DataSetError, Table, read, verify, write
from diffgbm._util.optional import need
from diffgbm._util.types import Array

CACHE_VARIABLE = "DIFFGBM_CACHE"
OFFLINE_VARIABLE = "DIFFGBM_OFFLINE"
TIMEOUT = 60.0
"""Seconds without a response after which a download fails."""


def cache_directory() -> Path | None:
    """Return the directory of downloaded data sets; ``None`` if pooch is not installed."""
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.environ[CACHE_VARIABLE])
    try:
        return Path(need("pooch").os_cache("diffgbm"))
    except ImportError:
        return None


def offline() -> bool:
    """Whether downloads are switched off by ``DIFFGBM_OFFLINE``."""
    return os.environ.get(OFFLINE_VARIABLE, "") not in ("", "0")


def obtain(data_set: DataSet, originals: Sequence[Original], cache: Path, base_url: str | None = None) -> Table:
    """Download a data set, trying its originals in order, and keep it in the cache.

    Parameters
    ----------
    data_set : DataSet
        The data set, with its shape and checksum.
    originals : sequence of Original
        Its addresses.
    cache : Path
        Where the prepared file goes.
    base_url : str or None
        Mirror that has the originals at the same paths, instead of the original hosts.

    Raises
    ------
    DataSetError
        No original could be downloaded; the message gives the reason for each.
    """
    reasons = []
    for original in originals:
        try:
            table = _prepare(data_set, original, cache, base_url)
        except DataSetError as error:
            reasons.append(str(error))
            continue
        write(cache / data_set.file, table)
        return read(
            cache / data_set.file, data_set
        )  # read back, so that a fresh download and the cache give the same digits
    raise DataSetError(" ".join(reasons) or "No address is known for it.")


def _prepare(data_set: DataSet, original: Original, cache: Path, base_url: str | None) -> Table:
    data = _download(original, cache, base_url)
    refusal = DataSetError(f"{original.url} holds no table.")
    for values in _candidates(original, data):
        table = Table(values[:, :-1], values[:, -1], data_set.features, data_set.target)
        try:
            verify(table, data_set, original.url)
        except DataSetError as error:
            refusal = error
        else:
            return table
    raise refusal


def _candidates(original: Original, data: bytes) -> Iterator[Array]:
    try:
        yield from original.read(data)
    except ImportError as error:
        raise DataSetError(str(error)) from error
    except Exception as error:  # every format has its own library with its own errors
        raise DataSetError(
            f"{original.url} is not in the expected format ({type(error).__name__}: {error})."
        ) from error


def _download(original: Original, cache: Path, base_url: str | None) -> bytes:
    if not original.openml:
        return _retrieve(original.url, cache, base_url, original.sha256)
    try:
        description = json.loads(_retrieve(original.url, cache, base_url, None))["data_set_description"]
        url, checksum = description["url"], description.get("md5_checksum")
    except (ValueError, KeyError, TypeError) as error:
        raise DataSetError(f"{original.url} is no description of an OpenML data set.") from error
    return _retrieve(url, cache, base_url, f"md5:{checksum}" if checksum else None)


def _retrieve(url: str, cache: Path, base_url: str | None, known_hash: str | None) -> bytes:
    try:
        pooch = need("pooch")
    except ImportError as error:
        raise DataSetError(str(error)) from error
    pooch.get_logger().setLevel("WARNING")  # do not log the checksum of each download
    address = url
    if base_url is not None:
        host = urlsplit(base_url)
        address = urlsplit(url)._replace(scheme=host.scheme, netloc=host.netloc).geturl()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".download-") as directory:
            fetch = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=TIMEOUT)
            return Path(pooch.retrieve(address, known_hash, "original", directory, downloader=fetch)).read_bytes()
    except (OSError, ValueError) as error:  # pooch and requests raise these for addresses, answers and checksums
        unreachable = isinstance(error, need("requests").ConnectionError)
        reason = "no connection" if unreachable else f"{type(error).__name__}: {error}"
        raise DataSetError(f"{address} could not be downloaded ({reason}).") from error
