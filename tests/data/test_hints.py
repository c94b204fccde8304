"""Text that is read as categories although it looks like dates or numbers gets a message with a remedy."""

import pytest

from diffgbm.data.hints import spelling_hint
from diffgbm.data.numbers import number_of_text

NUMBERS = [f"{k},{k:03d}" for k in range(1, 20)]


def hint(values, has_codes=False, distinct=False):
    text = sorted({v for v in values if isinstance(v, str)})
    return spelling_hint("'c'", values, {t: number_of_text(t) for t in text}, has_codes, distinct)


@pytest.mark.parametrize(
    "values",
    [
        NUMBERS,
        [f"{k}.{k:03d},50" for k in range(1, 20)],
        [f"$ {k}" for k in range(20)],
        [f"{k} €" for k in range(20)],
        [f"-CHF {k}'000.05" for k in range(20)],
        [f"{k}%" for k in range(20)],
        [f"{k / 10} kg" for k in range(20)],
        [f"{k},5" for k in range(20)],
    ],
    ids=lambda values: values[-1],
)
def test_numbers_in_another_spelling(values):
    assert hint(values).startswith(
        "X column 'c' is read as categories, but looks like numbers in a form that is not read, like "
    )


@pytest.mark.parametrize(
    "values",
    [
        [f"1.2.{k}" for k in range(20)],
        [f"192.168.0.{k}" for k in range(20)],
        [f"{k}a" for k in range(20)],
        [f"Main Street {k}" for k in range(20)],
        [f"{k}-{k + 5}" for k in range(20)],
        ["small", "large"],
    ],
    ids=lambda values: values[-1],
)
def test_other_text_has_no_hint(values):
    assert hint(values) is None


def test_dates_without_a_day_or_with_the_day_first():
    for values in (["2020-02", "2021-03"], ["21/04/2020", "1/5/2020"], ["2020/04/21 10:30", "2020/05/01 10:30"]):
        assert "looks like dates that are not ISO 8601" in hint(values)


def test_a_few_values_that_are_no_dates_or_numbers_are_named():
    dates = [f"2020-01-{k:02d}" for k in range(1, 31)]
    assert hint([None, *dates, "soon"]) == (
        "X column 'c' is read as categories, because of text like 'soon' in row 31; 96.8% of its values are dates. "
        "Correct these rows, or make them missing."
    )
    assert "because of text like '2020-02-30' in row 30" in hint([*dates, "2020-02-30"])
    assert "text like 'many' in row 20; 95.2% of its values are numbers" in hint([*map(str, range(20)), "many"])
    assert "text like 'many'; 95.2% of its distinct values" in hint([*map(str, range(20)), "many"], distinct=True)
    assert hint([*map(str, range(20)), "many"], has_codes=True) is None
