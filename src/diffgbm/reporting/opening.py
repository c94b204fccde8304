"""The top of a report: a summary of the scores, and links to the sections."""

from __future__ import annotations

from html import escape

import numpy as np

from diffgbm.metrics.diagnostics import binomial_band
from diffgbm.reporting.facts import ReportFacts, ResponseFacts
from diffgbm.reporting.formatting import NONE, number, percent
from diffgbm.reporting.markup import table
from diffgbm.reporting.scores import MAIN

CALIBRATED = 0.05
"""p-value of the test of uniform transforms above which a model passes."""


def headline(response: ResponseFacts) -> str:
    """Summarise the scores of one response in a sentence and four numbers."""
    name, model, climatology = escape(response.name), response.model, response.climatology
    rows = response.pit.counts.sum()
    low, high = (float(v) / rows for v in binomial_band(int(rows), np.array(MAIN)))
    covered = model.coverage[MAIN]
    if covered < low:
        comparison, style = f"significantly less than nominal (the 95% band begins at {percent(low, 0)})", "bad"
    elif covered > high:
        comparison, style = f"significantly more than nominal (the 95% band ends at {percent(high, 0)})", "bad"
    else:
        comparison, style = "consistent with the nominal coverage", "good"
    ratio = model.width[MAIN] / climatology.width[MAIN] if climatology.width[MAIN] > 0.0 else np.nan
    sentence = (
        f'<p class="lead">For <strong>{name}</strong> the model is {_better(model.skill)}. '
        f"Its {percent(MAIN, 0)} intervals cover <strong>{percent(covered)}</strong> of {rows:,} observations, "
        f"{comparison}. "
        f"Their mean width is {number(model.width[MAIN], 3)}"
        + (f", {_times(ratio)} that of climatology.</p>" if np.isfinite(ratio) else ".</p>")
    )
    p = response.scores["pit_p"]
    tiles = [
        ("CRPS skill against climatology", percent(model.skill), "100% is perfect, 0% equals climatology", ""),
        (
            f"Coverage of {percent(MAIN, 0)} intervals",
            percent(covered),
            f"{percent(low, 0)} to {percent(high, 0)} if calibrated",
            style,
        ),
        (
            "Sharpness",
            number(model.width[MAIN], 3),
            f"mean width of the {percent(MAIN, 0)} interval; climatology {number(climatology.width[MAIN], 3)}",
            "",
        ),
        (
            "Calibration of the distributions",
            NONE if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.3f}",
            "Kolmogorov-Smirnov test of uniform transforms; small values mean miscalibration",
            "" if p is None else "good" if p > CALIBRATED else "bad",
        ),
    ]
    cells = "".join(
        f'<div><dt>{escape(title)}</dt><dd><span class="value {mark}">{escape(value)}</span>'
        f'<span class="small">{escape(small)}</span></dd></div>'
        for title, value, small, mark in tiles
    )
    return f'{sentence}<dl class="tiles">{cells}</dl>'


def overview(facts: ReportFacts) -> str:
    """Summarise the scores of several responses: a line for each."""
    head = ["", "skill", "coverage of 90% interval", "width of 90% interval", "CRPS"]
    lines = [
        [
            r.name,
            percent(r.model.skill),
            percent(r.model.coverage[MAIN]),
            number(r.model.width[MAIN]),
            number(r.model.crps),
        ]
        for r in facts.responses
    ]
    skills = [r.model.skill for r in facts.responses]
    sentence = (
        f'<p class="lead">For {len(skills)} responses the model is between {_better(min(skills))} and '
        f"{_better(max(skills))}.</p>"
    )
    return sentence + table(head, lines, "Scores of each response", plain=True)


def contents(facts: ReportFacts) -> str:
    """Link to the sections, or to the responses if there are several."""
    links = [("summary", "Data and model")]
    if len(facts.responses) > 1:
        links += [(f"response-{j}", r.name) for j, r in enumerate(facts.responses)]
    else:
        links += [
            ("scores-0", "Scores"),
            ("predictions-0", "Predicted and observed"),
            ("calibration-0", "Calibration"),
            ("sharpness-0", "Sharpness"),
            ("groups-0", "Groups"),
            ("densities-0", "Densities"),
            ("table-0", "All rows"),
            ("importance-0", "Importance and effects"),
        ]
    links += [("glossary", "Glossary"), ("cost", "Time and size")]
    items = "".join(f'<li><a href="#{key}">{escape(name)}</a></li>' for key, name in links)
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


def _better(skill: float) -> str:
    if not np.isfinite(skill):
        return "not comparable with climatology, whose CRPS is zero here"
    if skill < 0.0:
        return f"<strong>{percent(-skill, 0)} worse</strong> than climatology by CRPS"
    return f"<strong>{percent(skill, 0)} better</strong> than climatology by CRPS"


def _times(ratio: float) -> str:
    return f"{percent(ratio, 0)} of" if ratio < 1.0 else f"{number(ratio, 3)} times"
