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


def test_records_are_plain(leaderboard):
    records = leaderboard.records()
    assert [record["stage"] for record in records] == ["round 1", "round 1", "round 2", "bag 1"]
    assert records[0] == {
        "model": "flow, stack subtracted, usual",
        "stage": "round 1",
        "crps": 10.0,
        "relative_crps": 0.5,
        "rows": 100,
        "seconds": 1.23,
    }


def test_first_scores_are_those_of_the_first_round(leaderboard):
    assert leaderboard.first_scores == {FLOW: 0.5, LARGE_PLAIN: 0.7}
    assert leaderboard.n_candidates == 3
