"""The originals of the data sets: their addresses, and how each is turned into the prepared columns.

A reader takes the bytes of a download and yields arrays of the prepared columns, features first and the target
last, rows in the original order. Most yield one; where an original holds the same rows in several orders, each is a
candidate, and the checksum of the prepared content selects one.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffgbm._util.optional import need
from diffgbm._util.types import Array

Reader = Callable[[bytes], Iterator[Array]]

UCI = "https://archive.ics.uci.edu/static/public/"
OPENML = "https://www.openml.org/"


@dataclass(frozen=True)
class Original:
    """One address of a data set.

    Attributes
    ----------
    url : str
        What is downloaded.
    read : callable
        From its bytes to arrays of the prepared columns.
    sha256 : str or None
        Checksum of the download if known; the prepared content is always checked.
    openml : bool
        The address is that of OpenML's description, which names the file.
    """

    url: str
    read: Reader
    sha256: str | None = None
    openml: bool = False


# ---- formats


def member(archive: bytes, name: str) -> bytes:
    """Return a file of a zip archive by its bare name, in any folder or nested archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        paths = {path.rsplit("/", 1)[-1]: path for path in files.namelist() if not path.startswith("__MACOSX")}
        if name in paths:
            return files.read(paths[name])
        for path in paths.values():
            if path.endswith(".zip"):
                return member(files.read(path), name)
    raise KeyError(f"no {name} in the archive")


def delimited(data: bytes, delimiter: str | None = ",", header: int = 1) -> Array:
    """Read lines of numbers; ``None`` separates by white space."""
    return np.loadtxt(io.BytesIO(data), delimiter=delimiter, skiprows=header, ndmin=2)


def named(data: bytes) -> tuple[list[str], Array]:
    """Read comma-separated numbers below a line of names."""
    names = data.partition(b"\n")[0].decode().strip().split(",")
    return [name.strip("\"' ") for name in names], delimited(data)


def arff(data: bytes) -> tuple[list[str], Array]:
    """Read a dense numeric ARFF file: names of its attributes and values (n, columns)."""
    lines = io.BytesIO(data)
    names: list[str] = []
    for line in lines:
        words = line.decode().strip().split(None, 2)
        if words and words[0].lower() == "@attribute":
            names.append(words[1].strip("\"'"))
        elif words and words[0].lower() == "@data":
            return names, np.loadtxt(lines, delimiter=",", comments="%", ndmin=2)
    raise ValueError("no @data in the ARFF file")


def numbers(rows: Iterable[Iterable[Any]], columns: int) -> Array:
    """Return the first columns of a sheet's rows below its header; empty rows are dropped."""
    cells = [tuple(row)[:columns] for row in rows]
    return np.array([row for row in cells[1:] if any(cell not in (None, "") for cell in row)], dtype=float)


def xlsx(data: bytes, columns: int) -> Iterator[Array]:
    """Yield the sheets of an Excel workbook."""
    book = need("openpyxl").load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    for sheet in book.worksheets:
        yield numbers(sheet.iter_rows(values_only=True), columns)


def xls(data: bytes, columns: int) -> Iterator[Array]:
    """Yield the sheets of a workbook of Excel before 2007."""
    for sheet in need("xlrd").open_workbook(file_contents=data).sheets():
        yield numbers((sheet.row_values(i) for i in range(sheet.nrows)), columns)


def significant(values: Array, digits: int) -> Array:
    """Round to a number of significant digits, as text would show them."""
    return np.array([float(f"{value:.{digits}g}") for value in values.ravel()]).reshape(values.shape)


# ---- data sets


def _yacht(data: bytes) -> Iterator[Array]:
    yield delimited(member(data, "yacht_hydrodynamics.data"), None, 0)


def _energy(data: bytes) -> Iterator[Array]:
    # the ninth column is Y1, the heating load; the tenth, the cooling load, is dropped
    yield from xlsx(member(data, "ENB2012_data.xlsx"), 9)


def _concrete_csv(data: bytes) -> Iterator[Array]:
    yield delimited(data)


def _concrete_xls(data: bytes) -> Iterator[Array]:
    # the workbook holds more digits than it shows; the prepared table has those that are shown
    for values in xls(member(data, "Concrete_Data.xls"), 9):
        yield np.column_stack([np.round(values[:, :8], 1), np.round(values[:, 8], 2)])


def _wine(data: bytes) -> Iterator[Array]:
    red, white = (delimited(member(data, f"winequality-{colour}.csv"), ";") for colour in ("red", "white"))
    both = np.vstack([red, white])
    colour = np.repeat([1.0, 0.0], [len(red), len(white)])
    # thirds of a per cent of alcohol are written with fifteen digits in the original
    yield significant(np.column_stack([both[:, :11], colour, both[:, 11]]), 6)


def _kin8nm_arff(data: bytes) -> Iterator[Array]:
    yield arff(data)[1]


def _kin8nm_csv(data: bytes) -> Iterator[Array]:
    yield delimited(data)


def _power_plant(data: bytes) -> Iterator[Array]:
    # five sheets hold the same rows in five orders
    yield from xlsx(member(data, "Folds5x2_pp.xlsx"), 5)


def _naval(data: bytes) -> Iterator[Array]:
    # the last two columns are the decay of the compressor, kept as a feature, and of the turbine, the target
    yield delimited(member(data, "data.txt"), None, 0)


def _california(data: bytes) -> Iterator[Array]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as files:
        file = files.extractfile("CaliforniaHousing/cal_housing.data")
        assert file is not None
        longitude, latitude, age, rooms, bedrooms, people, households, income, value = delimited(file.read(), ",", 0).T
    ratios = rooms / households, bedrooms / households
    yield np.column_stack([income, age, *ratios, people, people / households, latitude, longitude, value / 100_000.0])


def _protein(data: bytes) -> Iterator[Array]:
    yield np.roll(delimited(member(data, "CASP.csv")), -1, axis=1)  # RMSD comes first


def _ct_slices(names: list[str], values: Array) -> Iterator[Array]:
    kept = [j for j, name in enumerate(names) if name.lower() not in ("patientid", "reference")]
    yield values[:, [*kept, names.index("reference")]]


def _ct_slices_arff(data: bytes) -> Iterator[Array]:
    yield from _ct_slices(*arff(data))


def _ct_slices_csv(data: bytes) -> Iterator[Array]:
    yield from _ct_slices(*named(member(data, "slice_localization_data.csv")))


ORIGINALS: dict[str, tuple[Original, ...]] = {
    "yacht": (Original(f"{UCI}243/yacht+hydrodynamics.zip", _yacht),),
    "energy": (Original(f"{UCI}242/energy+efficiency.zip", _energy),),
    "concrete": (
        Original(
            f"{UCI}165/data.csv", _concrete_csv, "8d4b15b6fc68cd932d745cbd663d5ceae66dd54422e99c1e4865f2936ab7e2af"
        ),
        Original(f"{UCI}165/concrete+compressive+strength.zip", _concrete_xls),
    ),
    "wine": (Original(f"{UCI}186/wine+quality.zip", _wine),),
    "kin8nm": (
        Original(f"{OPENML}data/download/3626/dataset_2175_kin8nm.arff", _kin8nm_arff),
        Original(f"{OPENML}data/get_csv/3626/dataset_2175_kin8nm.arff", _kin8nm_csv),
    ),
    "power_plant": (Original(f"{UCI}294/combined+cycle+power+plant.zip", _power_plant),),
    "naval": (Original(f"{UCI}316/condition+based+maintenance+of+naval+propulsion+plants.zip", _naval),),
    "california_housing": (
        Original(
            "https://ndownloader.figshare.com/files/5976036",
            _california,
            "aaa5c9a6afe2225cc2aed2723682ae403280c4a3695a2ddda4ffb5d8215ea681",
        ),
        Original("https://www.dcc.fc.up.pt/~ltorgo/Regression/cal_housing.tgz", _california),
    ),
    "protein": (Original(f"{UCI}265/physicochemical+properties+of+protein+tertiary+structure.zip", _protein),),
    "ct_slices": (
        Original(f"{OPENML}api/v1/json/data/46300", _ct_slices_arff, openml=True),
        Original(f"{UCI}206/relative+location+of+ct+slices+on+axial+axis.zip", _ct_slices_csv),
    ),
}
"""The addresses of each data set, tried in order."""
