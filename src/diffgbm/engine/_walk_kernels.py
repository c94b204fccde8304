"""Kernels that take 64 rows through a forest at once: bit ``i`` of a mask stands for row ``i`` of the block."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import WORDS, kernel, lowest_bit, part
from diffgbm.engine._wide_kernels import WIDE, WORTH_IT, walk_wide

ONE = np.uint64(1)
NONE = np.uint64(0)
ZERO = np.float64(np.float32(1e-35))
MISSING_ZERO = 1
MISSING_NAN = 2
TREES = 16
"""Trees that are walked in step for the last row of many."""
SLOTS = 8
"""Trees that are walked in turns for a row alone."""
HALF, LOW_HALF = np.uint32(16), np.uint32(0xFFFF)


@part
def block_mask(n_rows: Any) -> Any:
    """Return the mask with the lowest ``n_rows`` bits set."""
    if n_rows >= 64:
        return ~NONE
    return (ONE << np.uint64(n_rows)) - ONE


@part
def comparable(v: Any, missing: Any, goes_left: Any) -> Any:
    """Replace a missing value so that ``<=`` takes its default direction: by minus infinity, or by NaN.

    Plus infinity would not do: a split between missing and present values has an infinite threshold.
    """
    is_zero = abs(v) <= ZERO
    if (missing == MISSING_ZERO and (is_zero or np.isnan(v))) or (missing == MISSING_NAN and np.isnan(v)):
        return -np.inf if goes_left else np.nan
    if is_zero or np.isnan(v):
        return 0.0
    return v


@part
def in_set(v: Any, words: Any) -> Any:
    """Return whether a category is in a bit set. Missing, negative and unknown ones are not."""
    if not (v > -1.0 and v < 2147483648.0):
        return False
    category = np.int64(v)
    word = category >> 5
    return word < len(words) and (words[word] >> np.uint32(category & 31)) & np.uint32(1) != 0


@part
def answer(conditions: Any, X: Any, first: Any, last: Any, masks: Any) -> None:
    """Answer every question for rows ``first`` to ``last - 1`` (at most 64): one mask for each question."""
    masks[:] = NONE
    threshold = conditions.threshold
    for g in range(len(conditions.group_column)):
        start, stop = conditions.group_start[g], conditions.group_start[g + 1]
        for i in range(first, last):
            v = comparable(X[i, conditions.group_column[g]], conditions.group_missing[g], conditions.group_left[g])
            if np.isnan(v):
                continue
            low, high = start, stop
            while low < high:
                middle = (low + high) >> 1
                if threshold[middle] < v:
                    low = middle + 1
                else:
                    high = middle
            if low < stop:
                masks[low] |= ONE << np.uint64(i - first)
        for q in range(start + 1, stop):  # a value below a threshold is below all larger ones
            masks[q] |= masks[q - 1]
    for s in range(len(conditions.set_column)):
        words = conditions.set_words[conditions.set_start[s] : conditions.set_start[s + 1]]
        mask = NONE
        for i in range(first, last):
            if in_set(X[i, conditions.set_column[s]], words):
                mask |= ONE << np.uint64(i - first)
        masks[len(threshold) + s] = mask


@part
def walk_sum(nodes: Any, roots: Any, value: Any, masks: Any, mask: Any, out: Any) -> None:
    """Add each row's leaves to ``out`` (64,)."""
    stack_node = np.empty(len(masks) + 64, np.int64)
    stack_mask = np.empty(len(masks) + 64, np.uint64)
    for t in range(len(roots)):
        depth = 0
        stack_node[0] = roots[t]
        stack_mask[0] = mask
        while depth >= 0:
            node = stack_node[depth]
            m = stack_mask[depth]
            depth -= 1
            while nodes[node, 0] >= 0:
                yes = m & masks[nodes[node, 0]]
                no = m & ~yes
                if no == NONE:
                    node += 1
                elif yes == NONE:
                    node = nodes[node, 1]
                else:
                    depth += 1
                    stack_node[depth] = nodes[node, 1]
                    stack_mask[depth] = no
                    m = yes
                    node += 1
            v = value[nodes[node, 1]]
            while m != NONE:
                out[lowest_bit(m)] += v
                m &= m - ONE


@part
def walk_one(nodes: Any, roots: Any, value: Any, masks: Any, out: Any) -> None:
    """Add the leaves of one row to ``out[0]``, in the order of the trees as ``walk_sum`` does.

    Several trees are walked in step, without branches: memory is what takes the time of a row alone, and no tree waits
    for another one's. Needs at least one question.
    """
    at = np.empty(TREES, np.uint64)
    for first in range(0, len(roots), TREES):
        n = min(TREES, len(roots) - first)
        for p in range(n):
            at[p] = roots[first + p]
        moving = True
        while moving:
            moving = False
            for p in range(n):
                node = at[p]
                question = nodes[node, 0]
                inner = question >= 0
                moving |= inner
                yes = masks[np.uint64(question if inner else 0)] & ONE
                after = node + ONE if yes != NONE else np.uint64(nodes[node, 1])
                at[p] = after if inner else node
        for p in range(n):
            out[0] += value[nodes[at[p], 1]]


@part
def walk_hits(nodes: Any, roots: Any, masks: Any, mask: Any, hits: Any, counts: Any) -> None:
    """List the leaves each row can reach: ``hits[i, :counts[i]]`` for row ``i`` of the block."""
    counts[:] = 0
    stack_node = np.empty(len(nodes) + 1, np.int64)
    stack_mask = np.empty(len(nodes) + 1, np.uint64)
    for t in range(len(roots)):
        depth = 0
        stack_node[0] = roots[t]
        stack_mask[0] = mask
        while depth >= 0:
            node = stack_node[depth]
            m = stack_mask[depth]
            depth -= 1
            question = nodes[node, 0]
            while question != -2:
                if question == -1:
                    depth += 1
                    stack_node[depth] = nodes[node, 1]
                    stack_mask[depth] = m
                    node += 1
                else:
                    yes = m & masks[question]
                    no = m & ~yes
                    if no == NONE:
                        node += 1
                    elif yes == NONE:
                        node = nodes[node, 1]
                    else:
                        depth += 1
                        stack_node[depth] = nodes[node, 1]
                        stack_mask[depth] = no
                        m = yes
                        node += 1
                question = nodes[node, 0]
            leaf = nodes[node, 1]
            while m != NONE:
                i = lowest_bit(m)
                hits[i, counts[i]] = leaf
                counts[i] += 1
                m &= m - ONE


@part
def wide_answers(conditions: Any, X: Any, first: Any, last: Any, masks: Any, everyone: Any) -> None:
    """Answer every question for rows ``first`` to ``last - 1``, at most 512: ``masks`` is (questions, words).

    ``everyone`` gets the masks of the rows that there are.
    """
    for w in range(WORDS):
        low = min(first + 64 * w, last)
        high = min(low + 64, last)
        answer(conditions, X, low, high, masks[:, w])
        everyone[w] = block_mask(high - low)


@kernel
def sum_rows(
    conditions: Any, n_questions: Any, nodes: Any, roots: Any, value: Any, wide: Any, X: Any, out: Any
) -> None:
    """Predict every row of ``X`` into ``out`` (rows,); if ``wide``, in blocks of 512 as long as there are many."""
    masks = np.empty(n_questions, np.uint64)
    wide_masks = np.empty((n_questions if wide else 0, WORDS), np.uint64)
    everyone = np.empty(WORDS, np.uint64)
    total = np.empty(WIDE)
    first = 0
    while first < X.shape[0]:
        left = X.shape[0] - first
        size = WIDE if wide and left >= WORTH_IT else 64
        last = min(first + size, X.shape[0])
        total[:] = 0.0
        if size == WIDE:
            wide_answers(conditions, X, first, last, wide_masks, everyone)
            walk_wide(nodes, roots, value, wide_masks.reshape(-1), everyone, total)
        else:
            answer(conditions, X, first, last, masks)
            if left == 1 and n_questions > 0:
                walk_one(nodes, roots, value, masks, total)
            else:
                walk_sum(nodes, roots, value, masks, block_mask(last - first), total)
        for i in range(first, last):
            out[i] = total[i - first]
        first = last


@part
def walk_packed(packed: Any, roots: Any, answers: Any, leaf: Any) -> None:
    """Write the number in its tree of the leaf that one row reaches in each tree; ``answers`` are bytes.

    Several trees take turns, so that none waits for the memory of another; one that is done makes room for the next.
    """
    n = len(roots)
    at, tree = np.empty(SLOTS, np.uint64), np.empty(SLOTS, np.int64)
    used = min(SLOTS, n)
    for p in range(used):
        at[p] = roots[p]
        tree[p] = p
    following = used
    while used > 0:
        p = 0
        while p < used:
            node = packed[at[p]]
            question, rest = node >> HALF, np.uint64(node & LOW_HALF)
            if question != LOW_HALF:
                at[p] += ONE if answers[question] != 0 else rest
                p += 1
                continue
            leaf[tree[p]] = rest
            if following < n:
                at[p] = roots[following]
                tree[p] = following
                following += 1
                p += 1
            else:  # the last one takes the place
                used -= 1
                at[p] = at[used]
                tree[p] = tree[used]


@kernel
def sum_row(conditions: Any, n_questions: Any, packed: Any, roots: Any, first_leaf: Any, value: Any, X: Any) -> Any:
    """Predict the one row of ``X`` with a packed forest: the bits of ``sum_rows``."""
    masks = np.empty(n_questions, np.uint64)
    answers = np.empty(n_questions, np.uint8)
    answer(conditions, X, 0, 1, masks)
    for q in range(n_questions):
        answers[q] = masks[q]
    leaf = np.empty(len(roots), np.int64)
    walk_packed(packed, roots, answers, leaf)
    total = 0.0
    for t in range(len(roots)):
        total += value[first_leaf[t] + leaf[t]]
    return total
