"""The glossary explains the words of the page."""

from html import escape

from diffgbm.reporting.glossary import TERMS, glossary


def test_every_term_is_explained():
    html = glossary()
    for term, text in TERMS.items():
        assert f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" in html
    assert {"CRPS", "Coverage", "PIT", "Interval", "Skill", "Calibration", "Climatology"} <= set(TERMS)
