"""The sections of a report's page: facts in, HTML out. Every text that is not the library's own is escaped."""

from __future__ import annotations

from html import escape

import numpy as np

from diffgbm.metrics.evaluation import LEVELS
from diffgbm.reporting import pictures
from diffgbm.reporting.facts import POINTS, Contender, ReportFacts, ResponseFacts
from diffgbm.reporting.groups import Grouping
from diffgbm.reporting.markup import facts_table, figure, key_of, note, pair, section, table
from diffgbm.reporting.scores import MAIN
from diffgbm.reporting.shown import SMOOTH
from diffgbm.reporting.words import aligned, number, percent, shortened, size

BARS = 12
"""Features whose importance is drawn."""


def summary(facts: ReportFacts) -> str:
    """Say what was predicted, from what, and with what."""
    features, matrix = facts.rows.features, facts.rows.matrix
    categories = len(features.categorical)
    missing = float(np.isnan(matrix).mean())
    told = facts.model
    data = [
        ("Rows", f"{len(facts.rows):,}"),
        (
            "Features",
            f"{features.n_features:,}: {features.n_features - categories:,} numbers, {categories:,} categories",
        ),
        ("Missing values", f"{percent(missing)} of the cells" if missing > 0.0 else "none"),
        *((f"Response {r.name}", "; ".join(f"{k} {number(v)}" for k, v in r.summary.items())) for r in facts.responses),
    ]
    model = [("Model", told["model"]), ("Recipe", told["recipe"])]
    model += [(label, told[key]) for key, label in (("chosen", "Chosen"), ("calibrated", "Calibrated")) if key in told]
    warning = (
        "Scores are those of new data only if the model has not seen these rows; on the rows that it learned from it "
        "looks better than it is."
    )
    return section(
        "summary",
        "Data and model",
        f'<div class="pair"><div>{facts_table(data, "Data")}</div><div>{facts_table(model, "Model")}</div></div>'
        f'<p class="note">{warning}</p>',
    )


def scores(facts: ReportFacts, response: ResponseFacts, key: str) -> str:
    """Compare with climatology and with a point model."""
    contenders = {
        "This model": response.model,
        "Point model, constant spread": response.constant,
        "Climatology": response.climatology,
    }
    like = response.climatology.crps or response.model.crps
    lines = [
        [
            name,
            f"{aligned(c.crps, like)} ± {aligned(c.error, like)}",
            percent(c.skill),
            percent(c.coverage[0.5]),
            percent(c.coverage[MAIN]),
            number(c.width[MAIN]),
        ]
        for name, c in contenders.items()
    ]
    head = [
        "",
        "CRPS ± standard error",
        "skill",
        "coverage of 50% interval",
        "coverage of 90% interval",
        "width of 90%",
    ]
    own = " It has seen the answers, so its skill is a little too good." if facts.climatology.own else ""
    how = (
        f"CRPS: lower is better, in units of {escape(response.name)}. Climatology is {facts.climatology.source}, as "
        f"one law for all rows.{own} The point model is this model's median with the same errors around it everywhere, "
        "those of all other rows of this table. What it lacks is knowing where it is unsure; what it has is the errors "
        f"of these very rows. Median: mean absolute error {number(response.scores['mae'])}. Mean: root mean squared "
        f"error {number(response.scores['rmse'])}."
    )
    return section(
        f"scores-{key}",
        "Scores",
        table(head, lines, "Beside the two simplest ways to predict")
        + _levels(response.model, response.promised)
        + note(how),
    )


def calibration(response: ResponseFacts, key: str) -> str:
    """Draw the histogram of transforms and the reliability of intervals."""
    model = response.model
    promised = [(level, model.coverage[level]) for level in LEVELS if np.isfinite(model.coverage[level])]
    keys = [("model", "observed"), ("nominal", "calibrated"), ("band", "95% if calibrated")]
    pit = figure(
        "Are the laws right as a whole?",
        "Flat if they are. A hump: laws too wide. A trough: too narrow. A slope: shifted.",
        [("bar", "observed"), ("nominal", "expected"), ("band", "95% if calibrated")],
        pictures.pit_histogram(response.pit),
    )
    curve = figure(
        "Do intervals hold what they promise?",
        "Below the diagonal intervals are too narrow, above it too wide.",
        [*keys, ("other", "conformal intervals")] if response.promised else keys,
        pictures.reliability(response.reliability, promised if response.promised else ()),
    )
    atoms = (
        "Some laws have point masses. The transform of an observation on a mass is drawn evenly from what the mass "
        "holds. An interval that ends on a mass holds all of it, and covers more than it says."
    )
    return section(
        f"calibration-{key}", "Calibration", pair([pit, curve]) + (note(atoms) if response.has_atoms else "")
    )


def sharpness(response: ResponseFacts, key: str) -> str:
    """Draw width against error, and coverage by spread and by features."""
    found = response.sharpness
    rows = int(response.pit.counts.sum())
    some = f" {POINTS} of {rows:,} rows are drawn; the means are of all." if rows > len(found.width) else ""
    scatter = figure(
        "Is the model unsure where it is wrong?",
        f"Errors should grow with the width. On the dashed line an error is half the width.{some}",
        [("faint", "rows"), ("means", "means of equal groups"), ("nominal", "half the width")],
        pictures.sharpness(found),
    )
    spread = _coverage(response.spread, "Coverage by predicted spread", "Fifths of the rows by interquartile range.")
    return section(f"sharpness-{key}", "Sharpness and uncertainty", pair([scatter, spread]))


def groups(response: ResponseFacts, key: str) -> str:
    """Draw coverage by bins or categories of the most important features."""
    parts = [_coverage(g, f"Coverage by {shortened(g.by, 60)}", "") for g in response.groupings]
    body = pair(parts) if parts else "<p>No feature changes the predictions.</p>"
    chance = (
        "A model can keep its promise on average and break it for some. By chance alone, the error bar of one group in "
        "twenty misses the dashed line."
    )
    return section(f"groups-{key}", "Coverage by the most important features", body + (note(chance) if parts else ""))


def densities(facts: ReportFacts, response: ResponseFacts, key: str) -> str:
    """Show the law of a row that can be picked."""
    words = {
        "typical": "Typical",
        "best": "Best",
        "worst": "Worst",
        "narrowest": "Narrowest",
        "widest": "Widest",
    }
    buttons = "".join(
        f'<button type="button" data-row="{response.picks[name] + 1}" aria-pressed="false">{label}</button>'
        for name, label in words.items()
    )
    n, embedded = len(facts.rows), len(response.shown)
    which = f"all {n:,} rows" if embedded == n else f"{embedded:,} of {n:,} rows, the named ones and others at random"
    intro = (
        f"Best and worst are by CRPS, narrowest and widest by the {percent(MAIN, 0)} interval, typical is in the "
        f"middle of both. Rows count from 1. Densities are smoothed over {percent(SMOOTH, 0)} of their "
        f"standard deviation. This file holds {which}."
    )
    picker = (
        f'<fieldset class="picker"><legend>Choose a row</legend>{buttons}'
        f'<label>row <input type="number" min="1" max="{n}" step="1" aria-describedby="said-{key}"></label>'
        '<button type="button" data-step="-1" aria-label="previous row">←</button>'
        '<button type="button" data-step="1" aria-label="next row">→</button>'
        '<label><input type="checkbox" checked> same axis for all rows</label></fieldset>'
    )
    legend = key_of(
        [
            ("area", f"{percent(MAIN, 0)} interval"),
            ("inner", "middle half"),
            ("truth", "observed"),
            ("climate", "climatology"),
        ]
    )
    status = f'<p class="said" id="said-{key}" role="status" aria-live="polite"></p>'
    drawn = (
        f"<figure><figcaption>{status}{legend}</figcaption>"
        '<svg viewBox="0 0 620 330" role="img" aria-label="Predictive density" class="picture density"></svg>'
        "<noscript><p>The densities are drawn by a script in this file; scripts are switched off.</p></noscript>"
        "</figure>"
    )
    shown, features = len(shown_features(facts, response)), facts.rows.features.n_features
    caption = "Features of the row" + (f", the {shown} most important of {features}" if shown < features else "")
    values = (
        f'<div class="values" tabindex="0" role="region" aria-label="{caption}">'
        f"<table><caption>{caption}</caption><tbody></tbody></table></div>"
    )
    return section(
        f"densities-{key}",
        "Predictive densities",
        f'{note(intro)}<div id="rows-{key}">{picker}<div class="shown">{drawn}{values}</div></div>',
    )


SHOWN_FEATURES = 30


def shown_features(facts: ReportFacts, response: ResponseFacts) -> list[int]:
    """Features that are listed beside a density, the most important first."""
    return [int(f) for f in response.order[:SHOWN_FEATURES]]


def importance(facts: ReportFacts, j: int, key: str) -> str:
    """Draw what moves the centre and what moves the spread."""
    response, found = facts.responses[j], facts.importance
    p = facts.rows.features.n_features
    kinds = [
        ("What moves the centre", "mean change of the median", found.centre, found.centre_std, "bar-main"),
        (
            "What moves the spread",
            "mean change of the interquartile range",
            found.spread,
            found.spread_std,
            "bar-other",
        ),
    ]
    figures = []
    for title, axis, values, errors, style in kinds:
        order = np.argsort(-values[:, j], kind="stable")[:BARS]
        names = [facts.rows.names[f] for f in order]
        drawn = pictures.importance(names, values[order, j], errors[order, j], axis, style)
        figures.append(figure(title, "", [], drawn))
    some = f" The {BARS} most important of {p} features are drawn." if p > BARS else ""
    how = (
        f"Each feature is shuffled {found.repeats} times between {found.rows:,} rows, and predictions before and after "
        f"are compared, in units of {escape(response.name)}; whiskers are standard deviations over the shuffles. "
        "Features that say the same share their importance, and shuffling makes rows that do not exist."
        f"{some}"
    )
    return section(f"importance-{key}", "What moves the predictions", pair(figures) + note(how))


def cost(facts: ReportFacts) -> str:
    """Say how long things took and how large they are."""
    seconds, rows = facts.predict_seconds, len(facts.rows)
    trees = facts.model["trees"]
    lines = [
        (
            "Predicting",
            f"{number(seconds, 3)} s for the laws of {rows:,} rows ({number(rows / seconds, 3)} rows a second)",
        ),
        (
            "Training",
            "not recorded in the model" if facts.fit_seconds is None else f"{number(facts.fit_seconds, 3)} s",
        ),
        ("Boosting rounds", f"{sum(trees):,}" + (f" in {len(trees)} boosters" if len(trees) > 1 else "")),
        ("Model file", "cannot be written" if facts.file_bytes is None else size(facts.file_bytes)),
    ]
    return section("cost", "Time and size", facts_table(lines, "Measured when this report was made"))


def _levels(model: Contender, promised: bool) -> str:
    lines = [
        [f"{percent(level, 0)} interval", percent(model.coverage[level]), number(model.width[level])]
        for level in LEVELS
    ]
    what = "Intervals of this model" + (", conformal" if promised else "")
    lines_table = table(["", "coverage", "mean width"], lines, what, plain=True)
    return f"<details><summary>Intervals at other levels</summary>{lines_table}</details>"


def _coverage(found: Grouping, title: str, caption: str) -> str:
    keys = [("model", "intervals of this model"), ("other", "constant width"), ("nominal", percent(MAIN, 0))]
    return figure(title, caption, keys, pictures.coverage(found, MAIN))
