"""The summary of an automatic fit."""

from types import SimpleNamespace

import numpy as np
import pytest

from diffgbm.auto.atoms import ResponseShape
from diffgbm.auto.candidates import CLIMATOLOGY, LARGE_PLAIN, Candidate, outside_candidate
from diffgbm.auto.climatology import Climatology
from diffgbm.auto.leaderboard import FINAL, Leaderboard
from diffgbm.auto.screening import SCREENED
from diffgbm.auto.summary import no_help, quality, reference_crps, summary
from diffgbm.data.division import Division
from diffgbm.data.kinds import Dropped, Number
from diffgbm.data.records import Records

DISTINCT = Division(Records(None, "distinct", 10, 10))


@pytest.fixture
def parts():
    candidates = (Candidate("stack", (), "flow"), LARGE_PLAIN)
    leaderboard = Leaderboard(unit=2.0)
    for candidate in candidates:
        leaderboard.add(candidate, "bag 1", 0.5, 1.0, 10)
    member = SimpleNamespace(bags=(1, 2, 3))
    weights = np.array([0.6, 0.4])
    pool = SimpleNamespace(members=(member, member), candidates=candidates, weights=weights, climatology=None)
    pool.outside, pool.outside_candidates = (), ()
    response = SimpleNamespace(power=None)
    features = SimpleNamespace(columns=(Number(),))
    first = SimpleNamespace(response_names=("price",), response=response, features=features)
    model = SimpleNamespace(
        shapes=(ResponseShape(),), correction=None, atoms=None, joint_atoms=(), first=first, is_climatology=False
    )
    return pool, model, leaderboard


def test_the_first_sentence_says_how_good_it_is(parts):
    assert summary(*parts, (0.25, 0.5), False, DISTINCT, 100) == (
        "On rows that it was not trained on, the model predicts price 50% better than without any columns: its CRPS, "
        "the average error of a distribution, is 0.5 instead of 1. It mixes 2 of 2 candidates, each fitted 3 times to "
        "different rows: 60% flow matching of the residuals of stacked regressions; 40% diffusion of the response, "
        "large trees."
    )


@pytest.mark.parametrize(
    ("own", "reference", "amount"),
    [(0.49, 0.5, "only 2.0% better than"), (0.6, 0.5, "no better than"), (0.0, 0.0, "no better than")],
)
def test_columns_that_say_nothing_are_not_praised(parts, own, reference, amount):
    start = f"The columns say little about price: on rows that it was not trained on, the model predicts price {amount}"
    assert summary(*parts, (own, reference), False, DISTINCT, 100).startswith(start)


def test_one_model(parts):
    _, model, leaderboard = parts
    member = SimpleNamespace(bags=(1,))
    one = SimpleNamespace(
        members=(member,), candidates=(LARGE_PLAIN,), weights=np.ones(1), climatology=None, outside=()
    )
    text = summary(one, model, leaderboard, (0.25, 0.5), False, DISTINCT, 100)
    assert text.endswith("It is the best of 2 candidates, fitted once: diffusion of the response, large trees.")


def test_the_reference_is_the_crps_of_the_responses_themselves():
    y = np.array([[0.0], [2.0], [4.0]])
    # CRPS of {0, 2, 4} at 0: mean distance 2 minus half the mean difference 16/9
    assert reference_crps(y, np.array([0]), None, np.array([2.0])) == pytest.approx((2.0 - 8.0 / 9.0) / 2.0)
    assert reference_crps(y, np.array([0, 1]), np.array([1.0, 0.0, 1.0]), np.ones(1)) == pytest.approx(2.0 - 8.0 / 9.0)


def test_few_rows_measure_nothing(parts):
    assert "Only 3 rows measure this: do not rely on it." in summary(*parts, (0.25, 0.5), False, DISTINCT, 3)


def test_a_part_of_climatology_is_named(parts):
    pool, model, leaderboard = parts
    pool.weights, pool.climatology = 0.7 * pool.weights, Climatology(np.zeros((1, 1)), 0.3)
    text = summary(pool, model, leaderboard, (0.49, 0.5), False, DISTINCT, 100)
    assert "with the training responses themselves: 42% flow matching" in text
    assert text.endswith("30% climatology (the training responses, without any columns).")


def test_climatology_alone_says_what_to_do(parts):
    pool, model, leaderboard = parts
    model.is_climatology, model.climatology = True, Climatology(np.arange(3.0)[:, None])
    leaderboard.add(pool.candidates[0], f"{FINAL}0.00", 0.6, 0.0, 10)
    leaderboard.add(CLIMATOLOGY, f"{FINAL}1.00", 0.5, 0.0, 10)
    text = summary(pool, model, leaderboard, (0.5, 0.5), False, DISTINCT, 100)
    assert text.startswith(no_help("price", True, clearly=False))
    assert text.endswith("of climatology is 1, that of the best final model 1.2.")
    leaderboard.add(pool.candidates[1], f"{FINAL}0.00", 0.49, 0.0, 10)
    assert "no model was clearly better" in summary(pool, model, leaderboard, (0.5, 0.5), False, DISTINCT, 100)
    model.climatology = Climatology(np.full((3, 1), 3.7))
    text = summary(pool, model, leaderboard, (0.0, 0.0), False, DISTINCT, 100)
    assert text.startswith("price is 3.7 in every training row")


def test_what_was_done_to_the_pool(parts):
    pool, model, leaderboard = parts
    model.shapes, model.correction = (ResponseShape(low=0.0),), object()
    model.atoms = SimpleNamespace(values=np.array([0.0, 2.5]))
    text = summary(pool, model, leaderboard, (0.25, 0.5), True, DISTINCT, 100)
    assert "Predictions are kept to at least 0. A classifier predicts how often price is exactly 0, 2.5; cand" in text
    assert "Intervals are recalibrated on such rows. The time limit cut the fit short: a larger one may" in text


def test_screened_columns_are_counted(parts):
    _, model, _ = parts
    model.first.features.columns = (Number(), Dropped(f"{SCREENED}: useless"), Dropped("holds lists"))
    text = summary(*parts, (0.25, 0.5), False, DISTINCT, 100)
    assert "1 of 3 columns were screened out" in text


def test_repeated_rows_are_told(parts):
    text = summary(*parts, (0.25, 0.5), False, Division(Records(np.array([0, 1, 0, 1]), "stacked", 4, 2)), 100)
    assert text.endswith("4 rows are 2 records. Copies of a record stay together in every split.")


def test_large_scores_are_written_out():
    assert "is 52,860 instead of 99,930." in quality("price", (0.5286, 0.9993), 1e5)
    assert "is 0.05286 instead of 0.09993." in quality("price", (0.5286, 0.9993), 0.1)


def test_members_from_outside_are_named(parts):
    pool, model, leaderboard = parts
    pool.weights, pool.outside = np.array([0.5, 0.0]), (SimpleNamespace(weight=0.5),)
    pool.outside_candidates = (outside_candidate("CatBoostRegressor", "quantiles"),)
    text = summary(pool, model, leaderboard, (0.3, 0.5), False, DISTINCT, 500)
    assert "50% CatBoostRegressor (your member: quantiles)" in text
    assert "mixes 2 of 2 candidates" in text  # not the one without weight
    assert "large trees" not in text
