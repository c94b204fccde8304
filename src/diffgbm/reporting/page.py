"""The page of a report: sections, style, script and data in one HTML file."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from diffgbm._version import __version__
from diffgbm.reporting import opening, sections
from diffgbm.reporting.embedded import script_data
from diffgbm.reporting.facts import ReportFacts
from diffgbm.reporting.glossary import glossary
from diffgbm.reporting.row_reasons import reasons_section


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
        body="\n".join([*body, glossary(), sections.cost(facts)]),
        data=script_data(facts),
    )


def _response(facts: ReportFacts, j: int) -> list[str]:
    response, key = facts.responses[j], str(j)
    return [
        sections.scores(facts, response, key),
        sections.predictions(response, key),
        sections.calibration(response, key),
        sections.sharpness(response, key),
        sections.groups(response, key),
        sections.densities(facts, response, key),
        reasons_section(facts.reasons, facts.rows, response.named, j, response.name, key),
        sections.table_of_rows(facts, response, key),
        sections.importance(facts, j, key),
    ]
