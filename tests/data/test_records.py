import numpy as np
import pytest

from diffgbm.data.records import (
    MOST_TWINS,
    few_twins_together,
    find_records,
    is_fine,
    neighbour_agreement,
    pairs,
    pairs_by_chance,
    row_labels,
)
from diffgbm.data.structure import INDEPENDENT, Structure


def linear(n, seed=0, p=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, :1] + rng.normal(size=(n, 1))


def categories(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(n, 3)).astype(float)
    return X, X[:, :1] + rng.normal(size=(n, 1))


def test_distinct_rows_have_no_labels():
    found = find_records(*linear(200))
    assert (found.kind, found.labels, found.n_records) == ("distinct", None, 200)


@pytest.mark.parametrize("times", [2, 4])
def test_a_stacked_table_is_found_and_copies_share_a_label(times):
    X, y = linear(250)
    found = find_records(np.vstack([X] * times), np.vstack([y] * times))
    assert (found.kind, found.n_records) == ("stacked", 250)
    assert np.all(np.bincount(found.labels) == times)
    for copy in range(1, times):
        np.testing.assert_array_equal(found.labels[:250], found.labels[250 * copy : 250 * (copy + 1)])


def test_a_stacked_table_of_categories_is_not_held_apart_from_its_like():
    X, y = categories(2000)
    y = np.round(y)
    found = find_records(np.vstack([X, X]), np.vstack([y, y]))
    assert (found.kind, found.n_records) == ("stacked", 2000)
    assert np.all(np.bincount(found.labels) == 2)
    table = np.column_stack([np.vstack([X, X]), np.vstack([y, y])])
    for record in range(0, 2000, 97):
        first, second = table[found.labels == record]
        np.testing.assert_array_equal(first, second)


def test_copies_of_a_part_of_the_rows():
    X, y = linear(400)
    found = find_records(np.vstack([X, X[:100]]), np.vstack([y, y[:100]]))
    assert (found.kind, found.n_records) == ("copies", 400)


def test_coarse_measurements_listed_twice_are_copies():
    # like wine: every column is rounded, the response has seven values, and a fifth of the rows occurs twice
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(1000, 8)), 1)
    y = np.clip(np.round(X[:, :1] + rng.normal(size=(1000, 1))), -3, 3)
    found = find_records(np.vstack([X, X[:200]]), np.vstack([y, y[:200]]))
    assert (found.kind, found.n_records) == ("copies", 1000)


@pytest.mark.parametrize("columns", [1, 3])
def test_entities_whose_responses_differ(columns):
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(size=(50, columns)), 20, axis=0)
    found = find_records(X, X[:, :1] + rng.normal(size=(1000, 1)))
    assert (found.kind, found.n_records) == ("entities", 50)
    assert np.all(np.bincount(found.labels) == 20)


@pytest.mark.parametrize("response", ["continuous", "counts", "function"])
def test_people_in_categories_are_independent(response):
    X, y = categories(10_000)
    values = {"continuous": y, "counts": np.round(y), "function": X.sum(axis=1, keepdims=True)}[response]
    found = find_records(X, values)
    assert (found.kind, found.labels, found.n_distinct) == ("independent", None, 125)


def test_a_few_doses_are_independent():
    rng = np.random.default_rng(3)
    X = rng.choice([0.5, 1.0, 2.0, 4.0], size=(500, 1))
    found = find_records(X, X + rng.normal(size=(500, 1)))
    assert found.kind == "independent"


def test_the_caller_decides():
    X, y = linear(100)
    X, y = np.vstack([X, X]), np.vstack([y, -y])
    assert find_records(X, y, "independent").labels is None
    assert find_records(X, y, "together").n_records == 100
    with pytest.raises(ValueError, match="repeats must be one of 'auto', 'together', 'independent'"):
        find_records(X, y, "never")


def test_missing_values_and_signed_zeros_are_values():
    labels = row_labels(np.array([[np.nan, 0.0], [np.nan, -0.0], [1.0, np.nan], [np.nan, 1.0]]))
    assert labels[0] == labels[1]
    assert len(set(labels.tolist())) == 3


def test_pairs_by_hand():
    assert pairs(np.array([1, 2, 3])) == 4.0
    # two columns of two even values: 6 pairs of 4 rows, of which a fourth would agree in both
    assert pairs_by_chance(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])) == pytest.approx(1.5)


def test_pairs_by_chance_are_those_of_independent_columns():
    X, _ = categories(4000)
    assert pairs_by_chance(X) == pytest.approx(pairs(np.bincount(row_labels(X))), rel=0.05)


def test_fine_columns():
    rng = np.random.default_rng(4)
    assert is_fine(rng.normal(size=300), 300)
    assert is_fine(1e9 + rng.normal(size=300), 300)
    assert not is_fine(np.round(rng.normal(size=300), 2), 300)
    assert not is_fine(rng.integers(0, 1000, 300).astype(float), 300)
    assert not is_fine(0.1 * rng.integers(0, 1000, 300), 300)
    assert is_fine(rng.integers(0, 10**9, 300).astype(float), 300)
    assert not is_fine(np.repeat([0.1234567891, 2.0], 150), 300)


def test_neighbours_agree_as_often_as_independent_draws():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(3000, 2)), rng.integers(0, 2, size=(3000, 1)).astype(float)
    assert neighbour_agreement(X, y) == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2000))


def test_the_sentence_counts():
    X, y = linear(50)
    assert "100 rows are 50 records" in str(find_records(np.vstack([X, X]), np.vstack([y, y])))


def test_missing_measurements_make_no_entity():
    rng = np.random.default_rng(6)
    X = np.column_stack([np.where(rng.uniform(size=400) < 0.3, np.nan, rng.normal(size=400)), rng.integers(0, 3, 400)])
    found = find_records(X, rng.normal(size=(400, 1)))
    assert (found.kind, found.labels) == ("independent", None)


@pytest.mark.parametrize("columns", [1, 2])
def test_a_pile_of_zeros_makes_no_entity(columns):
    rng = np.random.default_rng(7)
    amount = np.where(rng.uniform(size=500) < 0.6, 0.0, rng.exponential(size=500))
    X = np.column_stack([amount, rng.integers(0, 3, 500)])[:, :columns]
    found = find_records(X, rng.normal(size=(500, 1)))
    assert (found.kind, found.labels) == ("independent", None)


def test_entities_some_of_whose_measurements_are_missing():
    rng = np.random.default_rng(8)
    entity = rng.normal(size=(60, 2))
    entity[:20, 0] = np.nan
    found = find_records(np.repeat(entity, 5, axis=0), rng.normal(size=(300, 1)))
    assert (found.kind, found.n_records) == ("entities", 60)


def test_copies_of_a_part_of_a_coarse_table_beside_rows_that_agree_by_chance():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, k, 300) for k in (30, 20, 4, 2)]).astype(float)
    y = np.round(X[:, :1] + rng.normal(size=(300, 1)), 1)
    assert find_records(X, y).kind == "independent"
    found = find_records(np.vstack([X, X[:100]]), np.vstack([y, y[:100]]))
    assert found.kind == "copies"
    np.testing.assert_array_equal(found.labels[300:], found.labels[:100])


def test_copies_of_people_in_categories_are_told_by_fine_responses():
    X, y = categories(300)
    assert find_records(X, y).kind == "independent"
    found = find_records(np.vstack([X, X[:50]]), np.vstack([y, y[:50]]))
    assert (found.kind, found.n_records) == ("copies", 300)


@pytest.mark.parametrize("exceptions", [0.0, 0.02, 0.5])
def test_a_tariff_is_not_a_table_of_copies(exceptions):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, size=(2000, 3)).astype(float)
    price = rng.normal(size=(4, 4, 4))[tuple(X.astype(int).T)][:, None]
    other = rng.random((2000, 1)) < exceptions
    assert find_records(X, np.where(other, rng.normal(size=(2000, 1)), price)).kind == "independent"


def test_copies_are_all_found_where_some_hold_a_value_of_their_own():
    """A date's sine tells the rows of a rare day apart; the copies of other days are copies too."""
    random = np.random.default_rng(3)
    days = random.integers(0, 300, 700)
    X = np.column_stack([np.sin(days), random.integers(0, 3, 700), np.round(random.gamma(4.0, 20.0, 700), 1)])
    y = np.where(random.random(700) < 0.4, 0.0, random.lognormal(size=700))[:, None]
    records = find_records(np.vstack([X, X[:200]]), np.vstack([y, y[:200]]))
    assert (records.kind, records.n_records) == ("copies", 700)


def test_copies_beside_entities():
    """Entities measured anew stay together; elsewhere only what agrees in the response too is a copy."""
    random = np.random.default_rng(4)
    entities = np.repeat(random.normal(size=(50, 2)), 4, axis=0)
    coarse = random.integers(0, 4, (300, 2)).astype(float)
    X = np.vstack([entities, coarse, coarse[:60]])
    y = random.normal(size=500)
    y = np.concatenate([y, y[200:260]])[:, None]
    records = find_records(X, y)
    assert records.kind == "entities"
    assert records.n_records == 50 + 300


def test_two_sales_on_one_day_that_agree_by_chance_make_no_entity():
    """The day of the year as a circle has fine decimals, and many days have few sales."""
    rng = np.random.default_rng(0)
    day = rng.integers(0, 700, 1500)
    X = np.column_stack(
        [np.sin(day / 58.1), np.cos(day / 58.1), day, rng.integers(0, 4, 1500), rng.integers(0, 5, 1500)]
    )
    found = find_records(X, rng.lognormal(size=(1500, 1)).round(2))
    assert found.kind == "independent"
    assert found.n_distinct < 1500


def test_few_equal_rows_stay_together_and_many_are_divided():
    X = np.repeat([0.0, 1.0, 2.0, 3.0], [1, 2, MOST_TWINS, MOST_TWINS + 1])[:, None]
    labels = few_twins_together(X, INDEPENDENT).labels
    assert len(np.unique(labels[:1])) == len(np.unique(labels[1:3])) == len(np.unique(labels[3 : 3 + MOST_TWINS])) == 1
    assert len(np.unique(labels)) == 3 + MOST_TWINS + 1
    assert sorted(set(labels)) == list(range(labels.max() + 1))


def test_a_structure_that_was_given_stays_and_so_do_rows_that_differ():
    X = np.array([[0.0], [0.0], [1.0]])
    groups, by_time = Structure(labels=np.array([0, 1, 1])), Structure(order=np.array([0, 1, 2]))
    assert few_twins_together(X, groups) is groups
    assert few_twins_together(X, by_time) is by_time
    assert few_twins_together(X[1:], INDEPENDENT) is INDEPENDENT
    many = np.zeros((MOST_TWINS + 1, 1))
    assert few_twins_together(many, INDEPENDENT) is INDEPENDENT
