"""The page of a report: sections, style, script and data in one HTML file."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from diffgbm._version import __version__
from diffgbm.reporting import opening, sections
from diffgbm.reporting.facts import ReportFacts, ResponseFacts
from diffgbm.reporting.shown import ShownRow


def page(facts: ReportFacts, title: str) -> str:
    """Make the page."""
    folder = files("diffgbm.reporting")
    style, script, template = (folder.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js", "html"))
    several = len(facts.responses) > 1
    body = [sections.summary(facts)]
    for j, response in enumerate(facts.responses):
        parts = _response(facts, j)
        if several:
            heading = f'<h2 class="response" id="response-{j}">{escape(response.name)}</h2>'
            parts = [heading, opening.headline(response), *parts]
        body += parts
    return Template(template).substitute(
        title=escape(title),
        css=style,
        js=script,
        version=escape(__version__),
        headline=opening.overview(facts) if several else opening.headline(facts.responses[0]),
        contents=opening.contents(facts),
        body="\n".join([*body, sections.cost(facts)]),
        data=embedded(_data(facts)),
    )


def embedded(value: Any) -> str:
    """Encode JSON without characters that could end the script element around it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _response(facts: ReportFacts, j: int) -> list[str]:
    response, key = facts.responses[j], str(j)
    return [
        sections.scores(facts, response, key),
        sections.calibration(response, key),
        sections.sharpness(response, key),
        sections.groups(response, key),
        sections.densities(facts, response, key),
        sections.importance(facts, j, key),
    ]


def _data(facts: ReportFacts) -> dict[str, Any]:
    """Data that the script draws."""
    return {"responses": [_response_data(facts, response) for response in facts.responses]}


def _response_data(facts: ReportFacts, response: ResponseFacts) -> dict[str, Any]:
    shown = sections.shown_features(response)
    rows = [_row_data(facts, row, shown) for row in response.shown]
    edges, heights = response.background
    return {
        "name": response.name,
        "features": [facts.rows.names[f] for f in shown],
        "range": _common_range(response),
        "climate": [[_round(a), _round(b), _round(f)] for a, b, f in zip(edges[:-1], edges[1:], heights, strict=True)],
        "rows": rows,
    }


def _row_data(facts: ReportFacts, row: ShownRow, shown: list[int]) -> dict[str, Any]:
    picture, labels = row.picture, facts.rows.labels
    low, high = _range(row)
    peak = float(picture.density.max()) if len(picture.density) else 0.0
    name = f"row {row.position + 1:,}"
    return {
        "row": row.position + 1,
        "title": name if labels is None else f"{name} (labelled {labels[row.position]})",
        "observed": row.observed,
        "crps": _round(row.crps),
        "inside": row.interval[0] <= row.observed <= row.interval[1],
        "interval": [_round(v) for v in row.interval],
        "quantiles": [_round(v) for v in picture.quantiles],
        "range": [low, high],
        # ten-thousandths of the range and thousandths of the peak are finer than the pixels of a screen
        "x": np.rint(10_000 * (picture.grid - low) / (high - low)).astype(int).tolist(),
        "y": np.rint(1000 * picture.density / (peak or 1.0)).astype(int).tolist(),
        "peak": _round(peak),
        "atoms": [[_round(v), _round(m)] for v, m in zip(picture.atoms, picture.masses, strict=True)],
        "features": [facts.rows.text(row.position, f) for f in shown],
    }


def _range(row: ShownRow) -> tuple[float, float]:
    """Ends of the axis of one row: its density, point masses, interval and observation."""
    picture = row.picture
    everything = np.concatenate([picture.grid, picture.atoms, row.interval, [row.observed]])
    low, high = float(everything.min()), float(everything.max())
    margin = 0.0 if len(picture.grid) and picture.grid[0] == low and picture.grid[-1] == high else 0.08 * (high - low)
    margin = margin if high > low else max(1.0, abs(low)) * 0.5
    return low - margin, high + margin


def _common_range(response: ResponseFacts) -> list[float]:
    ranges = np.array([_range(row) for row in response.shown])
    return [float(ranges[:, 0].min()), float(ranges[:, 1].max())]


def _round(value: float) -> float:
    """Round to the digits that a picture can show."""
    return float(f"{value:.7g}")
