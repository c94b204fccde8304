"""Sections contain the numbers of the report."""

import re
from dataclasses import replace

import pytest

from diffgbm.reporting import sections
from diffgbm.reporting.formatting import number, percent


@pytest.fixture
def response(known_facts):
    return known_facts.responses[0]


def test_summary_describes_data_and_model(known_facts):
    html = sections.summary(known_facts)
    assert "3,000" in html
    assert "3: 3 numbers, 0 categories" in html
    assert "<td>Known</td>" in html
    assert known_facts.recipes[0] in html
    calibrated = replace(known_facts, model={**known_facts.model, "calibrated": "split, on 9 rows"})
    assert "split, on 9 rows" in sections.summary(calibrated)


def test_scores_compare_with_two_baselines(known_facts, response):
    html = sections.scores(known_facts, response, "0")
    for method in (response.model, response.constant, response.climatology):
        assert f'<td data-label="skill">{percent(method.skill)}</td>' in html
        assert f'<td data-label="width of 90% interval">{number(method.width[0.9])}</td>' in html
    assert "slightly too good" in html
    other = replace(known_facts, climatology=replace(known_facts.climatology, in_sample=False))
    assert "slightly too good" not in sections.scores(other, response, "0")


def test_calibration_mentions_conformal_intervals_and_point_masses_if_there_are_any(response):
    plain, conformal = (sections.calibration(replace(response, conformal=c), "0") for c in (False, True))
    assert "conformal intervals" not in plain
    assert "conformal intervals" in conformal
    assert "point masses" not in plain


def test_sharpness_states_how_many_rows_are_drawn(response):
    assert "500 of 3,000 rows are drawn" in sections.sharpness(response, "0")


def test_groups_of_the_most_important_features(response):
    html = sections.groups(response, "0")
    assert "Coverage by column 0" in html
    assert "Coverage by column 2" not in html
    assert "No feature changes the predictions" in sections.groups(replace(response, by_features=()), "0")


def test_densities_have_a_button_for_each_named_row(known_facts, response):
    html = sections.densities(known_facts, response, "0")
    rows = [int(row) for row in re.findall(r'data-row="(\d+)"', html)]
    assert rows == [position + 1 for position in response.named.values()]
    assert "30 of 3,000 rows" in html


def test_the_table_of_rows_has_search_filter_order_and_download(known_facts, response):
    html = sections.table_of_rows(known_facts, response, "0")
    assert "All 3,000 rows" in html
    assert 'type="search"' in html
    assert html.count("<option") == len(sections.FILTERS) + len(sections.ORDERS)
    assert "Download CSV" in html
    assert ">label<" not in html


def test_predictions_show_thresholds(response):
    html = sections.predictions(response, "0")
    assert html.count("<figure>") == 1 + len(response.events)
    for event in response.events:
        assert f"P(y &gt; {number(event.threshold)})" in html
    assert "thresholds" not in sections.predictions(replace(response, events=()), "0")


def test_importance_and_cost(known_facts):
    html = sections.importance(known_facts, 0, "0")
    assert html.count("<figure>") == 2 + len(known_facts.responses[0].effects)
    assert "All 3 features" in html
    assert "increases" in html
    assert "no effect" in html
    html = sections.cost(replace(known_facts, fit_seconds=12.0, file_bytes=None))
    assert "12 s" in html
    assert "Model file" not in html
    assert "7 kB" in sections.cost(replace(known_facts, file_bytes=7000))
