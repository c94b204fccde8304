"""Arrays in model files that are not what they should be: each is refused, and none leads a kernel astray."""

import io
import json
import pickle
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.lib import format as npy

from diffgbm import ModelFileError, load
from diffgbm.persistence.forests import unfolded
from diffgbm.persistence.npy import from_npy, to_npy
from tests.persistence.altered_files import DATA, Trap, object_of, refused, signed


def entry_of(manifest, where: str) -> str:
    """Name of the entry that an object's field refers to."""
    kind, _, field = where.partition(":")
    value = object_of(manifest, kind)
    for part in field.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def array_of(manifest, entries, where: str) -> np.ndarray:
    return np.load(io.BytesIO(entries[entry_of(manifest, where)]), allow_pickle=False)


ARRAYS = {
    "with_first_stage": ["process:points", "process:lengths", "process:alpha", "forest:feature", "forest:threshold"],
    "auto": ["regressors:weights", "process:alpha"],
    "conformal": ["conformal:laws.0.values", "conformal:observed.0", "conformal:group.0", "conformal:pit"],
}
ARRAYS["with_first_stage"] += ["forest:codes", "forest:table"]


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
def test_arrays_that_are_not_what_they_should_be_are_refused_and_run_nothing(name, where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = DATA / f"version2_{name}.dgbm"
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


def changed(where: str, make):
    """A change of the array that an object's field refers to."""

    def change(manifest, entries):
        values = array_of(manifest, entries, where)
        entries[entry_of(manifest, where)] = to_npy(make(values))

    return change


def at(index, value):
    def make(values):
        values.flat[index] = value
        return values

    return make


@pytest.mark.parametrize(
    ("name", "where", "make", "message"),
    [
        ("with_first_stage", "forest:feature", at(0, 99), "columns that are not there"),
        ("with_first_stage", "forest:feature", at(0, -2), "columns that are not there"),
        ("with_first_stage", "forest:feature", at(0, -128), "columns that are not there"),
        ("with_first_stage", "forest:feature", at(-1, 0), "instead of"),
        ("with_first_stage", "forest:feature", np.sort, "cut off"),
        ("with_first_stage", "forest:feature", lambda v: np.roll(v, 1), "cut off"),
        ("with_first_stage", "forest:feature", lambda v: v[:0], "columns that are not there"),
        ("with_first_stage", "forest:codes", at(3, 255), "numbers that are not there"),
        ("with_first_stage", "forest:table", lambda v: v[:1], "numbers that are not there"),
        ("with_first_stage", "process:lengths", at(0, 0.0), "lengths > 0"),
        ("with_first_stage", "process:lengths", at(0, -1.0), "lengths > 0"),
        ("with_first_stage", "process:points", lambda v: v[:0], "instead of"),
        ("auto", "regressors:weights", lambda v: v[:, :0], "no regressors"),
        ("conformal", "conformal:laws.0.values", lambda v: v[:, ::-1].copy(), "must be sorted"),
        ("conformal", "conformal:laws.0.levels", lambda v: v[::-1].copy(), "levels"),
        ("conformal", "conformal:laws.0.levels", at(-1, 1.5), "levels"),
        ("conformal", "conformal:laws.0.levels", at(0, -0.5), "levels"),
        ("conformal", "conformal:pit", at(0, -0.1), "from 0 to 1"),
        ("conformal", "conformal:pit", at(-1, 1.1), "from 0 to 1"),
        ("conformal", "conformal:pit", lambda v: v[::-1].copy(), "from 0 to 1"),
        ("conformal", "conformal:pit", lambda v: v[:0], "from 0 to 1"),
    ],
)
def test_arrays_of_the_right_kind_with_wrong_numbers_are_refused(name, where, make, message, tmp_path):
    refused(name, changed(where, make), tmp_path, message)


@settings(max_examples=200, deadline=None)
@given(arrays.arrays(np.int32, st.integers(1, 60), elements=st.integers(-1, 3)))
def test_whatever_a_forest_says_its_trees_are_trees(feature):
    """No cycle, no child out of range, no two parents: or it is refused."""
    inner = np.flatnonzero(feature >= 0)
    cuts = np.arange(len(inner), dtype=np.float32)
    try:
        roots, threshold, left, right = unfolded(feature, cuts)
    except ValueError:
        # cut off: fewer leaves than splits leave open, at the end of the last tree
        balance = np.cumsum(np.where(feature >= 0, 1, -1))
        trees = 1 - np.minimum.accumulate(np.concatenate([[0], balance[:-1]]))
        assert balance[-1] > -trees[-1]
        return
    children = np.concatenate([left[inner], right[inner]])
    parents = np.concatenate([inner, inner])
    assert (children > parents).all()
    assert (children < len(feature)).all()
    assert sorted([*children, *roots]) == list(range(len(feature)))
    np.testing.assert_array_equal(left[feature < 0], np.arange(len(feature) - len(inner)))
    np.testing.assert_array_equal(threshold[inner], cuts)


@given(
    arrays.arrays(
        st.sampled_from(["<f4", "<f8", "<i4", "|i1", "|u1", "<u2"]), arrays.array_shapes(min_dims=1, max_dims=3)
    )
)
def test_arrays_survive_and_can_be_written_to(values):
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        with pytest.raises(ValueError, match="not finite"):
            from_npy(to_npy(values), (values.dtype.str,), (None,) * values.ndim)
        return
    found = from_npy(to_npy(values), (values.dtype.str,), (None,) * values.ndim)
    assert found.dtype == values.dtype
    assert found.flags.writeable
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(("name", "step"), [("with_first_stage", 307), ("auto", 211), ("conformal", 509)])
def test_a_flipped_byte_with_its_checksum_mended_is_a_model_that_answers_or_is_refused(name, step, tmp_path):
    """Arrays are stored as they are, so that many a flipped byte is just another number."""
    content = bytearray((DATA / f"version2_{name}.dgbm").read_bytes())
    bad = tmp_path / "bad.dgbm"
    X = np.array(json.loads((DATA / f"version2_{name}.json").read_text())["X"])
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
