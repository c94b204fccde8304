"""Columns that number the rows are found by their values; what was measured or means something is not."""

import warnings

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffgbm import ConformalDiffGBM, DiffGBM
from diffgbm.data.row_numbers import CHANCE, index_reason, is_index_name, never_repeats, row_number_reason, row_numbers

ROWS = 200
COUNT = np.arange(1, ROWS + 1)
SHUFFLED = np.random.default_rng(0).permutation(COUNT)


def reason(name, values):
    return index_reason(name, nw.from_native(pd.Series(values), series_only=True))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Unnamed: 0", [0, 1, 2]),
        ("Unnamed: 0", [7, 3, 5]),
        ("Unnamed: 0", ["Mazda", "Fiat", "Audi"]),
        ("", ["a", "c", "b"]),
        ("id", [1, 2, 3]),
        ("PassengerId", [0, 1, 2]),
        ("N\u00ba", COUNT),
        ("Lfd. Nr.", COUNT),
        ("customer_id", SHUFFLED + 10_000),
        ("site", COUNT),
        ("site", COUNT[::-1]),
        ("site", np.delete(COUNT, [3, 50, 51, 120])),
        ("district", COUNT.astype(np.uint8)),
    ],
)
def test_numbers_of_the_rows(name, values):
    assert reason(name, values) is not None


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Unnamed: 0", [1, 1, 2]),
        ("id", [5, 6, 7]),  # three numbers can all be different by chance
        ("id", [1, 3, 2]),
        ("id", [1, 2]),
        ("t", COUNT),
        ("x1", COUNT),
        ("day_no", COUNT),
        ("angle_deg", COUNT),
        ("vintage", np.arange(1900, 1990)),  # years
        ("wealth", SHUFFLED),  # ranks
        ("site", np.repeat(COUNT, 2)),
        ("site", COUNT.astype(float)),  # floats were measured
        ("site", np.cumsum(np.random.default_rng(0).integers(1, 20, ROWS))),
        ("site", [*COUNT, None]),
        ("customer_id", np.random.default_rng(0).choice(10**9, ROWS, replace=False)),
        ("paid", [1, 2, 3]),
        ("", [[1], [2], [3]]),
        ("", [0.5, 0.25, 1.0]),
    ],
)
def test_columns_that_may_mean_something(name, values):
    assert reason(name, values) is None


def test_ids_that_never_repeat_by_chance_are_told_from_counted_ones():
    rng = np.random.default_rng(0)
    assert never_repeats(COUNT) < CHANCE
    assert never_repeats(np.array([1, 1, 2])) == 1.0
    drawn = np.array([never_repeats(rng.integers(0, 10**6, 100)) for _ in range(50)])
    # 100 draws from a million values are all different with a probability of exp(-100 * 99 / 2 / 1e6) = 0.995
    assert np.all((drawn == 1.0) | (np.abs(drawn - np.exp(-100 * 99 / 2 / 1e6)) < 1e-3))
    assert row_number_reason("customer_id", rng.choice(10**6, 100, replace=False)) is None


def test_lists_without_a_name_are_not_compared():
    assert index_reason("", nw.from_native(pl.Series("", [[1], [2], [3]]), series_only=True)) is None


@given(st.lists(st.integers(-1000, 1000), min_size=30, max_size=200))
def test_columns_with_repeats_are_features(values):
    values = np.array([*values, values[0]])
    assert row_number_reason("id", values) is None


def test_the_only_column_is_learned_from_unless_its_name_is_that_of_an_index():
    column = {name: nw.from_native(pd.Series(COUNT), series_only=True) for name in ("site", "id")}
    assert row_numbers({"site": column["site"]}) == {}
    assert set(row_numbers({"id": column["id"]})) == {"id"}
    assert set(row_numbers(column)) == {"id"}


@pytest.mark.parametrize("name", ["Unnamed: 0", "row_id", "SaleID", "no.", "S. No", "__index_level_0__", "seqno", "#"])
def test_names_of_an_index(name):
    assert is_index_name(name)


def table(name="Serial No"):
    rng = np.random.default_rng(1)
    return {name: COUNT, "a": rng.standard_normal(ROWS), "b": rng.standard_normal(ROWS)}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_lose_the_column_with_a_warning_that_says_what_to_do(frame):
    X = frame(table())
    y = np.sin(COUNT / 30.0)  # the order of the rows, which new rows do not have
    with pytest.warns(UserWarning, match=r"'Serial No'.*counts from 1 to 200.*pass it as floats.*time=column"):
        model = DiffGBM.flow(n_estimators=5, n_repeats=2, seed=0).fit(X, y)
    assert model.schema_["Serial No"].kind == "not used"
    moved = frame({**table(), "Serial No": COUNT + 1000})
    assert np.array_equal(model.predict(X), model.predict(moved))
    without = frame({name: values for name, values in table().items() if name != "Serial No"})
    assert np.array_equal(model.predict(X), model.predict(without))
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing:\n- b"):
        model.predict(frame({name: values for name, values in table().items() if name != "b"}))


def test_floats_the_column_of_time_and_arrays_are_learned_from():
    y = np.sin(COUNT / 30.0)
    X = pd.DataFrame(table())
    model = DiffGBM.flow(n_estimators=5, n_repeats=2, seed=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*not used")
        assert model.fit(X.astype(float), y).schema_["Serial No"].kind == "number"
        assert model.fit(X, y, time="Serial No").schema_["Serial No"].kind == "number"
        assert model.fit(X.to_numpy(), y).schema_[0].kind == "number"


@pytest.mark.parametrize("method", ["split", "cv"])
def test_fits_to_a_part_of_the_rows_keep_the_column_of_time(method):
    X = pd.DataFrame(table("case"))
    conformal = ConformalDiffGBM(DiffGBM.flow(n_estimators=5, n_repeats=2, seed=0), method=method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*not used")
        conformal.fit(X, np.sin(COUNT / 30.0), time="case")
    with pytest.warns(UserWarning, match="'case' it numbers the rows"):
        ConformalDiffGBM(conformal.estimator, method="cv").fit(X, np.sin(COUNT / 30.0))
