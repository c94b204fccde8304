"""The summary of an automatic fit."""

from types import SimpleNamespace

import numpy as np
import pytest

from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.candidates import LARGE_PLAIN, Candidate
from diffgbm.auto.leaderboard import Leaderboard
from diffgbm.auto.summary import summary
from diffgbm.data.records import Records

DISTINCT = Records(None, "distinct", 10, 10)


@pytest.fixture
def parts():
    candidates = (Candidate("stack", (), "flow"), LARGE_PLAIN)
    leaderboard = Leaderboard(unit=2.0)
    for candidate in candidates:
        leaderboard.add(candidate, "bag 1", 0.5, 1.0, 10)
    member = SimpleNamespace(bags=(1, 2, 3))
    pool = SimpleNamespace(members=(member, member), candidates=candidates, weights=np.array([0.6, 0.4]))
    model = SimpleNamespace(shapes=(ResponseShape(),), correction=None, atoms=None)
    return pool, model, leaderboard


def test_two_sentences(parts):
    assert summary(*parts, 0.25, False, DISTINCT) == (
        "Of 2 candidates the pool holds 60% flow, stack subtracted, usual; 40% edm, nothing subtracted, large, in 3 "
        "bag(s). On unseen rows its CRPS is 0.5, 25.0% of the response's standard deviation."
    )


def test_what_was_done_to_the_pool(parts):
    pool, model, leaderboard = parts
    model.shapes, model.correction = (ResponseShape(low=0.0),), object()
    text = summary(pool, model, leaderboard, 0.25, True, DISTINCT)
    assert "in 3 bag(s), kept to at least 0, recalibrated. " in text
    assert text.endswith("standard deviation, and the time limit cut the fit short.")


def test_repeated_rows_are_told(parts):
    text = summary(*parts, 0.25, False, Records(np.array([0, 1, 0, 1]), "stacked", 4, 2))
    assert text.endswith("4 rows are 2 records. Copies of a record stay together in every split.")
