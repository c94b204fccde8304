import math

import pytest

from diffgbm.serving.problems import RequestError
from diffgbm.serving.questions import DEFAULT, Question, query_question, read_question


def test_without_a_question_mean_and_interval_are_answered():
    assert read_question({}) == read_question({"seed": 3}) == query_question([]) == DEFAULT


def test_every_question_is_read():
    found = read_question(
        {
            "mean": True,
            "interval": [0.5, 0.9, 0.5],
            "quantiles": 0.1,
            "probability": [{"above": 5}, {"below": 2.5}, {"between": [1, 2]}],
            "samples": 10,
            "seed": 7,
        }
    )
    assert (found.mean, found.coverages, found.levels, found.samples, found.seed) == (True, (0.5, 0.9), (0.1,), 10, 7)
    assert [(e.low, e.high) for e in found.events] == [(5.0, math.inf), (-math.inf, 2.5), (1.0, 2.0)]
    assert found.numbers == 1 + 4 + 1 + 3 + 10


def test_null_is_no_question():
    assert read_question({"mean": None, "interval": None, "quantiles": [0.5]}) == Question(levels=(0.5,))


def test_a_query_asks_the_same():
    query = [("interval", "0.5,0.9"), ("quantiles", "0.1"), ("mean", "true"), ("above", "5"), ("between", "1,2")]
    asked = {
        "interval": [0.5, 0.9],
        "quantiles": 0.1,
        "mean": True,
        "probability": [{"above": 5.0}, {"between": [1.0, 2.0]}],
    }
    assert query_question(query) == read_question(asked)
    assert query_question([("samples", "3"), ("seed", "9")]) == Question(samples=3, seed=9)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"intervall": 0.9}, "'intervall'. Did you mean 'interval'"),
        ({"mean": 1}, "mean must be true or false; got 1"),
        ({"interval": 1.0}, "interval must be between 0 and 1"),
        ({"interval": 90}, "For 90% send 0.9"),
        ({"interval": "wide"}, "interval must be a finite number; got 'wide'"),
        ({"interval": {}}, "an object"),
        ({"interval": [[0.9]]}, "a list"),
        ({"quantiles": [0.5, float("nan")]}, "finite number; got nan"),
        ({"quantiles": [-0.1]}, "quantiles must be from 0 to 1"),
        ({"quantiles": [10**400]}, "finite number"),
        ({"quantiles": [0.5] * 1001}, "at most 1000"),
        ({"probability": 5}, "above"),
        ({"probability": {"over": 5}}, "above"),
        ({"probability": {"above": 5, "below": 7}}, "above"),
        ({"probability": {"above": "x"}}, "above must be a finite number"),
        ({"probability": {"above": float("inf")}}, "above must be a finite number"),
        ({"probability": {"between": 5}}, "two numbers"),
        ({"probability": {"between": [5, 2]}}, "lower end first"),
        ({"samples": -1}, "samples must be an integer"),
        ({"samples": 2.5}, "samples must be an integer"),
        ({"samples": True}, "samples must be an integer"),
        ({"samples": 10**30}, "samples must be an integer"),
        ({"seed": "a"}, "seed must be an integer"),
    ],
)
def test_wrong_questions_are_refused_by_name(asked, words):
    with pytest.raises(RequestError, match=words) as caught:
        read_question(asked)
    assert caught.value.status == 422


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ([("abov", "5")], "no query parameter 'abov'. Did you mean 'above'"),
        ([("above", "x")], "above must be a number; got 'x'"),
        ([("above", "1,2")], "above must be a finite number"),
        ([("mean", "yes")], "mean must be true or false"),
        ([("samples", "9" * 30)], "samples must be an integer"),
        ([("samples", "²")], "samples must be an integer"),
        ([("interval", "nan")], "finite"),
    ],
)
def test_wrong_queries_are_refused_by_name(query, words):
    with pytest.raises(RequestError, match=words):
        query_question(query)
