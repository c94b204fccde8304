"""A model as a list of objects that refer to earlier ones; a shared object is written once and shared again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray

from diffgbm.engine.stored import AnyBooster, StoredBooster, text_of
from diffgbm.persistence.limits import MemoryBudget, booster_memory, regressors_memory
from diffgbm.persistence.npy import Shape, from_npy, to_npy
from diffgbm.persistence.skops_entries import check_types, from_skops, to_skops
from diffgbm.persistence.values import Stored, list_of, of_type


@dataclass(frozen=True)
class Part:
    """An object that was read from a file.

    Attributes
    ----------
    value : object
        The object.
    takes, gives : int or None
        Of a predictor: number of columns of its input (``None``: unknown) and of its output.
    kind : str
        Name of its kind, set by the reader.
    """

    value: Any
    takes: int | None = None
    gives: int | None = None
    kind: str = ""


@dataclass(frozen=True)
class Kind:
    """How objects of one class are written and read.

    Attributes
    ----------
    name : str
        Name of the class in files.
    write : callable
        Function of an object and the writer that returns a JSON object.
    read : callable
        Function of that JSON object and the reader that returns the object; it checks every value before use.
    """

    name: str
    write: Callable[[Any, Writer], dict[str, Any]]
    read: Callable[[Stored, Reader], Part]


class Storable(Protocol):
    """A class that describes how it is stored; ``kind_of`` finds it. A subclass must set ``stored_as`` again."""

    stored_as: ClassVar[str]

    def to_stored(self, writer: Writer) -> dict[str, Any]:
        """Return the JSON object of the file."""

    @classmethod
    def from_stored(cls, stored: Stored, reader: Reader) -> Part:
        """Read the JSON object of a file; every value is checked before use."""


def kind_of(storable: type[Storable]) -> Kind:
    """Return the kind of a class that describes how it is stored."""
    return Kind(storable.stored_as, storable.to_stored, storable.from_stored)


class Writer:
    """Writes objects to a list and to entries of an archive.

    Parameters
    ----------
    kinds : mapping
        Kinds by class, for classes that do not describe themselves.
    """

    def __init__(self, kinds: Mapping[type, Kind]) -> None:
        self.objects: list[dict[str, Any]] = []
        self.entries: dict[str, bytes] = {}
        self.types: set[str] = set()
        self.memory = 0
        self._kinds = kinds
        self._positions: dict[int, int] = {}
        self._arrays: dict[bytes, str] = {}
        self._counts: Counter[str] = Counter()

    def put(self, value: Any) -> int | None:
        """Write an object after its parts, once; return its position, or ``None`` for ``None``."""
        if value is None:
            return None
        if id(value) not in self._positions:
            kind = self._kind_of(value)
            stored = {"kind": kind.name, **kind.write(value, self)}
            self._positions[id(value)] = len(self.objects)
            self.objects.append(stored)
        return self._positions[id(value)]

    def _kind_of(self, value: Any) -> Kind:
        # its own, not an inherited description: a subclass may hold more than its parent stores
        if "stored_as" in vars(type(value)):
            return kind_of(type(value))
        if type(value) not in self._kinds:
            raise TypeError(f"a model file cannot hold a {type(value).__module__}.{type(value).__qualname__}.")
        return self._kinds[type(value)]

    def booster(self, booster: AnyBooster) -> str:
        """Write a booster; return the name of its entry."""
        text = text_of(booster).encode()
        self.memory += booster_memory(text)
        return self._entry("boosters", "txt", text)

    def array(self, array: NDArray[Any]) -> str:
        """Write an array; return the name of its entry. Equal arrays share one entry."""
        content = to_npy(array)
        digest = hashlib.sha256(content).digest()
        if digest not in self._arrays:
            self.memory += len(content)
            self._arrays[digest] = self._entry("arrays", "npy", content)
        return self._arrays[digest]

    def regressors(self, value: Any, where: str) -> str:
        """Write regressors of other libraries by skops; return the name of their entry."""
        content, types = to_skops(value, where)
        self.types |= types
        self.memory += regressors_memory(content)
        return self._entry("regressors", "skops", content)

    def _entry(self, folder: str, ending: str, content: bytes) -> str:
        name = f"{folder}/{self._counts[folder]}.{ending}"
        self._counts[folder] += 1
        self.entries[name] = content
        return name


class Reader:
    """Constructs the objects of an untrusted file.

    Parameters
    ----------
    entries : mapping
        Entries of the archive.
    kinds : mapping
        Kinds by name.
    trusted : iterable of str or type
        Types that the caller trusts in skops entries; others are refused before anything is constructed.
    budget : MemoryBudget, optional
        Memory that the objects may take; not given, that of a file as large as the entries.
    """

    def __init__(
        self,
        entries: Mapping[str, bytes],
        kinds: Mapping[str, Kind],
        trusted: Iterable[str | type],
        budget: MemoryBudget | None = None,
    ) -> None:
        self.budget = MemoryBudget.of_file(sum(map(len, entries.values()))) if budget is None else budget
        self._entries = {name: content for name, content in entries.items() if name != "manifest.json"}
        self._kinds = kinds
        self._unread = set(self._entries)
        self._arrays: dict[str, NDArray[Any]] = {}
        self._parts: list[Part] = []
        self._unused: set[int] = set()
        if foreign := {name: content for name, content in self._entries.items() if name.endswith(".skops")}:
            check_types(foreign, trusted)

    def build(self, objects: Sequence[Any]) -> Part:
        """Construct all objects; return the last, which all others are parts of."""
        for stored in objects:
            if not isinstance(stored, dict):
                raise TypeError("an object of the manifest is not a JSON object")
            name = of_type(stored, "kind", str)
            if name not in self._kinds:
                raise ValueError(f"it holds an object of kind {name[:40]!r}")
            part = self._kinds[name].read({k: v for k, v in stored.items() if k != "kind"}, self)
            self._unused.add(len(self._parts))
            self._parts.append(Part(part.value, part.takes, part.gives, name))
        if not self._parts:
            raise ValueError("it holds no objects")
        if unused := self._unused - {len(self._parts) - 1}:
            raise ValueError(f"nothing refers to object {min(unused)}")
        if self._unread:
            raise ValueError(f"nothing refers to {min(self._unread)!r}")
        return self._parts[-1]

    def part(self, position: Any, kinds: Sequence[str]) -> Part:
        """Return an earlier object, which must be of one of ``kinds``."""
        if type(position) is not int or not 0 <= position < len(self._parts):
            raise ValueError(f"object {str(position)[:20]} is referred to before it is defined")
        part = self._parts[position]
        if part.kind not in kinds:
            raise ValueError(f"object {position} is a {part.kind}, not a {' or '.join(kinds)}")
        self._unused.discard(position)
        return part

    def maybe(self, position: Any, kinds: Sequence[str]) -> Part | None:
        """Return an earlier object, or ``None`` for null."""
        return None if position is None else self.part(position, kinds)

    def booster(self, name: str, n_features: int) -> StoredBooster:
        """Read a booster, each only once; its text is checked before it is used."""
        if name not in self._unread:
            raise KeyError(name)
        self._unread.discard(name)
        self.budget.take(booster_memory(self._entries[name]))
        try:
            return StoredBooster.checked(self._entries[name].decode(), n_features)
        except ValueError as error:
            raise ValueError(f"booster {name!r} cannot be used: {error}") from None

    def array(self, stored: Stored, field: str, dtypes: str | tuple[str, ...], shape: Shape) -> NDArray[Any]:
        """Read the array that ``field`` names; an entry that is named twice gives one array."""
        name = of_type(stored, field, str)
        self._unread.discard(name)
        content = self._entries[name]
        if name not in self._arrays:
            self.budget.take(len(content))
        try:
            array = from_npy(content, (dtypes,) if isinstance(dtypes, str) else dtypes, shape)
        except ValueError as error:
            raise ValueError(f"array {name!r} ({field}) cannot be used: {error}") from None
        return self._arrays.setdefault(name, array)

    def arrays(self, stored: Stored, field: str, dtype: str, n: int) -> list[NDArray[Any]]:
        """Read ``n`` one-dimensional arrays."""
        return [self.array({field: name}, field, dtype, (None,)) for name in list_of(stored, field, str, n)]

    def regressors(self, name: str) -> Any:
        """Construct the objects of a skops entry."""
        if not name.endswith(".skops"):
            raise ValueError(f"{name[:80]!r} does not hold regressors")
        content = self._entries[name]
        self._unread.discard(name)
        self.budget.take(regressors_memory(content))
        return from_skops(name, content)
