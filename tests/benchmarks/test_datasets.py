"""The data-set reader on generated files: formats, checksums and the messages about missing files."""

import gzip
import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.datasets import DATA_SETS, DataSet, DataSetError, data_directory, load, locate
from benchmarks.table_files import Table, digest, read, text, write

from benchmarks import datasets

PAPER = [
    "yacht",
    "diabetes",
    "energy",
    "concrete",
    "wine",
    "kin8nm",
    "power_plant",
    "naval",
    "california_housing",
    "protein",
    "ct_slices",
]
TOY = DataSet("toy", "nowhere 1", "height", drop=("id",))
CONTENT = hashlib.sha256(b"width,depth,height\n2.5,7,10\n3.5,8,20\n").hexdigest()
"""Checksum of the canonical text of what ``write_file`` writes."""


@pytest.fixture(autouse=True)
def _no_downloads(tmp_path, monkeypatch):
    monkeypatch.setenv("DIFFGBM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DIFFGBM_OFFLINE", "1")


def write_file(directory, name="toy", text="id,width,height,depth\n1,2.5,10,7\n2,3.5,20,8\n"):
    path = directory / f"{name}.csv.gz"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_papers_eleven_are_registered():
    assert sorted(DATA_SETS) == sorted(PAPER)
    assert all(d.source and d.target for d in DATA_SETS.values())
    assert [d.name for d in DATA_SETS.values() if d.sha256 is None] == ["diabetes", "ct_slices"]


def test_target_and_dropped_columns_leave_the_features(tmp_path):
    write_file(tmp_path)
    table = load(replace(TOY, sha256=CONTENT), tmp_path)
    assert table.features == ("width", "depth")
    np.testing.assert_array_equal(table.X, [[2.5, 7.0], [3.5, 8.0]])
    np.testing.assert_array_equal(table.y, [10.0, 20.0])
    assert table.target == "height"


def test_one_row_is_a_table(tmp_path):
    write_file(tmp_path, text="width,height\n1,2\n")
    assert load(TOY, tmp_path).X.shape == (1, 1)


def test_a_wrong_checksum_is_refused_with_both(tmp_path):
    path, _ = write_file(tmp_path)
    with pytest.raises(DataSetError, match="damaged or another version") as caught:
        load(replace(TOY, sha256="0" * 64), tmp_path)
    assert CONTENT in str(caught.value)
    assert "0" * 64 in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_manifest_names_the_file_and_its_checksum(tmp_path):
    _, checksum = write_file(tmp_path, "toy-2020")
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"toy": {"file": "toy-2020.csv.gz", "sha256": checksum}}))
    assert load(TOY, tmp_path).y.tolist() == [10.0, 20.0]
    manifest.write_text(json.dumps({"toy": {"file": "toy-2020.csv.gz", "sha256": "f" * 64}}))
    with pytest.raises(DataSetError, match="f" * 64):
        load(TOY, tmp_path)


def test_a_broken_manifest_is_named(tmp_path):
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(DataSetError, match=r"manifest\.json is not JSON"):
        load(TOY, tmp_path)


def test_a_missing_file_says_which_and_where(tmp_path):
    with pytest.raises(DataSetError) as caught:
        load(TOY, tmp_path)
    for part in ("toy.csv.gz", "nowhere 1", str(tmp_path), "DIFFGBM_DATA", "--data-dir", "DIFFGBM_OFFLINE"):
        assert part in str(caught.value)
    with pytest.raises(DataSetError, match=r"Put toy\.csv\.gz"):
        load(TOY, None)


def test_a_missing_target_lists_the_columns(tmp_path):
    write_file(tmp_path, text="a,b\n1,2\n")
    with pytest.raises(DataSetError, match=r"no column 'height'.*a, b"):
        load(TOY, tmp_path)


def test_diabetes_needs_no_file():
    table = load(DATA_SETS["diabetes"], None)
    assert table.X.shape == (442, 10)
    assert locate(DATA_SETS["diabetes"], None) is None


def test_the_option_comes_before_the_variable_before_the_shared_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "ROOT", tmp_path / "repository")
    monkeypatch.delenv("DIFFGBM_DATA", raising=False)
    assert data_directory() is None
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert data_directory() == tmp_path / "shared" / "data"
    monkeypatch.setenv("DIFFGBM_DATA", str(tmp_path))
    assert data_directory() == tmp_path
    assert data_directory(tmp_path / "other") == tmp_path / "other"


def test_list_shows_what_is_there_and_what_is_not(tmp_path, capsys):
    assert main(["list", "--data-dir", str(tmp_path)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "442" in lines["diabetes"]
    assert lines["diabetes"].endswith("scikit-learn")
    assert lines["yacht"].endswith("missing")


def test_a_command_without_its_data_fails_in_one_line(tmp_path, capsys):
    options = ["--data", "yacht", "--data-dir", str(tmp_path), "--results", str(tmp_path)]
    assert main(["peers", *options]) == 1
    assert "yacht.csv.gz" in capsys.readouterr().err


def test_the_canonical_text_is_names_and_ten_digits():
    table = Table(np.array([[1 / 3, -0.0], [-1e-7, 2e12]]), np.array([1.0, 0.1]), ("a", "b"), "c")
    assert text(table) == b"a,b,c\n0.3333333333,0,1\n-1e-07,2e+12,0.1\n"
    assert text(table, 1) == b"a,b,c\n0.3333333333,0,1\n"
    assert digest(table, 1) == hashlib.sha256(text(table, 1)).hexdigest()


def test_a_table_survives_its_file(tmp_path):
    rng = np.random.default_rng(0)
    table = Table(rng.standard_normal((20, 3)), rng.standard_normal(20), ("a", "b", "c"), "height")
    write(tmp_path / "new" / "toy.csv.gz", table)
    back = read(tmp_path / "new" / "toy.csv.gz", TOY)
    np.testing.assert_allclose(back.X, table.X, rtol=1e-9)
    assert (back.features, back.target) == (table.features, table.target)
    assert digest(back) == digest(table)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["toy.csv.gz"]


def test_shape_and_first_rows_are_checked(tmp_path):
    write_file(tmp_path)
    first = hashlib.sha256(b"width,depth,height\n2.5,7,10\n").hexdigest()
    assert len(load(replace(TOY, rows=2, features=("width", "depth"), head=(1, first)), tmp_path).y) == 2
    with pytest.raises(DataSetError, match="2 rows and 2 features"):
        load(replace(TOY, rows=3), tmp_path)
    with pytest.raises(DataSetError, match="first 1 rows"):
        load(replace(TOY, head=(1, CONTENT)), tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"height\n" * 1000)[:-9], gzip.compress(b"height\nx\n")],
    ids=["no gzip", "cut short", "no numbers"],
)
def test_a_damaged_file_is_named(tmp_path, content):
    (tmp_path / "toy.csv.gz").write_bytes(content)
    with pytest.raises(DataSetError, match=r"toy\.csv\.gz cannot be read.*Replace it"):
        load(TOY, tmp_path)


@pytest.mark.skipif(data_directory() is None, reason="no local data directory")
@pytest.mark.parametrize("name", [name for name in PAPER if name not in ("diabetes", "ct_slices")])
def test_local_files_are_the_registered_ones(name):
    if locate(DATA_SETS[name], data_directory()) is None:
        pytest.skip("not in the local data directory")
    data_set = DATA_SETS[name]
    table = load(data_set, data_directory())
    assert (len(table.y), table.features, table.target) == (data_set.rows, data_set.features, data_set.target)
    assert digest(table) == data_set.sha256
    assert np.isfinite(table.X).all()


@pytest.mark.skipif(data_directory() is None, reason="no local data directory")
def test_ct_slices_loses_its_patients_and_starts_as_registered():
    sample = replace(DATA_SETS["ct_slices"], name="ct_slices_sample", rows=682)
    if locate(sample, data_directory()) is None:
        pytest.skip("not in the local data directory")
    table = load(sample, data_directory())
    assert table.features == DATA_SETS["ct_slices"].features
    assert sample.head == (682, digest(table))
