import pytest

from diffgbm.serving.problems import MOST_PROBLEMS, Problem, RequestError, shown


def test_an_error_says_where_and_what():
    error = RequestError(422, [Problem("no", 3, "a"), Problem("nor this")])
    assert (error.status, str(error)) == (422, "no")
    assert error.facts() == {
        "error": "no",
        "problems": [{"row": 3, "column": "a", "message": "no"}, {"message": "nor this"}],
    }


def test_long_lists_are_cut_and_counted():
    facts = RequestError(422, [Problem(str(i), i) for i in range(MOST_PROBLEMS + 7)]).facts()
    assert len(facts["problems"]) == MOST_PROBLEMS
    assert facts["more_problems"] == 7


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "'a'"),
        ("a" * 100, repr("a" * 60 + "...")),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ([1, [2]], "a list"),
        ({"a": 1}, "an object"),
        (10**1000, "an integer of 3322 bits"),
        ("line\nbreak", "'line\\nbreak'"),
    ],
)
def test_values_are_shown_short_in_one_line(value, text):
    assert shown(value) == text
