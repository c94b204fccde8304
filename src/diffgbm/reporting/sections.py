"""The sections of a report as HTML. Every text that comes from the user is escaped."""

from __future__ import annotations

from html import escape

import numpy as np

from diffgbm.distributions.smoothing import MOST_MOVED
from diffgbm.metrics.diagnostics import EventReliability
from diffgbm.metrics.evaluation import LEVELS
from diffgbm.reporting import pictures
from diffgbm.reporting.baselines import MethodScores
from diffgbm.reporting.embedded import MOST_ROWS, shown_features
from diffgbm.reporting.facts import POINTS, ReportFacts, ResponseFacts
from diffgbm.reporting.formatting import aligned, number, percent, shortened, size
from diffgbm.reporting.groups import Grouping
from diffgbm.reporting.markup import facts_table, figure, legend, note, pair, section, table
from diffgbm.reporting.scores import MAIN

BARS = 12
"""Features in a picture of importance; a table has all."""
MOST_LINES = 500
"""Features in the table of importance."""
PAGE = 10
"""Rows of the table that are shown at a time."""


def summary(facts: ReportFacts) -> str:
    """Describe the data and the model."""
    features, matrix = facts.rows.features, facts.rows.matrix
    categories = sum(levels is not None for levels in features.levels)
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
    labels = {"chosen": "Chosen", "calibrated": "Calibrated", "adapted": "Adapted", "division": "Rows of the fit"}
    model = [("Model", facts.model["model"]), ("Recipe", "; ".join(facts.recipes))]
    model += [(label, facts.model[key]) for key, label in labels.items() if key in facts.model]
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


def predictions(response: ResponseFacts, key: str) -> str:
    """Draw observations against predicted medians, and the reliability of probabilities of values above thresholds."""
    result, rows = response.centre, len(response.rows)
    some = f" {POINTS} of {rows:,} rows are drawn; the groups are of all rows." if rows > len(result.observed) else ""
    share = float(np.mean(response.rows.y > response.rows.median))
    centre = figure(
        "Observed against predicted",
        "The medians of groups lie near the diagonal unless the predictions are biased. "
        f"{percent(share)} of the observations lie above their predicted median; 50% are expected.{some}",
        [("faint", "rows"), ("means", "medians of equal groups"), ("nominal", "observed = predicted")],
        pictures.centre(result),
    )
    text = (
        f"P(y > c) is the predicted probability that {escape(response.name)} exceeds c. Rows are grouped by it: on the "
        "diagonal the event happens as often as predicted, above it more often, below it less often. The argument "
        "<code>thresholds</code> of <code>diffgbm.report</code> sets c."
    )
    body = pair([centre, *map(_event, response.events)]) + (note(text) if response.events else "")
    return section(f"predictions-{key}", "Predicted and observed", body)


def _event(event: EventReliability) -> str:
    skill = 1.0 - event.brier / event.reference if event.reference > 0.0 else np.nan
    caption = f"Brier score {number(event.brier, 3)}" + (f", skill {percent(skill, 0)}." if np.isfinite(skill) else ".")
    keys = [("model", "observed, with 95% interval"), ("nominal", "reliable")]
    return figure(f"Reliability of P(y > {number(event.threshold)})", caption, keys, pictures.event(event))


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
        f"by at most {percent(MOST_MOVED, 0)}. This file holds densities of {which}."
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
        f'<div class="values"><table><caption>{caption}</caption><tbody></tbody></table>'
        '<button type="button" class="more" aria-expanded="false" hidden></button></div>'
    )
    return section(
        f"densities-{key}",
        "Predictive densities",
        f'{note(intro)}<div id="rows-{key}">{_picker(response, n, key)}<div class="shown">{drawn}{values}</div></div>',
    )


def table_of_rows(facts: ReportFacts, response: ResponseFacts, key: str) -> str:
    """Show all rows in a table with a search, a filter, an order and a download."""
    n = len(facts.rows)
    stored = min(n, MOST_ROWS)
    which = f"All {n:,} rows" if stored == n else f"{stored:,} of {n:,} rows, those with a density and random others,"
    what = "row number or label" if facts.rows.labels is not None else "row number"
    controls = (
        '<fieldset class="picker"><legend>Find rows</legend>'
        f'<label>search <input type="search" placeholder="{what}" autocomplete="off" '
        f'aria-describedby="found-{key}"></label>'
        f'<label>show <select data-role="filter">{_options(FILTERS)}</select></label>'
        f'<label>order <select data-role="order">{_options(ORDERS)}</select></label></fieldset>'
    )
    labels = ["label"] if facts.rows.labels is not None else []
    extra = ["novelty"] if facts.insights.novelty is not None else []
    extra += ["epistemic"] if facts.insights.share is not None else []
    head = ["row", *labels, "observed", "median", "lower", "upper", "CRPS", *extra]
    columns = "".join(f'<th scope="col"{" class=wrap" if name == "label" else ""}>{escape(name)}</th>' for name in head)
    caption = f"Observations, medians and {percent(MAIN, 0)} intervals"
    found = (
        f'<p class="status" id="found-{key}" role="status" aria-live="polite"></p>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}"><table class="stack rows">'
        f"<caption>{caption}</caption><thead><tr>{columns}</tr></thead><tbody></tbody></table></div>"
    )
    below = (
        '<div class="picker below"><button type="button" data-page="-1">← previous</button>'
        '<button type="button" data-page="1">next →</button>'
        '<button type="button" class="download">Download CSV</button></div>'
    )
    intro = f"{which} are in this file. Select a row to see its density above. The download holds the rows found."
    about = facts.insights.sentence(int(key))
    intro = f"{intro} {about}" if about else intro
    scripted = "<noscript><p>A script in this file fills the table; scripts are switched off.</p></noscript>"
    body = f'{note(intro)}<div id="table-rows-{key}" data-size="{PAGE}">{controls}{found}{below}{scripted}</div>'
    return section(f"table-{key}", "All rows", body)


def importance(facts: ReportFacts, j: int, key: str) -> str:
    """Draw importance and direction of features for the median and for the interquartile range."""
    response, result = facts.responses[j], facts.importance
    p = facts.rows.features.n_features
    kinds = [
        ("median", result.median, result.median_error, result.median_direction, "bar-main"),
        ("interquartile range", result.iqr, result.iqr_error, result.iqr_direction, "bar-other"),
    ]
    figures = []
    for of, values, errors, directions, style in kinds:
        order = np.argsort(-values[:, j], kind="stable")[:BARS]
        names, axis = [facts.rows.names[f] for f in order], f"mean change of the {of}"
        drawn = pictures.importance(names, values[order, j], errors[order, j], axis, style, directions[order, j])
        figures.append(figure(f"Importance for the {of}", "", [], drawn))
    how = (
        f"Each feature is permuted {'once' if result.repeats == 1 else f'{result.repeats} times'} between "
        f"{result.rows:,} rows. Bars are mean absolute changes of the predictions in units of {escape(response.name)}, "
        "whiskers standard errors. ↑: larger values of the feature increase the prediction, ↓: they decrease it, "
        "↔: both happen. Categories have no order. Features with the same information share their importance, and "
        "permuted rows may be unrealistic."
    )
    effects = [
        figure(
            f"Effect of {shortened(effect.by, 60)}",
            "",
            [("model", "median"), ("other", "interquartile range"), ("nominal", "no change")],
            pictures.effect(effect),
        )
        for effect in response.effects
    ]
    meaning = (
        "How predictions change on average when the feature is set to a value of each group and all others stay as "
        "they are, with 95% intervals. Effects describe the model, not causes."
    )
    shown = f"<h3>Effects of the most important features</h3>{note(meaning)}{pair(effects)}" if effects else ""
    body = pair(figures) + note(how) + _all_features(facts, j, p) + shown
    return section(f"importance-{key}", "Feature importance and effects", body)


def _all_features(facts: ReportFacts, j: int, p: int) -> str:
    """Make a table of all features, in the order of their importance."""
    result, order = facts.importance, facts.responses[j].order[:MOST_LINES]

    def cells(f: int) -> list[str]:
        pairs = ((result.median, result.median_direction), (result.iqr, result.iqr_direction))
        words = [(value[f, j], pictures.arrow(d[f, j])[1] if value[f, j] > 0.0 else "no effect") for value, d in pairs]
        return [facts.rows.names[f], *(text for value, word in words for text in (number(value, 3), word))]

    head = ["", "change of the median", "direction", "change of the interquartile range", "direction of the range"]
    count = f"All {p:,} features" if p <= MOST_LINES else f"The {MOST_LINES} most important of {p:,} features"
    lines = table(head, [cells(int(f)) for f in order], count, plain=True)
    return f"<details><summary>{count} with the direction of their effects</summary>{lines}</details>"


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
        *([] if facts.file_bytes is None else [("Model file", size(facts.file_bytes))]),
    ]
    return section("cost", "Time and size", facts_table(lines, "Measured when this report was made"))


FILTERS = {
    "all": "all rows",
    "outside": "outside the interval",
    "above": "above the interval",
    "below": "below the interval",
    "inside": "inside the interval",
}
"""Filters of the table of rows."""
ORDERS = {
    "row": "row number",
    "crps": "CRPS, largest first",
    "error": "error of the median, largest first",
    "width": "width, largest first",
    "observed": "observed, largest first",
    "median": "median, largest first",
    "novelty": "novelty, smallest p-value first",
}
"""Orders of the table of rows."""


def _options(words: dict[str, str]) -> str:
    return "".join(f'<option value="{value}">{escape(text)}</option>' for value, text in words.items())


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
