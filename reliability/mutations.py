"""Mutations that respect a file's structure: a random byte change would fail the checksum at once.

Each function takes a ``random.Random`` and returns a copy of its input with one error. ``KINDS`` names those of a model
file.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import random
import re
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.lib import format as npy

Mutate = Callable[[bytes], bytes]
"""Changes bytes regardless of the format."""

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 3, 5, 2**31 - 1, 2**31, 2**63, 10**12, 10**400, -(10**400)),
    *(0.5, -0.0, 1e-320, 1e308, -1e308, float("nan"), float("inf"), "", "x", "0", "velocity", "sde", [], {}, [[]]),
)
ODD_WORDS = (
    *("", "0", "1", "-1", "-2", "2", "9", "-0", "+1", "007", "2147483648", "-2147483649", "99999999999999999999"),
    *("1e5", "1e400", "-1e-400", "nan", "inf", "-inf", "1-2", "1.5", ".", "-", "1_0", "0x10", "\u0663", "=", "x"),
)
ODD_OBJECTIVES = (
    *("multiclass num_class:5", "multiclassova num_class:3 sigmoid:1", "binary sigmoid:1", "regression sqrt"),
    *("lambdarank", "poisson", "quantile alpha:0.5", "tweedie", "cross_entropy", "nothing", "regression x:y"),
)
ODD_TYPES = ("<f8", ">f8", "<f4", "<i8", "|u1", "|i1", "<u2", "|O", "<c16", "<U3", "|V8", "<M8[s]")
ODD_LENGTHS = (0, 1, -1, 2, 2**31, 2**62, 2**64)


KINDS = ("json", "booster", "array", "swap", "zip")
"""Mutations of a model file: values of the manifest, lines of a booster, an array, entries and values swapped between
two models, fields of the zip headers. Checksums are computed again."""


def mutated_file(
    kind: str, entries: Mapping[str, bytes], others: Sequence[Mapping[str, bytes]], rng: random.Random, mutate: Mutate
) -> bytes:
    """Return a model file with one error of a kind in ``KINDS``; ``others`` are the entries of other models.

    A file without boosters or arrays has its manifest changed instead.
    """
    if kind == "zip":
        return mutated_zip(archived(entries), rng)
    if kind == "swap":
        return archived(swapped(entries, rng.choice(others), rng))
    endings = {"booster": (".txt",), "array": (".npy", ".skops")}.get(kind, (".json",))
    names = [name for name in entries if name.endswith(endings)] or ["manifest.json"]
    return archived(mutated_entry(entries, rng.choice(names), rng, mutate))


def mutated_entries(entries: Mapping[str, bytes], rng: random.Random, mutate: Mutate) -> dict[str, bytes]:
    """Change one entry, that of the manifest as often as all others together."""
    return mutated_entry(entries, "manifest.json" if rng.random() < 0.5 else rng.choice(list(entries)), rng, mutate)


def mutated_entry(entries: Mapping[str, bytes], name: str, rng: random.Random, mutate: Mutate) -> dict[str, bytes]:
    """Change the entry of a name by its kind: JSON, text of trees, an array, or other bytes."""
    out = dict(entries)
    content = out.get(name, b"")
    if rng.random() < 0.05:
        out[name] = mutate(content)
    elif rng.random() < 0.03:
        out[name] = out[rng.choice(list(out))]
    elif name == "manifest.json":
        out[name] = mutated_manifest(content, list(out), rng)
    elif name.endswith(".txt"):
        out[name] = mutated_text(content.decode(errors="replace"), rng).encode()
    elif name.endswith(".npy"):
        out[name] = mutated_array(content, rng, mutate)
    else:
        out[name] = mutate(content)
    return out


def swapped(entries: Mapping[str, bytes], other: Mapping[str, bytes], rng: random.Random) -> dict[str, bytes]:
    """Replace entries by those of another model: all of a kind, one, or values of the manifest under the same key."""
    if not entries:
        return dict(other)
    out = dict(entries)
    how = rng.randrange(4)
    if how == 0:
        ending = rng.choice((".txt", ".npy", ".json"))
        return out | {name: content for name, content in other.items() if name.endswith(ending)}
    if how == 1:
        name = rng.choice(list(out))
        alike = [there for there in other if there.rpartition(".")[2] == name.rpartition(".")[2]]
        return out | ({name: other[rng.choice(alike)]} if alike else {})
    try:
        mine, theirs = (json.loads(manifest["manifest.json"]) for manifest in (entries, other))
    except (ValueError, KeyError):
        return out
    for _ in range(rng.choice((1, 1, 2))):
        container, key = rng.choice(_positions(mine) or [({}, None)])
        alike_values = [there[k] for there, k in _positions(theirs) if k == key]
        if alike_values:
            container[key] = copy.deepcopy(rng.choice(alike_values))
    return out | {"manifest.json": json.dumps(mine).encode()}


HEADERS = {
    b"PK\x03\x04": "HHHHHIIIHH",
    b"PK\x01\x02": "HHHHHHIIIHHHHHII",
    b"PK\x05\x06": "HHHHIIH",
}
"""Fields that follow the signatures of the zip format's headers: of an entry, of the directory, of the end."""
ODD_FIELDS = (0, 1, 2, 8, 9, 14, 0x7F, 0x800, 0xFFFE, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1)


def mutated_zip(content: bytes, rng: random.Random) -> bytes:
    """Change fields of the headers of a zip archive, or move or repeat a header, and compute the checksum again."""
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        signature = rng.choice(tuple(HEADERS))
        found = [match.start() for match in re.finditer(re.escape(signature), bytes(out))]
        if found:
            _change_field(out, rng.choice(found) + len(signature), HEADERS[signature], rng)
    if rng.random() < 0.1:  # a header is repeated
        at = rng.randrange(len(out))
        source = out.find(rng.choice(tuple(HEADERS)))
        out[at:at] = out[max(source, 0) : max(source, 0) + 60]
    return signed(bytes(out))


def _change_field(out: bytearray, start: int, fields: str, rng: random.Random) -> None:
    """Change one field of a header in place."""
    k = rng.randrange(len(fields))
    at = start + struct.calcsize(f"<{fields[:k]}")
    size = struct.calcsize(f"<{fields[k]}")
    value = int.from_bytes(out[at : at + size], "little")
    near = (value + rng.choice((-30, -4, -1, 1, 4, 46)), value ^ (1 << rng.randrange(8 * size)))
    new = rng.choice((*near, rng.choice(ODD_FIELDS)))
    out[at : at + size] = (new % 2 ** (8 * size)).to_bytes(size, "little")


def archived(entries: Mapping[str, bytes]) -> bytes:
    """Write entries, uncompressed for speed, with a valid checksum."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content)
        archive.comment = b"0" * 64
    return signed(buffer.getvalue())


def signed(content: bytes) -> bytes:
    """Make the last 64 bytes the checksum of those before."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


def mutated_manifest(content: bytes, names: list[str], rng: random.Random) -> bytes:
    """Change some values of a manifest: drop, double, swap or replace them."""
    try:
        manifest = json.loads(content)
    except ValueError:
        return content
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        _change_value(manifest, names, rng)
    return json.dumps(manifest).encode()


def _positions(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) within nested lists and dicts."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [position for key in keys for position in ((value, key), *_positions(value[key]))]


def _change_value(manifest: Any, names: list[str], rng: random.Random) -> None:
    places = _positions(manifest)
    if not places:
        return
    container, key = rng.choice(places)
    how = rng.randrange(6)
    if how == 0:
        del container[key]
    elif how == 1 and isinstance(container, list):
        container.insert(rng.randrange(len(container) + 1), copy.deepcopy(container[key]))
    elif how == 2:
        other, there = rng.choice(places)
        container[key] = copy.deepcopy(other[there])
    elif how == 3 and isinstance(container[key], (int, float)):
        container[key] += rng.choice((-1, 1))
    elif how == 4:
        container[key] = rng.choice(names)
    else:
        container[key] = copy.deepcopy(rng.choice(ODD_VALUES))


def mutated_text(text: str, rng: random.Random) -> str:
    """Change words or lines of LightGBM's text; mostly, its trees are still where its header says."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(lines))
        how = rng.random()
        if how < 0.06:
            del lines[at]
        elif how < 0.12:
            lines.insert(rng.randrange(len(lines) + 1), lines[at])
        elif how < 0.16 and any(line.startswith("objective=") for line in lines):
            at = next(k for k, line in enumerate(lines) if line.startswith("objective="))
            lines[at] = f"objective={rng.choice(ODD_OBJECTIVES)}"
        else:
            lines[at] = _mutated_line(lines[at], rng)
        lines = lines or [""]
    changed = "\n".join(lines)
    return with_sizes(changed) if rng.random() < 0.9 else changed


def _mutated_line(line: str, rng: random.Random) -> str:
    name, equals, value = line.partition("=")
    words = value.split(" ")
    at = rng.randrange(len(words))
    how = rng.randrange(8)
    if how == 0:
        words.insert(at, rng.choice(words))
    elif how == 1:
        del words[at]
    elif how == 2:
        words[at], words[-1] = words[-1], words[at]
    elif how == 3 and words[at].lstrip("-").isdigit():
        words[at] = str(int(words[at]) + rng.choice((-1, 1)))
    elif how == 4:
        # one entry is empty and another has two numbers, so that the count is unchanged
        words[at], words[rng.randrange(len(words))] = "", f"{rng.randrange(4)}-{rng.randrange(4)}"
    else:
        words[at] = rng.choice(ODD_WORDS)
    return name + equals + " ".join(words)


def with_sizes(text: str) -> str:
    """Put ``tree_sizes`` right again."""
    header, *trees = text.partition("\nend of trees")[0].split("\nTree=")
    sizes = " ".join(str(len(tree.encode()) + 6) for tree in trees)
    lines = [f"tree_sizes={sizes}" if line.startswith("tree_sizes=") else line for line in header.split("\n")]
    return "\n".join(lines) + "".join(f"\nTree={tree}" for tree in trees) + "\nend of trees\n"


def mutated_array(content: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    """Change an array's header, or its numbers."""
    file = io.BytesIO(content)
    try:
        npy.read_magic(file)
        shape, fortran, dtype = npy.read_array_header_1_0(file)
    except Exception:  # numpy's header parser may raise anything
        return mutate(content)
    start = file.tell()
    if rng.random() < 0.4:
        return content[:start] + mutate(content[start:])
    header = {"descr": dtype.str, "fortran_order": fortran, "shape": shape}
    how = rng.randrange(4)
    if how == 0:
        header["descr"] = rng.choice(ODD_TYPES)
    elif how == 1:
        header["fortran_order"] = not fortran
    elif how == 2:
        header["shape"] = tuple(rng.choice(ODD_LENGTHS) if rng.random() < 0.5 else n for n in shape)
    else:
        header["shape"] = (*shape, 1) if rng.random() < 0.5 else tuple(shape)[::-1]
    out = io.BytesIO()
    npy.write_array_header_1_0(out, header)
    return out.getvalue() + content[start:]


def flipped(rng: random.Random) -> Mutate:
    """Return a mutation that flips a bit, cuts bytes out or doubles them."""

    def mutate(content: bytes) -> bytes:
        if not content:
            return b"\0"
        at, how = rng.randrange(len(content)), rng.randrange(4)
        if how == 0:
            return content[:at] + content[at + rng.randrange(1, 9) :]
        if how == 1:
            return content[:at] + content[max(0, at - 8) :]
        return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]

    return mutate
