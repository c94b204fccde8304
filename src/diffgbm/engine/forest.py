"""Boosters as flat arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array, Integers
from diffgbm.engine.arrays import WritableArrays

CATEGORICAL = 1
"""Bit of ``decision`` that marks a split on categories."""
DEFAULT_LEFT = 2
"""Bit of ``decision`` that sends missing values left."""
MISSING_NONE, MISSING_ZERO, MISSING_NAN = 0, 1, 2
"""What a split takes for missing; bits 2 and 3 of ``decision``."""

IDENTITY_OBJECTIVES = frozenset({"regression", "regression_l1", "huber", "fair", "quantile", "mape", "custom"})
"""Objectives whose prediction is the plain sum of the leaves."""


class CannotCollapse(ValueError):
    """The boosters hold something that no table can represent; the message says what."""


@dataclass(frozen=True)
class Forest(WritableArrays):
    r"""Trees that are summed, :math:`F(u) = \sum_t \text{leaf}_t(u)`, laid end to end.

    Attributes
    ----------
    n_features : int
    tree_nodes, tree_leaves : ndarray of shape (trees + 1,)
        Where each tree's inner nodes and leaves begin.
    feature, decision, left, right : ndarray of shape (nodes,)
        Split feature, LightGBM's bits of its kind, and children: a node of the same tree, or ``~leaf``.
    threshold : ndarray of shape (nodes,)
        ``u <= threshold`` goes left; of a split on categories, the number of its bit set.
    value : ndarray of shape (leaves,)
    set_start : ndarray of shape (sets + 1,)
        Where each bit set of categories begins in ``set_words``.
    set_words : ndarray of uint32
    """

    n_features: int
    tree_nodes: Integers
    tree_leaves: Integers
    feature: Integers
    decision: Integers
    left: Integers
    right: Integers
    threshold: Array
    value: Array
    set_start: Integers
    set_words: NDArray[np.uint32]

    @property
    def missing(self) -> Integers:
        """Return what each split takes for missing."""
        return (self.decision >> 2) & 3

    @classmethod
    def from_booster(cls, booster: lgb.Booster) -> Forest:
        """Read a booster's trees up to its best iteration."""
        best = booster.best_iteration
        return cls.from_string(booster.model_to_string(num_iteration=best if best > 0 else -1))

    @classmethod
    def from_string(cls, model: str) -> Forest:
        """Read LightGBM's text format."""
        header, trees = split_text(model)
        fields = [tree_fields(tree.split("\n")) for tree in trees]
        check_sum(header, fields)
        return cls.from_fields(header, fields)

    @classmethod
    def from_fields(cls, header: str, fields: Sequence[dict[str, str]]) -> Forest:
        """Read the splits and leaves of trees. All numbers of one kind are parsed in one go, which makes it fast."""
        leaves = np.array([int(field["num_leaves"]) for field in fields], dtype=np.int64)
        sets = np.array([int(field.get("num_cat", "0")) for field in fields], dtype=np.int64)
        decision = _integers(fields, "decision_type")
        threshold = _numbers(fields, "threshold")
        tree_nodes = _starts(leaves - 1)
        categorical = (decision & CATEGORICAL) > 0
        threshold[categorical] += np.repeat(_starts(sets)[:-1], leaves - 1)[categorical]
        value = _numbers(fields, "leaf_value")
        if "\naverage_output" in header:  # random forests: the mean of the trees
            value /= max(1, len(fields))
        return cls(
            n_features=int(header_value(header, "max_feature_idx")) + 1,
            tree_nodes=tree_nodes,
            tree_leaves=_starts(leaves),
            feature=_integers(fields, "split_feature"),
            decision=decision,
            left=_integers(fields, "left_child"),
            right=_integers(fields, "right_child"),
            threshold=threshold,
            value=value,
            set_start=_set_starts(fields),
            set_words=_integers(fields, "cat_threshold").astype(np.uint32),
        )


def concatenate(forests: Sequence[Forest], weights: Sequence[float]) -> Forest:
    r"""Return the forest :math:`\sum_i w_i F_i`."""
    if len({forest.n_features for forest in forests}) > 1:
        raise ValueError("forests with different numbers of features cannot be summed")
    set_offsets = _starts(np.array([len(forest.set_start) - 1 for forest in forests]))
    thresholds = [
        np.where((forest.decision & CATEGORICAL) > 0, forest.threshold + offset, forest.threshold)
        for forest, offset in zip(forests, set_offsets, strict=False)
    ]

    def joined_starts(name: str) -> Integers:
        return _starts(np.concatenate([np.diff(getattr(forest, name)) for forest in forests]))

    def joined(name: str) -> Integers:
        return np.concatenate([getattr(forest, name) for forest in forests])

    return Forest(
        n_features=forests[0].n_features,
        tree_nodes=joined_starts("tree_nodes"),
        tree_leaves=joined_starts("tree_leaves"),
        feature=joined("feature"),
        decision=joined("decision"),
        left=joined("left"),
        right=joined("right"),
        threshold=np.concatenate(thresholds),
        value=np.concatenate([w * forest.value for forest, w in zip(forests, weights, strict=True)]),
        set_start=joined_starts("set_start"),
        set_words=np.concatenate([forest.set_words for forest in forests]),
    )


def _starts(lengths: Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def split_text(model: str) -> tuple[str, list[str]]:
    """Split LightGBM's text into its header and the text of each tree."""
    header, *trees = model.split("\nTree=")
    if trees:
        trees[-1] = trees[-1].partition("\nend of trees")[0]
    return header, trees


def tree_fields(lines: Sequence[str]) -> dict[str, str]:
    """Read the lines ``name=value`` of a tree."""
    return dict([line.partition("=")[::2] for line in lines])


def header_value(header: str, name: str) -> str:
    """Return a value of the header, empty if it is not there."""
    found = re.search(rf"^{name}=(.*)$", header, flags=re.MULTILINE)
    return found.group(1) if found else ""


def check_sum(header: str, fields: Sequence[dict[str, str]]) -> None:
    """Raise unless the booster is the plain sum of the leaves of its trees."""
    if header_value(header, "num_tree_per_iteration") not in ("", "1"):
        raise ValueError("a booster must predict one number, not several classes")
    words = header_value(header, "objective").split() or ["custom"]
    if words[0] not in IDENTITY_OBJECTIVES or "sqrt" in words:
        raise CannotCollapse(f"objective {' '.join(words)!r} transforms the sum of the leaves")
    if any(field.get("is_linear", "0") != "0" for field in fields):
        raise CannotCollapse("linear_tree: leaves hold linear models, not constants")


def parse_numbers(words: str) -> Array:
    """Read numbers separated by one space each; raise ``ValueError`` if they are anything else."""
    return _parsed(words, np.float64)


def _parsed(words: str, dtype: type[np.float64] | type[np.int64]) -> NDArray[Any]:
    """Read numbers separated by one space each.

    numpy's reader stops at what is no number, with a warning at most. Either it returns fewer numbers than there are
    words then, or it stopped inside the last word.
    """
    if not words:
        return np.empty(0, dtype)
    found = np.fromstring(words, dtype=dtype, sep=" ")
    try:
        last = dtype(words[words.rfind(" ") + 1 :])
    except OverflowError as error:
        raise ValueError("it holds a number that is too large") from error
    if len(found) != words.count(" ") + 1 or not np.array_equal(found[-1:], [last], equal_nan=True):
        raise ValueError("it holds something that is not a number")
    return found


def _joined(fields: Sequence[dict[str, str]], name: str) -> str:
    return " ".join(text for text in (field.get(name, "") for field in fields) if text)


def _numbers(fields: Sequence[dict[str, str]], name: str) -> Array:
    return parse_numbers(_joined(fields, name))


def _integers(fields: Sequence[dict[str, str]], name: str) -> Integers:
    return _parsed(_joined(fields, name), np.int64)


def _set_starts(fields: Sequence[dict[str, str]]) -> Integers:
    """Where each bit set begins: ``cat_boundaries`` of each tree starts again at zero."""
    lengths = [np.diff(_parsed(field["cat_boundaries"], np.int64)) for field in fields if field.get("cat_boundaries")]
    return _starts(np.concatenate(lengths) if lengths else np.empty(0, np.int64))
