"""Python that gives the numbers of the explorer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from diffgbm.serving.rows import RowReader


def snippet(
    reader: RowReader,
    row: Mapping[str, Any],
    path: str,
    target: str,
    targets: Sequence[str],
    coverage: float,
    threshold: float | None,
    trusted: Sequence[str] = (),
) -> str:
    """Return code that loads the model and predicts a row: its mean, interval and probability.

    Parameters
    ----------
    reader : RowReader
        Reads rows as the model does.
    row : mapping
        The row in JSON.
    path : str
        The model file.
    target, targets : str and sequence of str
        The response that is shown, and all of them.
    coverage : float
        Of the interval.
    threshold : float or None
        A value whose probability of being exceeded is computed.
    trusted : sequence of str
        Types that loading must trust.
    """
    cells = {name: _code(reader.readers[name](row.get(name))) for name in reader.names}
    imports = ["import datetime"] if any("datetime." in code for code in cells.values()) else []
    is_array = reader.features.names is None
    imports += ["", "import numpy as np" if is_array else "import pandas as pd", "", "import diffgbm"]
    trust = f", trusted={list(trusted)!r}" if trusted else ""
    lines = [*(imports if imports[0] else imports[1:]), "", f"model = diffgbm.load({path!r}{trust})"]
    lines += _array(cells) if is_array else _frame(cells)
    one = len(targets) == 1
    j = list(targets).index(target)
    part = "" if one else f"[:, {j}]"
    lines += [
        "",
        "distribution = model.predict_distribution(row)",
        f"mean = distribution.mean(){part}",
        f"interval = model.interval_of(distribution, row, {coverage!r}){part}",
    ]
    shown = ["mean", "interval"]
    if threshold is not None:
        marginal = "distribution" if one else f"distribution.marginals()[{j}]"
        lines.append(f"probability = {marginal}.sf({threshold!r})  # P({_comment(target)} > {threshold!r})")
        shown.append("probability")
    return "\n".join([*lines, f"print({', '.join(shown)})", ""])


def _frame(cells: Mapping[str, str]) -> list[str]:
    return ["row = pd.DataFrame({", *(f"    {name!r}: [{code}]," for name, code in cells.items()), "})"]


def _array(cells: Mapping[str, str]) -> list[str]:
    numbers = all(code == "None" or code.replace("inf", "0")[-1:].isdigit() for code in cells.values())
    values = ", ".join(cells.values())
    return [f"row = np.array([[{values}]], dtype={'float' if numbers else 'object'})"]


def _code(cell: Any) -> str:
    """Write a cell as Python."""
    if isinstance(cell, dt.timedelta):
        return f"datetime.timedelta(days={cell.days}, seconds={cell.seconds}, microseconds={cell.microseconds})"
    if isinstance(cell, float) and abs(cell) == float("inf"):
        return f"float('{cell}')"
    return repr(cell)


def _comment(name: str) -> str:
    """Return a name as a comment holds it: in one line."""
    return " ".join(name.split()) or "y"
