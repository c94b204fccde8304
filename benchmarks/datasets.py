"""The eleven data sets of the paper by name: where they come from, how they are prepared, how they are read.

Each is one file ``<name>.csv.gz`` with a header line, in a local directory beside a ``manifest.json`` that names
its columns, target and checksum; ``diabetes`` comes with scikit-learn.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DATA_VARIABLE = "DIFFGBM_DATA"
ROOT = Path(__file__).resolve().parents[1]
"""The repository."""


class DataSetError(RuntimeError):
    """A data set that cannot be had; the message says what to do."""


@dataclass(frozen=True)
class DataSet:
    """What is known about a data set before it is read.

    Attributes
    ----------
    name : str
        The paper's name, and the stem of its file.
    source : str
        Where the original is.
    target : str
        Column that is predicted; all others are features.
    sha256 : str or None
        Checksum of the prepared file; ``None`` leaves it to the manifest.
    notes : str
        The paper's preparation, where there is any.
    drop : tuple of str
        Columns of the file that are neither features nor target.
    embedded : bool
        Comes with scikit-learn and needs no file.
    """

    name: str
    source: str
    target: str
    sha256: str | None = None
    notes: str = ""
    drop: tuple[str, ...] = ()
    embedded: bool = False

    @property
    def file(self) -> str:
        """Name of its file in a data directory."""
        return f"{self.name}.csv.gz"


@dataclass(frozen=True)
class Table:
    """A data set in memory, in its own units.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Features.
    y : ndarray of shape (n,)
        Response.
    features : tuple of str
        Names of the columns of ``X``.
    target : str
        Name of ``y``.
    """

    X: Array
    y: Array
    features: tuple[str, ...]
    target: str


_REGISTRY = (
    DataSet("yacht", "UCI 243", "resistance", "fe0c426ebea14a7e598dc4a5e353bfddb047efb976106cec3bdfc40fe21f904a"),
    DataSet("diabetes", "scikit-learn load_diabetes", "disease_progression", embedded=True),
    DataSet(
        "energy", "UCI 242 (Y1)", "heating_load", "9d880c65967f2abda57c83acd9fbbd14d9dfba60c43f57e95b7907891eea8928"
    ),
    DataSet("concrete", "UCI 165", "strength", "c93868bbca5e57c1340ee36a07a6c3bbbbd0f229ddc668b6ff2bf34e32564fff"),
    DataSet(
        "wine",
        "UCI 186",
        "quality",
        "7e97e3e06e94322693e4c0f30ac80f4026761ce6ff34bdc5bc99d565368c7d78",
        notes="red (color=1) and white (color=0) joined",
    ),
    DataSet(
        "kin8nm",
        "Delve kin8nm / OpenML 189",
        "distance",
        "219ab4bc0e7726d47fe9575cd192852a6f29fa3dc373a708db9e30a22f15769a",
    ),
    DataSet(
        "power_plant", "UCI 294", "energy_output", "81bdda383357f79fa28d3afd9705722e517e1ac678aaee7aea3b4fb7617a82fe"
    ),
    DataSet(
        "naval",
        "UCI 316",
        "turbine_decay",
        "2a7be8e32b2cee9e449edd838c5a93a1e155888ca0797ba71d9a182599354adb",
        notes="compressor_decay is kept as a feature",
    ),
    DataSet(
        "california_housing",
        "StatLib cal_housing, columns as in scikit-learn",
        "MedHouseVal",
        "fa6bbb3c6f7cb94a3e3e885c162c38e3b74cc0110daf9214ba74f9f7c0667f30",
    ),
    DataSet("protein", "UCI 265", "rmsd", "5877cd6916c03fad32828af0e1f63f9bf0de5b198e99525793f5218ebc0bcf69"),
    DataSet(
        "ct_slices",
        "UCI 206 / OpenML 46300",
        "reference",
        notes="patient identifier dropped, 384 features",
        drop=("patientId",),
    ),
)

DATA_SETS: dict[str, DataSet] = {data_set.name: data_set for data_set in _REGISTRY}
"""The paper's data sets by name."""


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    """Declare ``--data-dir``."""
    parser.add_argument(
        "--data-dir",
        type=Path,
        help=f"directory of the data files and their manifest.json (default: ${DATA_VARIABLE}, then ../shared/data)",
    )


def data_directory(option: Path | None = None) -> Path | None:
    """Return the local data directory: the option, the environment variable, or the shared one if it exists."""
    if option is not None:
        return option
    if os.environ.get(DATA_VARIABLE):
        return Path(os.environ[DATA_VARIABLE])
    shared = ROOT.parent / "shared" / "data"
    return shared if shared.is_dir() else None


def locate(data_set: DataSet, directory: Path | None) -> Path | None:
    """Return the data set's file, or ``None`` if it is embedded or not there."""
    if data_set.embedded or directory is None:
        return None
    path = directory / _entry(data_set, directory).get("file", data_set.file)
    return path if path.is_file() else None


def load(data_set: DataSet, directory: Path | None) -> Table:
    """Read a data set.

    Parameters
    ----------
    data_set : DataSet
        One of ``DATA_SETS``.
    directory : Path or None
        As ``data_directory`` finds it.

    Raises
    ------
    DataSetError
        The file is nowhere, differs from its checksum, or lacks the target.
    """
    if data_set.embedded:
        return _diabetes(data_set)
    path = locate(data_set, directory)
    if path is None:
        raise DataSetError(_how_to_get(data_set, directory))
    assert directory is not None
    entry = _entry(data_set, directory)
    _verify(path, data_set.sha256 or entry.get("sha256"))
    return _read(path, data_set)


def _how_to_get(data_set: DataSet, directory: Path | None) -> str:
    if directory is None:
        place = f"a directory named by --data-dir or {DATA_VARIABLE}"
    else:
        place = f"{directory} (or another directory named by --data-dir or {DATA_VARIABLE})"
    return (
        f"no file of the data set {data_set.name!r}. Put {data_set.file} (source: {data_set.source}; a header line, "
        f"target column {data_set.target!r}) into {place}."
    )


def _entry(data_set: DataSet, directory: Path) -> dict[str, Any]:
    """Return what the directory's manifest says about a data set; nothing if it has none."""
    manifest = directory / "manifest.json"
    if not manifest.is_file():
        return {}
    try:
        entries = json.loads(manifest.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise DataSetError(f"{manifest} is not JSON: {error}.") from error
    return dict(entries.get(data_set.name, {}))


def _verify(path: Path, expected: str | None) -> None:
    if expected is None:
        return
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise DataSetError(
            f"{path} has the SHA-256 checksum {found}, expected {expected}: it is damaged or another version. "
            "Replace it."
        )


def _read(path: Path, data_set: DataSet) -> Table:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        columns = [name.strip().strip('"') for name in lines.readline().split(",")]
        values = np.loadtxt(lines, delimiter=",", ndmin=2)
    if data_set.target not in columns:
        raise DataSetError(f"{path} has no column {data_set.target!r}, the target. It has {', '.join(columns)}.")
    features = tuple(name for name in columns if name != data_set.target and name not in data_set.drop)
    picked = values[:, [columns.index(name) for name in features]]
    return Table(np.ascontiguousarray(picked), values[:, columns.index(data_set.target)], features, data_set.target)


def _diabetes(data_set: DataSet) -> Table:
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes()
    return Table(bunch.data, bunch.target, tuple(bunch.feature_names), data_set.target)
