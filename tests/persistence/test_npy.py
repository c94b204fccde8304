"""Arrays: round trips, and refusal of anything but the expected type, shape and size."""

import io
import json
import pickle
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.lib import format as npy

from diffgbm import ModelFileError, load
from diffgbm.persistence.npy import from_npy, to_npy
from tests.persistence.altered_files import (
    Trap,
    entry_of,
    refused,
    signed,
)
from tests.persistence.fixture_models import path_of, rows_of


@given(
    arrays.arrays(
        st.sampled_from(["<f4", "<f8", "<i4", "|i1", "|u1", "<u2"]), arrays.array_shapes(min_dims=1, max_dims=3)
    )
)
def test_arrays_round_trip_and_are_writable(values):
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        with pytest.raises(ValueError, match="not finite"):
            from_npy(to_npy(values), (values.dtype.str,), (None,) * values.ndim)
        return
    found = from_npy(to_npy(values), (values.dtype.str,), (None,) * values.ndim)
    assert found.dtype == values.dtype
    assert found.flags.writeable
    np.testing.assert_array_equal(found, values)


ARRAYS = {
    "first_stage": ["process:points", "process:lengths", "process:alpha", "forest:feature", "forest:threshold"],
    "auto": ["regressors:weights", "process:alpha"],
    "conformal": ["conformal:distributions.0.values", "conformal:observed.0", "conformal:group.0", "conformal:pit"],
}
ARRAYS["first_stage"] += ["forest:codes", "forest:table"]


def with_header(content: bytes, **changes) -> bytes:
    """An array whose header says something else of the same numbers."""
    file = io.BytesIO(content)
    npy.read_magic(file)
    shape, fortran, dtype = npy.read_array_header_1_0(file)
    out = io.BytesIO()
    header = {"descr": dtype.str, "fortran_order": fortran, "shape": shape, **changes}
    npy.write_array_header_1_0(out, header)
    return out.getvalue() + content[file.tell() :]


def spoiled(values: np.ndarray, content: bytes) -> dict[str, bytes]:
    """What may stand in an array's place, by what is wrong with it."""
    objects = io.BytesIO()
    np.save(objects, np.array([Trap()], dtype=object), allow_pickle=True)
    newer = io.BytesIO()
    npy.write_array(newer, values, version=(2, 0))
    wrong = {
        "empty": b"",
        "a pickle": pickle.dumps(Trap()),
        "objects": objects.getvalue(),
        "an archive": b"PK\x03\x04" + content,
        "another version": newer.getvalue(),
        "cut": content[:-1],
        "longer": content + b"\0",
        "no header": content[:20],
        "complex": to_npy(values.astype(np.complex128)),
        "text": to_npy(np.full(values.shape, "1")),
        "big-endian": with_header(content, descr=">" + values.dtype.str[1:]) if values.itemsize > 1 else b"",
        "another axis": to_npy(values[None]),
        "huge": with_header(content, shape=(10**12, *values.shape[1:])),
        "negative": with_header(content, shape=(-1, *values.shape[1:])),
        "structured": to_npy(np.zeros(len(values), dtype=[("a", "<f8"), ("b", "<i4")])),
    }
    if values.dtype.kind == "f":
        for name, bad in (("nan", np.nan), ("inf", np.inf)):
            broken = values.copy()
            broken.flat[-1] = bad
            wrong[name] = to_npy(broken)
        wrong["float16"] = to_npy(values.astype(np.float16))
    else:
        wrong["floats"] = to_npy(values.astype(np.float64))
    if values.ndim > 1 and min(values.shape) > 1:
        wrong["Fortran"] = with_header(content, fortran_order=True)
        wrong["transposed"] = to_npy(values.T)
    if len(values) > 1:
        wrong["fewer rows"] = to_npy(values[:-1])
    return wrong


@pytest.mark.parametrize(("name", "where"), [(name, where) for name, own in ARRAYS.items() for where in own])
def test_wrong_arrays_are_refused_and_run_nothing(name, where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = path_of(name)
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        content = archive.read(entry_of(manifest, where))
    values = np.load(io.BytesIO(content), allow_pickle=False)
    free = {"conformal:pit", "regressors:weights"}  # any number of values, or of models
    tried = {key: new for key, new in spoiled(values, content).items() if (key, where in free) != ("fewer rows", True)}
    assert len(tried) >= 15
    for new in tried.values():
        refused(name, lambda m, entries, n=new: entries.__setitem__(entry_of(manifest, where), n), tmp_path)
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize(("name", "step"), [("first_stage", 307), ("auto", 211), ("conformal", 509)])
def test_a_flipped_byte_with_a_valid_checksum_gives_a_usable_model_or_is_refused(name, step, tmp_path):
    """Arrays are stored as they are, so that many a flipped byte is just another number."""
    content = bytearray((path_of(name)).read_bytes())
    bad = tmp_path / "bad.dgbm"
    X = rows_of(name)
    loaded = refusals = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for at in range(0, len(content) - 64, step):
            content[at] ^= 1 << (at % 8)
            bad.write_bytes(signed(bytes(content)))
            content[at] ^= 1 << (at % 8)
            try:
                model = load(bad)
            except ModelFileError:
                refusals += 1
                continue
            assert model.predict(X).shape == (len(X),)
            loaded += 1
    assert loaded > 0
    assert refusals > 0
