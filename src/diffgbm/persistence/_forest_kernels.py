"""Kernels that restore what a file leaves out of forests."""

from __future__ import annotations

from typing import Any

from diffgbm._util.kernels import kernel


@kernel
def link_children(feature: Any, cuts: Any, threshold: Any, left: Any, right: Any, roots: Any, stack: Any) -> int:
    """Write the children of nodes (n,) in preorder, and the roots; return the number of trees, -1 if one is incomplete.

    ``cuts`` are the thresholds of the splits; they are written to ``threshold`` (n,).

    A node with ``feature >= 0`` is followed by its left child; the last leaf of its left subtree is followed by its
    right child. ``left`` of a leaf is its position among the leaves. For any features, children come after their
    parents, within the same tree.
    """
    trees = leaves = depth = k = 0
    new = True
    for i in range(len(feature)):
        if new:
            roots[trees] = i
            trees += 1
            new = False
        if feature[i] >= 0:
            threshold[i] = cuts[k]
            k += 1
            left[i] = i + 1
            stack[depth] = i
            depth += 1
        else:
            threshold[i] = 0.0
            left[i] = leaves
            right[i] = 0
            leaves += 1
            if depth > 0:
                depth -= 1
                right[stack[depth]] = i + 1
            else:
                new = True
    return trees if new else -1


@kernel
def merge_columns(numbers: Any, plain: Any, table: Any, coded: Any, codes: Any, out: Any) -> None:
    """Write numbers (n, r) to the columns ``plain`` of ``out``, and rows ``codes`` (n,) of a table to ``coded``.

    Codes must be rows of the table; if ``coded`` is empty, so may the codes be.
    """
    for i in range(out.shape[0]):
        for j in range(len(plain)):
            out[i, plain[j]] = numbers[i, j]
        for j in range(len(coded)):
            out[i, coded[j]] = table[codes[i], j]
