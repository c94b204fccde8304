"""Model files: one compressed file that holds data only, and is read without running any of it.

A file is a zip archive: ``manifest.json`` (arguments, recipe, the table's schema, versions), the boosters in LightGBM's
text form, and ``checksum``, the SHA-256 of all the rest. Nothing is unpickled and nothing is written to disk when it is
read. Every number survives exactly, so that a loaded model draws the same samples to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
import numpy as np

from diffgbm.engine.forest import CannotCollapse, Forest, check_forest
from diffgbm.guides import Guide
from diffgbm.model import FittedModel
from diffgbm.noise_levels import TimeSampling
from diffgbm.paths import GaussianPath
from diffgbm.recipe import Recipe
from diffgbm.sampler import Sampler
from diffgbm.table import FeatureTable, ResponseTable

if TYPE_CHECKING:
    from diffgbm.estimator import DiffGBM

FORMAT = "diffgbm-model"
VERSION = 1
"""Version of the layout; files of this and all earlier versions can be read."""

LARGEST_RATIO = 200
"""Text of boosters shrinks to a third; an entry that claims to shrink more than this is no model."""
MOST_ENTRIES = 100_000


class ModelFileError(ValueError):
    """A file that is not a model, or not one that this version can read; the message says which."""


def save(estimator: DiffGBM, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to ``path``, whole or not at all."""
    target = Path(path)
    entries = _entries(estimator)
    entries["checksum"] = _checksum(entries).encode()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                for name, content in entries.items():
                    archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: str | os.PathLike[str]) -> DiffGBM:
    """Read an estimator that ``save`` wrote; raise ``ModelFileError`` for anything else."""
    from diffgbm.estimator import DiffGBM

    entries = _read(Path(path))
    manifest = _manifest(entries, Path(path))
    try:
        estimator = DiffGBM(**manifest["params"])
        return estimator._with_model(_model(manifest, entries))
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ModelFileError(f"{path} is damaged: its manifest does not describe a model ({error!r}).") from None


def _entries(estimator: DiffGBM) -> dict[str, bytes]:
    model = estimator.model_
    texts: dict[str, bytes] = {}

    def store(name: str, booster: lgb.Booster) -> str:
        best = booster.best_iteration
        texts[name] = booster.model_to_string(num_iteration=best if best > 0 else -1).encode()
        return name

    def store_all(kind: str, groups: Sequence[Sequence[lgb.Booster]]) -> list[list[str]]:
        return [[store(f"{kind}/{j}/{k}.txt", b) for k, b in enumerate(group)] for j, group in enumerate(groups)]

    guide = None
    if model.guide is not None:
        guide = {
            "mean": store_all("mean", model.guide.mean_models),
            "scale": store_all("scale", model.guide.scale_models),
            **{name: getattr(model.guide, name).tolist() for name in ("centre", "spread", "scale_floor")},
        }
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": {name: version(name) for name in ("diffgbm", "lightgbm", "numpy")},
        "params": _plain(estimator.get_params(deep=False), "params"),
        "features": _plain(asdict(model.features), "features"),
        "response": _plain(asdict(model.response), "response"),
        "recipe": _plain(asdict(model.recipe), "recipe"),
        "guide": guide,
        "boosters": [store(f"noise/{j}.txt", booster) for j, booster in enumerate(model.boosters)],
    }
    return {"manifest.json": json.dumps(manifest, sort_keys=True).encode(), **texts}


def _plain(value: Any, where: str) -> Any:
    """Return ``value`` as JSON can hold it; refuse what it cannot."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise TypeError(f"{where} is a {type(value).__name__}, which a model file cannot hold: it holds numbers and text.")


def _checksum(entries: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(entries):
        digest.update(f"{name}\0{len(entries[name])}\0".encode() + entries[name])
    return digest.hexdigest()


def _read(path: Path) -> dict[str, bytes]:
    """Read all entries into memory; nothing is extracted, and no entry may claim to be larger than it can be."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no model file {str(path)!r}.")
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            names = [info.filename for info in infos]
            if len(names) > MOST_ENTRIES or len(set(names)) < len(names):
                raise ModelFileError(f"{path} is damaged: too many entries, or entries of the same name.")
            for info in infos:
                if info.file_size > LARGEST_RATIO * info.compress_size + 4096:
                    raise ModelFileError(f"{path} is refused: {info.filename!r} claims {info.file_size:,} bytes.")
            entries = {info.filename: archive.read(info) for info in infos}
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} is not a model file, or was cut short or altered: {error}.") from None
    except Exception as error:  # zlib.error has no common base with the others
        raise ModelFileError(f"{path} is damaged: {error}.") from None
    stated = entries.pop("checksum", b"").decode("ascii", "replace")
    if "manifest.json" not in entries:
        raise ModelFileError(f"{path} is not a model file: it has no manifest.")
    if stated != _checksum(entries):
        raise ModelFileError(f"{path} is damaged: its checksum does not match its content.")
    return entries


def _manifest(entries: Mapping[str, bytes], path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(entries["manifest.json"])
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is damaged: its manifest is not JSON.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a model file: its manifest does not say {FORMAT!r}.")
    found = manifest.get("version")
    if not isinstance(found, int) or not 1 <= found <= VERSION:
        raise ModelFileError(
            f"{path} has format version {found!r}; this diffgbm ({version('diffgbm')}) reads versions 1 to {VERSION}. "
            "Install the diffgbm that wrote it, or a newer one."
        )
    return manifest


def _model(manifest: Mapping[str, Any], entries: Mapping[str, bytes]) -> FittedModel:
    features, response, recipe = manifest["features"], manifest["response"], manifest["recipe"]
    n, d = features["n_features"], len(response["scale"])
    params = manifest["params"]
    guide = None
    if manifest["guide"] is not None:
        stored = manifest["guide"]
        guide = Guide(
            _boosters(stored["mean"], entries, n),
            _boosters(stored["scale"], entries, n),
            *(np.array(stored[name], dtype=np.float64) for name in ("centre", "spread", "scale_floor")),
        )
    width = d + n + (2 if recipe["noise_features"] == "raw_time_log_std" else 1)
    return FittedModel(
        FeatureTable(
            n,
            None if features["names"] is None else tuple(features["names"]),
            tuple(None if levels is None else tuple(levels) for levels in features["levels"]),
        ),
        ResponseTable(
            None if response["names"] is None else tuple(response["names"]),
            bool(response["is_1d"]),
            np.array(response["location"], dtype=np.float64),
            np.array(response["scale"], dtype=np.float64),
        ),
        guide,
        Recipe(
            **{
                **recipe,
                "path": GaussianPath(**recipe["path"]),
                "times": TimeSampling(**recipe["times"]),
                "sampler": Sampler(**recipe["sampler"]),
            }
        ),
        tuple(_booster(name, entries, width) for name in manifest["boosters"]),
        params["engine"],
        params["n_jobs"],
    )


def _boosters(
    names: Sequence[Sequence[str]], entries: Mapping[str, bytes], width: int
) -> tuple[tuple[lgb.Booster, ...], ...]:
    return tuple(tuple(_booster(name, entries, width) for name in group) for group in names)


def _booster(name: str, entries: Mapping[str, bytes], width: int) -> lgb.Booster:
    """Read a booster; its text is checked by our own reader before LightGBM's, which trusts it, sees it."""
    text = entries[name].decode()
    try:
        check_forest(Forest.from_string(text), width)
    except CannotCollapse:
        pass
    except (ValueError, KeyError, IndexError) as error:
        raise ModelFileError(f"booster {name!r} is damaged: {error}.") from None
    return lgb.Booster(model_str=text)
