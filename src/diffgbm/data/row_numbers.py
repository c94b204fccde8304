r"""Columns that number the rows: found by their values, and by their names where values leave it open.

Whole numbers that never repeat although they fill their range were not measured: somebody counted. If :math:`n`
numbers were drawn from :math:`R` values, all would be different with a probability of at most

.. math:: \prod_{i < n} (1 - i / R),

which it has if all values are equally likely. A column with the name of an index numbers the rows if that is below
``CHANCE``. One with another name does if its numbers also fill at least half of their range and stand in order, unless
its name speaks of time, of a rank or of a quantity that is set step by step; in another order they may be ranks. A
model that learns from such a column reads the order of the table, which new rows do not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np

from diffgbm._util.types import Array
from diffgbm.data.numbers import column_numbers

CHANCE = 1e-6
"""Probability below which numbers that never repeat are no chance."""
FILLED = 0.5
"""Share of its range that a column fills which numbers the rows although its name does not say so."""
FEW_ROWS = 30
"""In fewer rows a column that counts may be the time or a step, whatever its name."""
YEARS = 1500, 2200
"""Numbers that may be years."""

_INDEX_NAME = re.compile(
    r"^(?i:unnamed: ?\d+|index|idx|rows?|row_?names?|row_?(?:id|nr|no|num|number)|nr|no|num|number|#|id|key|level_0"
    r"|n[º°]|№|s(?:l|er|erial)?[. _]*no|seq(?:uence)?(?:[. _]*no)?|obs|observation|lfd[. _]*nr)\.?$"
    r"|[_\s.-](?i:id|idx|index|nr|no|row|key)\.?$|[a-z](?:Id|ID|Idx|Index|Nr|No)$|^__index_level_\d+__$"
)
"""Names of columns that may only count the rows."""
_WORD = re.compile(r"[A-Z]?[a-z\u00df-\u00ff]+|[A-Z]+(?![a-z])")
_MEANING = re.compile(
    r"time|date|days?|weeks?|months?|quarters?|years?|hours?|minutes?|seconds?|period|step|tick|epoch|cycle|trend|lag"
    r"|zeit|datum|tage?|woche|monat|quartal|jahre?|stunde|jour|semaine|mois|annee|heure|dia|semana|mes|ano"
    r"|rank|ranking|rang|place|position|age|size|distance|depth|height|length|width|angle|degrees?|wavelength"
    r"|frequency|dose|concentration|temperature|pressure|voltage|speed"
)
"""Words of columns that may count and mean something all the same: time, ranks, steps of an experiment."""


def row_numbers(columns: Mapping[str, Any], others: int = 0) -> dict[str, str]:
    """Return the columns of a table (name -> narwhals series) that only number its rows, with the reason.

    The only column of a table is what there is to learn from: it is one only if it has no name or that of an index.
    The table may have ``others``, which do not number its rows.
    """
    found = {name: reason for name, column in columns.items() if (reason := index_reason(name, column)) is not None}
    if len(found) == len(columns) + others:
        return {name: reason for name, reason in found.items() if _is_unnamed(name) or is_index_name(name)}
    return found


def index_reason(name: str, column: Any) -> str | None:
    """Say why a column, a narwhals series, only numbers the rows; ``None`` if it is a feature.

    A column without a name does if its values are all different. Others must hold whole numbers. Floats were measured.
    """
    if len(column) < 3 or column.null_count():
        return None
    comparable = column.dtype == nw.String or column.dtype.is_integer() or column.dtype.is_temporal()
    if _is_unnamed(name) and comparable and column.n_unique() == len(column):
        return "an index of the rows: it has no name, and its values are all different"
    return row_number_reason(name, column_numbers(column, repr(name))) if column.dtype.is_integer() else None


def row_number_reason(name: str, values: Array) -> str | None:
    """Say why whole numbers (n,), one for each row in the order of the table, only number them; ``None`` if not.

    They are floats: integers too large for them are rounded, repeat and are features.
    """
    named, first, last = is_index_name(name), int(values.min()), int(values.max())
    if named and values[0] in (0, 1) and np.all(np.diff(values) == 1):
        return f"an index of the rows: it counts from {first} to {last}"
    # the order first: most columns have none, and to look for repeats sorts them
    if not (named or _counts_in_order(name, values, first, last)) or never_repeats(values) >= CHANCE:
        return None
    return f"it numbers the rows: {len(values):,} different whole numbers between {first} and {last}"


def _counts_in_order(name: str, values: Array, first: int, last: int) -> bool:
    """Whether integers (n,) count on or down from row to row, and neither they nor their name can mean something."""
    steps, n = np.diff(values), len(values)
    in_order = bool(np.all(steps > 0) or np.all(steps < 0))
    means_something = are_years(values) or _has_meaning(name)
    return n >= FEW_ROWS and n >= FILLED * (last - first + 1) and in_order and not means_something


def are_years(values: Array) -> bool:
    """Whether numbers (n,) may be years; missing ones do not count."""
    return bool(YEARS[0] <= np.nanmin(values, initial=np.inf) and np.nanmax(values, initial=-np.inf) <= YEARS[1])


def never_repeats(values: Array) -> float:
    """Return how likely as many draws from the range of whole numbers (n,) are all different; 1 if these are not."""
    n, places = len(values), float(values.max()) - float(values.min()) + 1.0
    if len(np.unique(values)) < n:
        return 1.0
    return float(np.exp(np.log1p(-np.arange(n) / places).sum()))


def is_index_name(name: str) -> bool:
    """Whether a column is called what columns are called that only count the rows."""
    return _INDEX_NAME.search(name.strip()) is not None and not any(map(_MEANING.fullmatch, _words(name)))


def _is_unnamed(name: str) -> bool:
    return not name or name.lower().startswith("unnamed:")


def _has_meaning(name: str) -> bool:
    """Whether a name speaks of what counts and means something, or is a letter, as in formulas."""
    return any(len(word) == 1 or _MEANING.fullmatch(word) for word in _words(name))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]
