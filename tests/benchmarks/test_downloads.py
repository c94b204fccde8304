"""Downloads of data sets: generated files in the formats of the originals, served on the loopback interface."""

import io
import json
import struct
import tarfile
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np
import openpyxl
import pytest
from benchmarks.__main__ import main
from benchmarks.datasets import DATA_SETS, DataSetError, data_directory, find, load, locate
from benchmarks.originals import ORIGINALS, arff, member, significant
from benchmarks.table_files import Table, digest, write

ROWS = 7


class Server:
    """Files by path, and the number of requests for each."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.hits: list[str] = []
        self.cut: set[str] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.hits.append(self.path)
                content = outer.files.get(self.path)
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if self.path in outer.cut else content)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def offer(self, url: str, content: bytes) -> str:
        path = urlsplit(url).path
        self.files[path] = content
        return path


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, daemon=True)
    thread.start()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DIFFGBM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DIFFGBM_OFFLINE", raising=False)


# ---- the originals' formats


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def lines(values, delimiter=",", header="") -> bytes:
    body = "\n".join(delimiter.join(repr(float(v)) for v in row) for row in values)
    return f"{header}\n{body}\n".encode() if header else f"{body}\n".encode()


def workbook(sheets) -> bytes:
    """An Excel workbook; its sheets end in an empty row, as some originals do."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for values in sheets:
        sheet = book.create_sheet()
        sheet.append([f"X{j}" for j in range(values.shape[1])])
        for row in values:
            sheet.append([float(v) for v in row])
        sheet.append([None] * values.shape[1])
        sheet.cell(row=len(values) + 3, column=values.shape[1] + 2, value=" ")
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def old_workbook(values) -> bytes:
    """An Excel 2 workbook: records of a type, a length and a body."""
    records = [struct.pack("<HHHH", 0x09, 4, 7, 0x10)]
    for j in range(values.shape[1]):
        name = f"X{j}".encode()
        records.append(struct.pack("<HHHH3sB", 0x04, 8 + len(name), 0, j, bytes(3), len(name)) + name)
    for (i, j), value in np.ndenumerate(values):
        records.append(struct.pack("<HHHH3sd", 0x03, 15, i + 1, j, bytes(3), value))
    return b"".join(records) + struct.pack("<HH", 0x0A, 0)


def arff_file(names, values) -> bytes:
    attributes = "".join(f"@ATTRIBUTE '{name}' NUMERIC\n" for name in names)
    return f"% a comment\n@RELATION r\n\n{attributes}\n@DATA\n".encode() + lines(values)


def concrete(values) -> bytes:
    """The table of the repository, byte for byte: made of the local file it has the registered checksum."""
    header = (
        "Cement,Blast Furnace Slag,Fly Ash,Water,Superplasticizer,Coarse Aggregate,Fine Aggregate,Age,"
        "Concrete compressive strength"
    )
    return "".join(f"{line}\r\n" for line in [header, *(",".join(f"{v:.10g}" for v in row) for row in values)]).encode()


def wine(values) -> bytes:
    header = ";".join(f'"{name}"' for name in DATA_SETS["wine"].features[:11]) + ';"quality"'
    kept = np.delete(values, 11, axis=1)
    colours = {"red": kept[values[:, 11] == 1], "white": kept[values[:, 11] == 0]}
    return zipped({f"winequality-{colour}.csv": lines(rows, ";", header) for colour, rows in colours.items()})


def california(values) -> bytes:
    """The nine columns of StatLib that have these ratios."""
    income, age, rooms, bedrooms, people, occupants, latitude, longitude, value = values.T
    households = np.round(people / occupants)
    rooms, bedrooms = np.round(rooms * households), np.round(bedrooms * households)
    columns = longitude, latitude, age, rooms, bedrooms, people, households, income, np.round(value * 100_000.0)
    content = lines(np.column_stack(columns))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("CaliforniaHousing/cal_housing.data")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def names(name: str) -> list[str]:
    return [*DATA_SETS[name].features, DATA_SETS[name].target]


def with_patients(values):
    return ["patientId", *names("ct_slices")], np.column_stack([np.arange(len(values)), values])


def shuffled(values):
    return np.random.default_rng(1).permutation(values)


MAKERS = {
    ("yacht", 0): lambda v: zipped({"yacht_hydrodynamics.data": lines(v, " ").replace(b"\n", b" \n") + b"\n"}),
    ("energy", 0): lambda v: zipped({"ENB2012_data.xlsx": workbook([np.column_stack([v, v[:, -1] + 1])])}),
    ("concrete", 0): concrete,
    ("concrete", 1): lambda v: zipped({"Concrete_Data.xls": old_workbook(v + 0.004), "Concrete_Readme.txt": b"r"}),
    ("wine", 0): wine,
    ("kin8nm", 0): lambda v: arff_file(names("kin8nm"), v),
    ("kin8nm", 1): lambda v: lines(v, header=",".join(f'"{n}"' for n in names("kin8nm"))),
    ("power_plant", 0): lambda v: zipped({"CCPP/Folds5x2_pp.xlsx": workbook([shuffled(v), v])}),
    ("naval", 0): lambda v: zipped({"UCI CBM Dataset/data.txt": lines(v, "   "), "UCI CBM Dataset/README.txt": b"r"}),
    ("california_housing", 1): california,
    ("protein", 0): lambda v: zipped({"CASP.csv": lines(np.roll(v, 1, axis=1), header="RMSD,F1,F2,F3,F4,F5,F6,F7")}),
    ("ct_slices", 0): lambda v: arff_file(*with_patients(v)),
    ("ct_slices", 1): lambda v: zipped(
        {
            "slice_localization_data.zip": zipped(
                {"slice_localization_data.csv": lines(with_patients(v)[1], header=",".join(with_patients(v)[0]))}
            )
        }
    ),
}
"""The content of an original by data set and number of the address, from the prepared columns."""


PREPARED = [("yacht", 0), ("energy", 0), ("concrete", 0), ("concrete", 1), ("wine", 0), ("california_housing", 1)]
"""Originals that need preparation and have few rows."""


def values_of(name: str, rows: int = ROWS):
    """Columns that a data set might have."""
    rng = np.random.default_rng(len(name))
    values = np.round(rng.uniform(1.0, 90.0, (rows, len(DATA_SETS[name].features) + 1)), 1)
    if name == "wine":
        values[:, 11] = np.arange(rows) < rows // 2
        values[:, 10] = significant(values[:, 10] / 3.0, 6)
    if name == "california_housing":
        households, ratios = np.full(rows, 300.0), np.round(values[:, 2:4] * 300.0)
        values[:, 4] = 1000.0 + np.arange(rows)
        values[:, 2:4], values[:, 5] = ratios / households[:, None], values[:, 4] / households
    return values


def offer(server: Server, name: str, number: int, values) -> str:
    """Serve one original, and OpenML's description of it where it has one."""
    original = ORIGINALS[name][number]
    if original.openml:
        description = {"data_set_description": {"url": "https://elsewhere.org/file.arff"}}
        server.offer(original.url, json.dumps(description).encode())
        return server.offer("https://elsewhere.org/file.arff", MAKERS[name, number](values))
    return server.offer(original.url, MAKERS[name, number](values))


def smaller(name: str, values):
    """The data set that has these columns, and its table."""
    data_set = DATA_SETS[name]
    table = Table(values[:, :-1], values[:, -1], data_set.features, data_set.target)
    head = (3, digest(table, 3)) if data_set.head else None
    return replace(data_set, rows=len(values), sha256=None if head else digest(table), head=head), table


def without_checksum(name: str, number: int):
    """The one address, whose known checksum a generated file cannot have."""
    return [replace(ORIGINALS[name][number], sha256=None)]


# ---- the tests


@pytest.mark.parametrize(("name", "number"), MAKERS)
def test_an_original_is_prepared_verified_and_cached(name, number, server):
    data_set, table = smaller(name, values_of(name))
    path = offer(server, name, number, values_of(name))
    options = {"originals": without_checksum(name, number), "base_url": server.url}
    result = load(data_set, None, **options)
    np.testing.assert_allclose(result.X, table.X, rtol=1e-9)
    np.testing.assert_allclose(result.y, table.y, rtol=1e-9)
    assert (result.features, result.target) == (table.features, table.target)
    hits = len(server.hits)
    again = load(data_set, None, **options)
    np.testing.assert_array_equal(again.X, result.X)
    np.testing.assert_array_equal(again.y, result.y)
    assert server.hits.count(path) == 1
    assert len(server.hits) == hits


@pytest.mark.skipif(data_directory() is None, reason="no local data directory")
@pytest.mark.parametrize(("name", "number"), PREPARED)
def test_the_registered_checksums_hold_for_originals_made_of_the_local_files(name, number, server):
    if locate(DATA_SETS[name], data_directory()) is None:
        pytest.skip("not in the local data directory")
    local = load(DATA_SETS[name], data_directory())
    offer(server, name, number, np.column_stack([local.X, local.y]))
    original = ORIGINALS[name][number]
    result = load(DATA_SETS[name], None, originals=[original], base_url=server.url)
    np.testing.assert_array_equal(result.X, local.X)
    np.testing.assert_array_equal(result.y, local.y)


def test_other_numbers_are_refused_and_not_cached(server, tmp_path):
    data_set, _ = smaller("yacht", values_of("yacht"))
    offer(server, "yacht", 0, values_of("yacht") + 0.1)
    with pytest.raises(DataSetError, match="another version"):
        load(data_set, None, base_url=server.url)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_wrong_number_of_rows_is_refused(server):
    data_set, _ = smaller("ct_slices", values_of("ct_slices"))
    offer(server, "ct_slices", 0, values_of("ct_slices", ROWS + 1))
    with pytest.raises(DataSetError, match="8 rows and 384 features"):
        load(data_set, None, base_url=server.url)


def test_a_download_with_a_known_checksum_is_held_to_it(server):
    data_set, _ = smaller("concrete", values_of("concrete"))
    path = offer(server, "concrete", 0, values_of("concrete"))
    with pytest.raises(DataSetError, match=f"{path} could not be downloaded.*hash"):
        load(data_set, None, base_url=server.url)


def test_openml_files_are_held_to_their_description(server):
    data_set, _ = smaller("ct_slices", values_of("ct_slices"))
    offer(server, "ct_slices", 0, values_of("ct_slices"))
    description = {"url": "https://elsewhere.org/file.arff", "md5_checksum": "0" * 32}
    server.offer(ORIGINALS["ct_slices"][0].url, json.dumps({"data_set_description": description}).encode())
    with pytest.raises(DataSetError, match=r"file\.arff could not be downloaded.*hash"):
        load(data_set, None, base_url=server.url)
    server.offer(ORIGINALS["ct_slices"][0].url, b'{"error": 1}')
    with pytest.raises(DataSetError, match="no description of an OpenML data set"):
        load(data_set, None, base_url=server.url)


def test_a_truncated_download_is_refused_and_the_next_attempt_starts_anew(server, tmp_path):
    data_set, table = smaller("yacht", values_of("yacht"))
    path = offer(server, "yacht", 0, values_of("yacht"))
    server.cut.add(path)
    with pytest.raises(DataSetError, match=r"Put yacht\.csv\.gz.*could not be downloaded"):
        load(data_set, None, base_url=server.url)
    assert list((tmp_path / "cache").iterdir()) == []
    server.cut.clear()
    assert len(load(data_set, None, base_url=server.url).y) == len(table.y)


@pytest.mark.parametrize(("name", "number"), [("yacht", 0), ("energy", 0), ("concrete", 1), ("kin8nm", 0)])
def test_a_file_in_another_format_is_refused(name, number, server):
    server.offer(ORIGINALS[name][number].url, b"<html>moved</html>")
    with pytest.raises(DataSetError, match="not in the expected format"):
        load(DATA_SETS[name], None, originals=without_checksum(name, number), base_url=server.url)


def test_the_second_address_serves_when_the_first_does_not(server):
    data_set, table = smaller("kin8nm", values_of("kin8nm"))
    offer(server, "kin8nm", 1, values_of("kin8nm"))
    np.testing.assert_array_equal(load(data_set, None, base_url=server.url).y, table.y)
    assert len(server.hits) == 2


def test_a_missing_page_and_a_dead_host_say_what_to_do(server, tmp_path):
    with pytest.raises(DataSetError, match="404") as caught:
        load(DATA_SETS["yacht"], tmp_path, base_url=server.url)
    for part in ("yacht.csv.gz", str(tmp_path), "DIFFGBM_DATA", "--data-dir", "UCI 243"):
        assert part in str(caught.value)
    with pytest.raises(DataSetError, match=r"Put yacht\.csv\.gz.*no connection"):
        load(DATA_SETS["yacht"], tmp_path, base_url="http://127.0.0.1:9")


def test_local_wins_over_cache_wins_over_download(server, tmp_path):
    values = values_of("yacht")
    data_set, table = smaller("yacht", values)
    for folder, shift in (("local", 1.0), ("cache", 2.0)):
        write(tmp_path / folder / data_set.file, replace(table, y=table.y + shift))
    path = offer(server, "yacht", 0, values)
    unchecked = replace(data_set, sha256=None)
    assert find(data_set, tmp_path / "local") == ("local", tmp_path / "local" / "yacht.csv.gz")
    np.testing.assert_allclose(load(unchecked, tmp_path / "local", base_url=server.url).y, table.y + 1.0)
    assert find(data_set, None) == ("cache", tmp_path / "cache" / "yacht.csv.gz")
    np.testing.assert_allclose(load(unchecked, None, base_url=server.url).y, table.y + 2.0)
    assert server.hits == []
    # a cached file that is not the registered one is replaced
    np.testing.assert_allclose(load(data_set, None, base_url=server.url).y, table.y)
    assert server.hits == [path]


def test_offline_downloads_nothing(server, monkeypatch):
    data_set, _ = smaller("yacht", values_of("yacht"))
    offer(server, "yacht", 0, values_of("yacht"))
    monkeypatch.setenv("DIFFGBM_OFFLINE", "1")
    with pytest.raises(DataSetError, match="DIFFGBM_OFFLINE"):
        load(data_set, None, base_url=server.url)
    assert server.hits == []


def test_an_unwritable_cache_is_an_error_of_the_data_set(server, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DIFFGBM_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(DataSetError, match="could not be downloaded"):
        load(DATA_SETS["yacht"], None, base_url=server.url)


def test_fetch_gets_what_it_can_and_names_what_it_cannot(server, tmp_path, capsys):
    empty = str(tmp_path)
    assert main(["fetch", "diabetes", "--data-dir", empty]) == 0
    assert capsys.readouterr().out == "diabetes: scikit-learn\n"
    assert main(["fetch", "yacht", "diabetes", "--data-dir", empty, "--base-url", server.url]) == 1
    out, err = capsys.readouterr()
    assert out == "diabetes: scikit-learn\n"
    assert "404" in err
    assert err.endswith("benchmarks fetch: not fetched: yacht.\n")
    assert main(["fetch", "--data-dir", empty]) == 1
    assert "--all" in capsys.readouterr().err
    assert main(["fetch", "boston", "--data-dir", empty]) == 1
    assert "unknown data sets: boston" in capsys.readouterr().err


@pytest.mark.skipif(locate(DATA_SETS["yacht"], data_directory()) is None, reason="not in a local data directory")
def test_fetch_fills_the_cache_and_list_finds_it_there(server, tmp_path, capsys):
    local = load(DATA_SETS["yacht"], data_directory())
    offer(server, "yacht", 0, np.column_stack([local.X, local.y]))
    assert main(["fetch", "yacht", "--data-dir", str(tmp_path), "--base-url", server.url]) == 0
    assert main(["list", "--data-dir", str(tmp_path)]) == 0
    listed = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[1:]}
    assert listed["yacht"].endswith(f"cache: {tmp_path / 'cache' / 'yacht.csv.gz'}")
    assert listed["naval"].endswith("missing")
    assert len(server.hits) == 1


def test_every_data_set_has_an_original_and_every_original_a_test():
    assert set(ORIGINALS) == {name for name, d in DATA_SETS.items() if not d.embedded}
    untested = {(name, k) for name, addresses in ORIGINALS.items() for k in range(len(addresses))} - set(MAKERS)
    assert untested == {("california_housing", 0)}  # the same reader as the second address


def test_readers_refuse_what_they_cannot_read():
    with pytest.raises(KeyError, match=r"no b\.txt"):
        member(zipped({"a.txt": b""}), "b.txt")
    with pytest.raises(ValueError, match="no @data"):
        arff(b"@relation r\n")
