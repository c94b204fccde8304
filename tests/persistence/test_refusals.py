"""Files that are not model files, or no longer: each is refused in words, and runs nothing."""

import pickle
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from diffgbm import ModelFileError, load
from diffgbm.persistence import files as persistence
from tests.persistence.altered_files import DATA, Trap, altered, archive, set_at, signed

FIRST = DATA / "version1_mean_scale.dgbm"
"""A file of version 1: its manifest has other words for the same things."""


@pytest.fixture
def file(flow_model, tmp_path):
    path = tmp_path / "model.dgbm"
    flow_model.save(path)
    return path


def test_every_cut_is_refused(file):
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


def test_a_flipped_byte_with_its_checksum_mended_is_a_model_or_a_model_file_error(file):
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
def test_what_is_no_archive_is_refused(content, tmp_path):
    (tmp_path / "x.dgbm").write_bytes(content)
    with pytest.raises(ModelFileError):
        load(tmp_path / "x.dgbm")
    with pytest.raises(ModelFileError):
        persistence.unpack(signed(b"PK\x03\x04" + content + bytes(64)))


def test_a_pickle_in_disguise_runs_nothing(file, tmp_path, monkeypatch):
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
        (archive(("noise/../x.txt", b"")), "it holds"),
        (archive(("noise/0.txt", b"")), "no manifest"),
        (archive(("manifest.json", b"{")), "not JSON"),
        (archive(("manifest.json", b"[" * 100_000), method=zipfile.ZIP_STORED), "not JSON"),
        (archive(("manifest.json", b"\xff\xfe")), "not JSON"),
        (archive(("manifest.json", b"[]")), "does not say 'diffgbm-model'"),
        (archive(("manifest.json", b'{"format": "other"}')), "does not say 'diffgbm-model'"),
        (archive(("manifest.json", b"{}"), method=zipfile.ZIP_LZMA), "compressed in another way"),
        (archive(), "not a model file"),
    ],
)
def test_made_up_archives_are_refused(content, message, tmp_path):
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


def test_an_entry_that_lies_about_its_size_is_not_unpacked_further(tmp_path):
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
    names = [entry.replace(b"manifest.json", f"noise/{k:03}.txt".encode()) for k in range(200)]
    directory = entry + b"".join(names)
    tail = bytearray(one[end:])
    tail[8:12] = (201).to_bytes(2, "little") * 2
    tail[12:16] = len(directory).to_bytes(4, "little")
    (tmp_path / "bomb.dgbm").write_bytes(signed(one[:start] + directory + bytes(tail)))
    assert peak_of_refusal(tmp_path / "bomb.dgbm", "claims to hold|damaged") < 2_000_000


@pytest.mark.parametrize("found", [3, 999, 0, -1, "1", 1.0, True, None])
def test_a_file_of_another_version_says_so(file, found):
    path = altered(file, lambda manifest, entries: manifest.update(version=found))
    with pytest.raises(ModelFileError, match=r"format version .*; this diffgbm \(.*\) reads versions up to 2"):
        load(path)


WRONG = [
    *((key, value) for key in ("params", "features", "response", "recipe") for value in (None, [], 3, "x", {})),
    ("first_stage", []),
    ("first_stage", {}),
    *(
        ("boosters", value)
        for value in (None, [], ["noise/0.txt", "noise/0.txt"], ["mean/0/0.txt"], [3], "noise/0.txt")
    ),
    *(("features.n_features", value) for value in (0, -1, 2, 4, 10**12, "3", 3.0, None, True)),
    *(("features.levels", value) for value in (None, [], [None], [None, None, 3], [[[]], None, None], {"a": 1})),
    *(("features.levels.0", value) for value in (["a", "a"], [None], "abc", [["a"]])),
    *(("features.names", value) for value in ([], ["a", "b"], ["a", "a", "b"], [1, 2, 3], "abc", 3)),
    *(("response.scale", value) for value in ([], [-1.0], ["1"], [float("nan")], [[1.0]], [1.0, 1.0], None, 1.0)),
    *(("response.location", value) for value in ([], [float("inf")], None, ["x"])),
    *(("response.is_1d", value) for value in (None, 1, "true")),
    ("response.names", ["a", "b"]),
    *(("recipe.path", value) for value in (None, {}, {"name": "nowhere"}, {"name": "vp", "low": "x"}, "vp")),
    ("recipe.path.high", -3),
    *(("recipe.target", value) for value in ("nothing", None, 3)),
    *(("recipe.noise_features", value) for value in ("nothing", "raw_time")),
    *(("recipe.sampler.n_steps", value) for value in (0, "5", 2.5, None)),
    *(("recipe.sampler.equation", value) for value in ("nothing", None)),
    *((f"recipe.{name}", value) for name in ("sigma_data", "min_snr_gamma") for value in (0, -1, "1", None)),
    ("recipe.times.mean", "x"),
    ("recipe.extra", 1),
    *(("guide.mean", value) for value in ([], [[]], [["mean/9/9.txt"]], [["noise/0.txt"]], None, [[3]], [[["a"]]])),
    *(("guide.scale", value) for value in ([[]], None, 3, [["mean/0/0.txt"]])),
    *(("guide.centre", value) for value in ([], [1.0, 2.0], [float("nan")], None, ["a"])),
    *(("params.engine", value) for value in ("fast", None, 3)),
    *(("params.n_jobs", value) for value in (0, "all", 1.5)),
    *(("params.n_steps", value) for value in (0, "many", -3)),
    *(("params.seed", value) for value in (-1, "x")),
    ("params.training_objective", "nothing"),
    ("params.unknown", 1),
    ("params.extra_lightgbm_params", [1]),
]


@pytest.mark.parametrize(("where", "value"), WRONG, ids=lambda value: str(value)[:30])
def test_a_manifest_of_version_1_that_describes_no_model_is_refused(tmp_path, where, value):
    path = altered(FIRST, lambda manifest, entries: set_at(manifest, where, value), tmp_path)
    with pytest.raises(ModelFileError, match=r"altered\.dgbm is damaged: .+\.$"):
        load(path)


@pytest.mark.parametrize("name", ["params", "features", "response", "recipe", "first_stage", "boosters"])
def test_a_manifest_of_version_1_without_a_part_is_refused(tmp_path, name):
    with pytest.raises(ModelFileError, match=f"it lacks '{name}'"):
        load(altered(FIRST, lambda manifest, entries: manifest.pop(name), tmp_path))


def test_entries_that_nothing_refers_to_are_refused(file):
    with pytest.raises(ModelFileError, match=r"nothing refers to 'boosters/77\.txt'"):
        load(altered(file, lambda manifest, entries: entries.__setitem__("boosters/77.txt", entries["boosters/0.txt"])))


def test_a_file_with_a_broken_booster_names_it(file):
    def change(manifest, entries):
        entries["boosters/1.txt"] = entries["boosters/1.txt"].replace(b"left_child=", b"left_child=9", 1)

    with pytest.raises(
        ModelFileError, match=r"booster 'boosters/1\.txt' cannot be used: its trees are not where it says"
    ):
        load(altered(file, change))
