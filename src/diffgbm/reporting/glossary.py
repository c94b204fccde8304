"""The words of a report, each in a sentence or two."""

from __future__ import annotations

from html import escape

from diffgbm.reporting.markup import section

TERMS = {
    "Predictive distribution": "What the model predicts for a row: not one number, but how likely each value is.",
    "Median, quantile": "Half of the probability lies below the median; a share q of it lies below the q-quantile.",
    "Interval": (
        "The 90% interval is central: it leaves 5% of the probability below it and 5% above it. About 90 of 100 "
        "observations should lie inside."
    ),
    "Interquartile range": "Distance between the 25% and 75% quantiles: how uncertain the prediction of a row is.",
    "Coverage": "Share of observations that lie inside their intervals. It should equal the nominal probability.",
    "Calibration": "Predicted probabilities are met: what is predicted with 30% happens in 30% of the cases.",
    "PIT": (
        "Probability integral transform: the predicted probability of values up to the observed one. It is uniform "
        "between 0 and 1 if the distributions are calibrated."
    ),
    "Sharpness": "Narrow distributions are sharp. Of two calibrated models the sharper one is more useful.",
    "CRPS": (
        "Continuous ranked probability score: a distance between the predictive distribution and the observation, in "
        "units of the response. Lower is better. For a point prediction it is the absolute error."
    ),
    "Skill": "1 minus the CRPS divided by that of climatology: 100% is perfect, 0% is as good as climatology.",
    "Climatology": "The distribution of the responses without any features: the same prediction for every row.",
    "Reliability of P(y > c)": (
        "Rows with similar predicted probabilities of exceeding c are compared with how many of them did. Points on "
        "the diagonal are reliable."
    ),
    "Brier score": (
        "Mean squared difference between a predicted probability and what happened (1 or 0). Lower is better; its "
        "skill compares with predicting the overall frequency for every row."
    ),
    "Permutation importance": (
        "How much the predictions change when the values of one feature are exchanged between rows. It describes the "
        "model, not causes."
    ),
    "Effect": "How the prediction changes on average when a feature is set to a value and all others stay as they are.",
    "Conformal interval": "An interval that was widened or narrowed on calibration rows until its coverage was right.",
    "Point mass": "A single value with a probability of its own, such as exactly zero.",
}
"""Explanations by term."""


def glossary() -> str:
    """Explain the words of a report."""
    lines = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in TERMS.items())
    return section("glossary", "Glossary", f'<dl class="glossary">{lines}</dl>')
