"""The kernel that finds the children of trees whose nodes are written in preorder."""

from __future__ import annotations

from typing import Any

from diffgbm.engine._numba import kernel


@kernel
def link_children(feature: Any, left: Any, right: Any, roots: Any, stack: Any) -> int:
    """Write the children of nodes (n,) in preorder, and the roots; return the number of trees, -1 if one is cut off.

    A node with ``feature >= 0`` is followed by its left child, and the leaf that ends its left side by its right
    child. A leaf's ``left`` is its position among the leaves. Whatever the features are, children come after their
    parents, within the same tree.
    """
    trees = leaves = depth = 0
    new = True
    for i in range(len(feature)):
        if new:
            roots[trees] = i
            trees += 1
            new = False
        if feature[i] >= 0:
            left[i] = i + 1
            stack[depth] = i
            depth += 1
        else:
            left[i] = leaves
            right[i] = 0
            leaves += 1
            if depth > 0:
                depth -= 1
                right[stack[depth]] = i + 1
            else:
                new = True
    return trees if new else -1
