"""The argument ``members``: estimators, or pairs of a name and an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from diffgbm.members.ways import way_of


@dataclass(frozen=True)
class NamedEstimator:
    """An estimator that is to be a member.

    Attributes
    ----------
    name : str
        Its name, which no other member has.
    estimator : object
        Not fitted; it is cloned.
    way : str
        How it is asked, a name in ``WAYS``.
    """

    name: str
    estimator: Any
    way: str


def final_estimator(estimator: Any) -> Any:
    """Return what predicts: the last step of a pipeline, or the estimator itself."""
    return final_estimator(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def read_members(members: Any) -> tuple[NamedEstimator, ...]:
    """Check the argument ``members``; members without a name are called by their class."""
    if members is None:
        return ()
    if isinstance(members, (str, bytes)) or not isinstance(members, Sequence):
        raise TypeError(
            f"members must be a list of estimators, or of pairs (name, estimator); got {_shown(members)}. "
            "Put a single estimator into a list."
        )
    found: list[NamedEstimator] = []
    for i, item in enumerate(members):
        named = isinstance(item, tuple)
        if named and not (len(item) == 2 and isinstance(item[0], str) and item[0]):
            raise TypeError(f"members[{i}] must be an estimator or a pair (name, estimator); got {_shown(item)}.")
        estimator = item[1] if named else item
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise TypeError(f"members[{i}] must be an estimator with fit, not fitted yet; got {_shown(estimator)}.")
        if _is_classifier(estimator):
            raise TypeError(f"members[{i}] must predict numbers; {type(estimator).__name__} is a classifier.")
        try:
            way = way_of(final_estimator(estimator))
        except TypeError as error:
            raise TypeError(f"members[{i}] cannot be asked for a distribution: {error}.") from None
        name = item[0] if named else type(final_estimator(estimator)).__name__
        found.append(NamedEstimator(_unused(name, [member.name for member in found], named, i), estimator, way))
    return tuple(found)


def _unused(name: str, used: Sequence[str], given: bool, i: int) -> str:
    """Return a name that no other member has: numbered if it is that of a class, else an error."""
    if name in used and given:
        raise ValueError(f"members[{i}] has the name {name!r} of another member; names must differ.")
    number, unused = 1, name
    while unused in used:
        number += 1
        unused = f"{name} {number}"
    return unused


def _is_classifier(estimator: Any) -> bool:
    try:
        return bool(is_classifier(estimator))
    except (AttributeError, TypeError):  # estimators without tags, such as those of skpro
        return False


def _shown(value: Any) -> str:
    return repr(value)[:80]
