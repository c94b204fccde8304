"""Untrusted files: findings of the fuzzer, seeded mutations of every kind, and limits on memory and time."""

import random
import struct
import zipfile
from collections import Counter

import numpy as np
import pytest
from reliability import mutations, targets
from reliability.fuzzing import seed_texts

from diffgbm.engine.stored import StoredBooster
from diffgbm.persistence.archive import pack, unpack
from diffgbm.persistence.npy import from_npy, to_npy
from tests.persistence.altered_files import altered, archive, object_of, refused
from tests.persistence.fixture_models import FIXTURES, path_of

from .bounded import outcomes

TEXT, LINEAR = seed_texts()[:2]
FILES = sorted(FIXTURES.glob("*.dgbm"))


def with_words(text: str, name: str, *words: str) -> str:
    """The text with the first words of the first line of a name replaced."""
    lines = text.split("\n")
    at = next(k for k, line in enumerate(lines) if line.startswith(f"{name}="))
    old = lines[at].partition("=")[2].split(" ")
    lines[at] = f"{name}=" + " ".join([*words, *old[len(words) :]])
    return mutations.with_sizes("\n".join(lines))


@pytest.mark.parametrize(
    "objective",
    ["multiclass num_class:50000", "multiclassova num_class:9 sigmoid:1", "lambdarank", "nothing", "-", "", "binary x"],
)
def test_objectives_that_lightgbm_would_follow_out_of_bounds_are_refused(objective):
    """With ``multiclass`` LightGBM writes 50,000 numbers into a buffer of one, and the process dies."""
    assert "\nobjective=regression\n" in TEXT
    text = TEXT.replace("\nobjective=regression\n", f"\nobjective={objective}\n")
    with pytest.raises(ValueError, match="objective"):
        StoredBooster.checked(text, 3)


@pytest.mark.parametrize(
    "objective", ["regression", "regression sqrt", "quantile", "binary sigmoid:1", "tweedie", "huber alpha:0.9"]
)
def test_objectives_of_one_number_are_read(objective):
    text = TEXT.replace("\nobjective=regression\n", f"\nobjective={objective}\n")
    assert np.isfinite(StoredBooster.checked(text, 3).predict(targets.ROWS)).all()


@pytest.mark.parametrize("word", ["1_0", "\u0663", "+1", "0_0", "1e0"])
@pytest.mark.parametrize("name", ["num_features", "leaf_features", "leaf_coeff", "leaf_const"])
def test_numbers_that_python_and_lightgbm_read_differently_are_refused(name, word):
    if (name, word) in {("leaf_coeff", "1e0"), ("leaf_coeff", "+1"), ("leaf_const", "1e0"), ("leaf_const", "+1")}:
        pytest.skip("a number in both")
    with pytest.raises(ValueError, match=r"number|followed"):
        StoredBooster.checked(with_words(LINEAR, name, word), 3)


@pytest.mark.parametrize("word", ["2_", "+2", " 2", "02", "\u0662", "2.0"])
def test_a_number_of_features_that_python_and_lightgbm_read_differently_is_refused(word):
    text = TEXT.replace("\nmax_feature_idx=2\n", f"\nmax_feature_idx={word}\n")
    with pytest.raises(ValueError, match=r"features|number"):
        StoredBooster.checked(text, 3)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        *(("num_features", word) for word in ("", "x", "1_0")),
        *(("leaf_const", word) for word in ("", "x", "1_0", "-1e-400", "5e-324", "1e999", "nan", "inf", ".", "e5")),
    ],
)
def test_linear_leaves_that_would_end_lightgbm_are_refused(name, word):
    """An empty entry or a denormal number ends the process: LightGBM does not catch the C++ exception."""
    head, _, last = LINEAR.rpartition("\nTree=")
    changed = with_words("tree_sizes=\nTree=" + last, name, word).rpartition("\nTree=")[2]
    with pytest.raises(ValueError, match=r"number|followed"):
        StoredBooster.checked(mutations.with_sizes(f"{head}\nTree={changed}"), 3)


@pytest.mark.parametrize("word", ["0", "-0", "0.000", "1e-300", "+2.5e10", "-7"])
def test_linear_leaves_of_ordinary_numbers_are_read(word):
    stored = StoredBooster.checked(with_words(LINEAR, "leaf_const", word), 3)
    assert np.isfinite(stored.predict(targets.ROWS[:1])).all()


@pytest.mark.parametrize("name", ["feature_names", "feature_infos"])
def test_columns_without_a_name_are_refused(name):
    with pytest.raises(ValueError, match="does not name 3 features"):
        StoredBooster.checked(with_words(TEXT, name, ""), 3)


@pytest.mark.parametrize("value", ["1", {}, None, 0.5])
def test_arguments_that_prediction_would_stumble_over_are_refused(value, tmp_path):
    refused("first_stage", lambda manifest, _: object_of(manifest, "diffgbm")["params"].update(verbose=value), tmp_path)
    refused("auto", lambda manifest, _: object_of(manifest, "auto")["params"].update(verbose=value), tmp_path)


@pytest.mark.parametrize("value", [True, False])
def test_groups_of_a_truth_value_are_refused(value, tmp_path):
    refused("conformal", lambda manifest, _: object_of(manifest, "conformal")["params"].update(groups=value), tmp_path)


def with_raw_header(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@pytest.mark.parametrize(
    "header",
    [
        b"(\n",
        b"  x\n y\n",
        b"-" * 9900 + b"1",
        b"(" * 9900,
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2L,), }\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,), }\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1," * 5000 + b"), }\n",
        b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }\n",
        b"\xff\xfe",
        b"",
    ],
    ids=range(10),
)
def test_headers_of_arrays_that_are_no_headers_are_refused(header, tmp_path, recwarn):
    """numpy reads a header as a Python expression: its tokenizer and its stack raise other errors."""
    with pytest.raises(ValueError, match=r"not an array|its shape is|another number of values"):
        from_npy(with_raw_header(header) + bytes(16), ("<f8",), (None,))

    def change(manifest, entries):
        entries[object_of(manifest, "process")["points"]] = with_raw_header(header) + bytes(16)

    refused("first_stage", change, tmp_path, "cannot be used")
    assert not recwarn.list


@pytest.mark.parametrize("shape", [(0,), (3,), (2, 0), (2, 3), (1, 2, 3)])
@pytest.mark.parametrize("dtype", ["<f8", "<f4", "|u1", "<i8"])
def test_headers_of_arrays_survive(dtype, shape):
    array = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    result = from_npy(to_npy(array), (dtype,), (None,) * len(shape))
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)


def of_no_leaves(manifest, entries):
    """A forest of splits only, whose (no) leaves predict very many numbers."""
    forest = object_of(manifest, "forest")
    splits = np.zeros(4, dtype=np.int8)
    forest.update(outputs=2**31 - 1, coded=[])
    entries[forest["feature"]] = to_npy(splits)
    entries[forest["threshold"]] = to_npy(np.zeros(4, dtype=np.float32))
    entries[forest["table"]] = to_npy(np.zeros((0, 0), dtype=np.float32))
    entries[forest["codes"]] = to_npy(np.zeros(0, dtype=np.uint8))
    entries[forest["numbers"]] = to_npy(np.zeros((0, 2**31 - 1), dtype=np.float32))


def shares_nothing(manifest, entries):
    """Arrays that are stored once for several objects must not be changed together."""
    forest = object_of(manifest, "forest")
    for k, name in enumerate(("feature", "threshold", "table", "codes", "numbers")):
        entries[f"arrays/{900 + k}.npy"] = entries[forest[name]]
        forest[name] = f"arrays/{900 + k}.npy"
    return manifest, entries


def claims_of_millions(text: bytes) -> bytes:
    """A booster's text whose first tree declares many leaves and has entries for them."""
    lines = text.decode().split("\n")
    at = next(k for k, line in enumerate(lines) if line.startswith("num_leaves="))
    lines[at] = "num_leaves=999999999"
    return mutations.with_sizes("\n".join(lines)).encode()


GREEDY = {
    "columns": lambda manifest, entries: object_of(manifest, "dense").update(columns=2**31 - 1),
    "outputs": lambda manifest, entries: (shares_nothing(manifest, entries), of_no_leaves(manifest, entries)),
    "leaves": lambda manifest, entries: entries.update(
        {"boosters/0.txt": claims_of_millions(entries["boosters/0.txt"])}
    ),
    "features": lambda manifest, entries: object_of(manifest, "features").update(n_features=2**31 - 1),
    "steps of the arguments": lambda manifest, entries: object_of(manifest, "diffgbm")["params"].update(n_steps=2**31),
    "steps": lambda manifest, entries: object_of(manifest, "model")["recipe"]["sampler"].update(n_steps=2**31 - 1),
    "lengths": lambda manifest, entries: entries.update(
        {
            object_of(manifest, "process")["points"]: with_raw_header(
                b"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 0), }\n"
            )
        }
    ),
    "digits": lambda manifest, entries: entries.update(
        {"manifest.json": entries["manifest.json"].replace(b'"version": 1', b'"version": ' + b"9" * 3_000_000)}
    ),
    "depth": lambda manifest, entries: entries.update(
        {"manifest.json": entries["manifest.json"].replace(b'"version": 1', b'"version": ' + b'{"a":' * 200_000)}
    ),
}


def test_greedy_files_are_refused_within_bounds_of_memory_and_time(tmp_path):
    paths = []
    for name, change in GREEDY.items():
        paths.append(altered(path_of("first_stage"), change, tmp_path).rename(tmp_path / f"{name}.dgbm"))
    # lists of nothing: 4,000 bytes of memory for each byte of the file
    lists = b'{"format": "diffgbm-model", "version": 1, "objects": [' + b"[]," * 50_000_000 + b"[]]}"
    (tmp_path / "lists.dgbm").write_bytes(archive(("manifest.json", lists), ("boosters/0.txt", bytes(700_000))))
    noise = random.Random(0).randbytes(800_000)
    (tmp_path / "padded.dgbm").write_bytes(archive(("manifest.json", lists), ("boosters/0.txt", noise)))
    paths += [tmp_path / "lists.dgbm", tmp_path / "padded.dgbm"]
    results = outcomes(paths)
    assert set(results) == {path.name for path in paths}
    assert {name: kind for name, (kind, _) in results.items()} == dict.fromkeys(results, "ModelFileError"), results
    for name in ("lists.dgbm", "padded.dgbm"):
        assert "claims to hold" in results[name][1]


def test_a_manifest_that_shrinks_to_nothing_is_stored_so_that_it_is_believed():
    manifest = b"[" + b"null, " * 500_000 + b"null]"
    assert unpack(pack({"manifest.json": manifest}))["manifest.json"] == manifest


def test_a_directory_that_claims_more_than_four_gigabytes_is_refused(tmp_path):
    """64-bit sizes are in an extra field, which a check of the 32-bit sizes would miss."""
    info = zipfile.ZipInfo("manifest.json")
    content = bytearray(archive((info, b"{}")))
    start = content.index(b"PK\x01\x02")
    extra = struct.pack("<HHQQ", 1, 16, 2**40, 2**40)
    content[start + 20 : start + 28] = b"\xff" * 8
    content[start + 30 : start + 32] = struct.pack("<H", len(extra))
    name_end = start + 46 + len("manifest.json")
    content[name_end:name_end] = extra
    end = content.index(b"PK\x05\x06")
    content[end + 12 : end + 16] = struct.pack("<I", end - start)
    path = tmp_path / "huge.dgbm"
    path.write_bytes(mutations.signed(bytes(content)))
    kind, words = outcomes([path])["huge.dgbm"]
    assert kind == "ModelFileError"
    assert "claims to hold 1,099,511,627,776 bytes" in words


@pytest.mark.filterwarnings("ignore::diffgbm._util.errors.DiffGBMWarning")
@pytest.mark.parametrize("seed", range(4))
def test_mutated_model_files_are_refused_or_used(seed, tmp_path):
    """A few mutations of the fuzzer, in order: ``python -m reliability fuzz-model`` tries thousands."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(60):
        entries = unpack(rng.choice(FILES).read_bytes())
        changed = mutations.mutated_entries(entries, rng, mutations.flipped(rng))
        counts[targets.read_model(mutations.archived(changed), tmp_path)] += 1
    assert counts["refused"] > 20
    assert counts["used"] > 0


@pytest.mark.filterwarnings("ignore::diffgbm._util.errors.DiffGBMWarning")
@pytest.mark.parametrize("kind", mutations.KINDS)
def test_files_with_one_error_of_each_kind_are_refused_or_used(kind, tmp_path):
    rng = random.Random(kind)
    models = [unpack(file.read_bytes()) for file in FILES]
    counts: Counter[str] = Counter()
    for k in range(40):
        changed = mutations.mutated_file(kind, rng.choice(models), models, rng, mutations.flipped(rng))
        unpacked = models[k % len(models)] if kind == "zip" else unpack(changed)
        assert unpacked.keys() <= {name for model in models for name in model}
        counts[targets.read_model(changed, tmp_path)] += 1
    assert counts["refused"] > 5
    assert counts["used"] > 0


def test_a_zip_without_entries_is_swapped_too():
    """The mutation of a file that an earlier mutation has emptied; it ended the fuzzer."""
    model = unpack(FILES[0].read_bytes())
    assert mutations.swapped({}, model, random.Random(0)) == model


def test_mutated_boosters_are_refused_or_read_alike_by_lightgbm():
    rng = random.Random(1)
    texts = seed_texts()
    counts = Counter(targets.read_text(mutations.mutated_text(rng.choice(texts), rng).encode()) for _ in range(600))
    assert counts["refused"] > 200
    assert counts["used"] > 20
