"""The data that a report holds for its script: a table of all rows, packed densities and features of some."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from diffgbm._util.types import Array
from diffgbm._util.types import Rows as Positions
from diffgbm.reporting.facts import ReportFacts, ResponseFacts
from diffgbm.reporting.row_insights import RowInsights
from diffgbm.reporting.shown import ShownRow, random_rows

MOST_ROWS = 50_000
"""Rows of the table in the file, about 60 bytes each; of longer tables the named rows and random others are there."""
SHOWN_FEATURES = 30
"""Features in the list beside a density."""
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
"""Digits of packed numbers."""


def script_data(facts: ReportFacts) -> str:
    """Encode the data of the script as JSON."""
    rows = table_rows(facts)
    drawn = np.unique(np.concatenate([[row.position for row in r.shown] for r in facts.responses])).astype(np.intp)
    labels, whole = facts.rows.labels, len(rows) == len(facts.rows)
    return as_json(
        {
            "total": len(facts.rows),
            "rows": None if whole else (rows + 1).tolist(),
            "count": len(rows),
            "labels": None if labels is None else [labels[i] for i in rows],
            "drawn": (drawn + 1).tolist(),
            "columns": {str(f): _column(facts, f, drawn) for r in facts.responses for f in shown_features(r)},
            "responses": [_response(response, rows, facts.insights, j) for j, response in enumerate(facts.responses)],
        }
    )


def as_json(value: Any) -> str:
    """Encode JSON without characters that could end the script element around it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def table_rows(facts: ReportFacts) -> Positions:
    """Sorted positions of the rows of the table: all of them, or those with a density and random others."""
    n = len(facts.rows)
    if n <= MOST_ROWS:
        return np.arange(n)
    drawn = np.unique(np.concatenate([[row.position for row in r.shown] for r in facts.responses])).astype(np.intp)
    order = random_rows(n, facts.limits.seed)
    others = order[~np.isin(order, drawn)][: max(0, MOST_ROWS - len(drawn))]
    return np.sort(np.concatenate([drawn, others]))


def shown_features(response: ResponseFacts) -> list[int]:
    """Positions of the features that are listed beside a density, the most important first."""
    return [int(f) for f in response.order[:SHOWN_FEATURES]]


def packed(values: Array) -> str:
    """Pack numbers between 0 and 1 with 12 bits each, two characters: finer than the pixels of a screen."""
    steps = np.clip(np.rint(4095.0 * values), 0, 4095).astype(int)
    return "".join(ALPHABET[k >> 6] + ALPHABET[k & 63] for k in steps)


def _column(facts: ReportFacts, feature: int, drawn: Positions) -> dict[str, Any]:
    """Name and values of one feature in the rows with a density."""
    return {"name": facts.rows.names[feature], "values": [facts.rows.text(int(i), feature) for i in drawn]}


def _response(response: ResponseFacts, rows: Positions, insights: RowInsights, j: int) -> dict[str, Any]:
    scores = response.rows
    columns = {
        "observed": scores.y,
        "mean": scores.mean,
        "median": scores.median,
        "lower": scores.ends[:, 0],
        "upper": scores.ends[:, 1],
        "crps": scores.values["crps"],
        "pit": scores.values["pit"],
    }
    extra = {
        "novelty": insights.novelty,
        "epistemic": None if insights.share is None else insights.share[:, j],
    }
    known = {name: _or_nothing(values[rows]) for name, values in extra.items() if values is not None}
    edges, heights = response.background
    return {
        "name": response.name,
        "features": [str(f) for f in shown_features(response)],
        "range": _common_range(response),
        "climate": [[_round(a), _round(b), _round(f)] for a, b, f in zip(edges[:-1], edges[1:], heights, strict=True)],
        "table": {name: _rounded(values[rows]) for name, values in columns.items()} | known,
        "densities": {str(row.position + 1): _density(row) for row in response.shown},
    }


def _density(row: ShownRow) -> dict[str, Any]:
    picture = row.picture
    low, high = _range(row)
    peak = float(picture.density.max()) if len(picture.density) else 0.0
    result: dict[str, Any] = {
        "range": [_round(low), _round(high)],
        "inner": [_round(v) for v in picture.quantiles[1:4]],
    }
    if peak > 0.0:
        result |= {
            "x": packed((picture.grid - low) / (high - low)),
            "y": packed(picture.density / peak),
            "peak": _round(peak),
        }
    if len(picture.atoms):
        result["atoms"] = [[_round(v), _round(m)] for v, m in zip(picture.atoms, picture.masses, strict=True)]
    return result


def _range(row: ShownRow) -> tuple[float, float]:
    """Ends of the axis of one row: its density, point masses, interval and observation."""
    picture = row.picture
    everything = np.concatenate([picture.grid, picture.atoms, row.interval, [row.observed]])
    low, high = float(everything.min()), float(everything.max())
    margin = 0.0 if len(picture.grid) and picture.grid[0] == low and picture.grid[-1] == high else 0.08 * (high - low)
    margin = margin if high > low else max(1.0, abs(low)) * 0.5
    return low - margin, high + margin


def _common_range(response: ResponseFacts) -> list[float]:
    """Ends of an axis for all rows: a few rows with long tails do not squeeze the others."""
    ranges = np.array([_range(row) for row in response.shown])
    lows, highs = np.quantile(ranges[:, 0], [0.0, 0.02]), np.quantile(ranges[:, 1], [0.98, 1.0])
    extent = highs[0] - lows[1]
    return [float(max(lows[0], lows[1] - 0.5 * extent)), float(min(highs[1], highs[0] + 0.5 * extent))]


def _rounded(values: Array) -> list[float]:
    """Round numbers (k,), those that are nothing beside the largest to zero: a limit may be stored as 5e-324."""
    tiny = 1e-15 * float(np.abs(values).max())
    return [_round(v) for v in np.where(np.abs(values) <= tiny, 0.0, values)]


def _or_nothing(values: Array) -> list[float | None]:
    """Round numbers (k,); what is not known is null."""
    return [None if np.isnan(value) else float(f"{value:.3g}") for value in values]


def _round(value: float) -> float:
    """Round to the digits that a picture can show."""
    return float(f"{value:.7g}")
