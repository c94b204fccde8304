"""Memory of files that ask for much: at most three times that of honest files of the same size."""

import itertools
import json
import random
import tracemalloc

import numpy as np
import pytest

from diffgbm import ModelFileError, load
from diffgbm.persistence import archive as archives
from diffgbm.persistence.limits import MEMORY_RATIO, SMALL_FILE, MemoryBudget, manifest_memory
from diffgbm.persistence.npy import to_npy
from tests.conftest import tiny
from tests.persistence.altered_files import altered, archive, object_of
from tests.persistence.fixture_models import path_of


def outcome(path):
    """Load a file: the error, and the memory that was needed."""
    tracemalloc.start()
    try:
        load(path)
    except ModelFileError as error:
        return str(error), tracemalloc.get_traced_memory()[1]
    else:
        return "", tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_budget_is_used_up():
    budget = MemoryBudget.of_file(10 * SMALL_FILE)
    budget.take(10 * MEMORY_RATIO * SMALL_FILE)
    with pytest.raises(ValueError, match="more memory than a model of its size needs"):
        budget.take(1)


@pytest.mark.parametrize(
    "values",
    [
        [[]] * 50_000,
        [{}] * 50_000,
        [f"{k:02x}" for k in range(256)] * 200,
        [1.5] * 50_000,
        list(range(50_000)),
        [{"a": 1, "b": [2.5]}] * 20_000,
    ],
)
def test_the_memory_of_json_is_not_underestimated(values):
    text = json.dumps(values, separators=(",", ":")).encode()
    tracemalloc.start()
    kept = json.loads(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kept == values
    assert peak <= manifest_memory(text)


def noisy_lists(size: int) -> bytes:
    """Lists of nothing between digits that do not compress."""
    rng = random.Random(0)
    parts = (f"[],{{}},[],{rng.randrange(10**6):06}" for _ in itertools.count())
    return ",".join(itertools.islice(parts, size // 16)).encode()


def test_a_manifest_of_many_objects_is_refused_before_it_is_parsed(tmp_path):
    text = b'{"format": "diffgbm-model", "version": 1, "objects": [' + noisy_lists(8_000_000) + b"]}"
    content = archive(("manifest.json", text))
    (tmp_path / "m.dgbm").write_bytes(content)
    message, memory = outcome(tmp_path / "m.dgbm")
    assert "more memory than a model of its size needs" in message
    assert memory < 30 * len(content)


def test_a_manifest_that_shrinks_to_nothing_is_refused(tmp_path):
    (tmp_path / "m.dgbm").write_bytes(archive(("manifest.json", b"[" + b"[]," * 500_000 + b"[]]")))
    message, memory = outcome(tmp_path / "m.dgbm")
    assert "claims to hold" in message
    assert memory < 1_000_000


def test_a_manifest_larger_than_any_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_MANIFEST", 1000)
    message, _ = outcome(path_of("first_stage"))
    assert "claims to hold" in message
    with pytest.raises(ValueError, match=r"a model file cannot hold .* of them names and categories"):
        archives.pack({"manifest.json": b" " * 1001})


def test_more_bytes_than_any_model_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_BYTES", 1000)
    message, _ = outcome(path_of("first_stage"))
    assert "claims to hold" in message
    with pytest.raises(ValueError, match="a model file cannot hold"):
        archives.pack({"manifest.json": b"{}", "arrays/0.npy": bytes(1001)})


def test_arrays_that_shrink_to_nothing_are_refused(tmp_path):
    entries = archives.unpack(path_of("first_stage").read_bytes())
    noise = random.Random(0).randbytes(500_000)
    zeros = to_npy(np.zeros(3_000_000))
    content = archive(*entries.items(), ("boosters/98.txt", noise), ("arrays/99.npy", zeros))
    (tmp_path / "m.dgbm").write_bytes(content)
    message, memory = outcome(tmp_path / "m.dgbm")
    assert "claims to hold" in message
    assert memory < 3 * len(content)


def test_forests_that_unfold_to_much_are_refused(tmp_path):
    """A byte for each leaf, and a table of one wide row: the values of all leaves are as many rows."""

    def change(manifest, entries):
        forest = object_of(manifest, "forest")
        n, k = 400_000, 200
        leaves = {"feature": np.full(n, -1, np.int8), "threshold": np.empty(0, np.float32)}
        values = {"table": np.zeros((1, k), np.float32), "codes": np.zeros(n, np.uint8)}
        for name, array in {**leaves, **values, "numbers": np.empty((n, 0), np.float32)}.items():
            entries[forest[name]] = to_npy(array)
        forest |= {"outputs": k, "coded": list(range(k))}

    path = altered(path_of("first_stage"), change, tmp_path)
    message, memory = outcome(path)
    assert "more memory than a model of its size needs" in message
    assert memory < 10_000_000


def test_a_model_that_compresses_well_is_written_so_that_it_can_be_read(tmp_path):
    names = [f"level {k:060}" for k in range(20_000)]
    X = np.array([[name] for name in names] * 2, dtype=object)
    model = tiny("flow", residualize="off", n_repeats=1).fit(
        X, np.arange(40_000.0) % 2000 + np.arange(40_000.0) / 1e6, cat_idx=[0]
    )
    model.save(tmp_path / "m.dgbm")
    assert load(tmp_path / "m.dgbm").model_.features.levels[0] == tuple(names)


def test_a_model_of_more_steps_than_a_file_may_ask_for_is_not_saved(tmp_path):
    model = tiny("flow", n_steps=10_001).fit(np.arange(90.0)[:, None], np.arange(90.0) % 5)
    with pytest.raises(ValueError, match="n_steps must be at most 10,000; got 10001"):
        model.save(tmp_path / "m.dgbm")
    assert list(tmp_path.iterdir()) == []
