"""The eleven data sets of the paper by name: where they come from, how they are prepared, how they are read.

Each is one file ``<name>.csv.gz`` with a header line. ``load`` looks for it in a local directory, whose
``manifest.json`` may give its file name and checksum, then in the cache of downloads, and downloads the original last.
``diabetes`` comes with scikit-learn.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.downloads import OFFLINE_VARIABLE, cache_directory, obtain, offline
from benchmarks.originals import ORIGINALS, Original
from benchmarks.table_files import DataSet, DataSetError, Table, read, verify

DATA_VARIABLE = "DIFFGBM_DATA"
ROOT = Path(__file__).resolve().parents[1]
"""The repository."""


def _names(line: str) -> tuple[str, ...]:
    return tuple(line.split())


_REGISTRY = (
    DataSet(
        "yacht",
        "UCI 243",
        "resistance",
        "865590603d30b0fe9bf5fb87ce13ef6a265e13e65802885a097e67940f67f2c6",
        rows=308,
        features=_names(
            "longitudinal_position prismatic_coefficient length_displacement beam_draught length_beam froude_number"
        ),
    ),
    DataSet(
        "diabetes",
        "scikit-learn load_diabetes",
        "disease_progression",
        embedded=True,
        rows=442,
        features=_names("age sex bmi bp s1 s2 s3 s4 s5 s6"),
    ),
    DataSet(
        "energy",
        "UCI 242 (Y1)",
        "heating_load",
        "de40c4880fb28915fd9a3acbcea53d096ce27bfb45e04a336178cdea8c4b8444",
        rows=768,
        features=_names(
            "compactness surface_area wall_area roof_area height orientation glazing_area glazing_distribution"
        ),
    ),
    DataSet(
        "concrete",
        "UCI 165",
        "strength",
        "d0282e7eec33fa9fc0cef0bc0fd3d2bd3eec112d2178d660b6e0b1ba4b96c541",
        rows=1030,
        features=_names("cement slag fly_ash water superplasticizer coarse_aggregate fine_aggregate age"),
    ),
    DataSet(
        "wine",
        "UCI 186",
        "quality",
        "617bbae39ce6f51476c58053b16ad430cc980e0ce9d013e1b937f2d8132085ab",
        notes="red (color=1) and white (color=0) joined",
        rows=6497,
        features=_names(
            "fixed_acidity volatile_acidity citric_acid residual_sugar chlorides free_sulfur_dioxide "
            "total_sulfur_dioxide density pH sulphates alcohol color"
        ),
    ),
    DataSet(
        "kin8nm",
        "Delve kin8nm / OpenML 189",
        "distance",
        "2dc63062cd0ba89287d9c363e4b31544685af3c0e21bae03ccfe11e37e5c66ae",
        rows=8192,
        features=tuple(f"theta{i}" for i in range(1, 9)),
    ),
    DataSet(
        "power_plant",
        "UCI 294",
        "energy_output",
        "7e38e07476e90497a7820173db463993ba714000f1b4ebb307b3253d07450216",
        rows=9568,
        features=_names("temperature vacuum pressure humidity"),
    ),
    DataSet(
        "naval",
        "UCI 316",
        "turbine_decay",
        "8a53cac6e23b96c4e4cfad288b37ffe93158249c50c5540ef0ea90f122b543ad",
        notes="compressor_decay is kept as a feature",
        rows=11934,
        features=_names(
            "lever_position ship_speed gt_shaft_torque gt_rate gg_rate starboard_torque port_torque "
            "hp_turbine_exit_temp gt_inlet_temp gt_outlet_temp hp_turbine_exit_pressure "
            "gt_inlet_pressure gt_outlet_pressure gt_exhaust_pressure turbine_injection_control "
            "fuel_flow compressor_decay"
        ),
    ),
    DataSet(
        "california_housing",
        "StatLib cal_housing, columns as in scikit-learn",
        "MedHouseVal",
        "05817eef1b24d07428073579db624db1eeccda974211a026c26d6900dd9bb456",
        rows=20640,
        features=_names("MedInc HouseAge AveRooms AveBedrms Population AveOccup Latitude Longitude"),
    ),
    DataSet(
        "protein",
        "UCI 265",
        "rmsd",
        "68f5421f5f8d1115e8b0611b26b383a6950ce026705295355b109fa133d8a7b7",
        rows=45730,
        features=tuple(f"F{i}" for i in range(1, 10)),
    ),
    DataSet(
        "ct_slices",
        "UCI 206 / OpenML 46300",
        "reference",
        notes="patient identifier dropped, 384 features; only the checksum of the first 682 rows is known",
        drop=("patientId",),
        rows=53500,
        features=tuple(f"value{i}" for i in range(384)),
        head=(682, "13ea3c7161c8ddf04fb21dd037430cc7db6f9acdf5a35db46771ffa3b3d9047c"),
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


def find(data_set: DataSet, directory: Path | None, cache: Path | None = None) -> tuple[str, Path] | None:
    """Return ``("local", file)`` or ``("cache", file)``, the file to read; ``None`` if there is none."""
    for kind, folder in (("local", directory), ("cache", cache or cache_directory())):
        path = locate(data_set, folder)
        if path is not None:
            return kind, path
    return None


def load(
    data_set: DataSet,
    directory: Path | None,
    *,
    cache: Path | None = None,
    download: bool = True,
    originals: Sequence[Original] | None = None,
    base_url: str | None = None,
) -> Table:
    """Read a data set: from the local directory, else from the cache, else from its original.

    Parameters
    ----------
    data_set : DataSet
        One of ``DATA_SETS``.
    directory : Path or None
        As ``data_directory`` finds it.
    cache : Path or None
        Directory of downloads; ``None`` is ``cache_directory()``.
    download : bool
        ``False`` never downloads. The variable ``DIFFGBM_OFFLINE`` has the same effect.
    originals : sequence of Original, optional
        Where to download from; the registered ones by default.
    base_url : str or None
        Mirror that has the originals at the same paths.

    Raises
    ------
    DataSetError
        There is no file, its checksum differs, or it lacks the target.
    """
    if data_set.embedded:
        return _diabetes(data_set)
    path = locate(data_set, directory)
    if path is not None:
        assert directory is not None
        _verify_file(path, _entry(data_set, directory).get("sha256"))
        return _checked(path, data_set)
    cache = cache or cache_directory()
    damage = ""
    path = locate(data_set, cache)
    if path is not None:
        try:
            return _checked(path, data_set)
        except DataSetError as error:  # a damaged download is replaced by a new one
            damage = f" {error}"
    if not download or offline():
        raise DataSetError(_how_to_get(data_set, directory) + damage)
    try:
        if cache is None:
            raise DataSetError("Downloads need pooch, which is not installed: pip install pooch (or 'diffgbm[bench]').")
        return obtain(data_set, ORIGINALS.get(data_set.name, ()) if originals is None else originals, cache, base_url)
    except DataSetError as error:
        raise DataSetError(f"{_how_to_get(data_set, directory)} {error}{damage}") from error


def _checked(path: Path, data_set: DataSet) -> Table:
    table = read(path, data_set)
    verify(table, data_set, str(path))
    return table


def _how_to_get(data_set: DataSet, directory: Path | None) -> str:
    if directory is None:
        target = f"a directory named by --data-dir or {DATA_VARIABLE}"
    else:
        target = f"{directory} (or another directory named by --data-dir or {DATA_VARIABLE})"
    return (
        f"no file of the data set {data_set.name!r}. Put {data_set.file} (source: {data_set.source}; a header line, "
        f"target column {data_set.target!r}) into {target}."
        + (f" Downloads are switched off by {OFFLINE_VARIABLE}." if offline() else "")
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


def _verify_file(path: Path, expected: str | None) -> None:
    if expected is None:
        return
    result = hashlib.sha256(path.read_bytes()).hexdigest()
    if result != expected:
        raise DataSetError(
            f"{path} has the SHA-256 checksum {result}, expected {expected}: it is damaged or another version. "
            "Replace it."
        )


def _diabetes(data_set: DataSet) -> Table:
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes()
    return Table(bunch.data, bunch.target, tuple(bunch.feature_names), data_set.target)
