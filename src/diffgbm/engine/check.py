"""Checks of a booster's text from an untrusted file, so that both readers, ours and LightGBM's, are safe.

LightGBM trusts the text: a wrong offset, child or number of values makes it read memory that is not its own. Everything
that it does not check is checked here first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import numpy as np

from diffgbm._util.types import Integers
from diffgbm.engine.forest import CATEGORICAL, Forest, header_value, parse_numbers, split_text, tree_fields

HEADER = frozenset(
    [
        "tree",
        "version",
        "num_class",
        "num_tree_per_iteration",
        "label_index",
        "max_feature_idx",
        "feature_names",
        "feature_infos",
        "tree_sizes",
    ]
)
HEADER_OPTIONS = frozenset({"objective", "average_output", "monotone_constraints"})
"""The lines of a header."""

NODE_FIELDS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
NODE_NOTES = ("split_gain", "internal_value", "internal_weight", "internal_count")
LEAF_NOTES = ("leaf_weight", "leaf_count")
LEAF_FIELDS = ("leaf_value", "leaf_const", "num_features")
LINEAR_FIELDS = ("leaf_const", "num_features", "leaf_features", "leaf_coeff")
REQUIRED = frozenset({"num_leaves", "num_cat", "leaf_value", "is_linear", "shrinkage", *NODE_FIELDS})
KNOWN = REQUIRED | {"cat_boundaries", "cat_threshold", *NODE_NOTES, *LEAF_NOTES, *LINEAR_FIELDS}
"""The lines of a tree. LightGBM reads no more than these 22."""
PER_NODE, PER_LEAF, PER_NOTE, PER_SET = range(4)
COUNTED = {
    **dict.fromkeys((*NODE_FIELDS, *NODE_NOTES), PER_NODE),
    **dict.fromkeys(LEAF_FIELDS, PER_LEAF),
    **dict.fromkeys(LEAF_NOTES, PER_NOTE),
    "cat_boundaries": PER_SET,
}
"""Of what there is one value in a line."""

END = "\nend of trees\n"
"""The text must end here: LightGBM's record of the training, which may follow, can crash it if it was altered."""

OBJECTIVE = re.compile(
    r"(regression(_l1)?|huber|fair|quantile|mape|custom|poisson|gamma|tweedie|cross_entropy(_lambda)?|binary)"
    r"( sqrt| [a-z_]{1,40}:[0-9.e+-]{1,40}){0,4}"
)
"""Objectives of one number. With others, like ``multiclass``, LightGBM writes beyond its arrays."""

_COUNT = re.compile(r"[0-9]{1,9}")
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?(e[+-]?[0-9]{1,4})?")
_NOT_ZERO = re.compile(r"[^e]*[1-9]")
SMALLEST = float(np.finfo(np.float64).tiny)
_CONTROL = bytes({*range(32), 127} - {10})


def check_text(text: str, n_features: int) -> tuple[str, list[dict[str, str]], Forest]:
    """Raise ``ValueError`` unless ``text`` is a well-formed booster of ``n_features``; return what was read of it."""
    raw = text.encode()
    if len(raw.translate(None, _CONTROL)) != len(raw):
        raise ValueError("it holds control characters")
    if text.count(END) != 1 or not text.endswith(END):
        raise ValueError("it does not end where its trees end")
    header, trees = split_text(text)
    _check_header(header, trees, n_features)
    fields = [_checked_fields(tree, number) for number, tree in enumerate(trees)]
    with _strict():
        forest = Forest.from_fields(header, fields)
    check_forest(forest, n_features)
    _check_sets(fields, forest)
    for field in fields:
        if field["is_linear"] == "1":
            _check_linear(field, n_features)
    return header, fields, forest


@contextmanager
def _strict() -> Iterator[None]:
    """Raise ``ValueError`` of text that is not a number, also where the user's filters make numpy raise its warning."""
    try:
        yield
    except (DeprecationWarning, IndexError, ValueError):
        raise ValueError("it holds something that is not a number") from None


def check_forest(forest: Forest, n_features: int) -> None:
    """Raise ``ValueError`` unless every split and child can be followed and every tree is a tree.

    Children come after their parents in LightGBM's numbering, so that a forest that passes has no cycles.
    """
    nodes, leaves = np.diff(forest.tree_nodes), np.diff(forest.tree_leaves)
    sizes = {len(a) for a in (forest.feature, forest.decision, forest.left, forest.right, forest.threshold)}
    if sizes != {int(forest.tree_nodes[-1])} or len(forest.value) != forest.tree_leaves[-1] or (nodes < 0).any():
        raise ValueError("its trees hold more or fewer numbers than they say")
    if forest.n_features != n_features or not _within(forest.feature, 0, n_features):
        raise ValueError(f"it splits on features beyond its {n_features}")
    if not _within(forest.decision, 0, 12):
        raise ValueError("it holds splits of no known kind")
    # a split between all numbers and what is missing has the threshold inf
    if not np.isfinite(forest.value).all() or np.isnan(forest.threshold).any():
        raise ValueError("it holds values that are not finite numbers")
    first_node, first_leaf = (np.repeat(s[:-1], nodes) for s in (forest.tree_nodes, forest.tree_leaves))
    own = np.arange(len(forest.left)) - first_node
    parents_of_nodes, parents_of_leaves = [], []
    for child in (forest.left, forest.right):
        is_node = child >= 0
        in_tree = np.where(is_node, child < np.repeat(nodes, nodes), ~child < np.repeat(leaves, nodes))
        if not (in_tree & (~is_node | (child > own))).all():
            raise ValueError("its trees are not trees")
        parents_of_nodes.append((child + first_node)[is_node])
        parents_of_leaves.append((~child + first_leaf)[~is_node])
    for parents in (parents_of_nodes, parents_of_leaves):
        if (np.bincount(np.concatenate(parents)) > 1).any():
            raise ValueError("its trees are not trees: some nodes have two parents")


def _check_header(header: str, trees: Sequence[str], n_features: int) -> None:
    lines = [line.split("=") for line in header.split("\n") if line]
    names = [line[0] for line in lines]
    if (
        names[:1] != ["tree"]
        or len(set(names)) < len(names)
        or max(map(len, lines)) > 2
        or not HEADER <= set(names) <= HEADER | HEADER_OPTIONS
    ):
        raise ValueError("it does not begin as LightGBM's text does")
    # LightGBM jumps to its trees by these sizes
    if header_value(header, "tree_sizes") != " ".join(str(len(tree.encode()) + len("Tree=\n")) for tree in trees):
        raise ValueError("its trees are not where it says")
    if header_value(header, "num_class") != "1" or header_value(header, "num_tree_per_iteration") != "1":
        raise ValueError("it predicts more than one number")
    if header_value(header, "max_feature_idx") != str(n_features - 1):
        raise ValueError(f"it does not split on {n_features} features")
    if "objective" in names and not OBJECTIVE.fullmatch(header_value(header, "objective")):
        raise ValueError(f"its objective {header_value(header, 'objective')[:40]!r} is not one of one number")
    described = [header_value(header, name).split(" ") for name in ("feature_names", "feature_infos")]
    if any(len(words) != n_features or "" in words for words in described):
        raise ValueError(f"it does not name {n_features} features")


def _checked_fields(tree: str, number: int) -> dict[str, str]:
    """Read the lines of a tree; each must be there once, with as many values as the tree has nodes or leaves."""
    lines = tree.split("\n")
    fields = tree_fields(lines[1:-2])
    names = tuple(fields)
    if lines[0] != str(number) or lines[-2:] != ["", ""] or len(fields) != len(lines) - 3 or not _is_layout(names):
        raise ValueError(f"tree {number} is not written as LightGBM writes it")
    leaves, sets, linear = _count(fields["num_leaves"]), _count(fields["num_cat"]), fields["is_linear"] == "1"
    counts = (leaves - 1, leaves, leaves, sets + 1)
    wrong = leaves < 1 or not (linear or fields["is_linear"] == "0") or _has(names) != (bool(sets), linear)
    for line, per in zip(fields.values(), _counted(names), strict=True):
        if per >= 0 and (line.count(" ") != counts[per] - 1 if counts[per] else line):
            # this counts the values; the reader sees whether they are numbers. A single leaf has no notes
            wrong = wrong or not (per == PER_NOTE and leaves == 1)
    if wrong:
        raise ValueError(f"tree {number} holds more or fewer numbers than it says")
    return fields


@lru_cache(64)
def _is_layout(names: tuple[str, ...]) -> bool:
    """Tell whether a tree's lines are those that LightGBM writes; most trees have the same."""
    return REQUIRED <= set(names) <= KNOWN


@lru_cache(64)
def _has(names: tuple[str, ...]) -> tuple[bool | None, bool | None]:
    """Tell whether a tree has sets of categories, and whether it has linear leaves; ``None`` if only in part."""
    sets = {name in names for name in ("cat_boundaries", "cat_threshold")}
    linear = {name in names for name in LINEAR_FIELDS}
    return sets.pop() if len(sets) == 1 else None, linear.pop() if len(linear) == 1 else None


@lru_cache(64)
def _counted(names: tuple[str, ...]) -> tuple[int, ...]:
    """Return of what there is one value in each line: see ``COUNTED``; -1 of nothing."""
    return tuple(COUNTED.get(name, -1) for name in names)


def check_notes(text: str) -> None:
    """Raise ``ValueError`` unless what only LightGBM reads are numbers: over other words it ends the process."""
    fields = [tree_fields(tree.split("\n")) for tree in split_text(text)[1]]
    for name in (*NODE_NOTES, *LEAF_NOTES, "shrinkage"):
        lines = [field[name] for field in fields if field.get(name)]
        with _strict():
            numbers = parse_numbers(" ".join(lines))
        if len(numbers) != sum(line.count(" ") + 1 for line in lines) or not np.isfinite(numbers).all():
            raise ValueError(f"its {name} are not finite numbers")


def _check_sets(fields: Sequence[dict[str, str]], forest: Forest) -> None:
    """Check that each split on categories has its bit set, and each set its words, within its own tree."""
    sets = np.array([int(field["num_cat"]) for field in fields], dtype=np.int64)
    last_set = np.cumsum(sets)
    categorical = (forest.decision & CATEGORICAL) > 0
    nodes = np.diff(forest.tree_nodes)
    chosen = forest.threshold[categorical]
    low, high = (np.repeat(ends, nodes)[categorical] for ends in (last_set - sets, last_set))
    if not ((chosen >= low) & (chosen < high) & (chosen == np.floor(chosen))).all():
        raise ValueError("it splits on sets of categories that it does not hold")
    for field in fields:
        if field["num_cat"] != "0":
            ends, words = _integers(field["cat_boundaries"]), _integers(field["cat_threshold"])
            if ends[0] != 0 or ends[-1] != len(words) or (np.diff(ends) < 0).any() or not _within(words, 0, 1 << 32):
                raise ValueError("its sets of categories are not sets")


def _check_linear(field: dict[str, str], n_features: int) -> None:
    """Check the linear models in a tree's leaves."""
    counts, features = _integers(field["num_features"]), _integers(field["leaf_features"])
    coefficients, constants = (_floats(field[name]) for name in ("leaf_coeff", "leaf_const"))
    if not len(counts) == len(constants) == _count(field["num_leaves"]):
        raise ValueError("its linear leaves hold more or fewer numbers than they say")
    if (counts < 0).any() or not counts.sum() == len(features) == len(coefficients):
        raise ValueError("its linear leaves hold more or fewer numbers than they say")
    if not _within(features, 0, n_features) or not np.isfinite([*coefficients, *constants]).all():
        raise ValueError("its linear leaves cannot be followed")


def _count(word: str) -> int:
    if not _COUNT.fullmatch(word):
        raise ValueError(f"{word[:20]!r} is not a count")
    return int(word)


def _floats(line: str) -> list[float]:
    """Read numbers of linear leaves. Those next to zero are refused: over them C++ throws, and LightGBM dies of it."""
    words = line.split()
    numbers = [float(word) if _NUMBER.fullmatch(word) else np.nan for word in words]
    if not all(
        abs(number) >= SMALLEST if _NOT_ZERO.match(word) else number == 0.0
        for word, number in zip(words, numbers, strict=True)
    ):
        raise ValueError("it holds something that is not a number")
    return numbers


def _integers(line: str) -> Integers:
    """Read integers as LightGBM would; Python's own reader takes underscores and other scripts' digits as well."""
    words = line.split()
    if not all(map(_INTEGER.fullmatch, words)):
        raise ValueError("it holds something that is not a number")
    return np.array([int(word) for word in words], dtype=np.int64)


def _within(values: Integers, low: int, high: int) -> bool:
    return bool(((values >= low) & (values < high)).all())
