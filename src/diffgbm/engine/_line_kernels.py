"""Kernels that collapse the forests of several rows together, one cell of the time grid at a time.

A row's table is a line of bins for each cell, and a step reads one line only. Rows are taken in groups of ``LANES``,
one in each lane of a vector: bin ``b`` of row ``l`` is at ``b * LANES + l``. What is kept is the line of the present
cell as differences between neighbouring bins. A leaf changes two of them when its box begins and when it ends, in all
rows that reach it at once, and a line is their running sum: there is no table of all cells, which would not fit into
the nearest cache, and which most leaves change only at its first line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffgbm._util.kernels import LANES, add_to_some, part, running_sums
from diffgbm.engine._walk_kernels import NONE, ONE

LOW_BITS, SHIFT = np.uint64(0xFFFF), np.uint64(16)


@part
def both_answers(masks: Any, answers: Any) -> None:
    """Write for each question who answers yes and who answers no: ``answers`` has two numbers for each.

    The first two are of a node whose children both count: everybody goes both ways.
    """
    answers[0] = ~NONE
    answers[1] = ~NONE
    for q in range(len(masks)):
        answers[2 * q + 2] = masks[q]
        answers[2 * q + 3] = ~masks[q]


@part
def walk_leaves(nodes: Any, roots: Any, answers: Any, mask: Any, leaf: Any, rows: Any) -> Any:
    """List the leaves that some row of a block can reach, and the ``rows`` that do; return how many.

    A node is a few instructions whichever way its rows go, so that no processor has to guess.
    """
    stack_node = np.empty(len(nodes) + 2, np.uint64)
    stack_mask = np.empty(len(nodes) + 2, np.uint64)
    count = NONE
    for t in range(len(roots)):
        depth = ONE
        stack_node[1] = roots[t]
        stack_mask[1] = mask
        while depth > NONE:
            node, m = stack_node[depth], stack_mask[depth]
            depth -= ONE
            question = nodes[node, 0]
            while question != -2:
                right = np.uint64(nodes[node, 1])
                at = np.uint64(2 * (question + 1))
                yes, no = m & answers[at], m & answers[at + ONE]
                some = yes != NONE
                stack_node[depth + ONE] = right
                stack_mask[depth + ONE] = no
                depth += np.uint64(some & (no != NONE))
                m = yes if some else no
                node = node + ONE if some else right
                question = nodes[node, 0]
            leaf[count] = nodes[node, 1]
            rows[count] = m
            count += ONE
    return count


@part
def in_order(boxes: Any, values: Any, leaf: Any, rows: Any, n_cells: Any, changes: Any) -> None:
    """Sort the beginnings and ends of the boxes of leaves by cell.

    ``changes`` are what is added to the bins of a box; its first bin and, 16 bits higher, the bin behind its last one;
    its rows; and where those of each cell begin, ``n_cells + 2`` numbers.
    """
    value, code, who, first = changes
    first[:] = 0
    for e in range(len(leaf)):
        i = leaf[e]
        first[boxes[i, 0] + 2] += 1
        if boxes[i, 1] < n_cells:
            first[boxes[i, 1] + 2] += 1
    for k in range(2, n_cells + 2):
        first[k] += first[k - 1]
    for e in range(len(leaf)):
        i = leaf[e]
        start, end = boxes[i, 0] + 1, boxes[i, 1] + 1
        what = np.uint64(boxes[i, 2]) | (np.uint64(boxes[i, 3]) << SHIFT)
        at = first[start]
        first[start] = at + 1
        value[at] = values[i]
        code[at] = what
        who[at] = rows[e]
        if end <= n_cells:
            at = first[end]
            first[end] = at + 1
            value[at] = -values[i]
            code[at] = what
            who[at] = rows[e]


@part
def change_buffers(room: Any, n_cells: Any) -> Any:
    """Allocate the changes of lines by ``room`` leaves."""
    size = 2 * room
    return (
        np.empty(size, np.int32),
        np.empty(size, np.uint64),
        np.empty(size, np.uint64),
        np.empty(n_cells + 2, np.int64),
    )


@part
def bring_line(changes: Any, group: Any, difference: Any, line: Any, before: Any, cell: Any) -> Any:
    """Bring the line of a cell to the same or a later one, and return that: change the differences, and add them up.

    ``group`` is the position of the first row in the block.
    """
    value, code, who, first = changes
    if cell == before:
        return cell
    for e in range(first[before + 1], first[cell + 1]):
        what, v, rows = code[e], value[e], np.uint8(who[e] >> group)
        add_to_some(difference, np.int64(what & LOW_BITS), rows, v)
        add_to_some(difference, np.int64(what >> SHIFT), rows, np.int32(-v))
    running_sums(difference, line, np.int64(len(difference) // LANES - 1))
    return cell


@part
def bring_single_line(changes: Any, row: Any, difference: Any, line: Any, before: Any, cell: Any) -> Any:
    """Bring the line of one row, at a position in the block, to a cell; as ``bring_line``, without lanes."""
    value, code, who, first = changes
    if cell == before:
        return cell
    for e in range(first[before + 1], first[cell + 1]):
        what = code[e]
        v = value[e] * np.int32((who[e] >> row) & ONE)
        difference[what & LOW_BITS] += v
        difference[what >> SHIFT] -= v
    total = np.int32(0)
    for b in range(len(difference) - 1):
        total = np.int32(total + difference[b])
        line[b] = total
    return cell
