import numpy as np
import pytest

from diffgbm import ConformalDiffGBM
from diffgbm.serving.answers import answer, plain, probability
from diffgbm.serving.questions import DEFAULT, Question, read_question
from tests.conftest import tiny, toy

ASKED = read_question(
    {
        "mean": True,
        "interval": [0.5, 0.9],
        "quantiles": [0.1, 0.5],
        "probability": [{"above": 1.0}, {"below": 1.0}, {"between": [0.0, 1.0]}],
        "samples": 4,
        "seed": 3,
    }
)


@pytest.fixture(scope="module")
def one():
    X, y = toy()
    return tiny().fit(X, y), X[:5]


def test_answers_are_those_of_the_estimator(one):
    model, X = one
    found = answer(model, X, ASKED)
    distribution = model.predict_distribution(X)
    drawn = model.sample(X, 4, seed=3)
    ends = model.predict_interval(X, [0.5, 0.9])
    for i, row in enumerate(found):
        assert row["mean"] == model.predict(X)[i]
        assert [(each["coverage"], each["lower"], each["upper"]) for each in row["interval"]] == [
            (0.5, *ends[i, 0]),
            (0.9, *ends[i, 1]),
        ]
        assert row["quantiles"] == [{"level": level, "value": distribution.quantile(level)[i]} for level in (0.1, 0.5)]
        above, below, between = row["probability"]
        assert above == {"above": 1.0, "probability": distribution.sf(1.0)[i]}
        assert below == {"below": 1.0, "probability": distribution.cdf(1.0)[i]}
        assert between == {"between": [0.0, 1.0], "probability": distribution.prob_between(0.0, 1.0)[i]}
        assert row["samples"] == drawn[:, i].tolist()


def test_only_what_is_asked_for_is_answered(one):
    model, X = one
    assert set(answer(model, X, DEFAULT)[0]) == {"mean", "interval"}
    assert set(answer(model, X, Question(samples=2))[0]) == {"samples"}


def test_several_responses_have_an_answer_each():
    X, y = toy(d=2)
    model = tiny().fit(X, y)
    [row] = answer(model, X[:1], ASKED)
    assert list(row) == ["y0", "y1"]
    distribution = model.predict_distribution(X[:1])
    drawn = model.sample(X[:1], 4, seed=3)
    for j, found in enumerate(row.values()):
        assert found["mean"] == distribution.mean()[0, j]
        assert found["interval"][1]["upper"] == distribution.interval(0.9)[0, j, 1]
        assert found["probability"][0]["probability"] == distribution.marginals()[j].sf(1.0)[0]
        assert found["samples"] == drawn[:, 0, j].tolist()


def test_intervals_are_the_calibrated_ones():
    X, y = toy(200)
    model = ConformalDiffGBM(tiny()).fit(X[:120], y[:120])
    ends = [model.predict_interval(X[:3], coverage) for coverage in (0.5, 0.9)]
    found = answer(model, X[:3], read_question({"interval": [0.5, 0.9]}))
    for i, row in enumerate(found):
        assert [(e["lower"], e["upper"]) for e in row["interval"]] == [tuple(each[i]) for each in ends]


def test_numbers_that_are_not_finite_are_null():
    assert plain(np.array([[1.0, np.nan], [np.inf, -np.inf]])) == [[1.0, None], [None, None]]
    assert plain(np.array([0.1, 0.2])) == [0.1, 0.2]


def test_probabilities_add_up_at_a_point_mass():
    from diffgbm import PredictiveDistribution

    distribution = PredictiveDistribution.from_points([[0.0, 0.0, 0.0, 1.0, 2.0]])
    events = read_question({"probability": [{"above": 0.0}, {"below": 0.0}]}).events
    above, below = (probability(distribution, event)[0] for event in events)
    assert above + below == pytest.approx(1.0)
