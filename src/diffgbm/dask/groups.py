"""Groups of a table in partitions: a hash of each row's group is the key that every split divides by.

Rows of one group have the same key, wherever they are, so that they have the same fold and are held out together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from hashlib import blake2b
from numbers import Integral
from typing import Any

import numpy as np

from diffgbm._util.types import Integers
from diffgbm.dask.partitions import aligned, named_column, one_column, pieces
from diffgbm.data.structure import present_values
from diffgbm.fitting.stopping import held_out_share

MOST_COUNTED = 1000
"""Groups of a partition that are counted, at most: more of them are enough for any split."""
GROUPS_PER_PART = 10
"""Groups that a fold, or what is held out, has on average at least: it is empty with a chance of 1 in 20,000 then."""


def split_off(X: Any, groups: Any, owner: str) -> tuple[Any, list[Any] | None, str | None]:
    """Return ``X`` without a column of groups, the partitions of the groups, and the name of the column."""
    if groups is None:
        return X, None, None
    if not isinstance(groups, str):
        return X, aligned(X, groups, "groups", owner), None
    name = named_column(X, groups, "groups")
    if len(X.columns) == 1:
        raise ValueError(f"groups={groups!r} is the only column of X: there are no features left.")
    return X.drop(columns=[name]), pieces(X[name]), groups


def group_keys(values: Any) -> Integers:
    """Return a key of the group of each row (n,), the same for equal values in all partitions and processes."""
    listed = present_values(one_column(values, "groups"), "groups")
    known: dict[Any, int] = {}
    try:
        return np.array([known.get(value) or known.setdefault(value, _key(value)) for value in listed], dtype=np.int64)
    except TypeError as error:
        raise TypeError(f"groups must be numbers, text or other hashable values. ({error})") from None


def _key(value: Any) -> int:
    """Hash a value; numbers that are equal have equal hashes, whatever their type."""
    # a column may hold whole numbers in one partition, and floats in another
    if isinstance(value, Integral) or (isinstance(value, float) and value.is_integer()):
        text = f"number {int(value)}"
    elif isinstance(value, float):
        text = f"number {value!r}"
    elif isinstance(value, date):
        text = f"date {value.isoformat()}"
    else:
        text = f"{type(value).__name__} {value!s}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def counted(keys: Integers) -> Integers:
    """Return the different keys of a partition, at most ``MOST_COUNTED``."""
    return np.unique(keys)[:MOST_COUNTED]


def check_count_of_groups(each: Sequence[Integers], params: Mapping[str, Any], owner: str) -> int:
    """Return how many groups all partitions have, at least; raise if a hash may leave a fold without any."""
    found = len(np.unique(np.concatenate(each)))
    needed = {"residualize_k_folds": GROUPS_PER_PART * params["residualize_k_folds"]}
    if params["early_stopping_rounds"] is not None:
        needed["eval_percent"] = int(np.ceil(GROUPS_PER_PART / held_out_share(params["eval_percent"])))
    argument = max(needed, key=lambda name: needed[name])
    if found < needed[argument]:
        raise ValueError(
            f"groups must have at least {needed[argument]} groups with {argument}={params[argument]!r}; got {found}. "
            f"{owner} divides them by a hash, which may leave a part without groups if they are few. Use DiffGBM on "
            "one machine, which divides them evenly."
        )
    return found
