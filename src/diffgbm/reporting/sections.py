"""The sections of a report as HTML. Every text that comes from the user is escaped."""

from __future__ import annotations

from html import escape

import numpy as np

from diffgbm.distributions.smoothing import MOST_MOVED
from diffgbm.metrics.evaluation import LEVELS
from diffgbm.reporting import pictures
from diffgbm.reporting.baselines import MethodScores
from diffgbm.reporting.facts import POINTS, ReportFacts, ResponseFacts
from diffgbm.reporting.formatting import aligned, number, percent, shortened, size
from diffgbm.reporting.groups import Grouping
from diffgbm.reporting.markup import facts_table, figure, legend, note, pair, section, table
from diffgbm.reporting.scores import MAIN

BARS = 12
"""Features in a picture of importance."""
SHOWN_FEATURES = 30
"""Features in the list beside a density."""


def summary(facts: ReportFacts) -> str:
    """Describe the data and the model."""
    features, matrix = facts.rows.features, facts.rows.matrix
    categories = len(features.categorical)
    missing = float(np.isnan(matrix).mean())
    data = [
        ("Rows", f"{len(facts.rows):,}"),
        (
            "Features",
            f"{features.n_features:,}: {features.n_features - categories:,} numbers, {categories:,} categories",
        ),
        ("Missing values", f"{percent(missing)} of the cells" if missing > 0.0 else "none"),
        *((f"Response {r.name}", "; ".join(f"{k} {number(v)}" for k, v in r.summary.items())) for r in facts.responses),
    ]
    labels = {"model": "Model", "recipe": "Recipe", "chosen": "Chosen", "calibrated": "Calibrated"}
    model = [(label, facts.model[key]) for key, label in labels.items() if key in facts.model]
    warning = (
        "The scores are those of new data only if the model was not trained on these rows. On training rows they are "
        "too optimistic."
    )
    return section(
        "summary",
        "Data and model",
        f'<div class="pair"><div>{facts_table(data, "Data")}</div><div>{facts_table(model, "Model")}</div></div>'
        f'<p class="note">{warning}</p>',
    )


def scores(facts: ReportFacts, response: ResponseFacts, key: str) -> str:
    """Compare the model with climatology and with a point model."""
    methods = {
        "This model": response.model,
        "Point model, constant residuals": response.constant,
        "Climatology": response.climatology,
    }
    like = response.climatology.crps or response.model.crps
    lines = [
        [
            name,
            f"{aligned(method.crps, like)} ± {aligned(method.error, like)}",
            percent(method.skill),
            percent(method.coverage[0.5]),
            percent(method.coverage[MAIN]),
            number(method.width[MAIN]),
        ]
        for name, method in methods.items()
    ]
    head = [
        "",
        "CRPS ± standard error",
        "skill",
        "coverage of 50% interval",
        "coverage of 90% interval",
        "width of 90% interval",
    ]
    in_sample = (
        " It uses the observations that are scored, so its score is slightly too good."
        if facts.climatology.in_sample
        else ""
    )
    how = (
        f"CRPS: lower is better, in units of {escape(response.name)}. Climatology predicts the distribution of "
        f"{facts.climatology.source} for every row.{in_sample} The point model predicts the median of this model plus "
        "the residuals of all other rows of this table. It does not know which rows are uncertain, but it knows the "
        f"residuals of this table. Mean absolute error of the median: {number(response.scores['mae'])}. Root mean "
        f"squared error of the mean: {number(response.scores['rmse'])}."
    )
    return section(
        f"scores-{key}",
        "Scores",
        table(head, lines, "This model and two baselines") + _levels(response.model, response.conformal) + note(how),
    )


def calibration(response: ResponseFacts, key: str) -> str:
    """Draw the histogram of transforms and the reliability of intervals."""
    model = response.model
    conformal = [(level, model.coverage[level]) for level in LEVELS if np.isfinite(model.coverage[level])]
    keys = [("model", "observed"), ("nominal", "calibrated"), ("band", "95% if calibrated")]
    pit = figure(
        "Probability integral transforms",
        "Flat if the distributions are calibrated. Hump: too wide. Trough: too narrow. Slope: biased.",
        [("bar", "observed"), ("nominal", "expected"), ("band", "95% if calibrated")],
        pictures.pit_histogram(response.pit),
    )
    curve = figure(
        "Coverage of intervals",
        "Below the diagonal the intervals are too narrow, above it too wide.",
        [*keys, ("other", "conformal intervals")] if response.conformal else keys,
        pictures.reliability(response.reliability, conformal if response.conformal else ()),
    )
    atoms = (
        "Some distributions have point masses. The transform of an observation on a point mass is randomised. An "
        "interval that ends on a point mass contains all of it, so its coverage exceeds the nominal one."
    )
    return section(
        f"calibration-{key}", "Calibration", pair([pit, curve]) + (note(atoms) if response.has_atoms else "")
    )


def sharpness(response: ResponseFacts, key: str) -> str:
    """Draw widths against errors, and coverage by predicted interquartile range."""
    result = response.sharpness
    rows = int(response.pit.counts.sum())
    some = f" {POINTS} of {rows:,} rows are drawn; the means are of all rows." if rows > len(result.width) else ""
    scatter = figure(
        "Width of intervals against errors",
        f"Errors should grow with the width. On the dashed line an error is half the width.{some}",
        [("faint", "rows"), ("means", "means of equal groups"), ("nominal", "half the width")],
        pictures.sharpness(result),
    )
    title = "Coverage by predicted interquartile range"
    groups = _coverage(response.by_iqr, title, "Fifths of the rows.")
    return section(f"sharpness-{key}", "Sharpness", pair([scatter, groups]))


def groups(response: ResponseFacts, key: str) -> str:
    """Draw coverage by bins or categories of the most important features."""
    parts = [_coverage(grouping, f"Coverage by {shortened(grouping.by, 60)}", "") for grouping in response.by_features]
    body = pair(parts) if parts else "<p>No feature changes the predictions.</p>"
    chance = (
        "Coverage can be right on average and wrong in some groups. By chance alone, one error bar in twenty misses "
        "the dashed line."
    )
    return section(f"groups-{key}", "Coverage by the most important features", body + (note(chance) if parts else ""))


def densities(facts: ReportFacts, response: ResponseFacts, key: str) -> str:
    """Show the predictive density of a row that the reader selects."""
    n, embedded = len(facts.rows), len(response.shown)
    which = f"all {n:,} rows" if embedded == n else f"{embedded:,} of {n:,} rows: the named ones and random others"
    intro = (
        f"Best and worst are by CRPS, narrowest and widest by the {percent(MAIN, 0)} interval; typical is in the "
        f"middle of both. Rows are numbered from 1. Densities are smoothed, which moves their distribution function "
        f"by at most {percent(MOST_MOVED, 0)}. This file holds {which}."
    )
    keys = legend(
        [
            ("area", f"{percent(MAIN, 0)} interval"),
            ("inner", "50% interval"),
            ("truth", "observed"),
            ("climate", "climatology"),
        ]
    )
    status = f'<p class="status" id="status-{key}" role="status" aria-live="polite"></p>'
    drawn = (
        f"<figure><figcaption>{status}{keys}</figcaption>"
        '<svg viewBox="0 0 620 330" role="img" aria-label="Predictive density" class="picture density"></svg>'
        "<noscript><p>A script in this file draws the densities; scripts are switched off.</p></noscript>"
        "</figure>"
    )
    shown, features = len(shown_features(response)), facts.rows.features.n_features
    caption = "Features of the row" + (f", the {shown} most important of {features}" if shown < features else "")
    values = (
        f'<div class="values" tabindex="0" role="region" aria-label="{caption}">'
        f"<table><caption>{caption}</caption><tbody></tbody></table></div>"
    )
    return section(
        f"densities-{key}",
        "Predictive densities",
        f'{note(intro)}<div id="rows-{key}">{_picker(response, n, key)}<div class="shown">{drawn}{values}</div></div>',
    )


def shown_features(response: ResponseFacts) -> list[int]:
    """Positions of the features that are listed beside a density, the most important first."""
    return [int(f) for f in response.order[:SHOWN_FEATURES]]


def importance(facts: ReportFacts, j: int, key: str) -> str:
    """Draw the importance of features for the median and for the interquartile range."""
    response, result = facts.responses[j], facts.importance
    p = facts.rows.features.n_features
    kinds = [
        ("Importance for the median", "mean change of the median", result.median, result.median_std, "bar-main"),
        (
            "Importance for the interquartile range",
            "mean change of the interquartile range",
            result.iqr,
            result.iqr_std,
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
        f"Permutation importance: each feature is permuted {result.repeats} times between {result.rows:,} rows. Bars "
        f"are mean absolute changes of the predictions, in units of {escape(response.name)}; whiskers are standard "
        "deviations over the permutations. Features with the same information share their importance, and permuted "
        f"rows may be unrealistic.{some}"
    )
    return section(f"importance-{key}", "Feature importance", pair(figures) + note(how))


def cost(facts: ReportFacts) -> str:
    """Report run times and sizes."""
    seconds, rows = facts.predict_seconds, len(facts.rows)
    trees = facts.model["trees"]
    lines = [
        (
            "Prediction",
            f"{number(seconds, 3)} s for the distributions of {rows:,} rows "
            f"({number(rows / seconds, 3)} rows per second)",
        ),
        ("Training", "not recorded in the model" if facts.fit_seconds is None else f"{number(facts.fit_seconds, 3)} s"),
        ("Boosting rounds", f"{sum(trees):,}" + (f" in {len(trees)} boosters" if len(trees) > 1 else "")),
        ("Model file", "cannot be written" if facts.file_bytes is None else size(facts.file_bytes)),
    ]
    return section("cost", "Time and size", facts_table(lines, "Measured when this report was made"))


def _picker(response: ResponseFacts, n: int, key: str) -> str:
    """Make the buttons and fields that select a row."""
    buttons = "".join(
        f'<button type="button" data-row="{position + 1}" aria-pressed="false">{name.capitalize()}</button>'
        for name, position in response.named.items()
    )
    return (
        f'<fieldset class="picker"><legend>Select a row</legend>{buttons}'
        f'<label>row <input type="number" min="1" max="{n}" step="1" aria-describedby="status-{key}"></label>'
        '<button type="button" data-step="-1" aria-label="previous row">←</button>'
        '<button type="button" data-step="1" aria-label="next row">→</button>'
        '<label><input type="checkbox" checked> same axis for all rows</label></fieldset>'
    )


def _levels(model: MethodScores, conformal: bool) -> str:
    lines = [
        [f"{percent(level, 0)} interval", percent(model.coverage[level]), number(model.width[level])]
        for level in LEVELS
    ]
    caption = "Intervals of this model" + (", conformal" if conformal else "")
    lines_table = table(["", "coverage", "mean width"], lines, caption, plain=True)
    return f"<details><summary>Intervals at other levels</summary>{lines_table}</details>"


def _coverage(grouping: Grouping, title: str, caption: str) -> str:
    keys = [("model", "intervals of this model"), ("other", "constant width"), ("nominal", percent(MAIN, 0))]
    return figure(title, caption, keys, pictures.coverage(grouping, MAIN))
