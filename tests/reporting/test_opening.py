"""The summary at the top compares with climatology and with nominal coverage."""

import re
from dataclasses import replace

import numpy as np
import pytest

from diffgbm.reporting import opening
from diffgbm.reporting.scores import MAIN


def with_coverage(response, covered):
    model = replace(response.model, coverage={**response.model.coverage, MAIN: covered})
    return opening.headline(replace(response, model=model))


@pytest.mark.parametrize(
    ("covered", "text", "style"),
    [
        (0.5, "significantly less than nominal", "bad"),
        (0.9, "consistent with the nominal coverage", "good"),
        (0.99, "significantly more than nominal", "bad"),
    ],
)
def test_coverage_is_compared_with_its_band(known_facts, covered, text, style):
    html = with_coverage(known_facts.responses[0], covered)
    assert text in html
    assert f'<span class="value {style}">{100 * covered:.1f}%' in html


@pytest.mark.parametrize(
    ("skill", "text"), [(0.25, "25% better"), (-0.5, "50% worse"), (np.nan, "not comparable with climatology")]
)
def test_skill_in_words(known_facts, skill, text):
    response = known_facts.responses[0]
    assert text in opening.headline(replace(response, model=replace(response.model, skill=skill)))


def test_p_values(known_facts):
    response = known_facts.responses[0]
    for p, text in ((1e-9, "p &lt; 0.001"), (0.2, "p = 0.200"), (None, "–")):  # noqa: RUF001
        assert text in opening.headline(replace(response, scores={**response.scores, "pit_p": p}))


def test_contents_link_to_sections(known_facts):
    links = re.findall(r'href="#([^"]+)"', opening.contents(known_facts))
    assert links[0] == "summary"
    assert links[-1] == "cost"
    several = replace(known_facts, responses=known_facts.responses * 2)
    assert "response-1" in opening.contents(several)
    assert opening.overview(several).count('<th scope="row">') == 2
