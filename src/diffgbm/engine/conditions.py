"""The distinct questions a forest asks of a row, and their answers for 64 rows at once.

A forest of 255,000 nodes asks at most a few thousand different questions of ``x``, because LightGBM's thresholds
are bin edges. Each is answered once for a block of 64 rows, as one 64-bit mask; a node is then a load and an AND.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from diffgbm._util.types import Array, Integers
from diffgbm.engine.forest import CATEGORICAL, DEFAULT_LEFT, Forest


class Conditions(NamedTuple):
    """Distinct questions about the columns of ``x``.

    Questions ``group_start[g] : group_start[g + 1]`` are ``u <= threshold`` with ascending thresholds, where ``u``
    is column ``group_column[g]`` with missing values replaced as ``group_missing`` and ``group_left`` say. The
    rest are memberships: column ``set_column[s]``, bit set ``set_words[set_start[s] : set_start[s + 1]]``.
    """

    group_column: Integers
    group_missing: Integers
    group_left: Integers
    group_start: Integers
    threshold: Array
    set_column: Integers
    set_start: Integers
    set_words: NDArray[np.uint32]


def n_questions(conditions: Conditions) -> int:
    """Return how many questions there are."""
    return len(conditions.threshold) + len(conditions.set_column)


def gather_conditions(forest: Forest, first: int, last: int) -> tuple[Conditions, Integers]:
    """Collect the questions about features ``first`` to ``last - 1``, which become columns from 0.

    Returns
    -------
    conditions : Conditions
    question : ndarray of shape (nodes,)
        The question each node asks; -1 for nodes on other features.
    """
    question = np.full(len(forest.feature), -1, dtype=np.int64)
    ours = (forest.feature >= first) & (forest.feature < last)
    categorical = (forest.decision & CATEGORICAL) > 0

    nodes = np.flatnonzero(ours & ~categorical)
    left = ((forest.decision[nodes] & DEFAULT_LEFT) > 0).astype(np.int64)
    kind = (forest.feature[nodes] - first) * 8 + forest.missing[nodes] * 2 + left
    threshold = forest.threshold[nodes]
    order = np.lexsort((threshold, kind))
    kind, threshold = kind[order], threshold[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (kind[1:] != kind[:-1]) | (threshold[1:] != threshold[:-1])
    question[nodes[order]] = np.cumsum(fresh) - 1
    threshold = threshold[fresh]
    groups, group_start = np.unique(kind[fresh], return_index=True)

    set_nodes = np.flatnonzero(ours & categorical)
    sets = forest.threshold[set_nodes].astype(np.int64)
    question[set_nodes] = len(threshold) + np.arange(len(set_nodes))
    spans = [forest.set_words[forest.set_start[s] : forest.set_start[s + 1]] for s in sets]
    conditions = Conditions(
        group_column=groups // 8,
        group_missing=groups % 8 // 2,
        group_left=groups % 2,
        group_start=np.append(group_start, len(threshold)).astype(np.int64),
        threshold=threshold,
        set_column=forest.feature[set_nodes] - first,
        set_start=np.cumsum([0, *map(len, spans)], dtype=np.int64),
        set_words=np.concatenate([*spans, np.empty(0, np.uint32)]),
    )
    return conditions, question
