"""Complete blocks: the families and data sets that are compared, at folds that all of them have.

Means over different data sets or folds are not comparable. Aggregates and rank tests therefore use only complete blocks
of families and data sets, and report what they exclude.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from benchmarks.tables.cells import Cell, Measure, Results
from benchmarks.tables.labels import listed, long, numbers
from benchmarks.tables.paper_values import DATA_SETS
from diffgbm._util.types import Array

Grid = Mapping[tuple[str, str], Mapping[int, Cell]]


@dataclass(frozen=True)
class Block:
    """Families and data sets without a gap.

    Attributes
    ----------
    families : tuple of str, length k
        Rows.
    data_sets : tuple of str, length N
        Columns.
    cells : mapping
        (data set, family) to its lines at the data set's common folds, in their order.
    left_out : tuple of str
        Sentences on the families and data sets that were left out, and why.
    fold_notes : tuple of str
        Sentences on folds that were left out because not all families have them.
    """

    families: tuple[str, ...]
    data_sets: tuple[str, ...]
    cells: Mapping[tuple[str, str], tuple[Cell, ...]]
    left_out: tuple[str, ...] = ()
    fold_notes: tuple[str, ...] = ()

    @property
    def omissions(self) -> tuple[str, ...]:
        """All that was left out."""
        return (*self.left_out, *self.fold_notes)

    def means(self, measure: Measure) -> Array:
        """Mean over folds, (k, N)."""
        return np.array(
            [[np.mean([measure(cell) for cell in self.cells[d, f]]) for d in self.data_sets] for f in self.families]
        )

    def folds(self, data_set: str) -> tuple[int, ...]:
        """Return the common folds of a data set."""
        return tuple(cell.fold for cell in self.cells[data_set, self.families[0]])

    def lines(self) -> tuple[Cell, ...]:
        """Return all lines that the block uses."""
        return tuple(cell for cells in self.cells.values() for cell in cells)


@dataclass(frozen=True)
class _Choice:
    """A candidate: families and, for each data set they share, the common folds."""

    families: tuple[str, ...]
    folds: dict[str, frozenset[int]]

    @property
    def area(self) -> int:
        return len(self.families) * len(self.folds)

    @property
    def n_lines(self) -> int:
        return len(self.families) * sum(map(len, self.folds.values()))


def panel(name: str, number: int) -> str:
    """Return the name of the panel of a block: the first block keeps ``name``, the others append a number."""
    return name if number == 0 else f"{name}_{number + 1}"


def blocks(results: Results, families: Sequence[str], exclude: Sequence[str] = ()) -> tuple[Block, ...]:
    """Return the block with most families, then the ones with most cells and most data sets where these have more.

    Every family with results appears at least once, and a family with few data sets does not exclude the others.

    Parameters
    ----------
    results : Results
        All lines.
    families : sequence of str
        Families of the table, in its order.
    exclude : sequence of str
        Data sets that the table excludes by design.

    Returns
    -------
    tuple of Block
        At most three, of two families at least, each with fewer families and more data sets than the one before;
        none if no two families share a fold of a data set.
    """
    grid = results.grid()
    wanted = [d for d in results.data_sets() if d in DATA_SETS and d not in exclude]
    choices = _choices(grid, families, wanted, range(2, len(families) + 1))
    if not choices:
        return ()
    chosen = [max(choices, key=lambda c: (len(c.families), len(c.folds), c.n_lines))]
    for other in (
        max(choices, key=lambda c: (c.area, c.n_lines, len(c.families))),
        max(choices, key=lambda c: (len(c.folds), len(c.families), c.n_lines)),
    ):
        chosen += [other] if len(other.folds) > len(chosen[-1].folds) else []
    return tuple(_block(choice, grid, families, wanted, exclude) for choice in chosen)


def _choices(grid: Grid, families: Sequence[str], data_sets: Sequence[str], sizes: Iterable[int]) -> list[_Choice]:
    """Every set of so many families with the data sets and folds that they share, if any."""
    have = {d: {f: frozenset(grid.get((d, f), ())) for f in families} for d in data_sets}
    out = []
    for size in sizes:
        for chosen in combinations(families, size):
            common = {d: frozenset.intersection(*(have[d][f] for f in chosen)) for d in data_sets}
            if folds := {d: shared for d, shared in common.items() if shared}:
                out.append(_Choice(chosen, folds))
    return out


def _block(
    choice: _Choice, grid: Grid, families: Sequence[str], data_sets: Sequence[str], exclude: Sequence[str]
) -> Block:
    cells = {
        (d, f): tuple(grid[d, f][fold] for fold in sorted(folds))
        for d, folds in choice.folds.items()
        for f in choice.families
    }
    left_out = [
        *_families_left_out(choice, grid, families, data_sets),
        *_data_sets_left_out(choice, grid, data_sets, exclude),
    ]
    fold_notes = _folds_left_out(grid, choice.families, choice.folds)
    return Block(choice.families, tuple(choice.folds), cells, tuple(left_out), tuple(fold_notes))


def _families_left_out(choice: _Choice, grid: Grid, families: Sequence[str], data_sets: Sequence[str]) -> list[str]:
    why: dict[str, str] = {}
    for family in families:
        if family in choice.families:
            continue
        lacking = [d for d in choice.folds if (d, family) not in grid]
        if not any((d, family) in grid for d in data_sets):
            why[long(family)] = "not run"
        elif lacking:
            why[long(family)] = f"no results on {listed(lacking)}"
        else:
            why[long(family)] = "too few folds in common with the others"
    return _sentences(why)


def _data_sets_left_out(choice: _Choice, grid: Grid, data_sets: Sequence[str], exclude: Sequence[str]) -> list[str]:
    why: dict[str, str] = {}
    for data_set in DATA_SETS:
        if data_set in choice.folds or data_set in exclude:
            continue
        lacking = [long(family) for family in choice.families if (data_set, family) not in grid]
        if data_set not in data_sets:
            why[data_set] = "not run"
        elif lacking:
            why[data_set] = f"no results of {listed(lacking)}"
        else:
            why[data_set] = "no fold common to all families"
    return _sentences(why)


def _sentences(why: Mapping[str, str]) -> list[str]:
    """Write one sentence for each reason, with all that it holds for."""
    return [f"Left out: {listed([n for n in why if why[n] == r])} ({r})." for r in dict.fromkeys(why.values())]


def _folds_left_out(grid: Grid, families: Sequence[str], folds: Mapping[str, frozenset[int]]) -> list[str]:
    """Say where families have different folds, and which are used."""
    out = []
    for data_set, common in folds.items():
        more = [long(f) for f in families if set(grid[data_set, f]) - common]
        if more:
            out.append(
                f"{data_set}: only folds {numbers(tuple(common))}, which all families have; "
                f"{listed(more)} {'has' if len(more) == 1 else 'have'} more."
            )
    return out


def rows_of(results: Results, families: Sequence[str]) -> tuple[Block, ...]:
    """Return one block for each data set, of the families that have results on it.

    Families that have no fold in common with the others are left out, so that a row never mixes folds.
    """
    grid = results.grid()
    return tuple(
        _row(grid, data_set, present)
        for data_set in results.data_sets()
        if (present := [family for family in families if (data_set, family) in grid])
    )


def _row(grid: Grid, data_set: str, present: Sequence[str]) -> Block:
    by_size = (_choices(grid, present, [data_set], [size]) for size in range(len(present), 0, -1))
    choice = max(next(filter(None, by_size)), key=lambda c: c.n_lines)
    block = _block(choice, grid, choice.families, [data_set], DATA_SETS)
    apart = [long(family) for family in present if family not in choice.families]
    left_out = (f"{data_set}: {listed(apart)} left out, no fold in common with the others.",) if apart else ()
    return replace(block, left_out=left_out)
