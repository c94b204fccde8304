"""Archives: truncated, altered, forged and oversized files are refused, and nothing in them runs."""

import io
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from diffgbm import ModelFileError, load
from diffgbm.persistence.archive import pack, unpack
from diffgbm.persistence.npy import to_npy
from tests.persistence.altered_files import (
    Trap,
    altered,
    archive,
    signed,
)


def test_every_truncation_is_refused(file):
    content = file.read_bytes()
    cut = file.with_name("cut.dgbm")
    lengths = {*range(0, 100), *range(0, len(content), 397), *range(len(content) - 150, len(content))}
    for length in sorted(lengths):
        cut.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"cut\.dgbm (is not a model file|was cut short or altered)"):
            load(cut)


def test_every_flipped_byte_is_refused(file):
    content = bytearray(file.read_bytes())
    bad = file.with_name("bad.dgbm")
    positions = {*range(0, 60), *range(0, len(content), 211), *range(len(content) - 200, len(content))}
    for at in sorted(positions):
        content[at] ^= 1 << (at % 8)
        bad.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"bad\.dgbm (is not a model file|was cut short or altered)"):
            load(bad)
        content[at] ^= 1 << (at % 8)


def test_a_flipped_byte_with_a_valid_checksum_loads_or_raises_a_model_file_error(file):
    content = bytearray(file.read_bytes())
    bad = file.with_name("bad.dgbm")
    refused = 0
    for at in range(0, len(content) - 64, 97):
        content[at] ^= 1 << (at % 8)
        bad.write_bytes(signed(bytes(content)))
        content[at] ^= 1 << (at % 8)
        try:
            load(bad)
        except ModelFileError:
            refused += 1
    assert refused > 0.9 * (len(content) / 97)


@pytest.mark.parametrize("content", [b"", b"PK", b"hello" * 100, b"PK\x03\x04" + bytes(500), pickle.dumps({"a": 1})])
def test_files_that_are_not_archives_are_refused(content, tmp_path):
    (tmp_path / "x.dgbm").write_bytes(content)
    with pytest.raises(ModelFileError):
        load(tmp_path / "x.dgbm")
    with pytest.raises(ModelFileError):
        unpack(signed(b"PK\x03\x04" + content + bytes(64)))


def test_a_pickle_named_as_a_model_runs_nothing(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trap = pickle.dumps(Trap())
    for content in (trap, archive(("manifest.json", trap)), archive(("model.pkl", trap))):
        (tmp_path / "x.dgbm").write_bytes(content)
        with pytest.raises(ModelFileError):
            load(tmp_path / "x.dgbm")
    with pytest.raises(ModelFileError):
        load(altered(file, lambda manifest, entries: entries.__setitem__("boosters/0.txt", trap)))
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (archive(("manifest.json", b"{}"), ("manifest.json", b"{}")), "two entries have the same name"),
        (archive(("../../manifest.json", b"{}")), r"it holds '\.\./\.\./manifest\.json'"),
        (archive(("/etc/passwd", b"")), "it holds '/etc/passwd'"),
        (archive(("boosters/../x.txt", b"")), "it holds"),
        (archive(("boosters/0.txt", b"")), "no manifest"),
        (archive(("manifest.json", b"{")), "not JSON"),
        (archive(("manifest.json", b"[" * 20_000), method=zipfile.ZIP_STORED), "not JSON"),
        (archive(("manifest.json", b"\xff\xfe")), "not JSON"),
        (archive(("manifest.json", b"[]")), "is not 'diffgbm-model'"),
        (archive(("manifest.json", b'{"format": "other"}')), "is not 'diffgbm-model'"),
        (archive(("manifest.json", b"{}"), method=zipfile.ZIP_LZMA), "compression is unknown"),
        (archive(), "not a model file"),
    ],
)
def test_forged_archives_are_refused(content, message, tmp_path):
    (tmp_path / "x.dgbm").write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "x.dgbm")


def peak_of_refusal(path: Path, message: str) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=message):
            load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    (tmp_path / "bomb.dgbm").write_bytes(archive(("manifest.json", bytes(50_000_000))))
    assert peak_of_refusal(tmp_path / "bomb.dgbm", "claims to hold 50,000,000 bytes") < 2_000_000


def test_an_entry_with_a_wrong_size_is_not_unpacked_further(tmp_path):
    content = archive(("manifest.json", bytes(50_000_000)))
    size = (50_000_000).to_bytes(4, "little")
    assert content.count(size) == 2
    (tmp_path / "bomb.dgbm").write_bytes(signed(content.replace(size, (1000).to_bytes(4, "little"))))
    assert peak_of_refusal(tmp_path / "bomb.dgbm", "damaged") < 3_000_000


def test_entries_that_share_their_bytes_are_refused(tmp_path):
    """The quoted bomb: many names for the same compressed bytes."""
    one = archive(("manifest.json", bytes(100_000)))
    start = one.index(b"PK\x01\x02")
    end = one.index(b"PK\x05\x06")
    entry = one[start:end]
    names = [entry.replace(b"manifest.json", f"arrays/{k:02}.npy".encode()) for k in range(100)]
    directory = entry + b"".join(names)
    tail = bytearray(one[end:])
    tail[8:12] = (101).to_bytes(2, "little") * 2
    tail[12:16] = len(directory).to_bytes(4, "little")
    (tmp_path / "bomb.dgbm").write_bytes(signed(one[:start] + directory + bytes(tail)))
    assert peak_of_refusal(tmp_path / "bomb.dgbm", "claims to hold|damaged") < 2_000_000


def test_a_table_of_constants_is_stored_uncompressed():
    """It shrinks more than any text does: it is stored as it is."""
    entries = {"manifest.json": b"{}", "arrays/0.npy": to_npy(np.zeros((1000, 3000)))}
    content = pack(entries)
    assert unpack(content) == entries
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
