"""The paper's nine families on tables without repeated rows, with the configurations tuned on whole tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import configs, records
from benchmarks.automatic.variants import deduplicated
from benchmarks.evaluation import KEY, measure
from benchmarks.families import FAMILIES, HEADLINE, Family
from benchmarks.layout import PROTOCOL, Layout
from benchmarks.protocol import prepare
from benchmarks.records import Record
from benchmarks.table_files import Table

NAME = "rivals.jsonl"


@dataclass(frozen=True)
class Rivals:
    """Lines of the families.

    Attributes
    ----------
    lines : tuple of dict
        One for each data set, family and fold.
    """

    lines: tuple[Record, ...] = ()

    @classmethod
    def read(cls, root: Path) -> Rivals:
        """Read the recorded lines."""
        return cls(tuple(records.latest(root / NAME, KEY).values()))

    def crps(self, data_set: str, folds: Collection[int]) -> dict[str, float]:
        """Mean CRPS over folds of each family that has all of them."""
        result: dict[str, dict[int, float]] = {}
        for line in self.lines:
            if line["data_set"] == data_set and line["fold"] in folds:
                result.setdefault(line["family"], {})[line["fold"]] = line["metrics"]["crps"]
        return {family: float(np.mean(list(of.values()))) for family, of in result.items() if set(of) == set(folds)}

    def flow(self, data_set: str, folds: Collection[int]) -> float | None:
        """CRPS of the tuned flow."""
        return self.crps(data_set, folds).get("flow_vp")

    def best(self, data_set: str, folds: Collection[int]) -> float | None:
        """CRPS of the best family."""
        return min(self.crps(data_set, folds).values(), default=None)


NO_RIVALS = Rivals()


def run_rivals(
    tables: Iterable[tuple[str, Table]],
    folds: Sequence[int],
    root: Path,
    say: Callable[[str], None],
    *,
    threads: int,
    force: bool = False,
    selected: Path = PROTOCOL,
    families: Mapping[str, Family] = FAMILIES,
) -> list[str]:
    """Compute the line of each table, fold and tuned family unless it exists; return the failures."""
    failed = []
    for data_set, table in tables:
        whole = deduplicated(table)
        for fold in folds:
            for name in HEADLINE:
                config = configs.read(Layout(selected).config(data_set, name))
                key: tuple[Any, ...] = (data_set, name, fold)
                if config is None or (not force and key in records.latest(root / NAME, KEY)):
                    continue
                try:
                    line = measure(families[name], prepare(whole, fold), config, fold, threads=threads)
                except Exception as error:  # one failure must not end the run
                    failed.append(f"{data_set} fold {fold}, {name}: {error!r}")
                    say(failed[-1])
                    continue
                records.append(root / NAME, line)
                say(f"{data_set} fold {fold}, {name}: CRPS {line['metrics']['crps']:.4g}")
    return failed
