"""The list of objects: shared objects, references, and classes that describe how they are stored."""

import json
import zipfile
from functools import partial

import numpy as np
import pytest

from diffgbm import ModelFileError, load
from diffgbm.persistence.store import Part, Reader, Writer, kind_of
from tests.persistence.altered_files import altered, refused, set_at, wrong_values
from tests.persistence.fixture_models import path_of


@pytest.mark.parametrize("name", ["first_stage", "auto", "conformal"])
def test_objects_without_a_field_are_refused(name, tmp_path):
    with zipfile.ZipFile(path_of(name)) as archive:
        objects = json.loads(archive.read("manifest.json"))["objects"]
    for number, stored in enumerate(objects):
        for field in stored:
            refused(name, lambda manifest, _, n=number, f=field: manifest["objects"][n].pop(f), tmp_path)


def change_reference(number, field, new, manifest, entries):
    manifest["objects"][number][field] = new


@pytest.mark.parametrize("name", ["first_stage", "auto", "conformal"])
def test_references_to_missing_or_later_objects_are_refused(name, tmp_path):
    """An object refers to earlier ones only, so that one that refers to itself is not there yet."""
    with zipfile.ZipFile(path_of(name)) as archive:
        objects = json.loads(archive.read("manifest.json"))["objects"]
    fields = (
        "dense",
        "members",
        "location",
        "features",
        "response",
        "first_stage",
        "model",
        "pool",
        "models",
    )
    tried = 0
    for number, stored in enumerate(objects):
        if stored["kind"] in ("boosters", "response"):  # whose models are entries, and whose location is a number
            continue
        for field in set(fields) & set(stored):
            several = isinstance(stored[field], list)
            for target in (number, number + 1, len(objects), -1):
                new = [target] * len(stored[field]) if several else target
                if several and not new:
                    continue
                tried += 1
                change = partial(change_reference, number, field, new)
                refused(name, change, tmp_path, "before it is defined")
    assert tried >= 16


def test_objects_that_nothing_refers_to_are_refused(tmp_path):
    def change(manifest, entries):
        manifest["objects"].insert(0, manifest["objects"][0])
        for stored in manifest["objects"]:
            for field in ("dense", "location", "features", "response", "first_stage", "model", "members"):
                if isinstance(stored.get(field), int):
                    stored[field] += 1
                elif isinstance(stored.get(field), list) and stored["kind"] in ("weighted", "first_stage"):
                    stored[field] = [i + 1 for i in stored[field]]

    refused("first_stage", change, tmp_path, "nothing refers to object 0")


def test_entries_that_nothing_refers_to_are_refused(file):
    with pytest.raises(ModelFileError, match=r"nothing refers to 'boosters/77\.txt'"):
        load(altered(file, lambda manifest, entries: entries.__setitem__("boosters/77.txt", entries["boosters/0.txt"])))


def test_a_file_with_a_broken_booster_names_it(file):
    def change(manifest, entries):
        entries["boosters/1.txt"] = entries["boosters/1.txt"].replace(b"left_child=", b"left_child=9", 1)

    with pytest.raises(
        ModelFileError, match=r"booster 'boosters/1\.txt' cannot be used: its trees are not where it says"
    ):
        load(altered(file, change))


WRONG = {"first_stage": [("objects", [{}, 3, None, "x", [], [3], [{}], [{"kind": "x"}], [{"kind": 3}]])]}


@wrong_values(WRONG)
def test_wrong_objects_are_refused(name, where, value, tmp_path):
    refused(name, lambda manifest, entries: set_at(manifest, where, value), tmp_path)


class Pair:
    """A class that describes how it is stored."""

    stored_as = "pair"

    def __init__(self, left=None, right=None, array=None):
        self.left, self.right, self.array = left, right, array

    def to_stored(self, writer):
        array = None if self.array is None else writer.array(self.array)
        return {"left": writer.put(self.left), "right": writer.put(self.right), "array": array}

    @classmethod
    def from_stored(cls, stored, reader):
        left, right = (reader.maybe(stored[name], ("pair",)) for name in ("left", "right"))
        array = None if stored["array"] is None else reader.array(stored, "array", "<f8", (None,))
        return Part(cls(left and left.value, right and right.value, array))


def written(value):
    writer = Writer({})
    writer.put(value)
    return writer, json.loads(json.dumps(writer.objects))


def test_a_class_that_describes_itself_is_written_and_read():
    numbers = np.arange(3.0)
    inner = Pair(array=numbers)
    writer, stored = written(Pair(inner, inner, numbers.copy()))
    assert [each["kind"] for each in stored] == ["pair", "pair"]
    assert list(writer.entries) == ["arrays/0.npy"]
    found = Reader(writer.entries, {"pair": kind_of(Pair)}, ()).build(stored).value
    assert found.left is found.right
    assert found.array is found.left.array
    np.testing.assert_array_equal(found.array, numbers)


def test_a_subclass_does_not_inherit_how_it_is_stored():
    class Triple(Pair):
        pass

    with pytest.raises(TypeError, match=r"a model file cannot hold a .*Triple"):
        Writer({}).put(Pair(Triple()))
    assert Writer({}).put(None) is None
