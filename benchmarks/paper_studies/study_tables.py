"""Tables of the studies: the paper's data sets, synthetic distributions, and a substitute for CT slices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.datasets import DATA_SETS, find, load
from benchmarks.protocol import MASTER_SEED
from benchmarks.synthetic import DISTRIBUTIONS
from benchmarks.table_files import DataSetError, Table

CT = "ct_slices"
DISTRIBUTION_ROWS = 1000
"""Default number of rows drawn from a synthetic distribution."""

CT_FEATURES = 384
CT_PATIENTS = 74
CT_ROWS = 900
"""Default number of rows of the substitute table."""


@dataclass(frozen=True)
class Loaded:
    """A table and a note on it (empty for a whole data set of the paper)."""

    table: Table
    note: str = ""


@cache
def table_of(name: str, rows: int | None, directory: Path | None, download: bool = True) -> Loaded:
    """Read a data set or draw from a distribution, and keep ``rows`` rows, the first of a fixed permutation.

    Raises
    ------
    DataSetError
        It is not available and has no substitute.
    """
    rng = np.random.default_rng(MASTER_SEED)
    if name in DISTRIBUTIONS:
        return Loaded(
            DISTRIBUTIONS[name].draw(rows or DISTRIBUTION_ROWS, rng),
            f"{rows or DISTRIBUTION_ROWS} rows drawn from the synthetic distribution",
        )
    # look for a file first: without network, trying every address takes long
    there = DATA_SETS[name].embedded or find(DATA_SETS[name], directory) is not None
    try:
        loaded = Loaded(load(DATA_SETS[name], directory, download=download and not there))
    except DataSetError as error:
        if name != CT:
            raise
        drawn = rows or CT_ROWS
        why = " ".join(str(error).split())
        return Loaded(
            ct_substitute(drawn, rng),
            f"SUBSTITUTE TABLE: the full file is not available ({_short(why)}); {drawn} rows of a generated table of "
            f"the same shape (384 features, {CT_PATIENTS} patients, nearly deterministic) replace it",
        )
    total = len(loaded.table.y)
    if rows is None or rows >= total:
        return loaded
    kept = rng.permutation(total)[:rows]
    table = loaded.table
    return Loaded(Table(table.X[kept], table.y[kept], table.features, table.target), f"{rows} of {total} rows")


def _short(text: str) -> str:
    return text.split(". ")[0].rstrip(".")


def ct_substitute(rows: int, rng: np.random.Generator) -> Table:
    r"""Generate a table like CT slices: y is the height of a slice, X are 384 histogram values of the image.

    Feature j of patient p at height u in [0, 1] is

    .. math:: x_j = \max\{0,\ a_{pj} \exp(-\tfrac12 ((u s_p + o_p - c_j) / w_j)^2) + 0.01\, \epsilon\}

    with amplitudes, stretch ``s_p`` and offset ``o_p`` that differ a little between patients, so that many features
    are zero for most slices. The response is the height in the original's range, 0 to 97, with an error of 0.2,
    about one per cent of its standard deviation: given the features it is almost certain, as in the original.
    """
    patient = rng.integers(CT_PATIENTS, size=rows)
    height = rng.beta(1.2, 1.2, size=rows)
    stretch, offset = rng.normal(1.0, 0.02, CT_PATIENTS), rng.normal(0.0, 0.01, CT_PATIENTS)
    centre, width = rng.uniform(-0.1, 1.1, CT_FEATURES), rng.uniform(0.02, 0.25, CT_FEATURES)
    amplitude = np.clip(rng.normal(0.6, 0.2, CT_FEATURES) + rng.normal(0.0, 0.05, (CT_PATIENTS, CT_FEATURES)), 0.0, 1.0)
    seen = (height * stretch[patient] + offset[patient])[:, None]
    X = amplitude[patient] * np.exp(-0.5 * ((seen - centre) / width) ** 2)
    X = np.maximum(X + 0.01 * rng.standard_normal(X.shape), 0.0)
    y = 97.0 * height + 0.2 * rng.standard_normal(rows)
    return Table(X, y, tuple(f"value{i}" for i in range(CT_FEATURES)), "reference")
