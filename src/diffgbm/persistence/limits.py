"""Memory that reading an untrusted file may take.

A model takes a multiple of the memory of its file: entries are compressed, boosters become arrays, forests share the
rows of their tables. Each of these is charged to a budget before its memory is allocated. Models of this library take
about 10 times the size of their files, those of many categories 50 times that of their manifest; the budget is at most
three times as much.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_MANIFEST = 1 << 26
"""Largest manifest, in bytes: 64 MB hold some million categories."""
MOST_BYTES = 1 << 32
"""Most bytes of all entries together: 4 GB."""
MANIFEST_TEXT, SMALL_MANIFEST = 10, 1 << 20
"""Largest compression ratio of a manifest of more than 1 MB. That of a table of numbered categories is 6."""
SMALL_FILE = 1 << 18
"""Files below this size have the memory of a file of this size: what compresses best is small."""
MEMORY_RATIO, MANIFEST_RATIO = 27, 60
"""Memory that reading may take, in sizes of the file without the manifest, and in compressed sizes of the manifest."""

_VALUE, _CONTAINER = 100, 64
"""Memory of a JSON value besides its text, with its place in a list and a set, and of an empty list or object."""
_BOOSTER = 4
"""Memory, in lengths of its text, that reading a booster takes."""
_REGRESSORS = 4
"""The same of an entry of skops."""
_NODE = 24
"""Memory of a forest's node: feature, threshold, children, and room for roots and parents while they are linked."""


@dataclass
class MemoryBudget:
    """Memory that reading a file may still take.

    Attributes
    ----------
    left : int
        Bytes.
    """

    left: int

    @classmethod
    def of_file(cls, size: int, manifest: int = 0) -> MemoryBudget:
        """Return the budget of a file of ``size`` bytes, ``manifest`` of which are its compressed manifest."""
        return cls(MEMORY_RATIO * max(size - manifest, SMALL_FILE) + MANIFEST_RATIO * manifest)

    def take(self, size: int) -> None:
        """Charge ``size`` bytes; raise ``ValueError`` if they are not left."""
        if size > self.left:
            raise ValueError("it asks for more memory than a model of its size needs")
        self.left -= size


def manifest_memory(text: bytes) -> int:
    """Return an upper bound of the memory of a JSON text's values, without parsing it."""
    containers = text.count(b"[") + text.count(b"{")
    values = text.count(b",") + text.count(b":") + containers
    return len(text) + _VALUE * values + _CONTAINER * containers


def booster_memory(text: bytes) -> int:
    """Return the memory that reading a booster takes."""
    return _BOOSTER * len(text)


def regressors_memory(content: bytes) -> int:
    """Return the memory that reading regressors of other libraries takes."""
    return _REGRESSORS * len(content)


def forest_memory(n_nodes: int, n_leaves: int, n_outputs: int) -> int:
    """Return the memory of a forest that a file holds in preorder, with codes for the rows of its leaves."""
    return _NODE * n_nodes + 4 * n_leaves * n_outputs
