"""Integrators that are made once: kept for the forest that they belong to, within a bound of bytes for the process."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np

LIMIT_NAME = "DIFFGBM_PREPARED_MB"
"""Environment variable: megabytes of prepared forests that a process keeps; 0 keeps none."""
DEFAULT_LIMIT = 512
"""Megabytes, if the variable is not set."""


def limit_from_environment() -> int:
    """Return the bound in bytes; raise if the variable is not a number of megabytes."""
    text = os.environ.get(LIMIT_NAME, "").strip()
    if not text:
        return DEFAULT_LIMIT << 20
    if not text.isdigit():
        raise ValueError(f"{LIMIT_NAME} must be a whole number of megabytes, at least 0; got {text!r}.")
    return int(text) << 20


def array_bytes(value: Any) -> int:
    """Return the bytes of all arrays inside a value: of its fields, items and elements."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if is_dataclass(value) and not isinstance(value, type):
        return sum(array_bytes(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, (tuple, list)):
        return sum(map(array_bytes, value))
    return 0


class Ledger:
    """What is kept in this process, in the order of its last use; the least recently used goes first.

    Entries belong to their ``Prepared`` and go with it: the ledger has weak references only.

    Parameters
    ----------
    limit : int
        Bytes that all entries together may take.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.lock = threading.Lock()
        self._entries: OrderedDict[tuple[int, bytes], tuple[weakref.ref[Prepared], int]] = OrderedDict()

    @property
    def size(self) -> int:
        """Bytes that are kept now."""
        with self.lock:
            self._forget_dead()
            return sum(size for _, size in self._entries.values())

    def use(self, owner: Prepared, key: bytes) -> Any:
        """Return what an owner keeps under a key, ``None`` if nothing; it is the most recently used from now on."""
        with self.lock:
            if key not in owner.entries or (owner.number, key) not in self._entries:
                return None
            self._entries.move_to_end((owner.number, key))
            return owner.entries[key]

    def keep(self, owner: Prepared, key: bytes, value: Any) -> None:
        """Keep a value for its owner; others go until all fit. What is larger than the limit is not kept."""
        size = array_bytes(value)
        with self.lock:
            self._forget_dead()
            if size > self.limit:
                return
            self._entries[owner.number, key] = weakref.ref(owner), size
            owner.entries[key] = value
            total = sum(each for _, each in self._entries.values())
            while total > self.limit:
                (_, oldest), (reference, freed) = self._entries.popitem(last=False)
                total -= freed
                if (other := reference()) is not None:
                    other.entries.pop(oldest, None)

    def _forget_dead(self) -> None:
        for entry in [entry for entry, (owner, _) in self._entries.items() if owner() is None]:
            del self._entries[entry]


ledger = Ledger(limit_from_environment())
"""The ledger of this process."""


class Prepared:
    """What one forest keeps: values by key, each made once, also if several threads ask at the same time.

    Copies and pickles are empty: what is kept can be made again.

    Attributes
    ----------
    entries : dict
        What is kept.
    made : int
        How often a value was made.
    """

    _numbers = count()
    _all: ClassVar[weakref.WeakSet[Prepared]] = weakref.WeakSet()

    def __init__(self) -> None:
        self.number = next(Prepared._numbers)
        self.entries: dict[bytes, Any] = {}
        self.made = 0
        self.making = threading.Lock()
        Prepared._all.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Prepared, ()

    def get(self, key: bytes, make: Callable[[], Any]) -> Any:
        """Return the value of a key; ``make`` it if it is not kept."""
        if (found := ledger.use(self, key)) is None:
            with self.making:
                if (found := ledger.use(self, key)) is None:
                    found = make()
                    self.made += 1
                    ledger.keep(self, key, found)
        return found


def _new_locks() -> None:
    """Replace locks in a forked process: a thread that does not exist there may have held them."""
    ledger.lock = threading.Lock()
    for owner in list(Prepared._all):
        owner.making = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_new_locks)
