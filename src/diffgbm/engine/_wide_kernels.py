"""Kernels that take 512 rows through a forest of plain predictions at once: eight masks of 64 rows, one vector.

A node is one AND of vectors, whichever way the rows go, so that no processor has to guess. At a leaf its number in the
tree is written for the rows that arrive, and each row adds its leaf once the tree is done: in the order of the trees,
as the walk of 64 rows does, with the same result to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import WORDS, mark_rows, part, split_rows

WIDE = 64 * WORDS
"""Rows of a wide block."""
WORTH_IT = 128
"""Fewer rows than these go in blocks of 64."""
MOST_LEAVES = 256
"""Leaves of a tree at most: their numbers are bytes."""


@part
def first_leaf(nodes: Any, root: Any) -> Any:
    """Return the number of the leaf at the left end of a tree; those of the others follow."""
    node = np.int64(root)
    while nodes[node, 0] >= 0:
        node += 1
    return np.int64(nodes[node, 1])


@part
def walk_wide(nodes: Any, roots: Any, value: Any, masks: Any, everyone: Any, out: Any) -> None:
    """Add the leaf of each row to ``out`` (512,).

    ``masks`` are the answers, ``WORDS`` for each question in turn, and ``everyone`` the rows of the block. The stack
    has the rows that wait for the right side of each node above; it is as deep as a tree at most.
    """
    waiting = np.empty(MOST_LEAVES + 1, np.int64)
    stack = np.zeros((MOST_LEAVES + 2) * WORDS, np.uint64)
    leaf_of = np.zeros(WIDE, np.uint8)
    for t in range(len(roots)):
        first = first_leaf(nodes, roots[t])
        depth = np.int64(0)
        waiting[0] = roots[t]
        for w in range(WORDS):
            stack[w] = everyone[w]
        while depth >= 0:
            node = waiting[depth]
            question = np.int64(nodes[node, 0])
            while question >= 0:
                right = np.int64(nodes[node, 1])
                found = split_rows(stack, depth * WORDS, masks, question * WORDS)
                waiting[depth] = right
                node = node + 1 if found & 1 else right
                depth += found >> 1
                question = np.int64(nodes[node, 0])
            leaf = np.uint8(nodes[node, 1] - first)
            for w in range(WORDS):
                mark_rows(leaf_of, np.int64(64 * w), stack[depth * WORDS + w], leaf)
            depth -= 1
        leaves = value[first:]
        for i in range(WIDE):
            out[i] += leaves[leaf_of[i]]
