"""Kernel of the pruning: one walk over every tree with the box of cells and bins that is left at each node."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import kernel, part


@part
def copy(values: Any, out: Any) -> None:
    """Write ``values`` to ``out``, of the same length; an assignment of slices compiles ten times as long."""
    for j in range(len(out)):
        out[j] = values[j]


@part
def cut(box: Any, kind: Any, argument: Any, zero_left: Any, zero_bin: Any, left: Any, right: Any) -> None:
    """Split a box at a node on time or state: write the parts (possibly empty) that go left and right.

    A box that holds only the zeros of a state goes where the node sends zeros.
    """
    copy(box, left)
    copy(box, right)
    if kind == 1:  # cells before the argument go left
        left[1] = min(box[1], argument)
        right[0] = max(box[0], argument)
    elif kind == 2:  # cells from the argument on go left
        left[0] = max(box[0], argument)
        right[1] = min(box[1], argument)
    else:
        j = 2 * (kind - 2)
        first_right = argument + 1
        if box[j] == zero_bin[kind - 3] and box[j + 1] == box[j] + 1:
            first_right = box[j + 1] if zero_left else box[j]
        left[j + 1] = min(box[j + 1], first_right)
        right[j] = max(box[j], first_right)


@part
def is_empty(box: Any) -> Any:
    """Return whether a box holds nothing."""
    empty = False
    for j in range(0, len(box), 2):
        empty |= box[j] >= box[j + 1]
    return empty


@part
def prune_tree(tree: Any, zero_bin: Any, value_start: Any, stack: Any, waiting: Any, out: Any, at: Any) -> Any:
    """Emit one tree in preorder; ``at`` and the result are (nodes, leaves) emitted so far.

    ``tree`` is (left, right, kind, argument, zero_left) of its nodes. The first row of ``stack`` holds the box to
    start with; behind it are a scratch row and the boxes yet to do, whose node and emitted parent are in ``waiting``.
    """
    left, right, kind, argument, zero_left = tree
    nodes, leaf, boxes = out
    n, m = at
    depth = 2
    copy(stack[0], stack[2])
    waiting[2, 0] = 0 if len(left) > 0 else -1
    waiting[2, 1] = -1
    while depth >= 2:
        node, parent = waiting[depth]
        box = stack[0]
        copy(stack[depth], box)
        depth -= 1
        if parent >= 0:
            nodes[parent, 1] = n
        while True:  # go down the left side
            if node < 0:
                nodes[n, 0] = -2
                nodes[n, 1] = m
                leaf[m] = value_start + ~node
                copy(box, boxes[m])
                n += 1
                m += 1
                break
            low = stack[1]
            high = stack[depth + 1]
            if kind[node] == 0:
                copy(box, high)
                nodes[n, 0] = argument[node]
            else:
                cut(box, kind[node], argument[node], zero_left[node], zero_bin, low, high)
                if is_empty(high):
                    node = left[node]
                    continue
                if is_empty(low):
                    node = right[node]
                    continue
                copy(low, box)
                nodes[n, 0] = -1
            depth += 1
            waiting[depth, 0] = right[node]
            waiting[depth, 1] = n
            node = left[node]
            n += 1
    return n, m


@kernel
def prune_trees(tree_nodes: Any, tree_leaves: Any, nodes: Any, zero_bin: Any, regions: Any) -> Any:
    """Prune all trees, each once for every region (a box to start with); see ``prune.Pruned`` for the result.

    ``nodes`` is (left, right, kind, argument, zero_left).
    """
    n_trees, n_regions = len(tree_nodes) - 1, len(regions)
    total = tree_leaves[-1] * n_regions
    emitted = np.empty((2 * total, 2), np.int32)
    leaf = np.empty(total, np.int64)
    boxes = np.empty((total, regions.shape[1]), np.int32)
    leaf_tree = np.empty(total, np.int32)
    roots = np.empty(n_trees * n_regions, np.int32)
    deepest = 0
    for t in range(n_trees):
        deepest = max(deepest, tree_leaves[t + 1] - tree_leaves[t])
    stack = np.empty((deepest + 4, regions.shape[1]), np.int32)
    waiting = np.empty((deepest + 4, 2), np.int64)
    left, right, kind, argument, zero_left = nodes
    n, m = np.int64(0), np.int64(0)  # plain zeros are literals: one more version of prune_tree
    for r in range(n_trees * n_regions):
        roots[r] = n
        t = r // n_regions
        a, b = tree_nodes[t], tree_nodes[t + 1]
        copy(regions[r % n_regions], stack[0])
        tree = (left[a:b], right[a:b], kind[a:b], argument[a:b], zero_left[a:b])
        before = m
        n, m = prune_tree(tree, zero_bin, tree_leaves[t], stack, waiting, (emitted, leaf, boxes), (n, m))
        leaf_tree[before:m] = r
    reach = total_reach(emitted[:n], roots)
    return emitted[:n].copy(), roots, leaf_tree[:m].copy(), leaf[:m].copy(), boxes[:m].copy(), reach


@part
def total_reach(nodes: Any, roots: Any) -> Any:
    """Return how many leaves a row can reach at most: the sum over trees of their widest choice."""
    width = np.empty(len(nodes), np.int64)
    for n in range(len(nodes) - 1, -1, -1):  # children follow their parents
        if nodes[n, 0] == -2:
            width[n] = 1
        elif nodes[n, 0] == -1:
            width[n] = width[n + 1] + width[nodes[n, 1]]
        else:
            width[n] = max(width[n + 1], width[nodes[n, 1]])
    total = 0
    for t in range(len(roots)):
        total += width[roots[t]]
    return total
