"""The leaderboard: lines, first scores and plain records."""

from dataclasses import replace

import pytest

from diffgbm.auto.candidates import LARGE_PLAIN, Candidate
from diffgbm.auto.leaderboard import Leaderboard

FLOW = Candidate("stack", (), "flow")


@pytest.fixture
def leaderboard():
    lines = Leaderboard(unit=20.0)
    lines.add(FLOW, "round 1", 0.5, 1.2345, 100)
    lines.add(LARGE_PLAIN, "round 1", 0.7, 2.0, 100)
    lines.add(FLOW, "round 2", 0.4, 3.0, 200)
    lines.add(replace(FLOW, size="large"), "bag 1", 0.3, 4.0, 400)
    return lines


def test_records_are_plain_and_one_for_each_candidate(leaderboard):
    leaderboard.add(replace(FLOW, size="large"), "final, weight 0.75", 0.35, 0.0, 400)
    first, second = leaderboard.records()
    assert first == {
        "model": "flow matching of the residuals of stacked regressions, large trees",
        "crps": 7.0,
        "relative_crps": 0.35,
        "weight": 0.75,
        "outcome": "in the pool",
        "rows": 400,
        "seconds": 8.23,
    }
    assert (second["model"], second["outcome"], second["weight"]) == (str(LARGE_PLAIN), "dropped after round 1", 0.0)


def test_final_models_come_first_then_the_latest_drops_each_by_score(leaderboard):
    """Scores of different stages average different rows, so that they are not compared."""
    pooled, other = (Candidate("none", (name,), "edm") for name in ("mean", "cdf"))
    leaderboard.add(pooled, "final, weight 1.00", 0.9, 0.0, 400)
    leaderboard.add(other, "final, weight 0.00", 0.95, 0.0, 400)
    records = leaderboard.records()
    assert [(record["relative_crps"], record["outcome"]) for record in records] == [
        (0.9, "in the pool"),
        (0.95, "final model without weight"),
        (0.3, "dropped after bag 1"),
        (0.7, "dropped after round 1"),
    ]
    assert len({record["model"] for record in records}) == 4


def test_two_sizes_of_a_candidate_that_are_both_final_are_two_rows(leaderboard):
    usual = replace(LARGE_PLAIN, size="usual")
    for candidate in (usual, LARGE_PLAIN):
        leaderboard.add(candidate, "final, weight 0.50", 0.2, 1.0, 400)
    found = {record["model"]: record["seconds"] for record in leaderboard.records()}
    assert found[str(usual)] == 1.0
    assert found[str(LARGE_PLAIN)] == 3.0


def test_first_scores_are_those_of_the_first_round(leaderboard):
    assert leaderboard.first_scores == {FLOW: 0.5, LARGE_PLAIN: 0.7}
    assert leaderboard.n_candidates == 2
